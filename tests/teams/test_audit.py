import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from teams import audit, services
from teams.models import AuditChain, AuditEvent
from tests import factories
from tests.conftest import World


def chain_of(world: World) -> AuditChain:
    return AuditChain.objects.get(name=f"team:{world.team.public_id}")


def test_record_keeps_who_what_where_and_through_which_door(world: World) -> None:
    with audit.acting("session", "192.0.2.7"), transaction.atomic():
        event = audit.record(
            "project.change",
            by=world.admin,
            on=world.project,
            team=world.team,
            before={"memory_on": True},
            after={"memory_on": False},
        )

    event.refresh_from_db()
    assert (event.actor_id, event.act, event.via, event.address) == (
        world.admin.public_id,
        "project.change",
        "session",
        "192.0.2.7",
    )
    assert (event.object_type, event.object_id) == ("project", str(world.project.public_id))
    assert (event.before, event.after) == ({"memory_on": True}, {"memory_on": False})


def test_record_outside_of_a_request_came_by_a_task(world: World) -> None:
    with transaction.atomic():
        event = audit.record("project.change", by=None, on=world.project, team=world.team)

    assert (event.via, event.address, event.actor_id) == ("task", "", None)


def test_door_is_forgotten_after_its_block(world: World) -> None:
    with audit.acting("session", "192.0.2.7"):
        audit.came_by("key:abc")
        with transaction.atomic():
            within = audit.record("project.change", by=None, on=world.project, team=world.team)
    with transaction.atomic():
        after = audit.record("project.change", by=None, on=world.project, team=world.team)

    assert (within.via, within.address) == ("key:abc", "192.0.2.7")
    assert (after.via, after.address) == ("task", "")


@pytest.mark.django_db(transaction=True)
def test_record_without_a_transaction_is_refused() -> None:
    team = factories.make_team()

    with pytest.raises(transaction.TransactionManagementError):
        audit.record("team.change", by=None, on=team, team=team)


def test_act_that_fails_leaves_no_row(world: World) -> None:
    before = AuditEvent.objects.count()

    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record("project.change", by=None, on=world.project, team=world.team)
        raise ZeroDivisionError

    assert AuditEvent.objects.count() == before
    assert audit.verify(chain_of(world)) == []


@pytest.mark.parametrize("value", [0.1, b"x", object(), {"a": 1}, ["a", 0.5]])
def test_record_refuses_a_value_that_a_database_may_change(world: World, value: object) -> None:
    with pytest.raises(TypeError, match="cannot keep"), transaction.atomic():
        audit.record("project.change", by=None, on=world.project, team=world.team, after={"value": value})


def test_each_team_has_a_chain_and_the_platform_one(world: World) -> None:
    names = set(AuditChain.objects.values_list("name", flat=True))

    assert names >= {"platform", f"team:{world.team.public_id}", f"team:{world.other_team.public_id}"}


def test_every_chain_of_the_world_is_intact(world: World) -> None:
    assert [problem for chain in AuditChain.objects.all() for problem in audit.verify(chain)] == []


# --- What the check finds ---------------------------------------------------------------------------------------------


def grow(world: World, rows: int = 5) -> AuditChain:
    for number in range(rows):
        with transaction.atomic():
            audit.record("project.change", by=world.admin, on=world.project, team=world.team, after={"n": number})
    return chain_of(world)


@pytest.mark.parametrize(
    "change",
    [
        {"act": "nothing"},
        {"at": "2026-01-01T00:00:00.000+00:00"},
        {"after": {"n": 99}},
        {"actor_id": None},
        {"via": "task"},
        {"address": "192.0.2.1"},
        {"object_id": "another"},
        {"previous_hash": "f" * 64},
        {"row_hash": "f" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_verify_names_exactly_the_row_that_was_changed(world: World, change: dict[str, object]) -> None:
    with audit.acting("session", "192.0.2.9"):
        chain = grow(world)
    row = chain.next_sequence - 3
    chain.events.filter(sequence=row).update(**change)

    assert audit.verify(chain) == [f"{chain.name}: row {row} was changed."]


def test_verify_names_a_changed_last_row(world: World) -> None:
    chain = grow(world)
    row = chain.next_sequence - 1
    chain.events.filter(sequence=row).update(act="nothing")

    assert audit.verify(chain) == [f"{chain.name}: row {row} was changed."]


def test_verify_finds_a_missing_row(world: World) -> None:
    chain = grow(world)
    row = chain.next_sequence - 3
    chain.events.filter(sequence=row).delete()

    assert audit.verify(chain) == [f"{chain.name}: row {row} is missing."]


def test_verify_finds_rows_missing_at_the_end(world: World) -> None:
    chain = grow(world)
    last = chain.next_sequence - 1
    chain.events.filter(sequence__gte=last - 1).delete()

    assert audit.verify(chain) == [f"{chain.name}: rows {last - 1} to {last} are missing."]


def test_verify_finds_rows_that_changed_places(world: World) -> None:
    chain = grow(world)
    one, two = chain.next_sequence - 3, chain.next_sequence - 2
    chain.events.filter(sequence=one).update(sequence=10_000)
    chain.events.filter(sequence=two).update(sequence=one)
    chain.events.filter(sequence=10_000).update(sequence=two)

    problems = audit.verify(chain)

    assert problems[:2] == [f"{chain.name}: row {one} was changed.", f"{chain.name}: row {two} was changed."]


def test_verify_finds_a_row_that_was_written_again_with_a_right_hash(world: World) -> None:
    chain = grow(world)
    forged = chain.events.get(sequence=chain.next_sequence - 3)
    forged.act = "nothing"
    forged.row_hash = audit.row_hash(forged)
    forged.save()

    row = forged.sequence + 1
    assert audit.verify(chain) == [f"{chain.name}: row {row} does not follow row {row - 1}."]


def test_verify_audit_says_what_is_wrong(world: World) -> None:
    out = StringIO()
    call_command("verify_audit", stdout=out)
    assert "All chains are intact" in out.getvalue()

    chain = grow(world)
    chain.events.filter(sequence=2).update(act="nothing")
    out = StringIO()
    with pytest.raises(CommandError, match=r"^1 problem\.$"):
        call_command("verify_audit", stdout=out)
    assert out.getvalue() == f"{chain.name}: row 2 was changed.\n"


# --- In parallel ------------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_fifty_acts_in_parallel_from_the_very_first_make_one_chain() -> None:
    team = factories.make_team(name="New")
    assert not AuditChain.objects.filter(name=f"team:{team.public_id}").exists()
    ready = threading.Barrier(10)

    def act(number: int) -> None:
        if number < 10:
            ready.wait()  # the first ten find no chain yet, all at once
        try:
            services.create_project(team=team, key=f"P{number:02d}", name=f"Project {number}", by=None)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(act, range(50)))

    chain = AuditChain.objects.get(name=f"team:{team.public_id}")
    assert list(chain.events.values_list("sequence", flat=True)) == list(range(1, 51))
    assert audit.verify(chain) == []
