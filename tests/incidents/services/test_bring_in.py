"""Who could help, and what is written when somebody is brought in."""

import pytest

from incidents.models import Incident
from incidents.services import bring_in, outcomes
from incidents.services.incidents import Conflict
from teams import services
from teams.models import AuditEvent, Membership
from tests import factories
from tests.conftest import World


@pytest.fixture
def incident(world: World) -> Incident:
    services.create_service(project=world.project, name="search-api", by=world.admin)
    return factories.make_incident(project=world.project, by=world.responder)


def helpers(incident: Incident) -> dict[str, tuple[int, bool]]:
    rows = bring_in.with_fixes(Membership.objects.filter(team=incident.project.team), incident)
    found = [bring_in.helper(row) for row in rows.select_related("user")]
    return {one.user.name: (one.fixes, one.last_at is not None) for one in found}


def test_with_fixes_counts_those_of_the_service_that_stand(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.admin)
    again = factories.make_incident(project=world.project, by=world.responder)
    other = factories.make_incident(project=world.project, by=world.responder, text="service=other\nERROR disk full")
    factories.resolve(incident=other, by=world.responder, fix="Remove logs")

    assert helpers(again)["Ada Admin"] == (1, True)
    assert helpers(again)["Rosa Responder"] == (0, False)
    assert helpers(other)["Rosa Responder"] == (1, True)  # its service is not known here, so every fix counts


def test_with_fixes_leaves_out_what_did_not_hold(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.admin)
    outcomes.reopen(incident=incident, by=world.responder, held=False)

    assert helpers(incident)["Ada Admin"] == (0, False)


def test_bring_in_writes_it_down_and_assigns_nobody(world: World, incident: Incident) -> None:
    bring_in.bring_in(incident=incident, who=world.admin, by=world.responder)
    incident.refresh_from_db()

    assert incident.assignee is None
    line = incident.events.get(kind="brought_in")
    assert (line.by, line.detail) == (world.responder, {"who": "Ada Admin"})
    row = AuditEvent.objects.get(act="incident.bring_in")
    assert row.after == {"who": str(world.admin.public_id), "assign": False}


def test_bring_in_assigns_where_asked_to(world: World, incident: Incident) -> None:
    bring_in.bring_in(incident=incident, who=world.admin, by=world.responder, assign=True)
    incident.refresh_from_db()

    assert incident.assignee == world.admin


def test_bring_in_of_whoever_may_not_be_assigned_writes_nothing(world: World, incident: Incident) -> None:
    with pytest.raises(Conflict, match="may not work"):
        bring_in.bring_in(incident=incident, who=world.viewer, by=world.responder, assign=True)

    assert not incident.events.filter(kind="brought_in").exists()


def test_bring_in_refuses_whoever_has_left(world: World, incident: Incident) -> None:
    services.remove_member(team=world.team, user=world.viewer, by=world.admin)

    with pytest.raises(Conflict, match="no member"):
        bring_in.bring_in(incident=incident, who=world.viewer, by=world.responder)


def test_bring_in_of_the_contact_needs_one(world: World, incident: Incident) -> None:
    with pytest.raises(ValueError, match="no escalation contact"):
        bring_in.bring_in(incident=incident, who=None, by=world.responder)

    type(world.project).objects.filter(pk=world.project.pk).update(escalation_contact="Database on-call")
    bring_in.bring_in(incident=incident, who=None, by=world.responder, assign=True)

    assert incident.events.get(kind="brought_in").detail == {"who": "Database on-call (escalation contact)"}


def test_bring_in_to_what_is_resolved_says_who_resolved_it(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.admin)

    with pytest.raises(Conflict, match="Ada Admin resolved this"):
        bring_in.bring_in(incident=incident, who=world.admin, by=world.responder)
