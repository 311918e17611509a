"""A misplaced paste is moved before anything was remembered from it, and not afterwards."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from incidents.models import Delivery, Incident, Investigation
from incidents.services import attempts, bring_in, deliveries, incidents, investigations, moving
from incidents.services.incidents import Conflict
from teams import audit, services
from teams.models import AuditChain, AuditEvent, Membership, Project
from tests import factories
from tests.conftest import World


@pytest.fixture
def incident(world: World) -> Incident:
    services.create_service(project=world.project, name="search-api", by=world.admin)
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def catalogue(world: World) -> Project:
    return factories.make_project(team=world.team, key="CAT", name="Catalogue")


@pytest.fixture
def payments(world: World) -> Project:
    """A project of another team, in which the responder may work too."""
    services.add_member(team=world.other_team, user=world.responder, role=Membership.Role.RESPONDER, by=None)
    return world.other_project


def test_move_takes_along_what_came_in(world: World, incident: Incident, catalogue: Project) -> None:
    incidents.add_note(incident=incident, text="Is this ours?", by=world.responder)
    incidents.add_system_text(incident=incident, text="pool: waiting=300", by=world.responder)

    new = moving.move(incident=incident, to=catalogue, by=world.responder)

    assert (new.ref, new.title, new.status) == ("CAT-1", incident.title, Incident.Status.OPEN)
    delivery = Delivery.objects.get()
    assert (delivery.project, delivery.incident) == (catalogue, new)
    assert [new.alerts.count(), new.notes.count(), new.system_texts.count()] == [1, 1, 1]
    assert "waiting=300" in incidents.alert_text(new)
    assert new in Incident.objects.search("pool waiting")
    assert {"noted", "system_text", "opened", "moved_here"} == set(new.events.values_list("kind", flat=True))


def test_move_leaves_a_line_without_a_word_of_the_alert(world: World, incident: Incident, catalogue: Project) -> None:
    new = moving.move(incident=incident, to=catalogue, by=world.responder)
    incident.refresh_from_db()

    assert (incident.moved_to, incident.status, incident.close_reason) == (new, "resolved", "moved")
    assert (incident.title, incident.search_text, incident.service) == ("Moved to another project", "", None)
    assert list(incident.events.values_list("kind", flat=True)) == ["moved"]
    assert factories.make_incident(project=world.project, by=world.responder, text="disk full").number == 2


def test_move_reads_the_alert_with_the_other_projects_services(
    world: World, incident: Incident, catalogue: Project
) -> None:
    services.create_service(project=catalogue, name="lookup", by=world.admin, aliases=["search-api"])

    new = moving.move(incident=incident, to=catalogue, by=world.responder)
    again = factories.make_incident(project=catalogue, by=world.responder)

    assert new.service is not None
    assert new.service.name == "lookup"
    assert again == new  # the same paste has the same fingerprint there


def test_move_joins_the_open_incident_that_has_the_same_alert(
    world: World, incident: Incident, catalogue: Project
) -> None:
    there = factories.make_incident(project=catalogue, by=world.responder)

    assert moving.move(incident=incident, to=catalogue, by=world.responder) == there

    there.refresh_from_db()
    assert there.alert_count == 2
    assert there.alerts.count() == 2


def test_the_same_alert_in_the_old_project_is_a_new_incident(
    world: World, incident: Incident, catalogue: Project
) -> None:
    moving.move(incident=incident, to=catalogue, by=world.responder)

    again = factories.make_incident(project=world.project, by=world.responder)

    assert (again.number, again.previous) == (2, None)


def test_investigations_stay_with_the_memory_that_they_read(
    world: World, incident: Incident, catalogue: Project
) -> None:
    run = investigations.start(incident=incident, by=world.responder)
    investigations.cancel(investigation=run, by=world.responder)

    new = moving.move(incident=incident, to=catalogue, by=world.responder)

    assert Investigation.objects.get().incident == incident
    assert new.latest_investigation is None


def test_move_is_in_the_audit_of_both_teams(world: World, incident: Incident, payments: Project) -> None:
    new = moving.move(incident=incident, to=payments, by=world.responder)

    rows = {event.act: event for event in AuditEvent.objects.filter(act__startswith="incident.move")}
    assert rows["incident.move_out"].chain.name == f"team:{world.team.public_id}"
    assert rows["incident.move_in"].chain.name == f"team:{world.other_team.public_id}"
    assert rows["incident.move_out"].after == {"to": str(new.public_id)}
    assert [audit.verify(chain) for chain in AuditChain.objects.all()] == [[]] * AuditChain.objects.count()


def test_another_team_learns_no_number_and_keeps_no_assignee(
    world: World, incident: Incident, payments: Project
) -> None:
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder)

    new = moving.move(incident=incident, to=payments, by=world.responder)

    assert new.assignee is None
    assert new.events.get(kind="moved_here").detail == {}


@pytest.mark.parametrize("what", ["attempt", "outcome"])
def test_what_was_remembered_from_stays(world: World, incident: Incident, catalogue: Project, what: str) -> None:
    if what == "attempt":
        attempts.record_attempt(incident=incident, by=world.responder, new_fix_title="Restart")
    else:
        factories.resolve(incident=incident, by=world.responder)

    with pytest.raises(Conflict):
        moving.move(incident=incident, to=catalogue, by=world.responder)

    assert Delivery.objects.get().project == world.project


def test_what_a_machine_sent_stays(world: World, catalogue: Project) -> None:
    delivery = deliveries.receive(
        project=world.project, body=b"disk full on db-1", content_type="text/plain", source=Delivery.Source.API
    )

    with pytest.raises(Conflict, match="did not come by paste"):
        moving.move(incident=delivery.incident, to=catalogue, by=world.responder)


def test_it_stays_while_an_investigation_runs(world: World, incident: Incident, catalogue: Project) -> None:
    investigations.start(incident=incident, by=world.responder)

    with pytest.raises(Conflict, match="investigation is running"):
        moving.move(incident=incident, to=catalogue, by=world.responder)


def test_one_must_work_in_both_projects(world: World, incident: Incident, catalogue: Project) -> None:
    with pytest.raises(PermissionDenied):
        moving.move(incident=incident, to=catalogue, by=world.viewer)
    with pytest.raises(Http404):
        moving.move(incident=incident, to=world.other_project, by=world.responder)
    with pytest.raises(Http404):
        moving.move(incident=incident, to=world.other_project, by=world.outsider)


def test_a_moved_number_takes_no_acts(world: World, incident: Incident, catalogue: Project) -> None:
    moving.move(incident=incident, to=catalogue, by=world.responder)
    refused = [
        lambda: incidents.acknowledge(incident=incident, by=world.responder),
        lambda: incidents.assign(incident=incident, assignee=world.responder, by=world.responder),
        lambda: incidents.close(incident=incident, reason="false_alarm", duplicate_of=None, by=world.responder),
        lambda: incidents.add_note(incident=incident, text="Still here?", by=world.responder),
        lambda: incidents.correct(incident=incident, by=world.responder, severity="low"),
        lambda: attempts.record_attempt(incident=incident, by=world.responder, new_fix_title="Restart"),
        lambda: bring_in.bring_in(incident=incident, who=world.admin, by=world.responder),
        lambda: moving.move(incident=incident, to=catalogue, by=world.responder),
    ]

    for act in refused:
        with pytest.raises(Conflict):
            act()
