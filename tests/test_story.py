"""The story through the services, on each memory: what one engineer verified is what the next alert starts from."""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from incidents.models import Diagnosis, Incident, Investigation, MemoryRecord
from incidents.services import attempts, diagnosing, investigations, memory
from oncall.clients.memory import get_memory
from teams.models import Bank, User
from tests import factories
from tests.conftest import World

HINDSIGHT = os.environ.get("HINDSIGHT_TEST_URL", "")
SIMILAR = """\
service=search-api env=prod-eu severity=critical
Customers get 502 pages. Timeout expired: no connection could be obtained from the pool, all pooled connections in use.
"""
UNKNOWN = "service=rank-model env=prod severity=high\nsha256 mismatch: model checksum differs on 3 of 8 nodes\n"


@pytest.fixture(
    params=[
        "embedded",
        pytest.param(
            "hindsight",
            marks=[
                pytest.mark.hindsight,
                pytest.mark.skipif(not HINDSIGHT, reason="no HINDSIGHT_TEST_URL: make services starts a server"),
            ],
        ),
    ]
)
def on_memory(request: pytest.FixtureRequest, settings: Any, world: World) -> Iterator[str]:
    """Run on one of the memories, and leave no bank behind."""
    settings.MEMORY = request.param
    settings.HINDSIGHT_URL = HINDSIGHT
    settings.HINDSIGHT_API_KEY = os.environ.get("HINDSIGHT_TEST_KEY", "")
    yield request.param
    client = get_memory()
    for bank in Bank.objects.all():
        if client:
            client.delete_bank(bank.bank_id)


def _investigate(incident: Incident, by: User) -> Investigation:
    run = investigations.start(incident=incident, by=by, may_ask=False)
    for diagnosis in run.diagnoses.order_by("kind"):
        diagnosing.run_diagnosis(diagnosis.pk)
    return Investigation.objects.get(pk=run.pk)


def _remembered() -> None:
    """Sync until everything is recallable, as the workers and the sweep would."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = MemoryRecord.objects.exclude(state=MemoryRecord.State.RECALLABLE)
        if not waiting:
            return
        for record in waiting:
            MemoryRecord.objects.filter(pk=record.pk).update(next_try_at=None)
            memory.sync_record(record.pk)
    pytest.fail(f"never recallable: {list(MemoryRecord.objects.values_list('state', 'problem'))}")


def test_what_was_verified_is_what_the_next_alert_starts_from(world: World, on_memory: str) -> None:
    engineer = world.responder
    first = factories.make_incident(project=world.project, by=engineer)
    assert _investigate(first, engineer).memory_word == Investigation.MemoryWord.EMPTY
    attempts.record_attempt(
        incident=first,
        by=engineer,
        what_happened="The new pods queued for the same connections.",
        new_fix_title="Restart the search-api pods",
    )
    factories.resolve(incident=first, by=engineer)
    _remembered()
    assert all(record.recallable_after is not None for record in MemoryRecord.objects.all())

    second = factories.make_incident(project=world.project, by=engineer, text=SIMILAR)
    run = _investigate(second, engineer)

    assert run.pattern == Investigation.Pattern.KNOWN_HERE
    answer = run.diagnoses.get(kind=Diagnosis.Kind.WITH_MEMORY)
    assert [item.record.incident for item in answer.evidence.filter(accepted=True)] == [first]
    assert not any("Restart" in action["text"] for action in answer.immediate_actions)

    unknown = _investigate(factories.make_incident(project=world.project, by=engineer, text=UNKNOWN), engineer)
    assert (unknown.pattern, unknown.memory_word) == ("new_pattern", "no_match")
    assert unknown.diagnoses.get(kind=Diagnosis.Kind.WITH_MEMORY).confidence == "low"


def test_two_projects_with_the_same_words_never_see_each_other(world: World, on_memory: str) -> None:
    mine = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=mine, by=world.responder)
    _remembered()

    theirs = factories.make_incident(project=world.other_project, by=world.outsider)
    run = _investigate(theirs, world.outsider)

    assert run.memory_word == Investigation.MemoryWord.EMPTY
    assert run.diagnoses.get(kind=Diagnosis.Kind.WITH_MEMORY).evidence.count() == 0
