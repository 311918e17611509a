"""Composes what is remembered from a person's act, and writes its row in the transaction of that act.

The text is plain language with identifiers in it, and leads with what the engineer said. A model's words stand in it
only as its assessment, labelled so. Credentials are redacted over the whole text and over each of its parts.
"""

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from incidents.models import (
    Attempt,
    Feedback,
    Fix,
    Incident,
    MemoryReading,
    MemoryRecord,
    MemoryRecordRevision,
    Outcome,
)
from incidents.models.record import ALERT_SAID
from incidents.reading.redaction import redact
from incidents.reading.text import clean, cut
from teams.models import Bank, User

Kind = MemoryRecord.Kind
State = MemoryRecord.State

# What the alert said, inside a memory: enough for its error lines, not for a whole log.
SYMPTOM_CHARACTERS = 2000
ASSESSMENT_CHARACTERS = 300


@dataclass(frozen=True)
class Sighting:
    """What an incident looked like: read out of its alerts and *more from the system*, never out of people's notes."""

    title: str
    text: str
    service: str = ""
    environment: str = ""


@dataclass(frozen=True)
class Parts:
    """A memory in its parts, and whole: ``text`` is what is retained, shown and quoted."""

    title: str
    symptom: str
    cause: str
    fix: str
    service: str
    text: str

    @property
    def content_hash(self) -> str:
        """SHA-256 by which two revisions with the same words are known as the same."""
        return hashlib.sha256(json.dumps(astuple(self), ensure_ascii=True).encode()).hexdigest()


def resolution(outcome: Outcome, sighting: Sighting) -> Parts:
    """Return the memory of a verified outcome. Its incident, project, fix and verifier are loaded."""
    incident, fix = outcome.incident, outcome.fix
    minutes = f"{outcome.minutes} {'minute' if outcome.minutes == 1 else 'minutes'}"
    held = f"This fix did not hold: {incident.ref} was reopened." if outcome.held is False else ""
    return _parts(
        sighting,
        title=incident.title,
        cause=outcome.root_cause,
        fix=_sentences(fix.title, outcome.what_was_done),
        lines=[
            f"Root cause: {outcome.root_cause}" if outcome.root_cause else "Confirmed without a note.",
            _sentences(f"{_what_worked(outcome)}: {fix.title}", outcome.what_was_done),
            held,
            f"Command: {fix.command}" if fix.command else "",
            f"Runbook: {_joined(fix.runbook_title, fix.runbook_url)}" if fix.runbook_title or fix.runbook_url else "",
            f"{_where(incident, sighting)} Verified by {outcome.verified_by} on {_moment(outcome.verified_at)}, "
            f"after {minutes}.",
        ],
    )


def failed_attempt(attempt: Attempt, sighting: Sighting) -> Parts:
    """Return the memory of a fix that was tried and failed. Its incident, project, fix and author are loaded."""
    return _parts(
        sighting,
        title=attempt.fix.title,
        cause="",
        fix=_sentences(attempt.fix.title, attempt.what_happened),
        lines=[
            _sentences(f"Tried and failed: {attempt.fix.title}", attempt.what_happened),
            f"{_where(attempt.incident, sighting)} Tried by {attempt.tried_by} on {_moment(attempt.tried_at)}.",
        ],
    )


def rating(feedback: Feedback, sighting: Sighting) -> Parts:
    """Return the memory of a rating. What was rated is the agent's assessment and says so."""
    diagnosis = feedback.diagnosis
    incident = diagnosis.investigation.incident
    word = "Helpful" if feedback.helpful else "Not helpful"
    proposed = next((action["text"] for action in diagnosis.immediate_actions if not action.get("struck")), "")
    assessment = cut(proposed or diagnosis.summary, ASSESSMENT_CHARACTERS)
    return _parts(
        sighting,
        title=f"{word}: the {diagnosis.get_kind_display().lower()} answer of {incident.ref}",
        cause="",
        fix="",
        lines=[
            f"{word}, said {feedback.user} of the {diagnosis.get_kind_display().lower()} answer.",
            f"Note: {feedback.note}" if feedback.note else "",
            f"The agent's assessment, not verified: {assessment}" if assessment else "",
            _where(incident, sighting),
        ],
    )


def written(*, title: str, symptom: str, cause: str, fix: str, service: str = "") -> Parts:
    """Return the memory of an incident that was written down elsewhere, such as a runbook's or an old report's."""
    return _parts(
        Sighting(title=title, text=symptom, service=service),
        title=title,
        cause=cause,
        fix=fix,
        lines=[f"Root cause: {cause}" if cause else "", f"What fixed it: {fix}" if fix else ""],
    )


def _parts(sighting: Sighting, *, title: str, cause: str, fix: str, lines: Iterable[str]) -> Parts:
    symptom = cut(sighting.text.strip(), SYMPTOM_CHARACTERS)
    seen = [] if sighting.title in symptom else [sighting.title]
    said = [ALERT_SAID, *seen, symptom] if symptom or seen else []
    text = "\n".join([*(line for line in lines if line), *said])
    return Parts(
        title=_safe(title)[:200],
        symptom=_safe(symptom),
        cause=_safe(cause),
        fix=_safe(fix),
        service=_safe(sighting.service)[:120],
        text=_safe(text),
    )


def _safe(text: str) -> str:
    return redact(clean(text)).strip()


