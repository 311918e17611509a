"""What every memory must do: the same tests for the embedded memory and for a real Hindsight server."""

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import connections

from oncall.clients.embedded.memory import EmbeddedMemory
from oncall.clients.hindsight import HindsightMemory
from oncall.clients.memory import Document, Memory, MemoryRefused
from tests.oncall.clients.processes import forked

pytestmark = pytest.mark.django_db

URL = os.environ.get("HINDSIGHT_TEST_URL", "")
POOL = "HikariPool-1 connection is not available: the checkout pool is exhausted."
DISK = "The disk of the search node is full, so Elasticsearch made its indexes read-only."
WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture(
    params=[
        "embedded",
        pytest.param(
            "hindsight",
            marks=[
                pytest.mark.hindsight,
                pytest.mark.skipif(not URL, reason="HINDSIGHT_TEST_URL is not set: make services starts a server"),
            ],
        ),
    ]
)
def memory(request: pytest.FixtureRequest) -> Memory:
    if request.param == "embedded":
        return EmbeddedMemory()
    return HindsightMemory(URL, os.environ.get("HINDSIGHT_TEST_KEY", ""))


@pytest.fixture
def make_bank(memory: Memory) -> Iterator[Callable[[], str]]:
    made: list[str] = []

    def make() -> str:
        made.append(f"b-{uuid.uuid4().hex}")
        memory.ensure_bank(made[-1])
        return made[-1]

    yield make
    for bank in made:
        memory.delete_bank(bank)


@pytest.fixture
def bank(make_bank: Callable[[], str]) -> str:
    return make_bank()


def make_document(document_id: str, text: str, *tags: str, **metadata: str) -> Document:
    return Document(document_id, text, (f"id:{document_id}", *tags), metadata, WHEN)


def recalled(memory: Memory, bank: str, query: str, *tags: str) -> list[str]:
    return [recollection.document_id for recollection in memory.recall(bank, query, tags=tags)]


def stored(memory: Memory, bank: str) -> list[str]:
    return sorted(document.document_id for document in memory.documents(bank))


def test_health_is_good(memory: Memory) -> None:
    assert memory.health() == ""


def test_ensure_bank_twice_keeps_what_is_in_it(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    memory.ensure_bank(bank)
    assert recalled(memory, bank, "checkout pool exhausted") == ["pool"]


def test_recall_gives_back_what_was_retained_beside_the_text(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL, "kind:lesson", revision="3"))
    [recollection] = memory.recall(bank, "checkout pool exhausted")
    assert recollection.document_id == "pool"
    assert recollection.rank == 1
    assert recollection.score > 0
    assert sorted(recollection.tags) == ["id:pool", "kind:lesson"]
    assert recollection.metadata == {"revision": "3"}
    assert recollection.occurred_at == WHEN


def test_a_document_without_a_time_has_none(memory: Memory, bank: str) -> None:
    memory.retain(bank, Document("pool", POOL, ("id:pool",)))
    [recollection] = memory.recall(bank, "checkout pool exhausted")
    assert recollection.occurred_at is None


def test_the_nearest_comes_first_and_ranks_follow_scores(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("disk", DISK))
    memory.retain(bank, make_document("pool", POOL))
    memory.retain(bank, make_document("node", "A search node was replaced, and its indexes were moved."))
    found = memory.recall(bank, "Elasticsearch read-only because the disk of a search node is full")
    assert found[0].document_id == "disk"
    assert [item.rank for item in found] == list(range(1, len(found) + 1))
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)


def test_recall_keeps_to_the_limit(memory: Memory, bank: str) -> None:
    for number in range(4):
        memory.retain(bank, make_document(f"pool-{number}", f"{POOL} Seen {number} times."))
    assert len(memory.recall(bank, "checkout pool exhausted", limit=3)) == 3


def test_recall_gives_twenty_long_documents(memory: Memory, bank: str) -> None:
    for number in range(22):
        lines = " ".join(f"line {line} of pod {number}" for line in range(130))
        memory.retain(bank, make_document(f"pool-{number}", f"{POOL} {lines}"))
    assert len(set(recalled(memory, bank, "checkout pool exhausted"))) == 20


def test_retaining_again_replaces_the_text(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("one", POOL, "kind:lesson", revision="1"))
    memory.retain(bank, make_document("one", DISK, "kind:feedback", revision="2"))
    assert stored(memory, bank) == ["one"]
    [recollection] = memory.recall(bank, "Elasticsearch disk full", tags=["id:one"])
    assert recollection.metadata == {"revision": "2"}
    assert recalled(memory, bank, "Elasticsearch disk full", "kind:lesson") == []
    assert recalled(memory, bank, "Elasticsearch disk full", "kind:feedback") == ["one"]
    memory.retain(bank, make_document("other", POOL))
    assert recalled(memory, bank, "HikariPool-1 checkout connection")[0] == "other"


