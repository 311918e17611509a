"""One bank in the memory of one process: a BM25 index and matrices of vectors, brought up to date in place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy

from oncall.clients.embedded import minilm
from oncall.clients.embedded.embedding import DIMENSIONS, WHOLE_CHARACTERS, Vectors, embed, unpack
from oncall.clients.embedded.models import EmbeddedDocument
from oncall.clients.embedded.tokens import tokens
from oncall.clients.memory import Recollection

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: a document's score is the sum over rankings of 1 / (K + rank). They found K = 60 for many rankings; with
# few a smaller one, which lets first places count for more, finds more.
FUSION_K = 10
# How deep each ranking is read before they are fused.
DEPTH = 100
MAX_QUERY_TERMS = 200
WRITER_BYTES = 15_000_000


@dataclass(frozen=True)
class Entry:
    """What recall gives back of a document, kept beside the vectors."""

    document_id: str
    tags: frozenset[str]
    metadata: dict[str, str]
    occurred_at: datetime | None


class BankIndex:
    """Not thread-safe: its owner holds a lock around every call."""

    def __init__(self) -> None:
        # Imported when the first index is made: `manage.py check` must not pay for it.
        import tantivy  # noqa: PLC0415

        self._tantivy: Any = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("words", stored=False, tokenizer_name="whitespace", index_option="freq")
        builder.add_unsigned_field("slot", indexed=True, fast=True)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        self.generation = 0
        self._slots: dict[str, int] = {}
        self._entries: list[Entry | None] = []
        self._vectors: Vectors = numpy.zeros((0, 2, DIMENSIONS), numpy.float32)
        self._meaning: Vectors = numpy.zeros((0, minilm.DIMENSIONS), numpy.float32)
        # By tag: the slots of the documents that carry it, those of forgotten ones taken out.
        self._tagged: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def update(self, rows: Iterable[EmbeddedDocument], generation: int) -> None:
        """Take in rows that are newer than what is held, tombstones included, in the order of their generation.

        ``generation`` is the bank's as read before the rows: they may hold later ones, all of them up to the last.
        """
        writer = None
        for row in rows:
            generation = max(generation, row.generation)
            held = row.document_id in self._slots
            if row.forgotten and not held:
                continue
            writer = writer or self._index.writer(heap_size=WRITER_BYTES, num_threads=1)
            slot = self._slot(row.document_id)
            if held:
                # By query: by term, the binding looks for a signed number and deletes nothing in an unsigned field.
                writer.delete_documents_by_query(self._tantivy.Query.term_query(self._schema, "slot", slot))
            self._untag(slot)
            if row.forgotten:
                del self._slots[row.document_id]
                self._entries[slot] = None
                self._vectors[slot], self._meaning[slot] = 0, 0
                continue
            document = self._tantivy.Document()
            document.add_text("words", " ".join(tokens(row.text)))
            document.add_unsigned("slot", slot)
            writer.add_document(document)
            self._entries[slot] = Entry(row.document_id, frozenset(row.tags), dict(row.metadata), row.occurred_at)
            for tag in row.tags:
                self._tagged.setdefault(tag, set()).add(slot)
            self._vectors[slot] = unpack(bytes(row.vectors))
            self._meaning[slot] = unpack(bytes(row.meaning), minilm.DIMENSIONS) if row.meaning else 0
        if writer is not None:
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
        self.generation = generation

    def _slot(self, document_id: str) -> int:
        slot = self._slots.get(document_id)
        if slot is None:
            slot = self._slots[document_id] = len(self._entries)
            self._entries.append(None)
            if slot >= len(self._vectors):
                size = max(256, 2 * slot)
                for name in ("_vectors", "_meaning"):
                    held = getattr(self, name)
                    grown = numpy.zeros((size, *held.shape[1:]), numpy.float32)
                    grown[: len(held)] = held
                    setattr(self, name, grown)
        return slot

    def _untag(self, slot: int) -> None:
        entry = self._entries[slot]
        for tag in entry.tags if entry else ():
            self._tagged[tag].discard(slot)
            if not self._tagged[tag]:
                del self._tagged[tag]

    def search(self, query: str, tags: Sequence[str], limit: int) -> list[Recollection]:
        """Return the best documents by three rankings, fused; equal scores by the newer event, then by id."""
        terms = list(dict.fromkeys(tokens(query)))[:MAX_QUERY_TERMS]
        if not terms or not self._slots:
            return []
        allowed = self._allowed(tags)
        if allowed is not None and not allowed:
            return []
        scores: dict[int, float] = {}
        used = len(self._entries)
        alive = numpy.array(sorted(self._slots.values() if allowed is None else allowed), numpy.int64)
        average = embed([query[:WHOLE_CHARACTERS]])[0]
        meaning = minilm.embed_sentences([query[: minilm.WINDOW]])[0]
        for ranking in (
            self._by_words(terms, allowed),
            _nearest((self._vectors[:used] @ average).max(axis=1), alive) if average.any() else {},
            _nearest(self._meaning[:used] @ meaning, alive) if meaning.any() else {},
        ):
            for slot, rank in ranking.items():
                scores[slot] = scores.get(slot, 0.0) + 1 / (FUSION_K + rank)
        best = sorted(scores, key=lambda slot: self._order(slot, scores[slot]))[:limit]
        return [self._recollection(slot, rank, scores[slot]) for rank, slot in enumerate(best, start=1)]

    def _allowed(self, tags: Sequence[str]) -> set[int] | None:
        """Return the slots that carry all the tags; None means that every slot may be used."""
        if not tags:
            return None
        return set.intersection(*(self._tagged.get(tag, set()) for tag in tags))

    def _by_words(self, terms: list[str], allowed: set[int] | None) -> dict[int, int]:
        tantivy = self._tantivy
        query = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "words", term, "freq")) for term in terms]
        )
        searcher = self._index.searcher()
        depth = DEPTH if allowed is None else max(DEPTH, len(self._entries))
        hits = searcher.search(query, depth, count=False).hits
        slots = searcher.fast_field_values("slot", [address for _, address in hits])
        scored = [(slot, score) for slot, (score, _) in zip(slots, hits, strict=True)]
        return _ranks([pair for pair in scored if allowed is None or pair[0] in allowed][:DEPTH])

    def _order(self, slot: int, score: float) -> tuple[float, float, str]:
        entry = self._entries[slot]
        happened = entry.occurred_at.timestamp() if entry and entry.occurred_at else 0.0
        return -score, -happened, entry.document_id if entry else ""

    def _recollection(self, slot: int, rank: int, score: float) -> Recollection:
        entry = self._entries[slot]
        if entry is None:
            raise LookupError("A ranking named an empty slot.")
        return Recollection(
            document_id=entry.document_id,
            rank=rank,
            score=score,
            tags=tuple(sorted(entry.tags)),
            metadata=entry.metadata,
            occurred_at=entry.occurred_at,
        )


def _nearest(nearness: Vectors, among: Any) -> dict[int, int]:
    """Return the ranks of the nearest among the slots."""
    best = among[numpy.argsort(-nearness[among], kind="stable")[:DEPTH]]
    return _ranks([(int(slot), float(nearness[slot])) for slot in best])


def _ranks(scored: list[tuple[int, float]]) -> dict[int, int]:
    """Return each slot's rank, from 1, in the order given; equal texts, which score alike, share one."""
    ranks: dict[int, int] = {}
    last, rank = None, 0
    for place, (slot, score) in enumerate(scored, start=1):
        # Sums of the same numbers may differ in their last digits.
        if last is None or abs(score - last) > 1e-6 * max(abs(last), 1.0):
            last, rank = score, place
        ranks[slot] = rank
    return ranks
