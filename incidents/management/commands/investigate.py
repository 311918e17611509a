"""Investigate an alert from a terminal, without a worker."""

import json
import sys
import textwrap
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.models import (
    Attempt,
    Delivery,
    Diagnosis,
    Evidence,
    Incident,
    Investigation,
    MemoryRecord,
    MemoryRecordRevision,
    Outcome,
)
from incidents.services import deliveries, diagnosing
from teams.models import Project

WIDTH = 100


class Command(BaseCommand):
    help = (
        "Read an alert from standard input and print both answers. It is stored like a pasted alert: an incident of "
        "the project, which the pages show. Nobody is asked anything, so a vague alert ends with its questions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", required=True, help="the project's key, such as SEARCH")
        parser.add_argument("--strategy", choices=Project.Strategy.values, help="instead of the project's own")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project = Project.objects.select_related("team").get(key=options["project"].upper())
        except Project.DoesNotExist:
            raise CommandError(f"There is no project with the key {options['project']}.") from None
        delivery = _receive(project, sys.stdin.buffer.read())
        if delivery.incident is None:
            raise CommandError(f"No firing alert stands in it. {delivery.problem}".strip())
        investigation = diagnosing.investigate_here(incident=delivery.incident, strategy=options["strategy"] or "")
        answers = _answers(investigation)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(investigation, answers), ensure_ascii=False, indent=2))
        else:
            self.stdout.write("\n".join(_as_text(investigation, answers)))


def _receive(project: Project, body: bytes) -> Delivery:
    try:
        return deliveries.receive(
            project=project, body=body, content_type="text/plain; charset=utf-8", source=Delivery.Source.PASTE
        )
    except deliveries.NotAccepted as refused:
        sentence = f"{refused} Give it on standard input: manage.py investigate --project KEY < alert.txt"
        raise CommandError(sentence) from refused


def _answers(investigation: Investigation) -> list[tuple[Diagnosis, list[Evidence]]]:
    diagnoses = investigation.diagnoses.order_by("kind")
    return [
        (diagnosis, list(diagnosis.evidence.select_related("record__incident__project"))) for diagnosis in diagnoses
    ]


def _failed(diagnosis: Diagnosis) -> list[tuple[Attempt | Outcome, bool]]:
    """Return the acts that say what failed, each with whether it only looks like this alert."""
    named = {entry["attempt"]: entry["doubtful"] for entry in diagnosis.do_not_repeat}
    acts = [
        act
        for model in (Attempt, Outcome)
        for act in model.objects.filter(public_id__in=named).select_related("fix", "incident__project")
    ]
    return [(act, named[str(act.public_id)]) for act in acts]


def _quote(evidence: Evidence) -> str:
    if evidence.quote_start is None:
        return ""
    revision = MemoryRecordRevision.objects.get(record=evidence.record, number=evidence.revision)
    return revision.text[evidence.quote_start : evidence.quote_end]


def _as_json(investigation: Investigation, answers: list[tuple[Diagnosis, list[Evidence]]]) -> dict[str, Any]:
    incident: Incident = investigation.incident
    return {
        "incident": incident.ref,
        "investigation": str(investigation.public_id),
        "strategy": investigation.strategy,
        "pattern": investigation.pattern or None,
        "memory": investigation.memory_word or None,
        "diagnoses": [
            {
                "kind": diagnosis.kind,
                "state": diagnosis.state,
                "severity": diagnosis.severity or None,
                "category": diagnosis.category,
                "summary": diagnosis.summary,
                "root_cause": diagnosis.root_cause,
                "confidence": diagnosis.confidence or None,
                "confidence_reason": diagnosis.confidence_reason,
                "evidence": [
                    {
                        "ref": item.ref,
                        "scope": item.scope,
                        "match_strength": item.match_strength,
                        "reason": item.reason,
                        "accepted": item.accepted,
                        "not_used_because": item.not_used_because,
                        "quote": _quote(item),
                        "source": _source(item),
                    }
                    for item in evidence
                ],
                "ruled_out": diagnosis.ruled_out,
                "immediate_actions": diagnosis.immediate_actions,
                "long_term_fixes": diagnosis.long_term_fixes,
                "needs_more_info": diagnosis.needs_more_info,
                "clarifying_questions": diagnosis.clarifying_questions,
                "safe_checks": diagnosis.safe_checks,
                "do_not_repeat": [
                    {"fix": act.fix.title, "incident": act.incident.ref, "looks_like": doubtful}
                    for act, doubtful in _failed(diagnosis)
                ],
                "warnings": diagnosis.warnings,
                "model": diagnosis.model,
                "simulated": diagnosis.simulated,
                "stopped": diagnosis.stopped or None,
                "seconds": round(diagnosis.worked_seconds, 2),
            }
            for diagnosis, evidence in answers
        ],
    }