def test_tags_must_all_be_there(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("one", POOL, "kind:lesson", "service:checkout"))
    memory.retain(bank, make_document("two", POOL, "kind:lesson"))
    memory.retain(bank, Document("bare", POOL, ()))
    assert recalled(memory, bank, "pool exhausted", "kind:lesson", "service:checkout") == ["one"]
    assert sorted(recalled(memory, bank, "pool exhausted", "kind:lesson")) == ["one", "two"]
    assert recalled(memory, bank, "pool exhausted", "kind:lesson", "service:search") == []


def test_no_tags_is_no_filter_and_never_another_bank(memory: Memory, make_bank: Callable[[], str]) -> None:
    ours, theirs = make_bank(), make_bank()
    memory.retain(ours, make_document("ours", POOL))
    memory.retain(theirs, make_document("theirs", POOL))
    assert recalled(memory, ours, "pool exhausted") == ["ours"]
    assert [item.document_id for item in memory.recall(ours, "pool exhausted", tags=[])] == ["ours"]


def test_two_banks_with_the_same_ids_tags_and_words_stay_apart(memory: Memory, make_bank: Callable[[], str]) -> None:
    ours, theirs = make_bank(), make_bank()
    for bank, name in ((ours, "ours"), (theirs, "theirs")):
        memory.retain(bank, make_document("same", POOL, "team:a", bank=name))
    [recollection] = memory.recall(ours, "pool exhausted", tags=["team:a"])
    assert recollection.metadata == {"bank": "ours"}
    memory.forget(ours, "same")
    assert recalled(memory, ours, "pool exhausted") == []
    assert recalled(memory, theirs, "pool exhausted", "id:same") == ["same"]


def test_a_document_is_recalled_by_its_own_tag_among_many_alike(memory: Memory, bank: str) -> None:
    for number in range(30):
        memory.retain(bank, make_document(f"pool-{number}", POOL))
    assert recalled(memory, bank, POOL, "id:pool-17") == ["pool-17"]


