"""The gate's word on a memory is the same whatever server found it, and whatever else that server found."""

import os
from collections.abc import Sequence

import pytest

from incidents.memory import sync
from incidents.memory.banks import own_bank
from incidents.memory.evaluation import Memory as Known
from incidents.memory.recall import BoundRecall, Recalled
from incidents.models import MemoryRecordRevision
from incidents.reading.facts import read_facts
from incidents.reading.queries import recall_queries
from incidents.services.evaluation import Evaluation
from oncall.clients.embedded.memory import EmbeddedMemory
from oncall.clients.hindsight import HindsightMemory
from oncall.clients.memory import Memory, Recollection
from teams.models import Project
from tests.incidents.memory import collections

pytestmark = pytest.mark.django_db

URL = os.environ.get("HINDSIGHT_TEST_URL", "")
KNOWN = [Known(*row, service="") for row in collections.MEMORIES]


class OtherOrder(EmbeddedMemory):
    """Finds the same the other way round, and misses what was nearest."""

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        return super().recall(bank_id, query, tags=tags, limit=limit)[:0:-1]


def filled(memories: list[Known]) -> Project:
    """Return a project whose bank, in the embedded memory, holds the memories."""
    Evaluation(EmbeddedMemory(), lambda *progress: None).load(memories)
    return Project.objects.get(key="EVAL")


def asked(project: Project, text: str, memory: Memory | None = None) -> Recalled:
    facts = read_facts(text)
    bound = BoundRecall(
        project=project, memory=memory or EmbeddedMemory(), alert_text=text, facts=facts, exclude_incident=None
    )
    return bound.own(recall_queries(text, facts))


def verdicts(recalled: Recalled) -> dict[int, tuple[str, str]]:
    return {one.record.pk: (one.strength, one.reason) for one in recalled.candidates}


@pytest.mark.parametrize(
    "other",
    [
        "other order",
        pytest.param(
            "hindsight",
            marks=[pytest.mark.hindsight, pytest.mark.skipif(not URL, reason="HINDSIGHT_TEST_URL is not set")],
        ),
    ],
)
def test_the_same_candidate_gets_the_same_word(other: str) -> None:
    project = filled(KNOWN)
    bank_id = own_bank(project).bank_id
    second: Memory = OtherOrder()
    if other == "hindsight":
        second = HindsightMemory(URL, os.environ.get("HINDSIGHT_TEST_KEY", ""))
        second.ensure_bank(bank_id)
        for revision in MemoryRecordRevision.objects.select_related("record"):
            second.retain(bank_id, sync.document(revision.record, revision))
    compared = 0
    try:
        for text, _, _ in collections.QUERIES:
            one, two = verdicts(asked(project, text)), verdicts(asked(project, text, second))
            both = one.keys() & two.keys()
            assert {key: one[key] for key in both} == {key: two[key] for key in both}
            compared += len(both)
    finally:
        if other == "hindsight":
            second.delete_bank(bank_id)
    assert compared > len(collections.QUERIES)


HOSTILE = {
    "100 kB": "error " + "x1y2 " * 20_000,
    "one word": "timeout " * 5_000,
    "stop words": "the of and to a in is it " * 500,
    "numbers": "1234 5678 502 12.1 " * 300,
    "another script": "数据库连接池耗尽 无法获取连接 " * 100,
    "nothing": "",
    "marks": "]]]}}}<<<" * 500,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_memories_are_never_close(kind: str) -> None:
    hostile = Known("hostile", HOSTILE[kind][:200] or "-", HOSTILE[kind], HOSTILE[kind], "", "")
    project = filled([hostile, *KNOWN])
    record = MemoryRecordRevision.objects.earliest("pk").record_id

    for text in (collections.QUERIES[0][0], collections.QUERIES[7][0]):
        assert verdicts(asked(project, text)).get(record, ("weak", ""))[0] == "weak"


def test_hostile_alerts_make_nothing_match() -> None:
    project = filled(KNOWN)

    for text in HOSTILE.values():
        assert {one.strength for one in asked(project, text).candidates} <= {"weak"}


def test_strict_takes_only_close_matches_and_says_so() -> None:
    alert = collections.PARTLY
    project = filled(KNOWN)
    [found] = [one for one in asked(project, alert).candidates if one.strength != "weak"]
    assert found.strength == "partial"

    Project.objects.update(relevance=Project.Relevance.STRICT)
    strict = asked(project, alert)

    assert {one.strength for one in strict.candidates} == {"weak"}
    assert strict.word == "no_match"
    assert strict.candidates[0].reason.startswith("Near, but this project takes only close matches: ")