def _source(evidence: Evidence) -> str | None:
    incident = evidence.record.incident
    return incident.ref if incident and evidence.scope != Evidence.Scope.SHARED else None


def _as_text(investigation: Investigation, answers: list[tuple[Diagnosis, list[Evidence]]]) -> list[str]:
    pattern = investigation.get_pattern_display() or "no pattern"
    memory = investigation.get_memory_word_display().lower() or "not read"
    lines = [
        f"{investigation.incident.ref}, stored like a pasted alert. Strategy: {investigation.strategy}.",
        f"{pattern}. Memory: {memory}. Similarity is not proof.",
    ]
    if investigation.is_active:
        lines.append("Workers have this investigation under way; this is what there is so far.")
    for diagnosis, evidence in answers:
        lines += ["", *_answer_lines(diagnosis, evidence)]
    return lines


def _answer_lines(diagnosis: Diagnosis, evidence: list[Evidence]) -> list[str]:
    title = diagnosis.get_kind_display().upper()
    by = f"{diagnosis.model}{', not a language model' if diagnosis.simulated else ''}"
    lines = [f"== {title} ({by}, {diagnosis.worked_seconds:.1f} s) ".ljust(WIDTH, "=")]
    if diagnosis.stopped:
        lines.append(diagnosis.stopped)
    lines += _wrapped("Summary", diagnosis.summary) + _wrapped("Root cause", diagnosis.root_cause or "Not known.")
    confidence = diagnosis.get_confidence_display() or "none"
    lines += _wrapped("Confidence", f"{confidence}: {diagnosis.confidence_reason}" if diagnosis.confidence else "none")
    for action in diagnosis.immediate_actions:
        lines += _action_lines(action)
    for act, doubtful in _failed(diagnosis):
        words = " (only looks like this alert)" if doubtful else ""
        lines += _wrapped("Do not repeat", f"{act.fix.title}: failed in {act.incident.ref}{words}")
    for item in evidence:
        if item.record.kind != MemoryRecord.Kind.FAILED_ATTEMPT:
            lines += _evidence_lines(item)
    lines += [line for text in diagnosis.ruled_out for line in _wrapped("Ruled out", text)]
    lines += [line for text in diagnosis.long_term_fixes for line in _wrapped("Later", text)]
    lines += [line for text in diagnosis.clarifying_questions for line in _wrapped("Question", text)]
    for check in diagnosis.safe_checks:
        lines += [*_wrapped("Safe check", check["text"]), f"               $ {check['command']}"]
    lines += [line for warned in diagnosis.warnings for line in _wrapped("Rules", warned["text"])]
    return lines


def _action_lines(action: dict[str, Any]) -> list[str]:
    struck = action.get("struck")
    words = "" if not struck else " [looks like a fix that failed]" if struck["doubtful"] else " [FAILED BEFORE]"
    refs = f" ({', '.join(action['refs'])})" if action["refs"] else ""
    lines = _wrapped("Do", f"{action['text']}{refs}{words}")
    if action["command"]:
        lines.append(f"               $ {action['command']}   [not judged yet]")
    return lines


def _evidence_lines(evidence: Evidence) -> list[str]:
    source = _source(evidence) or evidence.get_scope_display()
    if not evidence.accepted:
        return _wrapped("Not used", f"{evidence.ref} {source}: {evidence.not_used_because}")
    strength = evidence.get_match_strength_display().lower()
    return _wrapped("Evidence", f"{evidence.ref} {source}, {strength}: {evidence.reason}") + _wrapped(
        "", f"“{' '.join(_quote(evidence).split())}”"
    )


def _wrapped(name: str, text: str) -> list[str]:
    """Return a labelled paragraph, its lines indented alike."""
    if not text:
        return []
    label = f"{name}:" if name else ""
    return textwrap.wrap(text, WIDTH, initial_indent=f"{label:<15}", subsequent_indent=" " * 15)
