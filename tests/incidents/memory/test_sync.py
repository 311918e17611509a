import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from incidents.memory.sync import due, sync
from incidents.models import Incident, MemoryRecord
from incidents.services import memory as service
from incidents.services import outcomes
from oncall.clients.memory import MemoryRefused, MemoryUnavailable
from tests import factories
from tests.conftest import World
from tests.incidents.memory.memories import TroubledMemory

State = MemoryRecord.State


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def record(world: World, incident: Incident) -> MemoryRecord:
    factories.resolve(incident=incident, by=world.responder)
    return MemoryRecord.objects.get()


def stored(memory: TroubledMemory, record: MemoryRecord) -> dict[str, str]:
    """Return what the bank holds: revision by document id."""
    return {item.document_id: item.metadata["revision"] for item in memory.documents(record.bank.bank_id)}


def correct(world: World, incident: Incident, cause: str) -> None:
    outcome = incident.outcomes.get(superseded_by=None)
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause=cause, minutes=18)


def test_sync_ends_when_this_revision_was_recalled(memory: TroubledMemory, record: MemoryRecord) -> None:
    sync(record.pk, memory)

    record.refresh_from_db()
    assert (record.state, record.confirmed_revision, record.lease_token) == (State.RECALLABLE, 1, None)
    assert record.recallable_after is not None
    assert record.recallable_after >= 0
    assert record.bank.ensured_at is not None
    assert stored(memory, record) == {str(record.document_id): "1"}


def test_sync_twice_retains_once(memory: TroubledMemory, record: MemoryRecord) -> None:
    sync(record.pk, memory)
    sync(record.pk, memory)

    assert memory.calls.count("retain") == 1


def test_sync_leaves_a_record_that_another_worker_holds(memory: TroubledMemory, record: MemoryRecord) -> None:
    MemoryRecord.objects.claim(record.pk)

    sync(record.pk, memory)

    assert memory.calls == []


def test_sync_waits_for_a_slow_memory_and_does_not_send_again(memory: TroubledMemory, record: MemoryRecord) -> None:
    memory.slow = 10

    sync(record.pk, memory)
    record.refresh_from_db()
    assert record.state == State.RETAINED
    assert record.next_try_at is not None

    sync(record.pk, memory)
    record.refresh_from_db()
    assert (record.state, record.next_try_at) == (State.RECALLABLE, None)
    assert memory.calls.count("retain") == 1


def test_sync_sends_again_what_the_memory_lost(memory: TroubledMemory, record: MemoryRecord) -> None:
    memory.slow = 10
    sync(record.pk, memory)
    memory.slow = 0
    memory.delete_bank(record.bank.bank_id)
    MemoryRecord.objects.filter(pk=record.pk).update(retained_at=timezone.now() - timedelta(minutes=2))

    sync(record.pk, memory)

    record.refresh_from_db()
    assert record.state == State.RECALLABLE
    assert memory.calls.count("retain") == 2


def test_sync_keeps_an_unavailable_memory_for_later_and_never_gives_up(
    memory: TroubledMemory, record: MemoryRecord
) -> None:
    memory.failure = MemoryUnavailable("The memory server does not answer.")
    for _ in range(40):
        sync(record.pk, memory)

    record.refresh_from_db()
    assert (record.state, record.problem) == (State.QUEUED, "The memory server does not answer.")
    assert record.next_try_at is not None
    assert timezone.now() < record.next_try_at < timezone.now() + timedelta(seconds=61)

    memory.failure = None
    sync(record.pk, memory)
    record.refresh_from_db()
    assert (record.state, record.problem, record.next_try_at) == (State.RECALLABLE, "", None)


def test_sync_says_why_it_was_refused_and_tries_again_slowly(memory: TroubledMemory, record: MemoryRecord) -> None:
    memory.failure = MemoryRefused("The memory server refused the key.")

    sync(record.pk, memory)

    record.refresh_from_db()
    assert (record.state, record.problem) == (State.FAILED, "The memory server refused the key.")
    assert record.next_try_at is not None
    assert record.next_try_at > timezone.now() + timedelta(minutes=4)

    memory.failure = None
    sync(record.pk, memory)
    record.refresh_from_db()
    assert record.state == State.RECALLABLE


