"""The measure itself: what counts as found, accepted and false, on a bank that leaves nothing behind."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from incidents.memory.evaluation import BadFile, Query, Result, measure, read_memories, read_queries
from incidents.models import MemoryRecord
from oncall.clients.embedded.models import EmbeddedBank
from teams.models import AuditEvent, Team
from tests.conftest import World
from tests.oncall.clients.groq_server import GroqServer

MEMORIES = [
    {
        "id": "a",
        "title": "CertificateExpired",
        "symptom": "x509: certificate has expired, handshakes of the gateway fail",
        "cause": "The renewal job had lost its credentials.",
        "fix": "Renew the certificate by hand and mend the job.",
        "source": "zanzibar",
    },
    {
        "id": "b",
        "title": "QueueBacklog",
        "symptom": "consumer lag of the orders queue grows",
        "cause": "One consumer was stuck on a poison message.",
        "fix": "Move the message aside.",
    },
]
KEYS = {
    "hit@1", "hit@3", "mrr", "accepted_hit@3", "false_match", "close_hit", "false_close", "latency_p50_ms",
    "latency_p95_ms",
}  # fmt: skip
QUERIES = [
    {
        "id": "q1",
        "text": "gateway: x509: certificate has expired, handshakes fail",
        "relevant": ["a"],
        "also_ok": [],
        "kind": "verbatim",
    },
    {"id": "q2", "text": "the coffee machine on floor two is empty", "relevant": [], "kind": "unanswerable"},
]


def result(
    relevant: str = "", also_ok: str = "", ranking: str = "", accepted: tuple[tuple[str, str], ...] = ()
) -> Result:
    query = Query("q", "text", frozenset(relevant), frozenset(also_ok), "kind")
    return Result(query, list(ranking), list(accepted), 1.0)


def value(results: list[Result], name: str) -> float:
    return measure(results)[name]["value"]  # type: ignore[no-any-return]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    paths = tmp_path / "memories.jsonl", tmp_path / "queries.jsonl"
    for path, rows in zip(paths, (MEMORIES, QUERIES), strict=True):
        path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(paths[0]), str(paths[1])


def run(*arguments: str) -> Any:
    out = StringIO()
    call_command("evaluate_recall", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_neutral_memories_leave_the_ranking() -> None:
    results = [result("r", also_ok="n", ranking="nxr"), result("r", ranking="xyzr")]

    assert value(results, "hit@1") == 0
    assert value(results, "hit@3") == 0.5
    assert value(results, "mrr") == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_only_the_first_three_accepted_count() -> None:
    accepted = (("x", "close"), ("y", "partial"), ("z", "partial"), ("r", "partial"))

    assert value([result("r", accepted=accepted)], "accepted_hit@3") == 0
    assert value([result("r", also_ok="x", accepted=accepted)], "accepted_hit@3") == 1


def test_close_counts_by_itself() -> None:
    results = [result("r", accepted=(("r", "partial"),)), result("r", accepted=(("r", "close"),))]

    assert (value(results, "accepted_hit@3"), value(results, "close_hit")) == (1, 0.5)


def test_what_is_accepted_without_an_answer_is_false_unless_it_is_neutral() -> None:
    results = [
        result(accepted=(("x", "partial"),)),
        result(also_ok="x", accepted=(("x", "close"),)),
        result(accepted=(("x", "close"),)),
        result(),
    ]

    assert (value(results, "false_match"), value(results, "false_close")) == (0.5, 0.25)


def test_an_interval_holds_its_value_and_is_the_same_again() -> None:
    results = [result("r", ranking="r" if number % 3 else "x") for number in range(60)]
    measured = measure(results)["hit@1"]

    assert 0 < measured["low"] < measured["value"] < measured["high"] < 1
    assert measure(results)["hit@1"] == measured


def test_measures_without_queries_are_none() -> None:
    measured = measure([result(ranking="x")])

    assert measured["hit@1"] is None
    assert measured["false_match"] is not None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1: this is no JSON."),
        ("[]", "line 1: this is no JSON object."),
        ('{"id": "x"}', "line 1: text is missing."),
        ('{"id": "x", "text": "t", "relevant": ["nope"]}', "relevant names nope"),
    ],
    ids=["cut", "list", "no text", "unknown"],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(line)

    with pytest.raises(BadFile, match=problem):
        read_queries(path, ["a"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        read_memories(tmp_path / "nowhere.jsonl")


@pytest.mark.django_db(transaction=True)
def test_the_command_measures_and_leaves_nothing_behind(world: World, files: tuple[str, str]) -> None:
    before = Team.objects.count(), AuditEvent.objects.count()

    measured = run(*files)

    assert measured.keys() >= KEYS
    assert measured["hit@1"]["value"] == 1
    assert measured["accepted_hit@3"]["value"] == 1
    assert measured["false_match"]["value"] == 0
    assert measured["by_kind"]["verbatim"]["close_hit"]["value"] == 1
    assert measured["latency_p95_ms"] > 0
    assert (Team.objects.count(), AuditEvent.objects.count()) == before
    assert not MemoryRecord.objects.exists()
    assert not EmbeddedBank.objects.filter(documents__isnull=False).exists()


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_ids_and_sources_are_never_indexed(files: tuple[str, str], tmp_path: Path) -> None:
    queries = tmp_path / "about-labels.jsonl"
    queries.write_text(json.dumps({"id": "q", "text": "zanzibar", "relevant": ["a"], "kind": "label"}))

    assert run(files[0], str(queries))["accepted_hit@3"]["value"] == 0


def test_judging_needs_a_model(files: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="GROQ_API_KEY"):
        run(*files, "--judge")


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_model_judges_by_whole_investigations_with_the_same_keys(groq: GroqServer, files: tuple[str, str]) -> None:
    measured = run(*files, "--judge")

    assert groq.requests
    assert measured.keys() >= KEYS
    assert 0 <= measured["accepted_hit@3"]["value"] <= 1
    assert measured["false_match"]["value"] == 0
