"""The embedded memory: Hindsight's interface over the application's own database.

Every write counts the bank's generation in its transaction and stamps the row with it. A reader compares the generation
before each recall and loads only newer rows, so that web, workers and commands agree without talking to each other.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import DatabaseError, transaction
from django.db.models import F

from oncall.clients.embedded.models import EmbeddedBank, EmbeddedDocument
from oncall.clients.memory import (
    Document,
    MemoryRefused,
    MemoryUnavailable,
    Recollection,
    Reflection,
    StoredDocument,
    check_bank_id,
    check_document_id,
    searchable,
    storable,
)

if TYPE_CHECKING:
    from oncall.clients.embedded.index import BankIndex

# Indexes kept in one process; the one unused for longest goes first. 10,000 documents take some 25 MB.
MAX_INDEXES = 64


@dataclass
class _Held:
    lock: threading.Lock = field(default_factory=threading.Lock)
    index: "BankIndex | None" = None


class _Indexes:
    """This process's indexes by bank."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, str], _Held] = OrderedDict()

    def of(self, bank: EmbeddedBank) -> _Held:
        with self._lock:
            # Both: a bank made anew has its id again, and a database put back has its number again.
            key = (bank.pk, bank.bank_id)
            held = self._held.setdefault(key, _Held())
            self._held.move_to_end(key)
            while len(self._held) > MAX_INDEXES:
                self._held.popitem(last=False)
            return held


_indexes = _Indexes()


def _forget_after_fork() -> None:
    global _indexes
    _indexes = _Indexes()  # a lock that another thread held at the fork would never be released


os.register_at_fork(after_in_child=_forget_after_fork)


class EmbeddedMemory:
    """A memory in the application's own database. Retain and recall take milliseconds; nothing leaves the machine."""

    name = "embedded"

    def ensure_bank(self, bank_id: str) -> None:
        """Make the bank, or leave it as it is."""
        check_bank_id(bank_id)
        with _database():
            EmbeddedBank.objects.get_or_create(bank_id=bank_id)

    def retain(self, bank_id: str, document: Document) -> None:
        """Store the document, replacing one with the same id; the bank is made when it is not there."""
        # Imported here: numpy and the weights are needed by whoever writes or recalls, and by nobody else.
        from oncall.clients.embedded.embedding import embed_document, pack  # noqa: PLC0415
        from oncall.clients.embedded.minilm import embed_meaning  # noqa: PLC0415

        check_bank_id(bank_id)
        document = storable(document)
        vectors = pack(embed_document(document.text))
        meaning = pack(embed_meaning(document.text))
        with _database(), transaction.atomic():
            bank, _ = EmbeddedBank.objects.get_or_create(bank_id=bank_id)
            EmbeddedDocument.objects.update_or_create(
                bank=bank,
                document_id=document.document_id,
                defaults={
                    "generation": _next_generation(bank),
                    "forgotten": False,
                    "text": document.text,
                    "tags": list(document.tags),
                    "metadata": dict(document.metadata),
                    "occurred_at": document.occurred_at,
                    "vectors": vectors,
                    "meaning": meaning,
                },
            )

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        """Return at most ``limit`` candidates by words and by meaning, fused.

        An unknown bank gives none, and so does a query without words.
        """
        check_bank_id(bank_id)
        query = searchable(query)
        if not query:
            return []
        with _database():
            bank = EmbeddedBank.objects.filter(bank_id=bank_id).first()
            if bank is None:
                return []
            held = _indexes.of(bank)
            with held.lock:
                return _current(held, bank).search(query, tags, limit)

    def reflect(self, bank_id: str, question: str) -> Reflection:
        """Refuse: there is no language model in here."""
        raise MemoryRefused("The embedded memory has no language model to reflect with.")

    def forget(self, bank_id: str, document_id: str) -> None:
        """Blank the document and leave a tombstone; one that is not there is already forgotten."""
        check_bank_id(bank_id)
        check_document_id(document_id)
        with _database(), transaction.atomic():
            bank = EmbeddedBank.objects.filter(bank_id=bank_id).first()
            if bank is None:
                return
            generation = _next_generation(bank)
            bank.documents.filter(document_id=document_id, forgotten=False).update(
                generation=generation,
                forgotten=True,
                text="",
                tags=[],
                metadata={},
                occurred_at=None,
                vectors=b"",
                meaning=b"",
            )

    def documents(self, bank_id: str) -> Iterator[StoredDocument]:
        """Yield every document that was not forgotten."""
        check_bank_id(bank_id)
        with _database():
            rows = EmbeddedDocument.objects.filter(bank__bank_id=bank_id, forgotten=False).order_by("pk")
            for row in rows.values_list("document_id", "tags", "metadata").iterator(500):
                yield StoredDocument(row[0], tuple(row[1]), row[2])

    def delete_bank(self, bank_id: str) -> None:
        """Remove the bank with everything in it."""
        check_bank_id(bank_id)
        with _database():
            EmbeddedBank.objects.filter(bank_id=bank_id).delete()

    def health(self) -> str:
        """Return "" when the database answers."""
        try:
            EmbeddedBank.objects.exists()
        except DatabaseError:
            return "The database of the embedded memory does not answer."
        return ""


def _current(held: _Held, bank: EmbeddedBank) -> "BankIndex":
    """Return the bank's index, brought up to date; the lock must be held."""
    from oncall.clients.embedded.index import BankIndex  # noqa: PLC0415 (as in retain)

    # Taken out meanwhile: an index whose update failed halfway is never searched.
    index, held.index = held.index, None
    if index is None or index.generation > bank.generation:  # of before a database was put back
        index = BankIndex()
    if index.generation < bank.generation:
        newer = bank.documents.filter(generation__gt=index.generation)
        index.update(newer.order_by("generation").iterator(500), bank.generation)
    held.index = index
    return index


def _next_generation(bank: EmbeddedBank) -> int:
    """Count a write; the row stays locked until the transaction ends, so that generations commit in order."""
    EmbeddedBank.objects.filter(pk=bank.pk).update(generation=F("generation") + 1)
    return EmbeddedBank.objects.values_list("generation", flat=True).get(pk=bank.pk)


@contextmanager
def _database() -> Iterator[None]:
    """Turn an error of the database into the memory's own word for it."""
    try:
        yield
    except DatabaseError:
        raise MemoryUnavailable("The database of the embedded memory did not answer.") from None
