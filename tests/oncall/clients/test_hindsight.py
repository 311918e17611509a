"""How a Hindsight server fails, shown by a server on loopback that answers what a test tells it."""

import gc
import json
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oncall.clients import hindsight
from oncall.clients.hindsight import HindsightMemory
from oncall.clients.memory import Document, MemoryFailure, MemoryRefused, MemoryUnavailable
from tests.oncall.clients.hindsight_server import HindsightServer, bank, running

BANK = "b-0123456789abcdef"
SECRET = "hunter2-of-the-checkout"
KEY = "key-that-nobody-may-read"


@pytest.fixture
def server() -> Iterator[HindsightServer]:
    with running() as server:
        yield server


@pytest.fixture
def memory(server: HindsightServer) -> HindsightMemory:
    return HindsightMemory(server.url, KEY)


def retain(memory: HindsightMemory) -> None:
    memory.retain(BANK, Document("doc-1", SECRET, (f"tag:{SECRET}",), {"note": SECRET}))


ACTS: dict[str, Callable[[HindsightMemory], object]] = {
    "ensure_bank": lambda memory: memory.ensure_bank(BANK),
    "retain": retain,
    "recall": lambda memory: memory.recall(BANK, SECRET),
    "reflect": lambda memory: memory.reflect(BANK, SECRET),
    "forget": lambda memory: memory.forget(BANK, "doc-1"),
    "documents": lambda memory: list(memory.documents(BANK)),
    "delete_bank": lambda memory: memory.delete_bank(BANK),
}
every_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)


def failure_of(act: Callable[[HindsightMemory], object], memory: HindsightMemory) -> MemoryFailure:
    """Return the failure, after looking that nothing in it or printed with it tells what was sent."""
    with pytest.raises(MemoryFailure) as caught:
        act(memory)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    for private in (SECRET, KEY, BANK, "doc-1"):
        assert private not in str(caught.value)
    return caught.value


@every_act
@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 425, 429])
def test_a_failure_that_may_pass_is_unavailable(
    server: HindsightServer, memory: HindsightMemory, act: Callable[[HindsightMemory], object], status: int
) -> None:
    server.answer(status)
    assert isinstance(failure_of(act, memory), MemoryUnavailable)
    assert len(server.seen) == 1


@every_act
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 413, 422])
def test_a_refusal_is_not_to_be_tried_again(
    server: HindsightServer, memory: HindsightMemory, act: Callable[[HindsightMemory], object], status: int
) -> None:
    server.answer(status)
    assert isinstance(failure_of(act, memory), MemoryRefused)
    assert len(server.seen) == 1


@every_act
def test_a_refused_connection_is_unavailable(act: Callable[[HindsightMemory], object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert isinstance(failure_of(act, HindsightMemory(f"http://127.0.0.1:{port}", KEY)), MemoryUnavailable)


@every_act
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<html><title>Sign in</title>{request}</html>", "text/html"),
        ("{request", "application/json"),
        ("[]", "application/json"),
        ('{"results": 5, "items": 5, "text": {"a": "{request}"}}', "application/json"),
    ],
    ids=["page", "broken", "list", "other form"],
)
def test_an_answer_of_another_form_is_refused(
    server: HindsightServer,
    memory: HindsightMemory,
    act: Callable[[HindsightMemory], object],
    body: str,
    content_type: str,
) -> None:
    server.answer(200, body, content_type)
    assert isinstance(failure_of(act, memory), MemoryRefused)


