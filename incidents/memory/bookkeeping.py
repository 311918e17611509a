"""Compares a bank with our rows, which are the truth, and makes it again from them.

A bank may differ: a server was put back from a backup, lost what it had accepted, or was changed by hand.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from incidents.memory.sync import TO_SEND, UNFINISHED, sync
from incidents.models import MemoryRecord
from oncall.clients.memory import Memory
from teams.models import Bank

State = MemoryRecord.State


@dataclass(frozen=True)
class Differences:
    """Where a bank is not what our rows want. ``missing`` and ``outdated`` are records' ids, ``foreign`` documents'."""

    missing: list[int] = field(default_factory=list)
    outdated: list[int] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.missing or self.outdated or self.foreign)


@dataclass(frozen=True)
class Status:
    """How far the records of a bank are. ``oldest`` is since when the longest waiting one waits."""

    states: dict[str, int]
    oldest: datetime | None

    @property
    def waiting(self) -> int:
        """How many have still to be sent, confirmed or forgotten."""
        return sum(self.states.get(state, 0) for state in UNFINISHED)


def status(bank: Bank) -> Status:
    """Return how far the bank's records are, by our rows alone."""
    rows = MemoryRecord.objects.filter(bank=bank)
    waiting = rows.filter(state__in=UNFINISHED).order_by("queued_at").values_list("queued_at", flat=True)
    return Status(dict(Counter(rows.values_list("state", flat=True))), waiting.first())


def differences(bank: Bank, memory: Memory) -> Differences:
    """Return where the bank differs from what our rows say that it holds. What is still on its way does not count.

    Raises:
        MemoryFailure: the memory did not answer.
    """
    held = {item.document_id: item.metadata.get("revision") for item in memory.documents(bank.bank_id)}
    found = Differences()
    for record in _wanted(bank).iterator():
        revision = held.pop(str(record.document_id), None)
        if record.state != State.RECALLABLE:
            continue
        if revision is None:
            found.missing.append(record.pk)
        elif revision != str(record.wanted_revision):
            found.outdated.append(record.pk)
    on_their_way = MemoryRecord.objects.filter(bank=bank, state=State.FORGETTING).values_list("document_id", flat=True)
    found.foreign.extend(sorted(held.keys() - {str(document_id) for document_id in on_their_way}))
    return found


def rebuild(bank: Bank, memory: Memory, progress: Callable[[int, int], None]) -> Differences:
    """Bring the bank to what our rows want, and return what differed before.

    Stopped halfway and started again it goes on; where nothing differs it changes nothing. What nobody wants any more
    is removed. ``progress`` is told how many of how many are done.

    Raises:
        MemoryFailure: the memory did not answer.
    """
    memory.ensure_bank(bank.bank_id)
    found = differences(bank, memory)
    for document_id in found.foreign:
        memory.forget(bank.bank_id, document_id)
    MemoryRecord.objects.filter(pk__in=found.missing + found.outdated, state=State.RECALLABLE).update(
        state=State.QUEUED, confirmed_revision=None, queued_at=timezone.now(), next_try_at=None, problem=""
    )
    to_do = list(_wanted(bank).filter(state__in=TO_SEND).values_list("pk", flat=True))
    for done, pk in enumerate(to_do, start=1):
        sync(pk, memory)
        progress(done, len(to_do))
    return found


def _wanted(bank: Bank) -> QuerySet[MemoryRecord]:
    return MemoryRecord.objects.filter(bank=bank, wanted_revision__isnull=False).exclude(state=State.QUARANTINED)
