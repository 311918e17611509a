import numpy
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from incidents.memory.readings import keep_readings, landscape_of, memory_text, revisions_of, wanted
from incidents.memory.texts import MemoryText, Reading
from incidents.models import MemoryReading, MemoryRecord
from incidents.services import memory, outcomes
from tests import factories
from tests.conftest import World


@pytest.fixture
def record(world: World) -> MemoryRecord:
    incident = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=incident, by=world.responder, root_cause="The zookeeper ensemble lost quorum.")
    return MemoryRecord.objects.get()


def test_a_stored_reading_is_what_was_stored() -> None:
    reading = MemoryText(
        "Pool exhausted: HTTP 503", "Timeout expired. Nothing left in HikariPool-1.", "A leak."
    ).reading

    stored = Reading.stored(reading.said(), reading.packed())

    assert stored.said() == reading.said()
    for name in ("sentences", "averages", "whole", "caused", "bags"):
        assert getattr(stored, name).shape == getattr(reading, name).shape
        assert numpy.allclose(getattr(stored, name), getattr(reading, name), atol=1e-3)


def test_landscape_of_follows_the_rows(world: World, record: MemoryRecord) -> None:
    before = landscape_of(record.bank).rarity("zookeep")
    outcome = record.incident.outcomes.get()
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="The disk was full.", minutes=1)
    corrected = landscape_of(record.bank).rarity("zookeep")
    memory.forget(record=record, by=world.admin)

    assert corrected > before
    assert len(landscape_of(record.bank)) == 0


def test_landscape_of_asks_once_when_nothing_changed(record: MemoryRecord) -> None:
    landscape_of(record.bank)

    with CaptureQueriesContext(connection) as queries:
        landscape_of(record.bank)

    assert len(queries) == 1


def test_a_reading_is_made_once_and_again_only_in_another_format(record: MemoryRecord) -> None:
    revision = revisions_of(wanted(record.bank)).get()
    keep_readings([revision])
    first = MemoryReading.objects.get()
    keep_readings(revisions_of(wanted(record.bank)))
    assert MemoryReading.objects.get().pk == first.pk

    MemoryReading.objects.update(format=0, said={})
    assert memory_text(revisions_of(wanted(record.bank)).get()).kept is None
    landscape_of(record.bank)
    assert MemoryReading.objects.get().said["stems"]


def test_forgetting_takes_what_was_read_with_it(world: World, record: MemoryRecord) -> None:
    revision = revisions_of(wanted(record.bank)).get()
    keep_readings([revision])

    memory.forget(record=record, by=world.admin)
    assert not MemoryReading.objects.exists()

    # A worker that read the text before it was forgotten leaves nothing either.
    keep_readings([type(revision).objects.get(pk=revision.pk)])
    assert not MemoryReading.objects.exists()
