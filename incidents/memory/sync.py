"""Brings a bank to what a record's row wants. The row is the outbox: at least once, and harmless when it is twice.

``queued → retained → recallable``, or ``forgetting → forgotten``. Recallable means that this very revision was
recalled. A memory that is unavailable leaves the record where it is and is tried again for ever; a refusal makes it
``failed``, with the reason, and is tried again slowly, because somebody may mend the server or its key.
"""

import logging
import time
import uuid
from datetime import timedelta
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone

from incidents.memory import readings
from incidents.models import MemoryRecord, MemoryRecordRevision
from oncall.clients.memory import Document, Memory, MemoryRefused, MemoryUnavailable
from teams.models import Bank

logger = logging.getLogger(__name__)

State = MemoryRecord.State
TO_SEND = (State.QUEUED, State.RETAINED, State.FAILED)
UNFINISHED = (*TO_SEND, State.FORGETTING)

# Pauses between questions whether it is recallable yet: two seconds, then the worker is free for others.
POLL_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.65)
# A retained document that is not recallable after this long is sent again: a server may lose what it accepted.
SEND_AGAIN_AFTER = timedelta(seconds=60)
RETRY_AT_MOST_SECONDS = 60
RETRY_REFUSED_AFTER = timedelta(minutes=5)
# A message that no worker has taken up by then is taken for lost.
LOST_AFTER = timedelta(seconds=10)
# The attempts' column is small, and the wait between them stops growing long before.
ATTEMPTS_COUNTED = 30
QUERY_CHARACTERS = 200


def due() -> QuerySet[MemoryRecord]:
    """Return records that nobody works on and that should be tried now."""
    now = timezone.now()
    return (
        MemoryRecord.objects.unleased()
        .filter(state__in=UNFINISHED)
        .filter(Q(next_try_at__lte=now) | Q(next_try_at=None, queued_at__lte=now - LOST_AFTER))
        .order_by("next_try_at", "pk")
    )


def sync(record_id: int, memory: Memory | None) -> None:
    """Work on the record until its bank holds what it wants, or until there is a reason to wait.

    Does nothing when another worker holds it or nothing is to be done. Never call it inside a transaction: it talks to
    the memory server.
    """
    token = MemoryRecord.objects.claim(record_id, state__in=UNFINISHED)
    if token is None:
        return
    work = _Work(record_id, token)
    try:
        if memory is None:
            raise MemoryUnavailable("Memory is switched off on this server.")
        while work.step(memory) and MemoryRecord.objects.renew(record_id, token):
            pass
    except MemoryUnavailable as error:
        work.put_off(str(error))
    except MemoryRefused as error:
        work.fail(str(error))
    except Exception as error:
        # Without this a record that breaks the worker would be tried for ever, and nobody would see why.
        logger.exception("Record %s could not be synchronised.", record_id)
        work.fail(f"An unexpected error stopped it ({type(error).__name__}).")