def test_sync_without_a_memory_says_that_it_is_off(record: MemoryRecord) -> None:
    sync(record.pk, None)

    record.refresh_from_db()
    assert (record.state, record.problem) == (State.QUEUED, "Memory is switched off on this server.")


def test_sync_sends_the_correction_that_came_while_it_was_sending(
    world: World, incident: Incident, memory: TroubledMemory, record: MemoryRecord
) -> None:
    causes = ["The index was rebuilt by day."]
    memory.after_retain = lambda: correct(world, incident, causes.pop()) if causes else None

    sync(record.pk, memory)

    record.refresh_from_db()
    assert (record.state, record.confirmed_revision) == (State.RECALLABLE, 2)
    assert stored(memory, record) == {str(record.document_id): "2"}


def test_sync_forgets_what_was_forgotten_while_it_was_sending(
    world: World, memory: TroubledMemory, record: MemoryRecord
) -> None:
    memory.after_retain = lambda: service.forget(record=record, by=world.admin) and None

    sync(record.pk, memory)

    record.refresh_from_db()
    assert record.state == State.FORGOTTEN
    assert stored(memory, record) == {}


def test_sync_that_lost_its_lease_takes_back_what_was_forgotten_meanwhile(
    world: World, memory: TroubledMemory, record: MemoryRecord
) -> None:
    def another_worker_forgets() -> None:
        memory.after_retain = None
        service.forget(record=record, by=world.admin)
        MemoryRecord.objects.filter(pk=record.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        sync(record.pk, TroubledMemory())

    memory.after_retain = another_worker_forgets

    sync(record.pk, memory)

    record.refresh_from_db()
    assert record.state == State.FORGOTTEN
    assert stored(memory, record) == {}


def test_forgetting_waits_for_the_memory_and_keeps_saying_so(
    world: World, memory: TroubledMemory, record: MemoryRecord
) -> None:
    sync(record.pk, memory)
    service.forget(record=record, by=world.admin)

    for failure in (MemoryUnavailable("No answer."), MemoryRefused("Refused.")):
        memory.failure = failure
        sync(record.pk, memory)
        record.refresh_from_db()
        assert (record.state, record.problem) == (State.FORGETTING, str(failure))

    memory.failure = None
    sync(record.pk, memory)
    record.refresh_from_db()
    assert (record.state, record.confirmed_revision) == (State.FORGOTTEN, None)
    assert stored(memory, record) == {}


def test_a_worker_that_was_killed_is_followed_by_the_sweep_once(memory: TroubledMemory, record: MemoryRecord) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    MemoryRecord.objects.filter(pk=record.pk).update(
        queued_at=long_ago, lease_token=uuid.uuid4(), lease_until=timezone.now() - timedelta(seconds=1)
    )

    assert list(due()) == [record]
    sync(record.pk, memory)

    assert list(due()) == []
    assert memory.calls.count("retain") == 1


def test_an_error_of_ours_is_shown_and_does_not_loop(memory: TroubledMemory, record: MemoryRecord) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    memory.after_retain = broken

    sync(record.pk, memory)

    record.refresh_from_db()
    assert (record.state, record.problem) == (State.FAILED, "An unexpected error stopped it (ZeroDivisionError).")


def test_a_refusal_that_comes_after_forgetting_loses_no_forgetting(
    memory: TroubledMemory, record: MemoryRecord
) -> None:
    sync(record.pk, memory)
    MemoryRecord.objects.filter(pk=record.pk).update(state=State.QUEUED, confirmed_revision=None)

    def forgotten_meanwhile() -> None:
        service.forget(record=record, by=record.incident.project.team.memberships.get(role="admin").user)  # type: ignore[union-attr]
        raise MemoryRefused("No.")

    memory.after_retain = forgotten_meanwhile
    sync(record.pk, memory)
    record.refresh_from_db()
    assert record.state == State.FORGETTING

    memory.after_retain = None
    MemoryRecord.objects.update(next_try_at=None)
    sync(record.pk, memory)
    record.refresh_from_db()
    assert record.state == State.FORGOTTEN
    assert stored(memory, record) == {}