@every_act
def test_a_server_that_hangs_is_unavailable_in_time(
    server: HindsightServer,
    memory: HindsightMemory,
    act: Callable[[HindsightMemory], object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("RECALL_TIMEOUT", "RETAIN_TIMEOUT", "REFLECT_TIMEOUT", "OTHER_TIMEOUT"):
        monkeypatch.setattr(hindsight, name, 0.1)
    server.delay = 0.4
    began = time.monotonic()
    assert isinstance(failure_of(act, memory), MemoryUnavailable)
    assert time.monotonic() - began < 0.35
    gc.collect()  # an unclosed session would now be warned of, which fails a test
    assert "Unclosed" not in caplog.text


@pytest.mark.parametrize("address", ["/old-path", "/v1"])
def test_a_wrong_address_is_never_taken_for_a_forgotten_document(
    server: HindsightServer, memory: HindsightMemory, address: str
) -> None:
    wrong = HindsightMemory(server.url + address, KEY)
    for body, content_type in (('{"detail": "Not Found"}', "application/json"), ("<h1>not found</h1>", "text/html")):
        server.answer(404, body, content_type)
        for act in ACTS.values():
            assert isinstance(failure_of(act, wrong), MemoryRefused)


@pytest.mark.parametrize("name", ["retain", "forget", "delete_bank"])
def test_an_answer_that_says_it_failed_is_believed(server: HindsightServer, memory: HindsightMemory, name: str) -> None:
    retained = {"bank_id": BANK, "items_count": 0, "async": False}
    forgotten = {"message": "No.", "document_id": "doc-1", "memory_units_deleted": 0}
    server.answer(200, {"success": False} | retained | forgotten)
    assert isinstance(failure_of(ACTS[name], memory), MemoryUnavailable)


def test_what_hindsight_itself_misses_is_empty_or_done(server: HindsightServer, memory: HindsightMemory) -> None:
    server.answer(404, {"detail": f"Bank '{BANK}' not found"})
    assert memory.recall(BANK, "pool") == []
    assert list(memory.documents(BANK)) == []
    memory.delete_bank(BANK)
    server.answer(404, {"detail": "Document not found"})
    memory.forget(BANK, "doc-1")
    assert [request for request, _, _ in server.seen] == [
        f"POST /v1/default/banks/{BANK}/memories/recall",
        f"GET /v1/default/banks/{BANK}/documents?limit=100&offset=0",
        f"DELETE /v1/default/banks/{BANK}",
        f"DELETE /v1/default/banks/{BANK}/documents/doc-1",
    ]


def test_the_key_is_sent_with_every_call(server: HindsightServer, memory: HindsightMemory) -> None:
    server.answer(500)
    for act in ACTS.values():
        failure_of(act, memory)
    assert [key for _, key, _ in server.seen] == [f"Bearer {KEY}"] * len(ACTS)


@pytest.mark.parametrize("reranker", [True, False])
def test_banks_are_made_so_that_texts_stay_whole_and_forgetting_is_complete(
    server: HindsightServer, memory: HindsightMemory, settings: Any, reranker: bool
) -> None:
    settings.HINDSIGHT_RERANKER = reranker
    server.answer(200, bank(BANK))
    memory.ensure_bank(BANK)
    [(request, _, sent)] = server.seen
    assert request == f"PUT /v1/default/banks/{BANK}"
    assert json.loads(sent) == {
        "retain_extraction_mode": "chunks",
        "enable_observations": False,
        "enable_graph_retrieval": reranker,
        "enable_temporal_retrieval": reranker,
    }


def result(document_id: str | None, semantic: float | None, reranker: float | None = None) -> dict[str, Any]:
    scores = {"final": 0.5, "semantic": semantic, "reranker": reranker}
    return {"id": f"{document_id}-{semantic}", "text": f"{semantic}", "document_id": document_id, "scores": scores}


def test_recall_gives_each_document_once_by_its_nearest_chunk(server: HindsightServer, memory: HindsightMemory) -> None:
    results = [result("a", None), result(None, 0.9), result("b", 0.4), result("a", 0.6), result("b", 0.3)]
    server.answer(200, {"results": results})
    found = memory.recall(BANK, "pool")
    assert [(item.rank, item.document_id, item.score, item.chunk) for item in found] == [
        (1, "a", 0.6, "0.6"),
        (2, "b", 0.4, "0.4"),
    ]


def test_a_reranker_decides_the_order(server: HindsightServer, memory: HindsightMemory) -> None:
    server.answer(200, {"results": [result("a", 0.9, 0.1), result("b", 0.2, 0.8)]})
    assert [item.document_id for item in memory.recall(BANK, "pool")] == ["b", "a"]


def test_tags_are_sent_strictly_or_not_at_all(server: HindsightServer, memory: HindsightMemory) -> None:
    server.answer(200, {"results": []})
    memory.recall(BANK, "pool")
    memory.recall(BANK, "pool", tags=["id:a", "kind:lesson"])
    bare, narrowed = (json.loads(sent) for _, _, sent in server.seen)
    assert not bare.get("tags")
    assert narrowed["tags"] == ["id:a", "kind:lesson"]
    assert narrowed["tags_match"] == "all_strict"


def test_a_reflection_names_the_documents_it_rests_on_once(server: HindsightServer, memory: HindsightMemory) -> None:
    facts = [{"text": "x", "document_id": name} for name in ("a", None, "b", "a")]
    server.answer(200, {"text": "Pools.", "based_on": {"memories": facts}})
    reflection = memory.reflect(BANK, "What fails most?")
    assert reflection.text == "Pools."
    assert reflection.document_ids == ("a", "b")


def test_calls_do_not_read_the_certificates_of_the_machine_again(
    server: HindsightServer, memory: HindsightMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer(200, {"results": []})
    memory.recall(BANK, "pool")

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("Reading the certificates takes longer than a recall.")

    monkeypatch.setattr(ssl, "create_default_context", refuse)
    assert memory.recall(BANK, "pool") == []


FEATURES = ["observations", "mcp", "worker", "bank_config_api", "bank_llm_health", "file_upload_api"]
FEATURES += ["document_export_api", "document_import_api", "audit_log", "llm_trace", "store_document_text"]


def version_and_banks(version: str) -> dict[str, Any]:
    """Return a body that reads as the server's version and as its list of banks."""
    features = dict.fromkeys(FEATURES, False)
    return {"api_version": version, "features": features, "banks": [], "total": 0, "limit": 1, "offset": 0}


@pytest.mark.parametrize("version", ["1.1.0", "1.1.9"])
def test_health_is_good_when_the_versions_fit(server: HindsightServer, memory: HindsightMemory, version: str) -> None:
    server.answer(200, version_and_banks(version))
    assert memory.health() == ""


@pytest.mark.parametrize("version", ["1.10.0", "1.0.9", "2.1.1", ""])
def test_health_tells_a_server_of_another_version(
    server: HindsightServer, memory: HindsightMemory, version: str
) -> None:
    server.answer(200, version_and_banks(version))
    assert "another version" in memory.health()


def test_health_tells_a_server_whose_version_cannot_be_read(server: HindsightServer, memory: HindsightMemory) -> None:
    server.answer(200, {"api_version": "0.9", "features": {}})
    assert "another form" in memory.health()


@pytest.mark.parametrize(("status", "words"), [(401, "refuses the key"), (500, "status 500"), (404, "status 404")])
def test_health_is_a_sentence_and_never_raises(
    server: HindsightServer, memory: HindsightMemory, status: int, words: str
) -> None:
    server.answer(status)
    assert words in memory.health()


def test_nothing_of_a_failed_call_is_logged(
    server: HindsightServer, memory: HindsightMemory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.answer(422)
    for act in ACTS.values():
        failure_of(act, memory)
    assert SECRET not in caplog.text
    assert KEY not in caplog.text