class _Work:
    """One lease on one record. Each write names the lease, and the revision that it speaks of."""

    def __init__(self, record_id: int, token: uuid.UUID) -> None:
        self.record_id = record_id
        self.token = token

    def step(self, memory: Memory) -> bool:
        """Read the row again and do the next thing; return whether there may be more to do."""
        record = MemoryRecord.objects.select_related("bank", "incident__project").get(pk=self.record_id)
        if record.lease_token != self.token:
            return False
        if record.state == State.FORGETTING:
            memory.forget(record.bank.bank_id, str(record.document_id))
            return not self._release(state=State.FORGETTING, to=State.FORGOTTEN, confirmed_revision=None)
        if record.state not in TO_SEND or record.wanted_revision is None:
            MemoryRecord.objects.release(self.record_id, self.token)
            return False
        revision = MemoryRecordRevision.objects.get(record=record, number=record.wanted_revision)
        if not self._waits_for_recall(record) and not self._send(record, revision, memory):
            return True
        return self._confirm(record, revision, memory)

    @staticmethod
    def _waits_for_recall(record: MemoryRecord) -> bool:
        return (
            record.state == State.RETAINED
            and record.retained_at is not None
            and record.retained_at > timezone.now() - SEND_AGAIN_AFTER
        )

    def _send(self, record: MemoryRecord, revision: MemoryRecordRevision, memory: Memory) -> bool:
        """Retain the revision; return False when the row wanted something else by then."""
        bank_id = record.bank.bank_id
        memory.ensure_bank(bank_id)
        Bank.objects.filter(pk=record.bank_id, ensured_at=None).update(ensured_at=timezone.now())
        readings.keep_readings([revision])
        memory.retain(bank_id, document(record, revision))
        held = MemoryRecord.objects.held(self.record_id, self.token)
        still_wanted = held.filter(wanted_revision=revision.number, state__in=TO_SEND).update(
            state=State.RETAINED, retained_at=timezone.now(), problem="", next_try_at=None
        )
        # Forgotten while it was on its way, perhaps by now under another worker's lease: it must not come back.
        if not MemoryRecord.objects.filter(pk=record.pk, wanted_revision__isnull=False).exists():
            memory.forget(bank_id, str(record.document_id))
        return still_wanted == 1

    def _confirm(self, record: MemoryRecord, revision: MemoryRecordRevision, memory: Memory) -> bool:
        """Ask until this revision is recallable, for a short time; return whether the row changed meanwhile."""
        for pause in (0.0, *POLL_PAUSES):
            time.sleep(pause)
            if is_recallable(record, revision, memory):
                now = timezone.now()
                return not self._release(
                    state=State.RETAINED,
                    to=State.RECALLABLE,
                    revision=revision.number,
                    confirmed_revision=revision.number,
                    recallable_at=now,
                    recallable_after=max((now - record.queued_at).total_seconds(), 0.0),
                )
        return not self._release(
            state=State.RETAINED,
            to=State.RETAINED,
            revision=revision.number,
            next_try_at=_next_try(record),
            attempts=min(record.attempts, ATTEMPTS_COUNTED),
        )

    def put_off(self, problem: str) -> None:
        """Let go and try again later, more and more rarely: the record stays what it is."""
        record = MemoryRecord.objects.get(pk=self.record_id)
        MemoryRecord.objects.release(
            self.record_id,
            self.token,
            problem=problem[:200],
            next_try_at=_next_try(record),
            attempts=min(record.attempts, ATTEMPTS_COUNTED),
        )

    def fail(self, problem: str) -> None:
        """Let go with the reason. What must be forgotten keeps saying so until it is."""
        record = MemoryRecord.objects.get(pk=self.record_id)
        MemoryRecord.objects.release(
            self.record_id,
            self.token,
            problem=problem[:200],
            next_try_at=timezone.now() + RETRY_REFUSED_AFTER,
            attempts=min(record.attempts, ATTEMPTS_COUNTED),
            # Decided by the row as it is then: it may have been forgotten since it was read.
            state=Case(When(wanted_revision=None, then=F("state")), default=Value(State.FAILED)),
        )

    def _release(self, *, state: State, to: State, revision: int | None = None, **values: Any) -> bool:
        """Write the last values and let go, unless the row was changed meanwhile: then return False, still holding."""
        held = MemoryRecord.objects.held(self.record_id, self.token).filter(state=state, wanted_revision=revision)
        last = {"problem": "", "next_try_at": None, "attempts": 0} | values
        return held.update(state=to, lease_token=None, lease_until=None, **last) == 1


def is_recallable(record: MemoryRecord, revision: MemoryRecordRevision, memory: Memory) -> bool:
    """Return whether the bank recalls this revision, asked by the document's own tag.

    A search by its words would not do: a document that ranks below recall's cut never shows up in one.
    """
    own_id = str(record.document_id)
    query = revision.text[:QUERY_CHARACTERS]
    recalled = memory.recall(record.bank.bank_id, query, tags=[f"id:{own_id}"], limit=3)
    return any(
        item.document_id == own_id and item.metadata.get("revision") == str(revision.number) for item in recalled
    )


def document(record: MemoryRecord, revision: MemoryRecordRevision) -> Document:
    """Return the record as the memory takes it. Metadata holds nothing about persons."""
    tags = [f"id:{record.document_id}", f"kind:{record.kind}"]
    if revision.service:
        tags.append(f"service:{revision.service.lower()}")
    metadata = {"revision": str(revision.number), "kind": record.kind}
    if record.incident:
        metadata["incident"] = record.incident.ref
    return Document(
        document_id=str(record.document_id),
        text=revision.text,
        tags=tuple(tags),
        metadata=metadata,
        occurred_at=record.occurred_at,
    )


def _next_try(record: MemoryRecord) -> Any:
    seconds = min(2 ** min(record.attempts, 10), RETRY_AT_MOST_SECONDS)
    return timezone.now() + timedelta(seconds=seconds)