def _what_worked(outcome: Outcome) -> str:
    return "The same fix worked again" if outcome.is_confirmation else "What fixed it"


def _where(incident: Incident, sighting: Sighting) -> str:
    service = f", service {sighting.service}" if sighting.service else ""
    environment = f", {sighting.environment}" if sighting.environment else ""
    return f"{incident.ref}{service}{environment}, {_moment(incident.started_at)}."


def _moment(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def _sentences(*texts: str) -> str:
    """Return the texts that are not empty, each ended by its own or a full stop."""
    kept = [text.strip() for text in texts if text.strip()]
    return " ".join(text if text[-1] in ".!?:;" else f"{text}." for text in kept)


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def document_id(*, bank: Bank, kind: Kind, incident: Incident, content: Sequence[str]) -> uuid.UUID:
    """Return the id of the document for an act: the same act in the same bank has the same id.

    ``content`` is what makes it this act: its words, without who wrote it and when. Case and white space do not count.
    """
    namespace = uuid.uuid5(uuid.NAMESPACE_OID, bank.bank_id)
    name = json.dumps([kind.value, str(incident.public_id), *map(normal, content)], ensure_ascii=True)
    return uuid.uuid5(namespace, name)


def normal(text: str) -> str:
    """Return a text by which two spellings of one act are the same: Unicode form, case and white space aside."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def remember(
    *,
    bank: Bank,
    kind: Kind,
    incident: Incident,
    content: Sequence[str],
    parts: Parts,
    by: User,
    occurred_at: datetime,
    fix: Fix | None = None,
    outcome: Outcome | None = None,
    attempt: Attempt | None = None,
    feedback: Feedback | None = None,
) -> MemoryRecord:
    """Write the act's record, or the next revision of the one that it already has.

    Call it inside the act's transaction, holding the incident's row, so that no other act on it comes between.
    """
    identity = {"bank": bank, "document_id": document_id(bank=bank, kind=kind, incident=incident, content=content)}
    links = {"fix": fix, "outcome": outcome, "attempt": attempt, "feedback": feedback}
    known = MemoryRecord.objects.filter(**identity).first()
    if known:
        revise(known, parts, by=by, **links)
        return known
    record = MemoryRecord.objects.create(
        **identity,
        **links,
        kind=kind,
        incident=incident,
        occurred_at=occurred_at,
        created_by=by,
        queued_at=timezone.now(),
    )
    _add_revision(record, 1, parts, by)
    return record


def add(*, bank: Bank, kind: Kind, parts: Parts, by: User) -> MemoryRecord:
    """Write a record that belongs to no incident of ours. The same words in the same bank are one document."""
    namespace = uuid.uuid5(uuid.NAMESPACE_OID, bank.bank_id)
    record = MemoryRecord.objects.create(
        bank=bank,
        document_id=uuid.uuid5(namespace, json.dumps([kind.value, parts.content_hash])),
        kind=kind,
        occurred_at=timezone.now(),
        created_by=by,
        queued_at=timezone.now(),
    )
    _add_revision(record, 1, parts, by)
    return record


def revise(record: MemoryRecord, parts: Parts, *, by: User, **links: Any) -> bool:
    """Make the parts the record's next revision, which replaces the document in the bank. Return whether it did.

    The same words again only renew the links to the act. A quarantined record takes the revision and stays out of the
    bank; a forgotten one comes back, because a person wrote it anew.
    """
    MemoryRecord.objects.filter(pk=record.pk).update(**links)
    record.refresh_from_db()
    newest = record.revisions.filter(number=record.latest_revision).values_list("content_hash", flat=True).first()
    wanted = record.state == State.QUARANTINED or record.wanted_revision is not None
    if newest == parts.content_hash and wanted:
        return False
    record.latest_revision += 1
    _add_revision(record, record.latest_revision, parts, by)
    if record.state != State.QUARANTINED:
        record.state = State.QUEUED
        record.wanted_revision = record.latest_revision
        record.queued_at = timezone.now()
        record.next_try_at, record.problem, record.attempts = None, "", 0
        record.forgotten_by, record.forgotten_at = None, None
    record.save(
        update_fields=[
            "latest_revision",
            "state",
            "wanted_revision",
            "queued_at",
            "next_try_at",
            "problem",
            "attempts",
            "forgotten_by",
            "forgotten_at",
        ]
    )
    return True


def _add_revision(record: MemoryRecord, number: int, parts: Parts, by: User) -> None:
    MemoryRecordRevision.objects.create(
        record=record,
        number=number,
        title=parts.title,
        symptom=parts.symptom,
        cause=parts.cause,
        fix=parts.fix,
        service=parts.service,
        text=parts.text,
        content_hash=parts.content_hash,
        created_by=by,
    )


def blank(record: MemoryRecord, *, by: User) -> None:
    """Take the text away and leave the tombstone, which the sync removes from the bank. Inside a transaction."""
    now = timezone.now()
    MemoryReading.objects.filter(revision__record=record).delete()
    record.revisions.update(title="", symptom="", cause="", fix="", service="", text="", content_hash="")
    MemoryRecord.objects.filter(pk=record.pk).update(
        state=State.FORGETTING,
        wanted_revision=None,
        forgotten_by=by,
        forgotten_at=now,
        queued_at=now,
        next_try_at=None,
        problem="",
        attempts=0,
    )
    record.refresh_from_db()
