"""What people verify: what fixed an incident, what was tried and failed, how good an answer was.

Each act is one transaction: its row, the incident, the memory record, the audit and the timeline. The record is sent
to the bank after the commit. The incident's row is held first, so that a double click or two tabs make one act; the
second is told that it is already saved, or that somebody else was quicker.

Every act may also raise ``Http404`` or ``PermissionDenied``, as ``teams.access`` says, when the person may not work the
incident.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict, TypeVar, Unpack

from django.db import IntegrityError, transaction
from django.utils import timezone

from incidents.memory import records
from incidents.memory.banks import own_bank
from incidents.models import (
    Attempt,
    Diagnosis,
    Feedback,
    Incident,
    IncidentEvent,
    MemoryRecord,
    Outcome,
)
from incidents.models.fix import Act, Followed
from incidents.reading.redaction import redact
from incidents.reading.text import clean
from incidents.services import fixes, incidents, timeline
from incidents.services.fixes import NamedFix
from incidents.services.incidents import Conflict
from incidents.services.memory import SYNC_TASK
from oncall.clients.queue import publish
from teams import access, audit
from teams.models import User
from teams.permissions import Permission

Kind = MemoryRecord.Kind
ActT = TypeVar("ActT", Outcome, Attempt)

# Two identical attempts within this time are one that was sent twice; later, the same fix was tried again.
SAME_ATTEMPT_WITHIN = timedelta(minutes=5)
MINUTES_AT_MOST = 60 * 24 * 90


class Following(TypedDict, total=False):
    """What was followed, and which answer stood on the page. What is left out of a correction stays."""

    followed: str
    followed_record: MemoryRecord | None
    followed_diagnosis: Diagnosis | None
    followed_action: int | None
    answers_diagnosis: Diagnosis | None


class OutcomeDetails(NamedFix, Following, total=False):
    """The fix that worked, and what was followed."""


class AttemptDetails(NamedFix, Following, total=False):
    """The fix that failed, and what was followed."""


@dataclass(frozen=True)
class SavedOutcome:
    """An outcome and its memory record. ``already_saved``: the same act stood there already, nothing was written."""

    outcome: Outcome
    record: MemoryRecord | None
    already_saved: bool = False


@dataclass(frozen=True)
class SavedAttempt:
    """An attempt and its memory record."""

    attempt: Attempt
    record: MemoryRecord | None
    already_saved: bool = False


@dataclass(frozen=True)
class SavedFeedback:
    """A rating and its memory record."""

    feedback: Feedback
    record: MemoryRecord | None
    already_saved: bool = False


@dataclass(frozen=True)
class Changed:
    """An incident whose state a person changed, or found as they wanted it."""

    incident: Incident
    already_saved: bool = False


@dataclass(frozen=True)
class _Words:
    """What the engineer wrote of an outcome, redacted."""

    root_cause: str
    what_was_done: str
    minutes: int
    is_confirmation: bool = False

    def same_as(self, outcome: Outcome) -> bool:
        """Return whether the outcome says the same. A confirmation's minutes are ours, not the person's."""
        return (
            self.is_confirmation == outcome.is_confirmation
            and records.normal(self.root_cause) == records.normal(outcome.root_cause)
            and records.normal(self.what_was_done) == records.normal(outcome.what_was_done)
            and (self.is_confirmation or self.minutes == outcome.minutes)
        )


def suggested_minutes(incident: Incident) -> int:
    """Return how long the incident took so far, or until it was resolved: whole minutes, at least one."""
    seconds = ((incident.resolved_at or timezone.now()) - incident.started_at).total_seconds()
    return min(max(math.ceil(seconds / 60), 1), MINUTES_AT_MOST)


def record_outcome(
    *,
    incident: Incident,
    by: User,
    root_cause: str = "",
    what_was_done: str = "",
    minutes: int,
    at: datetime | None = None,
    **details: Unpack[OutcomeDetails],
) -> SavedOutcome:
    """Save what fixed it and resolve the incident, or write down later what fixed a resolved one.

    ``at`` is when it was verified. Empty words stay "confirmed without a note".

    Raises:
        Conflict: another outcome was saved meanwhile, or the incident was merged into another.
        ValueError: the details name nothing, or something of another project or incident.
    """
    words = _Words(_written(root_cause), _written(what_was_done), minutes)
    with transaction.atomic():
        return _save_outcome(_held(incident, by), words, details, by=by, at=at or timezone.now())


def confirm_fix_worked_again(
    *,
    incident: Incident,
    record: MemoryRecord,
    by: User,
    answers_diagnosis: Diagnosis | None = None,
    at: datetime | None = None,
) -> SavedOutcome:
    """Save that the fix of a remembered resolution worked again: a confirmation without a note, no text is copied.

    Raises:
        Conflict: another outcome was saved meanwhile, or the record was forgotten.
        ValueError: the record is no resolution of this project, or names no fix.
    """
    at = at or timezone.now()
    with transaction.atomic():
        incident = _held(incident, by)
        record = MemoryRecord.objects.select_related("fix").get(pk=record.pk)
        if record.bank_id != own_bank(incident.project).pk or record.kind == Kind.FAILED_ATTEMPT or not record.fix:
            raise ValueError("Only a fix that is remembered in the project itself can be confirmed.")
        if record.wanted_revision is None:
            raise Conflict("That memory was taken away meanwhile. Record the outcome in your own words.")
        details: OutcomeDetails = {
            "fix": record.fix,
            "followed": Followed.RECORD,
            "followed_record": record,
            "answers_diagnosis": answers_diagnosis,
        }
        words = _Words("", "", suggested_minutes(incident), is_confirmation=True)
        return _save_outcome(incident, words, details, by=by, at=at)


def write_down_later(*, incident: Incident, by: User) -> Changed:
    """Resolve as fixed, retain nothing, and put the incident on the *To write down* list.

    Raises:
        Conflict: it was resolved in another way meanwhile.
    """
    with transaction.atomic():
        incident = _held(incident, by)
        if incident.status == Incident.Status.RESOLVED:
            if incident.write_down_later:
                return Changed(incident, already_saved=True)
            raise Conflict(f"{incident.resolved_by} resolved {incident.ref} first.")
        _resolve(incident, by=by, at=timezone.now(), write_down_later=True)
        audit.record(
            "incident.resolve", by=by, on=incident, team=incident.project.team, after={"written_down": "later"}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.RESOLVED, by=by, how="to be written down later")
    return Changed(incident)


def correct_outcome(
    *,
    outcome: Outcome,
    by: User,
    root_cause: str = "",
    what_was_done: str = "",
    minutes: int,
    **details: Unpack[OutcomeDetails],
) -> SavedOutcome:
    """Replace an outcome by what is right; its memory becomes the next revision of the same document.

    Raises:
        PermissionDenied: it is another's, and the person is no team admin.
        Conflict: it was corrected meanwhile.
        ValueError: the details name something of another project or incident.
    """
    with transaction.atomic():
        incident = _held(outcome.incident, by)
        old = _standing(Outcome.objects.select_related("fix", "verified_by"), outcome)
        _require_author(by, old.verified_by_id, incident)
        words = _Words(_written(root_cause), _written(what_was_done), minutes)
        words = _Words(words.root_cause, words.what_was_done, minutes, old.is_confirmation and not _says_more(words))
        if not details.get("fix") and not details.get("new_fix_title"):
            details["fix"] = old.fix
        if words.same_as(old) and words.minutes == old.minutes and _is_same_act(old, details):
            return SavedOutcome(old, _record_of(Kind.VERIFIED_RESOLUTION, outcome=old), already_saved=True)
        new = Outcome(
            incident=incident,
            fix=fixes.choose(project=incident.project, named=details, by=by),
            root_cause=words.root_cause,
            what_was_done=words.what_was_done,
            minutes=words.minutes,
            is_confirmation=words.is_confirmation,
            verified_by=old.verified_by,
            verified_at=old.verified_at,
            held=old.held,
            corrected_by=by,
            **_following(incident, details, old),
        )
        _supersede(old, new)
        record = _remember_outcome(new, by=by, replaces=old)
        audit.record(
            "outcome.correct", by=by, on=new, team=incident.project.team, before={"outcome": str(old.public_id)}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.CORRECTED, by=by, what="the outcome")
        return SavedOutcome(new, record)


def record_attempt(
    *,
    incident: Incident,
    by: User,
    what_happened: str = "",
    at: datetime | None = None,
    **details: Unpack[AttemptDetails],
) -> SavedAttempt:
    """Save a fix that was tried and failed. ``at`` is when it was tried.

    Raises:
        Conflict: the incident was merged into another.
        ValueError: the details name nothing, or something of another project or incident.
    """
    tried_at = at or timezone.now()
    what_happened = _written(what_happened)
    with transaction.atomic():
        incident = _held(incident, by)
        twin = _same_attempt(incident, what_happened, details, tried_at)
        if twin:
            return SavedAttempt(twin, _record_of(Kind.FAILED_ATTEMPT, attempt=twin), already_saved=True)
        attempt = Attempt.objects.create(
            incident=incident,
            fix=fixes.choose(project=incident.project, named=details, by=by),
            what_happened=what_happened,
            tried_by=by,
            tried_at=tried_at,
            **_following(incident, details),
        )
        record = _remember_attempt(attempt, by=by)
        after = {"fix": str(attempt.fix.public_id), "followed": attempt.followed}
        audit.record("attempt.record", by=by, on=attempt, team=incident.project.team, after=after)
        timeline.add(
            incident=incident, kind=IncidentEvent.Kind.ATTEMPTED, by=by, at=tried_at, fix=attempt.fix.title[:80]
        )
        return SavedAttempt(attempt, record)


def correct_attempt(
    *, attempt: Attempt, by: User, what_happened: str = "", **details: Unpack[AttemptDetails]
) -> SavedAttempt:
    """Replace an attempt by what is right; its memory becomes the next revision of the same document.

    Raises:
        PermissionDenied: it is another's, and the person is no team admin.
        Conflict: it was corrected meanwhile.
        ValueError: the details name something of another project or incident.
    """
    what_happened = _written(what_happened)
    with transaction.atomic():
        incident = _held(attempt.incident, by)
        old = _standing(Attempt.objects.select_related("fix", "tried_by"), attempt)
        _require_author(by, old.tried_by_id, incident)
        if not details.get("fix") and not details.get("new_fix_title"):
            details["fix"] = old.fix
        if records.normal(what_happened) == records.normal(old.what_happened) and _is_same_act(old, details):
            return SavedAttempt(old, _record_of(Kind.FAILED_ATTEMPT, attempt=old), already_saved=True)
        new = Attempt.objects.create(
            incident=incident,
            fix=fixes.choose(project=incident.project, named=details, by=by),
            what_happened=what_happened,
            tried_by=old.tried_by,
            tried_at=old.tried_at,
            corrected_by=by,
            **_following(incident, details, old),
        )
        Attempt.objects.filter(pk=old.pk).update(superseded_by=new)
        record = _remember_attempt(new, by=by, replaces=old)
        audit.record(
            "attempt.correct", by=by, on=new, team=incident.project.team, before={"attempt": str(old.public_id)}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.CORRECTED, by=by, what="a failed attempt")
        return SavedAttempt(new, record)


def rate(*, diagnosis: Diagnosis, helpful: bool, by: User, note: str = "") -> SavedFeedback:
    """Save a person's rating of an answer, or change the one that they gave; the change reaches the bank.

    Raises:
        Conflict: the answer is not finished.
    """
    note = _written(note)
    with transaction.atomic():
        incident = _held(diagnosis.investigation.incident, by)
        diagnosis = Diagnosis.objects.select_related("investigation").get(pk=diagnosis.pk)
        diagnosis.investigation.incident = incident
        if diagnosis.state not in Diagnosis.ENDED:
            raise Conflict("The answer is not finished yet. Rate it when it is.")
        feedback = Feedback.objects.filter(diagnosis=diagnosis, user=by).first()
        if feedback and (feedback.helpful, feedback.note) == (helpful, note):
            return SavedFeedback(feedback, _record_of(Kind.FEEDBACK, feedback=feedback), already_saved=True)
        before = {"helpful": feedback.helpful} if feedback else {}
        feedback = feedback or Feedback(diagnosis=diagnosis, user=by)
        feedback.diagnosis = diagnosis
        feedback.helpful, feedback.note = helpful, note
        feedback.save()
        record = records.remember(
            bank=own_bank(incident.project),
            kind=Kind.FEEDBACK,
            incident=incident,
            content=[str(diagnosis.public_id), str(by.public_id)],
            parts=records.rating(feedback, _sighting(incident)),
            by=by,
            occurred_at=feedback.created_at,
            feedback=feedback,
        )
        publish(SYNC_TASK, record_id=record.pk)
        audit.record(
            "feedback.rate",
            by=by,
            on=feedback,
            team=incident.project.team,
            before=before,
            after={"helpful": helpful, "diagnosis": str(diagnosis.public_id)},
        )
        word = "helpful" if helpful else "not helpful"
        answer = f"{diagnosis.get_kind_display().lower()}: {word}"
        timeline.add(incident=incident, kind=IncidentEvent.Kind.RATED, by=by, answer=answer)
        return SavedFeedback(feedback, record)


def reopen(*, incident: Incident, by: User, held: bool | None) -> Changed:
    """Open a resolved incident again, and say whether its fix held; None where that is not known.

    A fix that did not hold counts as failed, and its memory says so.

    Raises:
        Conflict: the same alert has another open incident by now, or this one was merged.
    """
    with transaction.atomic():
        incident = _held(incident, by)
        if incident.status != Incident.Status.RESOLVED:
            return Changed(incident, already_saved=True)
        incident.status = Incident.Status.OPEN
        incident.close_reason, incident.duplicate_of, incident.write_down_later = "", None, False
        incident.resolved_at, incident.resolved_by = None, None
        incident.acknowledged_at, incident.acknowledged_by = None, None
        try:
            with transaction.atomic():
                incident.save(
                    update_fields=[
                        "status",
                        "close_reason",
                        "duplicate_of",
                        "write_down_later",
                        "resolved_at",
                        "resolved_by",
                        "acknowledged_at",
                        "acknowledged_by",
                    ]
                )
        except IntegrityError:
            other = Incident.objects.active().filter(project=incident.project, fingerprint=incident.fingerprint).first()
            name = other.ref if other else "Another incident"
            raise Conflict(f"{name} is open for the same alert. Work on that one.") from None
        outcome = _current(incident)
        if outcome and held is not None and outcome.held != held:
            Outcome.objects.filter(pk=outcome.pk).update(held=held)
            outcome.held, outcome.incident = held, incident
            _remember_outcome(outcome, by=by, replaces=outcome)
        word = {True: "held", False: "did not hold", None: "not known"}[held]
        audit.record("incident.reopen", by=by, on=incident, team=incident.project.team, after={"fix": word})
        said: dict[str, Any] = {"fix": f"the fix {word}"} if outcome and held is not None else {}
        timeline.add(incident=incident, kind=IncidentEvent.Kind.REOPENED, by=by, **said)
    return Changed(incident)


def _held(incident: Incident, by: User) -> Incident:
    """Return the incident as it is now, its row held until the transaction ends, once the person may work it.

    The gate is asked here too, and not only where a page fetches: what these acts write goes into the private bank.
    SQLite ignores the row lock; there ``BEGIN IMMEDIATE`` has locked the whole database already.
    """
    held = (
        Incident.objects.select_for_update(of=("self",))
        .select_related("project__team", "service", "resolved_by")
        .get(pk=incident.pk)
    )
    access.require(by, Permission.INCIDENT_WORK, held)
    if held.merged_into_id:
        raise Conflict(f"{held.ref} was merged into another incident. Work on that one.")
    return held


def _current(incident: Incident) -> Outcome | None:
    """Return the outcome that stands; one that did not hold stands no more."""
    return (
        Outcome.objects.filter(incident=incident, superseded_by=None)
        .exclude(held=False)
        .select_related("fix", "verified_by")
        .first()
    )


def _save_outcome(
    incident: Incident, words: _Words, details: OutcomeDetails, *, by: User, at: datetime
) -> SavedOutcome:
    current = _current(incident)
    was_resolved = incident.status == Incident.Status.RESOLVED
    if current and was_resolved:
        if words.same_as(current) and fixes.is_same(current.fix, details):
            return SavedOutcome(current, _record_of(Kind.VERIFIED_RESOLUTION, outcome=current), already_saved=True)
        raise Conflict(f"{current.verified_by} recorded another outcome first: {current.fix.title}.")
    outcome = Outcome(
        incident=incident,
        fix=fixes.choose(project=incident.project, named=details, by=by),
        root_cause=words.root_cause,
        what_was_done=words.what_was_done,
        minutes=words.minutes,
        is_confirmation=words.is_confirmation,
        verified_by=by,
        verified_at=at,
        **_following(incident, details),
    )
    if current:
        _supersede(current, outcome)
    else:
        outcome.save()
    _resolve(incident, by=by, at=at)
    record = _remember_outcome(outcome, by=by, replaces=current)
    audit.record(
        "outcome.confirm" if words.is_confirmation else "outcome.record",
        by=by,
        on=outcome,
        team=incident.project.team,
        after={"fix": str(outcome.fix.public_id), "followed": outcome.followed, "minutes": outcome.minutes},
    )
    kind = IncidentEvent.Kind.RECORDED if was_resolved else IncidentEvent.Kind.RESOLVED
    timeline.add(
        incident=incident, kind=kind, by=by, at=at, fix=outcome.fix.title[:80], minutes=f"{outcome.minutes} min"
    )
    return SavedOutcome(outcome, record)


def _resolve(incident: Incident, *, by: User, at: datetime, write_down_later: bool = False) -> None:
    """Close as fixed; an incident that was resolved before keeps when and by whom."""
    if incident.status != Incident.Status.RESOLVED:
        incident.status = Incident.Status.RESOLVED
        incident.resolved_at, incident.resolved_by = at, by
    incident.close_reason = Incident.CloseReason.FIXED
    incident.duplicate_of = None
    incident.write_down_later = write_down_later
    incident.save(
        update_fields=["status", "resolved_at", "resolved_by", "close_reason", "duplicate_of", "write_down_later"]
    )


def _supersede(old: Outcome, new: Outcome) -> None:
    """Put the new outcome in the place of the old one, of which there is only one."""
    # The old row must leave the place before the new one has an id to point to: for a moment it points to itself.
    Outcome.objects.filter(pk=old.pk).update(superseded_by=old)
    new.save()
    Outcome.objects.filter(pk=old.pk).update(superseded_by=new)


def _standing(rows: Any, act: ActT) -> ActT:
    found: ActT = rows.get(pk=act.pk)
    if found.superseded_by_id:
        raise Conflict("It was corrected meanwhile. Look at it again first.")
    return found


def _require_author(by: User, author_id: int, incident: Incident) -> None:
    """The author may correct their own; others' need a team admin."""
    if by.pk != author_id:
        access.require(by, Permission.MEMORY_MANAGE, incident)


