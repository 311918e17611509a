import pytest

from incidents.memory.records import document_id
from incidents.models import Incident, MemoryRecord
from teams.models import Bank
from tests import factories
from tests.conftest import World

RESOLUTION = MemoryRecord.Kind.VERIFIED_RESOLUTION


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


def bank_of(world: World) -> Bank:
    return Bank.objects.get(assignments__project=world.project, assignments__access="own")


@pytest.mark.parametrize("same", [["the  Pool was\nfull."], ["The pool was full."], ["Ｔhe pool was full. "]])
def test_document_id_does_not_change_with_case_and_space(world: World, incident: Incident, same: list[str]) -> None:
    bank = bank_of(world)

    assert document_id(bank=bank, kind=RESOLUTION, incident=incident, content=same) == document_id(
        bank=bank, kind=RESOLUTION, incident=incident, content=["The pool was full."]
    )


def test_document_id_changes_with_bank_kind_incident_and_words(world: World, incident: Incident) -> None:
    bank = bank_of(world)
    other_bank = Bank.objects.get(assignments__project=world.other_project, assignments__access="own")
    other = factories.make_incident(project=world.project, by=world.responder, text="disk full on db-3")
    attempt = MemoryRecord.Kind.FAILED_ATTEMPT

    ids = {
        document_id(bank=bank, kind=RESOLUTION, incident=incident, content=["a", "b"]),
        document_id(bank=other_bank, kind=RESOLUTION, incident=incident, content=["a", "b"]),
        document_id(bank=bank, kind=attempt, incident=incident, content=["a", "b"]),
        document_id(bank=bank, kind=RESOLUTION, incident=other, content=["a", "b"]),
        document_id(bank=bank, kind=RESOLUTION, incident=incident, content=["a b", ""]),
    }

    assert len(ids) == 5


def test_revision_keeps_parts_and_a_quotable_cause(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.responder, root_cause="The reindex held\nevery connection.")

    revision = MemoryRecord.objects.get().revisions.get()

    assert revision.cause in revision.text
    assert revision.title == incident.title
    assert revision.fix.startswith("Pause the nightly reindex.")
    assert "obtaining a connection from the pool" in revision.symptom


def test_revision_of_a_long_alert_leads_with_the_cause_and_cuts_the_log(world: World) -> None:
    log = "\n".join(f"line {number} of a very long log" for number in range(5000))
    incident = factories.make_incident(project=world.project, by=world.responder, text=f"disk full on db-3\n{log}")
    factories.resolve(incident=incident, by=world.responder)

    revision = MemoryRecord.objects.get().revisions.get()

    assert revision.text.startswith("Root cause: The nightly reindex held every connection of the pool.")
    assert len(revision.symptom) <= 2000
    assert "[cut: " in revision.symptom
