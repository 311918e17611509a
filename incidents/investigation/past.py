"""What people's acts say about fixes of this kind of incident: which failed, how often each worked, what was rated."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from incidents.models import Diagnosis, Feedback, Fix, Incident, MemoryRecord
from incidents.models.track import Application, applications
from incidents.reading.text import words


@dataclass(frozen=True)
class FailedFix:
    """A fix whose latest application to this kind of incident failed. ``doubtful``: only a partial match says so."""

    fix: Fix
    application: Application
    record: MemoryRecord | None
    doubtful: bool = False

    def stored(self) -> dict[str, Any]:
        """Return it as public ids, for the page."""
        return {
            "fix": str(self.fix.public_id),
            "attempt": str(self.application.act.public_id),
            "record": str(self.record.public_id) if self.record else None,
            "doubtful": self.doubtful,
        }


def failed_fixes(incident: Incident, *, close: Iterable[int] = (), partial: Iterable[int] = ()) -> list[FailedFix]:
    """Return the fixes that failed last among incidents of this fingerprint and those that match, and why.

    ``close`` and ``partial`` are ids of incidents of this project whose memories matched so. Four queries at most.
    """
    same = set(
        Incident.objects.filter(project=incident.project_id, fingerprint=incident.fingerprint).values_list(
            "pk", flat=True
        )
    )
    sure = same | set(close)
    doubtful = set(partial) - sure
    applied = applications((), also=Q(incident__in=sure | doubtful))
    # Oldest first, so that the latest one stays; what is sure says more than what only matches in part.
    latest = {root_id(one.act.fix): one for one in applied if one.incident_id in doubtful}
    latest |= {root_id(one.act.fix): one for one in applied if one.incident_id in sure}
    failed = [application for application in latest.values() if not application.worked]
    records = _records_of(failed)
    return [
        FailedFix(
            fix=application.act.fix,
            application=application,
            record=records.get(application.act.public_id),
            doubtful=application.incident_id in doubtful,
        )
        for application in sorted(failed, key=lambda application: application.at, reverse=True)
    ]


def root_id(fix: Fix) -> int:
    """Return the id of the fix that is left after merging."""
    return fix.root_id


def _records_of(failed: list[Application]) -> dict[Any, MemoryRecord]:
    acts = [application.act.pk for application in failed]
    if not acts:
        return {}
    records = MemoryRecord.objects.filter(Q(attempt__in=acts) | Q(outcome__in=acts)).select_related(
        "attempt", "outcome"
    )
    return {act.public_id: record for record in records for act in (record.attempt, record.outcome) if act}


@dataclass(frozen=True)
class Ratings:
    """What people said of suggestions for this fingerprint; the newest word on each counts.

    Keys are ``("fix", id)``, ``("command", words)`` and ``("text", words)``.
    """

    helpful: dict[tuple[str, Any], bool] = field(default_factory=dict)

    def of_fix(self, fix: Fix | None) -> int:
        """Return 1, -1, or 0 where nobody said anything."""
        said = self.helpful.get(("fix", root_id(fix))) if fix else None
        return 0 if said is None else 1 if said else -1

    def not_helpful(self, *keys: tuple[str, Any]) -> bool:
        """Return whether any of the suggestion's keys was last rated not helpful."""
        return any(self.helpful.get(key) is False for key in keys if key[1])


def ratings_for(incident: Incident) -> Ratings:
    """Return the ratings of answers to incidents of this fingerprint. Two queries.

    A rating speaks of what the answer put first.
    """
    feedback = (
        Feedback.objects.filter(
            diagnosis__investigation__incident__project=incident.project_id,
            diagnosis__investigation__incident__fingerprint=incident.fingerprint,
        )
        .select_related("diagnosis")
        .order_by("updated_at", "pk")
    )
    rated = [(item.helpful, first) for item in feedback if (first := _put_first(item.diagnosis))]
    fixes = {
        str(fix.public_id): fix
        for fix in Fix.objects.filter(public_id__in=[first["fix"] for _, first in rated if first.get("fix")])
    }
    helpful: dict[tuple[str, Any], bool] = {}
    for was_helpful, first in rated:
        fix = fixes.get(str(first.get("fix")))
        for key in keys_of(first.get("text", ""), first.get("command"), fix):
            helpful[key] = was_helpful
    return Ratings(helpful)


def _put_first(diagnosis: Diagnosis) -> dict[str, Any] | None:
    return next((action for action in diagnosis.immediate_actions if not action.get("struck")), None)


def keys_of(text: str, command: str | None, fix: Fix | None) -> list[tuple[str, Any]]:
    """Return by what a suggestion is known again: its fix, its command's words, its own words."""
    keys: list[tuple[str, Any]] = [("text", normal_text(text)), ("command", normal_command(command))]
    if fix:
        keys.append(("fix", root_id(fix)))
    return [key for key in keys if key[1]]


def normal_command(command: str | None) -> str:
    """Return a command by which two spellings of it are the same: white space aside."""
    return " ".join((command or "").split())


def normal_text(text: str) -> str:
    """Return a text's words, case and punctuation aside."""
    return " ".join(words(text))