def _says_more(words: _Words) -> bool:
    return bool(words.root_cause or words.what_was_done)


def _is_same_act(old: Outcome | Attempt, details: OutcomeDetails | AttemptDetails) -> bool:
    """Return whether the correction names the same fix, as it is, and the same thing that was followed."""
    fix = old.fix
    same_fix = fixes.is_same(fix, details) and not fixes.changes(fix, details)
    followed = details.get("followed", old.followed) == old.followed
    record = details.get("followed_record", old.followed_record)
    return same_fix and followed and (record.pk if record else None) == old.followed_record_id


def _same_attempt(
    incident: Incident, what_happened: str, details: AttemptDetails, tried_at: datetime
) -> Attempt | None:
    near = incident.attempts.filter(
        superseded_by=None,
        tried_at__gt=tried_at - SAME_ATTEMPT_WITHIN,
        tried_at__lt=tried_at + SAME_ATTEMPT_WITHIN,
    ).select_related("fix")
    words = records.normal(what_happened)
    return next((a for a in near if records.normal(a.what_happened) == words and fixes.is_same(a.fix, details)), None)


def _following(incident: Incident, details: Following, old: Act | None = None) -> dict[str, Any]:
    """Return what was followed as columns, or as the old act had it.

    Raises:
        ValueError: a record of a bank or an answer of an incident that has nothing to do with this one.
    """
    if old and "followed" not in details:
        followed = {
            name: getattr(old, name)
            for name in ("followed", "followed_record", "followed_diagnosis", "followed_action")
        }
    else:
        followed = {
            "followed": Followed(details.get("followed") or Followed.SOMETHING_ELSE),
            "followed_record": details.get("followed_record"),
            "followed_diagnosis": details.get("followed_diagnosis"),
            "followed_action": details.get("followed_action"),
        }
    answers = details.get("answers_diagnosis") or (old.answers_diagnosis if old else None)
    for diagnosis in (followed["followed_diagnosis"], answers):
        if diagnosis and diagnosis.investigation.incident_id != incident.pk:
            raise ValueError("An act follows and answers a diagnosis of its own incident.")
    return {**followed, "answers_diagnosis": answers}


