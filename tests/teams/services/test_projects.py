import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection

from teams import services
from teams.models import AuditEvent, Bank, BankAssignment, KnownName, Project
from tests import factories
from tests.conftest import World


def names_of(kind: str) -> set[str]:
    return set(KnownName.objects.filter(kind=kind).values_list("name", flat=True))


def last_act() -> AuditEvent:
    return AuditEvent.objects.latest("pk")


def test_create_team_takes_a_free_slug(db: None) -> None:
    first = services.create_team(name="Größe & Co", by=None)
    second = services.create_team(name="Größe & Co", by=None)
    nothing = services.create_team(name="!!!", by=None)

    assert [first.slug, second.slug, nothing.slug] == ["groe-co", "groe-co-2", "team"]
    assert names_of("team") == {"Größe & Co", "!!!"}


def test_create_project_makes_its_private_bank(world: World) -> None:
    project = services.create_project(team=world.team, key="CAT", name="Catalogue", by=world.admin)

    own = BankAssignment.objects.get(project=project, access="own")
    assert (own.bank.kind, own.bank.name) == ("private", "Memory of Catalogue")
    assert re.fullmatch(r"b-[0-9a-f]{32}", own.bank.bank_id)
    assert own.bank.ensured_at is None  # a worker makes it on the memory server


def test_create_project_may_use_shared_lessons_and_does_not(world: World) -> None:
    project = services.create_project(team=world.team, key="CAT", name="Catalogue", by=world.admin)

    shared = BankAssignment.objects.filter(project=project, bank=services.shared_bank())
    assert set(shared.values_list("access", flat=True)) == {"read", "contribute"}
    assert not project.uses_shared_lessons and not project.contributes_lessons


def test_shared_bank_is_one(world: World) -> None:
    assert services.shared_bank() == services.shared_bank()
    assert Bank.objects.filter(kind="shared").count() == 1


@pytest.mark.parametrize(("tokens", "strategy"), [(8_000, "guided"), (29_999, "guided"), (30_000, "autonomous")])
def test_create_project_is_guided_where_the_plan_is_small(
    world: World, settings: object, tokens: int, strategy: str
) -> None:
    settings.GROQ_TPM_BUDGET = tokens  # type: ignore[attr-defined]

    assert factories.make_project(team=world.team).strategy == strategy


@pytest.mark.parametrize("key", ["", "a", "S", "search", "SEARCH-1", "1AB", "ABCDEFGHIJK", "ÄB", "SEARCH"])
def test_create_project_refuses_a_key_of_another_form_or_that_was_given(world: World, key: str) -> None:
    with pytest.raises(ValidationError) as refused:
        services.create_project(team=world.team, key=key, name="Another", by=world.admin)

    assert set(refused.value.message_dict) == {"key"}


def test_create_project_writes_names_and_audit(world: World) -> None:
    project = services.create_project(team=world.team, key="CAT", name="Catalogue", by=world.admin)

    event = last_act()
    assert (event.act, event.actor_id, event.object_id) == (
        "project.create",
        world.admin.public_id,
        str(project.public_id),
    )
    assert event.chain.name == f"team:{world.team.public_id}"
    assert "CAT" in names_of("project_key") and "Catalogue" in names_of("project")


def test_change_project_keeps_the_old_name_known_and_names_the_bank_anew(world: World) -> None:
    services.change_project(project=world.project, by=world.admin, name="Find", memory_on=False)

    world.project.refresh_from_db()
    assert (world.project.name, world.project.memory_on) == ("Find", False)
    assert {"Search", "Find"} <= names_of("project")
    assert Bank.objects.get(assignments__project=world.project, assignments__access="own").name == "Memory of Find"


def test_change_project_audits_values_but_no_words(world: World) -> None:
    services.change_project(
        project=world.project, by=world.admin, name="Find", memory_on=False, escalation_contact="Bo, 555-0100"
    )

    event = last_act()
    assert event.act == "project.change"
    assert event.before == {"name": "changed", "memory_on": True, "escalation_contact": "changed"}
    assert event.after == {"name": "changed", "memory_on": False, "escalation_contact": "changed"}


def test_change_project_to_what_it_is_writes_nothing(world: World) -> None:
    before = last_act().pk

    services.change_project(project=world.project, by=world.admin, name="Search", memory_on=True)

    assert last_act().pk == before


def test_change_project_does_not_change_the_key_or_the_team(world: World) -> None:
    for change in ({"key": "NEW"}, {"team": world.other_team}, {"next_incident_number": 1}):
        with pytest.raises(ValueError, match="No setting"):
            services.change_project(project=world.project, by=world.admin, **change)


def test_change_project_refuses_a_value_that_is_no_choice(world: World) -> None:
    with pytest.raises(ValidationError):
        services.change_project(project=world.project, by=world.admin, strategy="reckless")

    assert Project.objects.get(pk=world.project.pk).strategy != "reckless"


# --- Services ---------------------------------------------------------------------------------------------------------


