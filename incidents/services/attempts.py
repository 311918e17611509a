"""Fixes that were tried and failed. Each is remembered, so that nobody tries it a second time for nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Unpack

from django.db import transaction
from django.utils import timezone

from incidents.memory import records
from incidents.memory.banks import own_bank
from incidents.models import Attempt, Incident, IncidentEvent, MemoryRecord
from incidents.services import acts, fixes, incidents, timeline
from incidents.services.memory import SYNC_TASK
from oncall.clients.queue import publish
from teams import audit
from teams.models import User

Kind = MemoryRecord.Kind

# Two identical attempts within this time are one that was sent twice; later, the same fix was tried again.
SAME_ATTEMPT_WITHIN = timedelta(minutes=5)


@dataclass(frozen=True)
class SavedAttempt:
    """An attempt and its memory record."""

    attempt: Attempt
    record: MemoryRecord | None
    already_saved: bool = False


def record_attempt(
    *,
    incident: Incident,
    by: User,
    what_happened: str = "",
    at: datetime | None = None,
    **details: Unpack[acts.Details],
) -> SavedAttempt:
    """Save a fix that was tried and failed. ``at`` is when it was tried.

    Raises:
        Conflict: the incident was merged into another.
        ValueError: the details name nothing, or something of another project or incident.
    """
    tried_at = at or timezone.now()
    what_happened = acts.written(what_happened)
    with transaction.atomic():
        incident = acts.hold(incident, by)
        twin = _same_attempt(incident, what_happened, details, tried_at)
        if twin:
            return SavedAttempt(twin, acts.record_of(Kind.FAILED_ATTEMPT, attempt=twin), already_saved=True)
        attempt = Attempt.objects.create(
            incident=incident,
            fix=fixes.choose(project=incident.project, named=details, by=by),
            what_happened=what_happened,
            tried_by=by,
            tried_at=tried_at,
            **acts.following(incident, details),
        )
        record = _remember_attempt(attempt, by=by)
        after = {"fix": str(attempt.fix.public_id), "followed": attempt.followed}
        audit.record("attempt.record", by=by, on=attempt, team=incident.project.team, after=after)
        timeline.add(
            incident=incident, kind=IncidentEvent.Kind.ATTEMPTED, by=by, at=tried_at, fix=attempt.fix.title[:80]
        )
        return SavedAttempt(attempt, record)


def correct_attempt(
    *, attempt: Attempt, by: User, what_happened: str = "", **details: Unpack[acts.Details]
) -> SavedAttempt:
    """Replace an attempt by what is right; its memory becomes the next revision of the same document.

    Raises:
        PermissionDenied: it is another's, and the person is no team admin.
        Conflict: it was corrected meanwhile.
        ValueError: the details name something of another project or incident.
    """
    what_happened = acts.written(what_happened)
    with transaction.atomic():
        incident = acts.hold(attempt.incident, by)
        old = acts.standing(Attempt.objects.select_related("fix", "tried_by"), attempt)
        acts.require_author(by, old.tried_by_id, incident)
        if not details.get("fix") and not details.get("new_fix_title"):
            details["fix"] = old.fix
        if records.normal(what_happened) == records.normal(old.what_happened) and acts.is_same_act(old, details):
            return SavedAttempt(old, acts.record_of(Kind.FAILED_ATTEMPT, attempt=old), already_saved=True)
        new = Attempt.objects.create(
            incident=incident,
            fix=fixes.choose(project=incident.project, named=details, by=by),
            what_happened=what_happened,
            tried_by=old.tried_by,
            tried_at=old.tried_at,
            corrected_by=by,
            **acts.following(incident, details, old),
        )
        Attempt.objects.filter(pk=old.pk).update(superseded_by=new)
        record = _remember_attempt(new, by=by, replaces=old)
        audit.record(
            "attempt.correct", by=by, on=new, team=incident.project.team, before={"attempt": str(old.public_id)}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.CORRECTED, by=by, what="a failed attempt")
        return SavedAttempt(new, record)


def _same_attempt(incident: Incident, what_happened: str, details: acts.Details, tried_at: datetime) -> Attempt | None:
    near = incident.attempts.filter(
        superseded_by=None,
        tried_at__gt=tried_at - SAME_ATTEMPT_WITHIN,
        tried_at__lt=tried_at + SAME_ATTEMPT_WITHIN,
    ).select_related("fix")
    words = records.normal(what_happened)
    return next((a for a in near if records.normal(a.what_happened) == words and fixes.is_same(a.fix, details)), None)


def _remember_attempt(attempt: Attempt, *, by: User, replaces: Attempt | None = None) -> MemoryRecord:
    incidents.extend_search(attempt.incident, f"{attempt.fix.title}\n{attempt.what_happened}")
    parts = records.failed_attempt(attempt, acts.sighting(attempt.incident))
    known = acts.record_of(Kind.FAILED_ATTEMPT, attempt=replaces) if replaces else None
    if known:
        records.revise(known, parts, by=by, attempt=attempt, fix=attempt.fix)
    else:
        known = records.remember(
            bank=own_bank(attempt.incident.project),
            kind=Kind.FAILED_ATTEMPT,
            incident=attempt.incident,
            content=[attempt.what_happened, attempt.fix.title, attempt.tried_at.isoformat()],
            parts=parts,
            by=by,
            occurred_at=attempt.tried_at,
            attempt=attempt,
            fix=attempt.fix,
        )
    publish(SYNC_TASK, record_id=known.pk)
    return known
