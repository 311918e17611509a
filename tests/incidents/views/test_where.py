"""Service and environment corrected; a paste moved: what the pages ask, say and keep."""

import pytest

from incidents.models import Incident, IncidentEvent
from incidents.services import investigations, moving
from teams import services
from teams.models import Membership, Project
from tests import factories
from tests.conftest import World
from tests.incidents.views.test_acts import as_person, post


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def catalogue(world: World) -> Project:
    return factories.make_project(team=world.team, key="CAT", name="Catalogue")


def test_service_and_environment_are_corrected(world: World, incident: Incident) -> None:
    service = services.create_service(project=world.project, name="lookup", by=world.admin)

    answer = post(
        world.responder, "incident_correct", incident, {"service": service.public_id, "environment": "staging"}
    )

    incident.refresh_from_db()
    assert answer.status_code == 302
    assert (incident.service, incident.environment, incident.service_by) == (service, "staging", world.responder)


def test_a_correction_that_is_refused_keeps_what_was_typed(world: World, incident: Incident) -> None:
    answer = post(world.responder, "incident_correct", incident, {"service": "", "environment": "x" * 61})

    assert answer.status_code == 400
    assert "x" * 61 in answer.content.decode()


def test_a_move_leads_on_and_investigates_there_what_was_investigated_here(
    world: World, incident: Incident, catalogue: Project
) -> None:
    run = investigations.start(incident=incident, by=world.responder)
    investigations.cancel(investigation=run, by=world.responder)

    answer = post(world.responder, "incident_move", incident, {"project": "CAT"})

    new = Incident.objects.get(project=catalogue)
    assert answer.headers["Location"] == new.get_absolute_url()
    assert new.latest_investigation is not None


def test_the_old_number_leads_to_the_new_one(world: World, incident: Incident, catalogue: Project) -> None:
    new = moving.move(incident=incident, to=catalogue, by=world.responder)

    answer = as_person(world.viewer).get(incident.get_absolute_url())

    assert answer.headers["Location"] == new.get_absolute_url()


def test_the_old_number_tells_nobody_where_it_went_who_may_not_go_there(world: World, incident: Incident) -> None:
    services.add_member(team=world.other_team, user=world.responder, role=Membership.Role.RESPONDER, by=None)
    new = moving.move(incident=incident, to=world.other_project, by=world.responder)

    page = as_person(world.viewer).get(incident.get_absolute_url()).content.decode()

    assert "was moved" in page
    assert [word for word in (new.ref, new.title, "Payments") if word in page] == []


def test_what_was_typed_for_a_number_that_was_moved_is_kept(
    world: World, incident: Incident, catalogue: Project
) -> None:
    new = moving.move(incident=incident, to=catalogue, by=world.responder)

    answer = post(world.responder, "note_add", incident, {"note": "The pool is full again."})

    assert answer.status_code == 409
    assert "The pool is full again." in answer.content.decode()
    assert f"{new.get_absolute_url()}note/" in answer.content.decode()


def test_a_page_that_is_open_stops_asking_once_it_was_moved(
    world: World, incident: Incident, catalogue: Project
) -> None:
    moving.move(incident=incident, to=catalogue, by=world.responder)

    assert as_person(world.viewer).get(f"{incident.get_absolute_url()}live/?seen=1").status_code == 410


def test_a_move_that_is_refused_says_why(world: World, incident: Incident, catalogue: Project) -> None:
    investigations.start(incident=incident, by=world.responder)

    answer = post(world.responder, "incident_move", incident, {"project": "CAT"})

    assert answer.status_code == 409
    assert "An investigation is running" in answer.content.decode()


@pytest.mark.parametrize(
    ("who", "status"),
    [("contact", 409), ("not-an-id", 400), ("00000000-0000-0000-0000-000000000000", 409), ("", 400)],
)
def test_nobody_is_brought_in_who_is_not_in_the_list(world: World, incident: Incident, who: str, status: int) -> None:
    answer = post(world.responder, "incident_bring_in", incident, {"who": who})

    assert answer.status_code == status
    assert not IncidentEvent.objects.filter(kind="brought_in").exists()


def test_a_stranger_who_is_brought_in_by_id_is_not_named(world: World, incident: Incident) -> None:
    answer = post(world.responder, "incident_bring_in", incident, {"who": world.outsider.public_id})

    assert answer.status_code == 409
    assert world.outsider.name not in answer.content.decode()
