"""What people verify: what fixed an incident, whether it held.

Each act is one transaction: its row, the incident, the memory record, the audit and the timeline. The record is sent
to the bank after the commit. What acts share, such as who may do them and how two at once are told apart, is in
``acts``.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Unpack

from django.db import IntegrityError, transaction
from django.utils import timezone

from incidents.memory import records
from incidents.memory.banks import own_bank
from incidents.models import Diagnosis, Incident, IncidentEvent, MemoryRecord, Outcome
from incidents.models.fix import Followed
from incidents.services import acts, fixes, incidents, timeline
from incidents.services.incidents import Conflict
from incidents.services.memory import SYNC_TASK
from oncall.clients.queue import publish
from teams import audit
from teams.models import User

Kind = MemoryRecord.Kind

MINUTES_AT_MOST = 60 * 24 * 90


@dataclass(frozen=True)
class SavedOutcome:
    """An outcome and its memory record. ``already_saved``: the same act stood there already, nothing was written."""

    outcome: Outcome
    record: MemoryRecord | None
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
    **details: Unpack[acts.Details],
) -> SavedOutcome:
    """Save what fixed it and resolve the incident, or write down later what fixed a resolved one.

    ``at`` is when it was verified. Empty words stay "confirmed without a note".

    Raises:
        Conflict: another outcome was saved meanwhile, or the incident was merged into another.
        ValueError: the details name nothing, or something of another project or incident.
    """
    words = _Words(acts.written(root_cause), acts.written(what_was_done), minutes)
    with transaction.atomic():
        return _save_outcome(acts.hold(incident, by), words, details, by=by, at=at or timezone.now())


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
        incident = acts.hold(incident, by)
        record = MemoryRecord.objects.select_related("fix").get(pk=record.pk)
        if record.bank_id != own_bank(incident.project).pk or record.kind == Kind.FAILED_ATTEMPT or not record.fix:
            raise ValueError("Only a fix that is remembered in the project itself can be confirmed.")
        if record.wanted_revision is None:
            raise Conflict("That memory was taken away meanwhile. Record the outcome in your own words.")
        details: acts.Details = {
            "fix": record.fix,
            "followed": Followed.RECORD,
            "followed_record": record,
            "answers_diagnosis": answers_diagnosis,
        }
        words = _Words("", "", suggested_minutes(incident), is_confirmation=True)
        return _save_outcome(incident, words, details, by=by, at=at)


def write_down_later(*, incident: Incident, by: User) -> acts.Changed:
    """Resolve as fixed, retain nothing, and put the incident on the *To write down* list.

    Raises:
        Conflict: it was resolved in another way meanwhile.
    """
    with transaction.atomic():
        incident = acts.hold(incident, by)
        if incident.status == Incident.Status.RESOLVED:
            if incident.write_down_later:
                return acts.Changed(incident, already_saved=True)
            raise Conflict(f"{incident.resolved_by} resolved {incident.ref} first.")
        _resolve(incident, by=by, at=timezone.now(), write_down_later=True)
        audit.record(
            "incident.resolve", by=by, on=incident, team=incident.project.team, after={"written_down": "later"}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.RESOLVED, by=by, how="to be written down later")
    return acts.Changed(incident)


def correct_outcome(
    *,
    outcome: Outcome,
    by: User,
    root_cause: str = "",
    what_was_done: str = "",
    minutes: int,
    **details: Unpack[acts.Details],
) -> SavedOutcome:
    """Replace an outcome by what is right; its memory becomes the next revision of the same document.

    Raises:
        PermissionDenied: it is another's, and the person is no team admin.
        Conflict: it was corrected meanwhile.
        ValueError: the details name something of another project or incident.
    """
    with transaction.atomic():
        incident = acts.hold(outcome.incident, by)
        old = acts.standing(Outcome.objects.select_related("fix", "verified_by"), outcome)
        acts.require_author(by, old.verified_by_id, incident)
        words = _Words(acts.written(root_cause), acts.written(what_was_done), minutes)
        words = _Words(words.root_cause, words.what_was_done, minutes, old.is_confirmation and not _says_more(words))
        if not details.get("fix") and not details.get("new_fix_title"):
            details["fix"] = old.fix
        if words.same_as(old) and words.minutes == old.minutes and acts.is_same_act(old, details):
            return SavedOutcome(old, acts.record_of(Kind.VERIFIED_RESOLUTION, outcome=old), already_saved=True)
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
            **acts.following(incident, details, old),
        )
        _supersede(old, new)
        record = _remember_outcome(new, by=by, replaces=old)
        audit.record(
            "outcome.correct", by=by, on=new, team=incident.project.team, before={"outcome": str(old.public_id)}
        )
        timeline.add(incident=incident, kind=IncidentEvent.Kind.CORRECTED, by=by, what="the outcome")
        return SavedOutcome(new, record)


def reopen(*, incident: Incident, by: User, held: bool | None) -> acts.Changed:
    """Open a resolved incident again, and say whether its fix held; None where that is not known.

    A fix that did not hold counts as failed, and its memory says so.

    Raises:
        Conflict: the same alert has another open incident by now, or this one was merged.
    """
    with transaction.atomic():
        incident = acts.hold(incident, by)
        if incident.status != Incident.Status.RESOLVED:
            return acts.Changed(incident, already_saved=True)
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
        if outcome:
            Outcome.objects.filter(pk=outcome.pk).update(ended_at=timezone.now(), held=held)
        if outcome and held is not None and outcome.held != held:
            outcome.held, outcome.incident = held, incident
            _remember_outcome(outcome, by=by, replaces=outcome)
        word = {True: "held", False: "did not hold", None: "not known"}[held]
        audit.record("incident.reopen", by=by, on=incident, team=incident.project.team, after={"fix": word})
        said: dict[str, Any] = {"fix": f"the fix {word}"} if outcome and held is not None else {}
        timeline.add(incident=incident, kind=IncidentEvent.Kind.REOPENED, by=by, **said)
    return acts.Changed(incident)


def _current(incident: Incident) -> Outcome | None:
    """Return the outcome that stands; a reopening ends it."""
    standing = Outcome.objects.filter(incident=incident, superseded_by=None, ended_at=None)
    return standing.select_related("fix", "verified_by").first()


def _save_outcome(incident: Incident, words: _Words, details: acts.Details, *, by: User, at: datetime) -> SavedOutcome:
    current = _current(incident)
    was_resolved = incident.status == Incident.Status.RESOLVED
    if current and was_resolved:
        if words.same_as(current) and fixes.is_same(current.fix, details):
            return SavedOutcome(current, acts.record_of(Kind.VERIFIED_RESOLUTION, outcome=current), already_saved=True)
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
        **acts.following(incident, details),
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


def _says_more(words: _Words) -> bool:
    return bool(words.root_cause or words.what_was_done)


def _remember_outcome(outcome: Outcome, *, by: User, replaces: Outcome | None = None) -> MemoryRecord:
    incidents.extend_search(outcome.incident, f"{outcome.fix.title}\n{outcome.root_cause}\n{outcome.what_was_done}")
    parts = records.resolution(outcome, acts.sighting(outcome.incident))
    known = acts.record_of(Kind.VERIFIED_RESOLUTION, outcome=replaces) if replaces else None
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