def test_forgetting_twice_is_no_error(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    memory.retain(bank, make_document("disk", DISK))
    assert recalled(memory, bank, POOL, "id:pool") == ["pool"]
    memory.forget(bank, "pool")
    memory.forget(bank, "pool")
    assert recalled(memory, bank, POOL, "id:pool") == []
    assert "pool" not in recalled(memory, bank, POOL)
    assert stored(memory, bank) == ["disk"]


def test_what_was_forgotten_can_be_retained_again(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    memory.forget(bank, "pool")
    memory.retain(bank, make_document("pool", POOL))
    assert recalled(memory, bank, POOL, "id:pool") == ["pool"]


def test_documents_are_listed_with_tags_and_metadata(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL, "kind:lesson", revision="3"))
    [document] = memory.documents(bank)
    assert document.document_id == "pool"
    assert sorted(document.tags) == ["id:pool", "kind:lesson"]
    assert document.metadata == {"revision": "3"}


def test_every_document_is_listed_once_while_they_are_forgotten(memory: Memory, bank: str) -> None:
    wanted = {f"pool-{number}" for number in range(103)}  # more than a page of Hindsight's
    for document_id in wanted:
        memory.retain(bank, make_document(document_id, "pool"))
    listed = []
    for document in memory.documents(bank):
        listed.append(document.document_id)
        memory.forget(bank, document.document_id)
    assert sorted(listed) == sorted(wanted)
    assert stored(memory, bank) == []


def test_reflecting_without_a_language_model_is_refused(memory: Memory, bank: str) -> None:
    with pytest.raises(MemoryRefused):
        memory.reflect(bank, "What fails most?")


def test_an_unknown_bank_is_empty(memory: Memory) -> None:
    unknown = f"b-{uuid.uuid4().hex}"
    assert memory.recall(unknown, "pool") == []
    assert list(memory.documents(unknown)) == []
    memory.forget(unknown, "pool")
    memory.delete_bank(unknown)
    assert list(memory.documents(unknown)) == []


def test_a_deleted_bank_is_empty_also_when_it_is_made_again(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    assert recalled(memory, bank, "pool exhausted") == ["pool"]
    memory.delete_bank(bank)
    assert recalled(memory, bank, "pool exhausted") == []
    memory.ensure_bank(bank)
    assert recalled(memory, bank, "pool exhausted") == []
    assert stored(memory, bank) == []


@pytest.mark.parametrize(
    "awkward", ["", "short", "With-Capitals", "a/../../b-12345", "bank-1234\n", "bänk-12345", "b" * 64]
)
def test_an_awkward_bank_id_is_refused(memory: Memory, awkward: str) -> None:
    acts: list[Callable[[], object]] = [
        lambda: memory.ensure_bank(awkward),
        lambda: memory.retain(awkward, make_document("pool", POOL)),
        lambda: memory.recall(awkward, "pool"),
        lambda: memory.reflect(awkward, "pool"),
        lambda: memory.forget(awkward, "pool"),
        lambda: list(memory.documents(awkward)),
        lambda: memory.delete_bank(awkward),
    ]
    for act in acts:
        with pytest.raises(MemoryRefused):
            act()


@pytest.mark.parametrize("awkward", ["", ".", "..", "a/b", "a b", "a?b", "a\n", "ü", "d" * 65])
def test_an_awkward_document_id_is_refused(memory: Memory, bank: str, awkward: str) -> None:
    with pytest.raises(MemoryRefused):
        memory.retain(bank, make_document(awkward, POOL))
    with pytest.raises(MemoryRefused):
        memory.forget(bank, awkward)
    assert stored(memory, bank) == []


@pytest.mark.parametrize("nothing", ["", " \n\t ", "\x00"])
def test_a_document_without_a_text_is_refused(memory: Memory, bank: str, nothing: str) -> None:
    with pytest.raises(MemoryRefused):
        memory.retain(bank, make_document("empty", nothing))


@pytest.mark.parametrize(
    "text",
    [
        "Утечка памяти в сервисе оплаты после выкладки",
        "支付服务内存泄漏 重启之后恢复",
        "خدمة الدفع لا تستجيب بعد النشر",
        "‮evil override‬ of the checkout pool",
        "🔥 the checkout pool is on fire 🔥 👩‍🚒",
        "checkout\x00pool with a NUL and a lone \ud83d surrogate",
        "'; DROP TABLE incidents; -- the checkout pool",
    ],
)
def test_any_text_comes_back_by_its_own_words(memory: Memory, bank: str, text: str) -> None:
    memory.retain(bank, make_document("strange", text, "service:оплата 🔥"))
    assert recalled(memory, bank, text, "id:strange", "service:оплата 🔥") == ["strange"]


def test_a_text_of_100_kilobytes_is_one_document(memory: Memory, bank: str) -> None:
    text = POOL + "".join(f"\npod-{number} restarted after the pool was exhausted" for number in range(2200))
    assert len(text) > 100_000
    memory.retain(bank, make_document("long", text))
    assert stored(memory, bank) == ["long"]
    assert recalled(memory, bank, "pool exhausted") == ["long"]
    assert recalled(memory, bank, text, "id:long") == ["long"]


@pytest.mark.parametrize(
    "query", ["", "   ", "?!… --- ///", "___", "🔥", "\x00", "?" * 2000 + " pool"], ids=lambda query: repr(query[:8])
)
def test_a_query_without_words_gives_nothing(memory: Memory, bank: str, query: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    assert [item for item in memory.recall(bank, query) if item.document_id != "pool"] == []
    if "pool" not in query:
        assert memory.recall(bank, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "the and of it is",
        "pool " * 10_000,
        " ".join(f"word{number}" for number in range(10_000)),
        'words:"pool" AND (slot:[0 TO 9] OR *) ~2^3 \\',
        "x" * 20_000,
        "lone \ud83d surrogate and \x00 NUL",
    ],
    ids=["stop words", "one word often", "many words", "syntax", "one long word", "broken text"],
)
def test_a_hostile_query_is_answered(memory: Memory, bank: str, query: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    assert recalled(memory, bank, query) in ([], ["pool"])


@pytest.mark.django_db(transaction=True)
def test_sixteen_threads_write_and_read_at_once(memory: Memory, bank: str) -> None:
    def work(number: int) -> list[str]:
        try:
            memory.retain(bank, make_document(f"pool-{number}", f"{POOL} Pod {number}."))
            return recalled(memory, bank, POOL, f"id:pool-{number}")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(work, range(16)))
    assert found == [[f"pool-{number}"] for number in range(16)]
    assert len(recalled(memory, bank, POOL)) == 16


@pytest.mark.django_db(transaction=True)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_recalls_and_retains(memory: Memory, bank: str) -> None:
    memory.retain(bank, make_document("pool", POOL))
    assert recalled(memory, bank, POOL) == ["pool"]

    def work() -> None:
        assert recalled(memory, bank, POOL) == ["pool"]
        memory.retain(bank, make_document("disk", DISK))

    with forked(work):
        pass
    assert recalled(memory, bank, DISK, "id:disk") == ["disk"]