def test_create_service_knows_name_and_aliases(world: World) -> None:
    services.create_service(project=world.project, name="search-api", aliases=["searchapi", "sapi"], by=world.admin)

    assert names_of("service") == {"search-api", "searchapi", "sapi"}
    assert last_act().act == "service.create"


@pytest.mark.parametrize(
    ("name", "aliases"),
    [
        ("search-api", []),  # the same name
        ("Search-API", []),  # in another case
        ("suggest", ["sapi"]),  # another's alias
        ("suggest", ["SEARCH-API"]),  # another's name as an alias
        ("sapi", []),  # another's alias as a name
    ],
)
def test_service_may_not_go_by_what_means_another(world: World, name: str, aliases: list[str]) -> None:
    services.create_service(project=world.project, name="search-api", aliases=["sapi"], by=world.admin)

    with pytest.raises(ValidationError):
        services.create_service(project=world.project, name=name, aliases=aliases, by=world.admin)


def test_service_of_another_project_may_have_the_name(world: World) -> None:
    services.create_service(project=world.project, name="api", by=world.admin)
    services.create_service(project=world.other_project, name="api", by=world.outsider)


def test_update_service_keeps_old_names_known(world: World) -> None:
    service = services.create_service(project=world.project, name="search-api", aliases=["sapi"], by=world.admin)

    services.update_service(service=service, name="find-api", aliases=["sapi"], by=world.admin)

    service.refresh_from_db()
    assert (service.name, service.aliases) == ("find-api", ["sapi"])
    assert {"search-api", "find-api", "sapi"} <= names_of("service")


# --- Banks ------------------------------------------------------------------------------------------------------------


def test_share_memory_within_the_team(world: World) -> None:
    catalogue = factories.make_project(team=world.team, key="CAT")

    assignment = services.share_memory(reader=catalogue, owner=world.project, by=world.platform_admin)

    assert assignment.access == "read"
    assert assignment.bank.assignments.get(access="own").project == world.project
    assert (last_act().act, last_act().after) == ("bank.share", {"reader": str(catalogue.public_id)})


def test_share_memory_twice_is_one_assignment_and_one_act(world: World) -> None:
    catalogue = factories.make_project(team=world.team, key="CAT")
    first = services.share_memory(reader=catalogue, owner=world.project, by=world.platform_admin)
    act = last_act().pk

    assert services.share_memory(reader=catalogue, owner=world.project, by=world.platform_admin) == first
    assert last_act().pk == act


def test_share_memory_with_another_team_is_refused(world: World) -> None:
    with pytest.raises(ValidationError, match="only by projects of the same team"):
        services.share_memory(reader=world.other_project, owner=world.project, by=world.platform_admin)

    assert not BankAssignment.objects.filter(project=world.other_project, bank__kind="private", access="read").exists()


def test_share_memory_with_itself_is_refused(world: World) -> None:
    with pytest.raises(ValidationError, match="its own memory already"):
        services.share_memory(reader=world.project, owner=world.project, by=world.platform_admin)


def test_stop_sharing_memory_takes_away_that_right_only(world: World) -> None:
    catalogue = factories.make_project(team=world.team, key="CAT")
    services.share_memory(reader=catalogue, owner=world.project, by=world.platform_admin)

    services.stop_sharing_memory(reader=catalogue, owner=world.project, by=world.platform_admin)

    left = BankAssignment.objects.filter(project=catalogue).values_list("bank__kind", "access")
    assert set(left) == {("private", "own"), ("shared", "read"), ("shared", "contribute")}
    assert BankAssignment.objects.filter(project=world.project, access="own").exists()


def test_bank_has_one_owner(world: World) -> None:
    own = BankAssignment.objects.get(project=world.project, access="own")
    BankAssignment.objects.filter(project=world.other_project, access="own").delete()

    with pytest.raises(IntegrityError):
        BankAssignment.objects.create(bank=own.bank, project=world.other_project, access="own")


def test_project_owns_one_bank(world: World) -> None:
    another = Bank.objects.create(kind="private", name="Another")

    with pytest.raises(IntegrityError):
        BankAssignment.objects.create(bank=another, project=world.project, access="own")


# --- At the same moment -----------------------------------------------------------------------------------------------


def at_once(act: Callable[[int], object]) -> list[str]:
    """Do it four times at once; return how each ended."""
    ready = threading.Barrier(4)

    def run(number: int) -> str:
        ready.wait()
        try:
            act(number)
        except Exception as error:
            return type(error).__name__
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(4) as pool:
        return sorted(pool.map(run, range(4)))


@pytest.mark.django_db(transaction=True)
def test_a_key_that_is_given_twice_at_once_is_one_project() -> None:
    team = factories.make_team()

    ended = at_once(lambda number: services.create_project(team=team, key="TWICE", name=f"Name {number}", by=None))

    assert ended == [*["ValidationError"] * 3, "done"]


@pytest.mark.django_db(transaction=True)
def test_a_service_that_is_made_twice_at_once_is_one_service() -> None:
    project = factories.make_project()

    ended = at_once(lambda _: services.create_service(project=project, name="api", aliases=["gateway"], by=None))

    assert ended == [*["ValidationError"] * 3, "done"]
