from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from incidents.models import Incident, MemoryRecord
from incidents.services import memory, outcomes
from oncall.clients.memory import get_memory
from teams.models import AuditEvent
from tests import factories
from tests.conftest import World

State = MemoryRecord.State


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def record(world: World, incident: Incident) -> MemoryRecord:
    factories.resolve(incident=incident, by=world.responder)
    return MemoryRecord.objects.get()


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the ids of records whose sync was published: the one seam where the queue begins."""
    sent: list[int] = []
    monkeypatch.setattr(memory, "publish", lambda name, record_id: sent.append(record_id))
    return sent


def long_queued(record: MemoryRecord, **values: object) -> None:
    MemoryRecord.objects.filter(pk=record.pk).update(queued_at=timezone.now() - timedelta(minutes=1), **values)


def test_sync_record_brings_it_to_the_configured_memory(record: MemoryRecord) -> None:
    memory.sync_record(record.pk)

    record.refresh_from_db()
    assert record.state == State.RECALLABLE


def test_sweep_publishes_what_was_lost_and_not_again_at_once(record: MemoryRecord, published: list[int]) -> None:
    long_queued(record)

    memory.sweep()
    memory.sweep()

    assert published == [record.pk]


@pytest.mark.parametrize(
    ("values", "swept"),
    [
        ({"state": State.QUEUED}, True),
        ({"state": State.RETAINED}, True),
        ({"state": State.FAILED}, True),
        ({"state": State.FORGETTING, "wanted_revision": None}, True),
        ({"state": State.RECALLABLE}, False),
        ({"state": State.QUARANTINED}, False),
        ({"state": State.FORGOTTEN, "wanted_revision": None}, False),
        # not yet
        ({"state": State.QUEUED, "next_try_at": timezone.now() + timedelta(hours=1)}, False),
        # somebody works on it
        ({"state": State.QUEUED, "lease_until": timezone.now() + timedelta(hours=1)}, False),
    ],
)
def test_sweep_takes_up_what_is_unfinished(
    record: MemoryRecord, published: list[int], values: dict[str, object], swept: bool
) -> None:
    long_queued(record, **values)

    memory.sweep()

    assert published == ([record.pk] if swept else [])


def test_sweep_leaves_a_fresh_message_to_the_queue(record: MemoryRecord, published: list[int]) -> None:
    memory.sweep()

    assert published == []


def test_forget_blanks_every_revision_at_once_and_leaves_a_tombstone(
    world: World, incident: Incident, record: MemoryRecord
) -> None:
    outcome = incident.outcomes.get()
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="Another cause.", minutes=18)
    memory.sync_record(record.pk)

    done = memory.forget(record=record, by=world.admin)
    again = memory.forget(record=record, by=world.admin)

    assert not done.already_saved
    assert again.already_saved
    for revision in record.revisions.all():
        parts = (revision.title, revision.symptom, revision.cause, revision.fix, revision.text, revision.content_hash)
        assert parts == ("",) * 6
    record.refresh_from_db()
    assert (record.state, record.wanted_revision, record.forgotten_by) == (State.FORGETTING, None, world.admin)
    assert AuditEvent.objects.get(act="memory.forget").object_id == str(record.public_id)

    memory.sync_record(record.pk)
    record.refresh_from_db()
    assert record.state == State.FORGOTTEN
    server = get_memory()
    assert server is not None
    assert list(server.documents(record.bank.bank_id)) == []


def test_forget_is_for_team_admins(world: World, record: MemoryRecord) -> None:
    with pytest.raises(PermissionDenied):
        memory.forget(record=record, by=world.responder)
    with pytest.raises(Http404):
        memory.forget(record=record, by=world.outsider)

    assert record.revisions.get().text


def test_a_correction_after_forgetting_is_remembered_anew(
    world: World, incident: Incident, record: MemoryRecord
) -> None:
    memory.forget(record=record, by=world.admin)
    memory.sync_record(record.pk)

    outcome = incident.outcomes.get()
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="Without the customer's name.", minutes=18)
    memory.sync_record(record.pk)

    record.refresh_from_db()
    assert (record.state, record.confirmed_revision, record.forgotten_by) == (State.RECALLABLE, 2, None)
    assert record.revisions.get(number=1).text == ""