def _remember_outcome(outcome: Outcome, *, by: User, replaces: Outcome | None = None) -> MemoryRecord:
    incidents.extend_search(outcome.incident, f"{outcome.fix.title}\n{outcome.root_cause}\n{outcome.what_was_done}")
    parts = records.resolution(outcome, _sighting(outcome.incident))
    known = _record_of(Kind.VERIFIED_RESOLUTION, outcome=replaces) if replaces else None
    if known:
        records.revise(known, parts, by=by, outcome=outcome, fix=outcome.fix)
    else:
        known = records.remember(
            bank=own_bank(outcome.incident.project),
            kind=Kind.VERIFIED_RESOLUTION,
            incident=outcome.incident,
            content=[outcome.root_cause, outcome.what_was_done, outcome.fix.title],
            parts=parts,
            by=by,
            occurred_at=outcome.incident.started_at,
            outcome=outcome,
            fix=outcome.fix,
        )
    publish(SYNC_TASK, record_id=known.pk)
    return known


def _remember_attempt(attempt: Attempt, *, by: User, replaces: Attempt | None = None) -> MemoryRecord:
    incidents.extend_search(attempt.incident, f"{attempt.fix.title}\n{attempt.what_happened}")
    parts = records.failed_attempt(attempt, _sighting(attempt.incident))
    known = _record_of(Kind.FAILED_ATTEMPT, attempt=replaces) if replaces else None
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


def _record_of(kind: Kind, **act: Any) -> MemoryRecord | None:
    return MemoryRecord.objects.filter(kind=kind, **act).first()


def _sighting(incident: Incident) -> records.Sighting:
    facts = incidents.facts(incident)
    return records.Sighting(
        title=incident.title,
        text=incidents.alert_text(incident),
        service=facts.service or "",
        environment=facts.environment or "",
    )


def _written(text: str) -> str:
    """Return a person's words as they are kept: without credentials, which people paste with their logs."""
    return redact(clean(text)).strip()
