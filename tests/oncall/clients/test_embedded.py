"""What only the embedded memory must do: agree between processes, grow, let go of indexes, split words."""

import uuid
from datetime import UTC, datetime
from typing import Any

import numpy
import pytest
from django.db import OperationalError, transaction
from django.db.models import QuerySet

from oncall.clients.embedded import memory as embedded
from oncall.clients.embedded.embedding import embed, embed_document, pack, unpack
from oncall.clients.embedded.index import FUSION_K
from oncall.clients.embedded.memory import EmbeddedMemory
from oncall.clients.embedded.models import EmbeddedBank, EmbeddedDocument
from oncall.clients.embedded.tokens import tokens
from oncall.clients.memory import Document, MemoryUnavailable
from tests.oncall.clients.processes import forked

POOL = "HikariPool-1 connection is not available: the checkout pool is exhausted."
DISK = "The disk of the search node is full, so Elasticsearch made its indexes read-only."


@pytest.fixture
def bank(db: None) -> str:
    return f"b-{uuid.uuid4().hex}"


@pytest.fixture
def memory() -> EmbeddedMemory:
    return EmbeddedMemory()


def make_document(document_id: str, text: str = POOL) -> Document:
    return Document(document_id, text, (f"id:{document_id}",))


def recalled(memory: EmbeddedMemory, bank: str, query: str, limit: int = 100) -> set[str]:
    return {recollection.document_id for recollection in memory.recall(bank, query, limit=limit)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_second_process_writes_while_the_first_reads(memory: EmbeddedMemory, bank: str) -> None:
    for number in range(20):
        memory.retain(bank, make_document(f"old-{number}"))
    assert len(recalled(memory, bank, "checkout pool exhausted")) == 20

    def write() -> None:
        for number in range(20):
            memory.retain(bank, make_document(f"new-{number}"))
            if number % 2:
                memory.forget(bank, f"old-{number}")
            else:
                memory.retain(bank, make_document(f"old-{number}", DISK))

    seen: list[int] = []
    with forked(write):
        while len(seen) < 500 and (not seen or seen[-1] < 10):
            seen.append(sum(name.startswith("new-") for name in recalled(memory, bank, "checkout pool exhausted")))
    assert seen == sorted(seen)
    found = memory.recall(bank, "checkout pool exhausted HikariPool-1 connection", limit=100)
    assert {item.document_id for item in found[:20]} == {f"new-{number}" for number in range(20)}
    assert {item.document_id for item in found[20:]} == {f"old-{number}" for number in range(0, 20, 2)}


def test_a_replaced_text_is_no_longer_found_by_its_words(memory: EmbeddedMemory, bank: str) -> None:
    memory.retain(bank, make_document("other", "A certificate of the gateway expired."))
    memory.retain(bank, make_document("one", POOL))
    assert memory.recall(bank, "HikariPool-1")[0].document_id == "one"
    memory.retain(bank, make_document("one", DISK))
    first_by_all = 3 / (FUSION_K + 1)
    assert memory.recall(bank, "HikariPool-1 exhausted")[0].score < first_by_all
    assert memory.recall(bank, "Elasticsearch disk full")[0].score == pytest.approx(first_by_all)


def test_a_forgotten_text_leaves_nothing_in_the_database(memory: EmbeddedMemory, bank: str) -> None:
    memory.retain(bank, Document("one", POOL, ("id:one",), {"incident": "PAY-1"}))
    memory.forget(bank, "one")
    row = EmbeddedDocument.objects.get(bank__bank_id=bank)
    assert (row.text, row.tags, row.metadata, row.occurred_at, bytes(row.vectors)) == ("", [], {}, None, b"")


@pytest.mark.thorough
def test_an_index_grows_beyond_its_first_slots(memory: EmbeddedMemory, bank: str) -> None:
    def word(number: int) -> str:
        return "q" + "".join("bcdfghjklm"[int(digit)] for digit in str(number))

    for numbers in (range(300), range(300, 600)):
        with transaction.atomic():
            for number in numbers:
                memory.retain(bank, make_document(f"doc-{number}", f"The pool of {word(number)} failed."))
        for number in (numbers.start, numbers.start + 255, numbers.start + 256, numbers.stop - 1):
            nearest = [item.document_id for item in memory.recall(bank, word(number), limit=2)]
            assert f"doc-{number}" in nearest
            [own] = memory.recall(bank, "failed", tags=[f"id:doc-{number}"])
            assert own.document_id == f"doc-{number}"


def test_the_index_unused_for_longest_is_let_go_and_made_again(
    memory: EmbeddedMemory, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "MAX_INDEXES", 2)
    monkeypatch.setattr(embedded, "_indexes", embedded._Indexes())
    banks = [f"b-{uuid.uuid4().hex}" for _ in range(3)]
    for name in banks:
        memory.retain(name, make_document("pool"))
        assert recalled(memory, name, "checkout pool") == {"pool"}
    assert [bank_id for _, bank_id in embedded._indexes._held] == banks[1:]
    assert recalled(memory, banks[0], "checkout pool") == {"pool"}
    assert [bank_id for _, bank_id in embedded._indexes._held] == [banks[2], banks[0]]


def test_a_database_that_was_put_back_is_read_anew(memory: EmbeddedMemory, bank: str) -> None:
    memory.retain(bank, make_document("kept"))
    place = transaction.savepoint()
    memory.retain(bank, make_document("undone"))
    assert recalled(memory, bank, "checkout pool") == {"kept", "undone"}
    transaction.savepoint_rollback(place)
    assert recalled(memory, bank, "checkout pool") == {"kept"}


def test_a_recall_that_failed_halfway_is_followed_by_a_whole_one(
    memory: EmbeddedMemory, bank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        memory.retain(bank, make_document(name))

    def broken(rows: QuerySet[Any], size: int) -> Any:
        yield rows[0]
        raise OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(QuerySet, "iterator", broken)
        with pytest.raises(MemoryUnavailable, match="did not answer"):
            memory.recall(bank, "checkout pool")
    assert recalled(memory, bank, "checkout pool") == {"one", "two"}


def test_equal_texts_are_ordered_by_the_newer_event(memory: EmbeddedMemory, bank: str) -> None:
    for name, year in (("a", 2024), ("b", 2026), ("c", 2025), ("d", None)):
        when = datetime(year, 1, 1, tzinfo=UTC) if year else None
        memory.retain(bank, Document(name, POOL, (f"id:{name}",), {}, when))
    memory.retain(bank, make_document("disk", DISK))
    found = memory.recall(bank, "checkout pool exhausted")
    assert [item.document_id for item in found] == ["b", "c", "a", "d", "disk"]
    assert len({item.score for item in found[:4]}) == 1


def test_recall_writes_nothing(memory: EmbeddedMemory, bank: str, django_assert_max_num_queries: Any) -> None:
    memory.retain(bank, make_document("pool"))
    memory.recall(bank, "checkout pool")
    with django_assert_max_num_queries(1) as queries:
        memory.recall(bank, "checkout pool")
    assert queries[0]["sql"].startswith("SELECT")


def test_the_generation_counts_each_write(memory: EmbeddedMemory, bank: str) -> None:
    memory.retain(bank, make_document("pool"))
    memory.retain(bank, make_document("pool", DISK))
    memory.forget(bank, "pool")
    assert EmbeddedBank.objects.get(bank_id=bank).generation == 3


def test_identifiers_are_found_whole_and_by_their_parts() -> None:
    assert tokens("HikariPool502") == ["hikaripool502", "hikari", "pool", "502"]
    assert tokens("org.example.OutOfMemoryError") == [
        *("org.example.outofmemoryerror", "org", "exampl", "out", "of", "memori", "error")
    ]
    assert tokens("pods restarted") == ["pod", "restart"]
    assert tokens("x" * 61) == []
    assert tokens("🔥 — !") == []


def test_vectors_are_of_length_one_or_nothing() -> None:
    vectors = embed(["the checkout pool is exhausted", ""])
    assert vectors.shape == (2, 256)
    assert numpy.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)
    assert not vectors[1].any()
    assert embed([]).shape == (0, 256)


def test_packing_keeps_vectors() -> None:
    vectors = embed_document(POOL)
    packed = pack(vectors)
    assert len(packed) == 2 * 256 * 2
    assert numpy.allclose(unpack(packed), vectors, atol=1e-3)
