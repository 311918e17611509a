"""Readings of memories: made once when a record is retained, stored beside its revision, and held by bank in memory."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, QuerySet, Sum

from incidents.memory.landscape import Landscape
from incidents.memory.texts import FORMAT, MemoryText, Reading
from incidents.models import MemoryReading, MemoryRecord, MemoryRecordRevision
from teams.models import Bank

# Landscapes kept in one process; the one unused for longest goes first. 10,000 memories take some 50 MB.
MAX_LANDSCAPES = 64
READ_AT_ONCE = 500


def wanted(bank: Bank) -> QuerySet[MemoryRecord]:
    """Return the records that the bank should hold."""
    return MemoryRecord.objects.filter(bank=bank, wanted_revision__isnull=False).exclude(
        state__in=(MemoryRecord.State.QUARANTINED, MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN)
    )


def revisions_of(records: "QuerySet[MemoryRecord]") -> QuerySet[MemoryRecordRevision]:
    """Return the wanted revision of each record, with all that is compared of it."""
    return MemoryRecordRevision.objects.filter(record__in=records, number=F("record__wanted_revision")).select_related(
        "record__incident__project", "record__fix__merged_into", "record__outcome", "record__bank", "reading"
    )


def memory_text(revision: MemoryRecordRevision) -> MemoryText:
    """Return what is compared of the revision, with its stored reading where there is one."""
    incident, fix = revision.record.incident, revision.record.fix
    stored = getattr(revision, "reading", None)
    return MemoryText(
        title=revision.title,
        symptom=revision.symptom,
        cause=revision.cause,
        service=revision.service,
        fingerprint=incident.fingerprint if incident else "",
        fix_id=(fix.merged_into_id or fix.pk) if fix else None,
        kept=Reading.stored(stored.said, bytes(stored.vectors)) if stored and stored.format == FORMAT else None,
    )


def keep_readings(revisions: Iterable[MemoryRecordRevision]) -> None:
    """Make and store the readings that are missing. Some 50 ms each; not inside a transaction."""
    for revision in revisions:
        text = memory_text(revision)
        if text.kept is None:
            reading = text.reading
            # Made twice by two processes, it is the same.
            MemoryReading.objects.update_or_create(
                revision=revision,
                defaults={"format": FORMAT, "said": reading.said(), "vectors": reading.packed()},
            )
            # Forgotten meanwhile: what was read of it goes too.
            MemoryReading.objects.filter(revision=revision, revision__content_hash="").delete()


@dataclass
class _Held:
    lock: threading.Lock = field(default_factory=threading.Lock)
    landscape: Landscape[int] = field(default_factory=Landscape)
    state: tuple[object, ...] = ()
    revisions: dict[int, int] = field(default_factory=dict)


class _Landscapes:
    """This process's landscapes by bank."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()

    def of(self, bank: Bank) -> _Held:
        with self._lock:
            held = self._held.setdefault(bank.bank_id, _Held())
            self._held.move_to_end(bank.bank_id)
            while len(self._held) > MAX_LANDSCAPES:
                self._held.popitem(last=False)
            return held


_landscapes = _Landscapes()


def _forget_after_fork() -> None:
    global _landscapes
    _landscapes = _Landscapes()  # a lock that another thread held at the fork would never be released


os.register_at_fork(after_in_child=_forget_after_fork)


def landscape_of(bank: Bank) -> Landscape[int]:
    """Return the bank's landscape as its rows are now, by record; its groups are the kinds of records.

    One query as long as nothing changed. Otherwise the new readings are loaded, and made where they are missing.
    """
    held = _landscapes.of(bank)
    with held.lock:
        state = _state(bank)
        if state != held.state:
            _refresh(held, bank)
            held.state = state
        return held.landscape


def _state(bank: Bank) -> tuple[object, ...]:
    """Return what differs as soon as a record came, went, or wants another revision."""
    sums = wanted(bank).aggregate(
        records=Count("pk"), keys=Sum("pk"), revisions=Sum("wanted_revision"), both=Sum(F("pk") * F("wanted_revision"))
    )
    return tuple(sums.values())


def _refresh(held: _Held, bank: Bank) -> None:
    rows = MemoryRecordRevision.objects.filter(record__in=wanted(bank), number=F("record__wanted_revision"))
    now = dict(rows.values_list("record_id", "pk"))
    for record in [record for record, revision in held.revisions.items() if now.get(record) != revision]:
        held.landscape.drop(record)
        del held.revisions[record]
    missing = [revision for record, revision in now.items() if record not in held.revisions]
    for start in range(0, len(missing), READ_AT_ONCE):
        _load(held, missing[start : start + READ_AT_ONCE])


def _load(held: _Held, revisions: Sequence[int]) -> None:
    some = MemoryRecordRevision.objects.filter(pk__in=revisions)
    keep_readings(some.exclude(reading__format=FORMAT).select_related("record__incident", "record__fix"))
    rows = MemoryReading.objects.filter(revision__in=revisions).order_by("revision")
    for row in rows.values_list("revision", "revision__record", "revision__record__kind", "said", "vectors"):
        revision, record, kind, said, vectors = row
        held.landscape.put(record, Reading.stored(said, bytes(vectors)), kind)
        held.revisions[record] = revision
