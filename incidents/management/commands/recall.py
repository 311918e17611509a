"""Show what a project's memory would give for an alert, and why."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.memory.recall import Candidate, Recalled
from incidents.models.investigation import MemoryWord
from incidents.services import memory
from teams.models import Project


class Command(BaseCommand):
    help = "Show what a project's memory would give for an alert's text, and how the relevance gate judges it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query", help="the alert's text, or words of it")
        parser.add_argument("--project", required=True, help="the project's key, such as SEARCH")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = Project.objects.get(key=options["project"].upper())
        except Project.DoesNotExist:
            raise CommandError(f"There is no project with the key {options['project']}.") from None
        scopes = list(_scopes(memory.recall(project=project, text=options["query"])))
        if options["json"]:
            answer = {"project": project.key, "scopes": [_as_json(scope, recalled) for scope, recalled in scopes]}
            self.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2))
            return
        for scope, recalled in scopes:
            self.stdout.write("\n".join(_as_text(scope, recalled)))


def _scopes(answer: memory.Answer) -> Iterator[tuple[str, Recalled]]:
    yield "this project", answer.own
    yield "failed attempts", answer.failed_attempts
    for recalled in answer.same_team:
        owner = recalled.candidates[0].project if recalled.candidates else None
        yield f"same team: {owner}" if owner else "same team", recalled
    yield "shared lessons", answer.shared


def _as_json(scope: str, recalled: Recalled) -> dict[str, Any]:
    return {
        "scope": scope,
        "memory": recalled.word,
        "problem": recalled.problem or None,
        "memories": [
            {
                "record": str(candidate.record.public_id),
                "revision": candidate.revision.number,
                "kind": candidate.record.kind,
                "incident": candidate.record.incident.ref if candidate.record.incident else None,
                "strength": candidate.strength,
                "reason": candidate.reason,
                "title": candidate.revision.title,
                "text": candidate.revision.text,
            }
            for candidate in recalled.candidates
        ],
    }


def _as_text(scope: str, recalled: Recalled) -> Iterator[str]:
    word = MemoryWord(recalled.word).label.lower()
    yield f"{scope[:1].upper()}{scope[1:]}: {word}. {recalled.problem}".rstrip()
    for candidate in recalled.candidates:
        yield f"  {candidate.strength:<8}{_named(candidate)}"
        yield f"          {candidate.reason}"


def _named(candidate: Candidate) -> str:
    incident = candidate.record.incident
    kind = candidate.record.get_kind_display().lower()
    return f"{incident.ref + '  ' if incident else ''}{candidate.revision.title} ({kind})"
