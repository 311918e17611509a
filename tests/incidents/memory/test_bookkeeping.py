"""A bank that differs from our rows is told and mended, and nothing is done twice."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from incidents.memory import bookkeeping
from incidents.models import MemoryRecord
from incidents.services import memory as service
from oncall.clients.memory import Document, MemoryUnavailable, get_memory
from teams.models import Bank
from tests import factories
from tests.conftest import World
from tests.incidents.memory.memories import TroubledMemory


@pytest.fixture
def bank(world: World) -> Bank:
    """Three records, all of them recallable."""
    for number in range(3):
        text = f"disk {number} of db-{number} is full, no space left on device"
        incident = factories.make_incident(project=world.project, by=world.responder, text=text, title=f"Disk {number}")
        factories.resolve(incident=incident, by=world.responder, fix=f"Extend volume {number}")
    for record in MemoryRecord.objects.all():
        service.sync_record(record.pk)
    assert set(MemoryRecord.objects.values_list("state", flat=True)) == {"recallable"}
    return MemoryRecord.objects.first().bank  # type: ignore[union-attr]


def recalled(world: World) -> list[tuple[str, str]]:
    answer = service.recall(project=world.project, text="disk 1 of db-1 is full, no space left on device")
    return [(candidate.revision.title, candidate.strength) for candidate in answer.own.candidates]


def damage(bank: Bank) -> None:
    """Lose one document, put an old revision in another's place, and add one that nobody wrote."""
    memory = get_memory()
    assert memory is not None
    lost, old, _ = MemoryRecord.objects.order_by("pk")
    memory.forget(bank.bank_id, str(lost.document_id))
    memory.retain(bank.bank_id, Document(str(old.document_id), "What stood there before", (), {"revision": "0"}))
    memory.retain(bank.bank_id, Document("planted", "Anybody's words", (), {}))


def run(name: str, *arguments: str) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_status_counts_states_and_finds_the_bank_as_it_should_be(world: World, bank: Bank) -> None:
    banks = json.loads(run("memory_status", "--json"))["banks"]

    ours = next(line for line in banks if line["bank"] == "SEARCH")
    assert (ours["recallable"], ours["queued"], ours["oldest_waiting_seconds"]) == (3, 0, None)
    assert (ours["missing"], ours["outdated"], ours["foreign"]) == (0, 0, 0)
    assert bank.bank_id not in json.dumps(banks)


def test_status_ends_with_an_error_where_a_bank_differs(world: World, bank: Bank) -> None:
    damage(bank)

    with pytest.raises(CommandError, match="rebuild_bank"):
        run("memory_status")


def test_a_rebuilt_bank_recalls_the_same(world: World, bank: Bank) -> None:
    before = recalled(world)
    damage(bank)

    said = run("rebuild_bank", "SEARCH")

    assert "1 were missing, 1 outdated, 1 not ours. 3 are recallable now." in said
    assert recalled(world) == before
    assert not bookkeeping.differences(bank, get_memory())  # type: ignore[arg-type]


def test_a_rebuild_that_was_stopped_goes_on(world: World, bank: Bank) -> None:
    memory: Any = TroubledMemory()
    for document in list(memory.documents(bank.bank_id)):
        memory.forget(bank.bank_id, document.document_id)

    def stop(done: int, of: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bookkeeping.rebuild(bank, memory, stop)
    bookkeeping.rebuild(bank, memory, lambda done, of: None)

    assert memory.calls.count("retain") == 3
    assert not bookkeeping.differences(bank, memory)
    bookkeeping.rebuild(bank, memory, lambda done, of: None)
    assert memory.calls.count("retain") == 3


def test_a_rebuild_without_its_memory_says_so_and_loses_nothing(
    world: World, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = TroubledMemory()
    memory.failure = MemoryUnavailable("The memory server does not answer.")
    monkeypatch.setattr("incidents.management.commands.rebuild_bank.get_memory", lambda: memory)

    with pytest.raises(CommandError, match=r"does not answer\. What was done stays"):
        run("rebuild_bank", "SEARCH")
    assert MemoryRecord.objects.filter(wanted_revision=1).count() == 3


def test_unknown_projects_are_named(world: World) -> None:
    for command in (["rebuild_bank", "NOPE"], ["memory_status", "--project", "NOPE"]):
        with pytest.raises(CommandError, match="NOPE"):
            run(*command)
