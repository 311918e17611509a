"""Acts on several incidents: each through its own service, what could not be done is said, and what can is undone."""

import html
import re
from collections.abc import Callable

import pytest
from django.test import Client

from incidents.models import Incident, IncidentEvent
from incidents.services import incidents
from teams import services
from teams.models import AuditEvent, Membership, User
from tests import factories
from tests.conftest import World
from tests.incidents.views.test_inbox import make

SignIn = Callable[[User], Client]
BULK = "/incidents/bulk/"


@pytest.fixture
def client(world: World, signed_in: SignIn) -> Client:
    return signed_in(world.responder)


def act(client: Client, *refs: str, query: str = "", **how: str) -> str:
    """Send the form and return what the list says afterwards."""
    response = client.post(f"{BULK}{query}", {"nr": refs, **how}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def undo(client: Client, markup: str) -> str:
    """Press the toast's button, and return what the list says afterwards."""
    found = re.search(r'action="(/incidents/bulk/undo/[^"]*)".*?name="undo" value="([^"]+)"', markup, re.DOTALL)
    assert found, "nothing to undo"
    response = client.post(html.unescape(found[1]), {"undo": html.unescape(found[2])}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def state(incident: Incident) -> tuple[str, str, User | None]:
    incident.refresh_from_db()
    return incident.status, incident.close_reason, incident.assignee


# --- Acts -------------------------------------------------------------------------------------------------------------
def test_what_is_ticked_is_acknowledged_and_the_rest_is_told(world: World, client: Client) -> None:
    first, second, closed = make(world), make(world, "bravo"), make(world, "charlie")
    incidents.close(incident=closed, reason="false_alarm", duplicate_of=None, by=world.admin)

    said = act(client, first.ref, second.ref, closed.ref, acknowledge="1")

    assert "2 acknowledged, 1 was resolved already." in said
    assert state(first) == state(second) == ("acknowledged", "", world.responder)
    assert state(closed)[0] == "resolved"
    assert IncidentEvent.objects.filter(kind="acknowledged").count() == 2
    assert AuditEvent.objects.filter(act="incident.acknowledge").count() == 2


def test_the_same_act_twice_changes_nothing(world: World, client: Client) -> None:
    incident = make(world)
    act(client, incident.ref, acknowledge="1")

    assert "1 was acknowledged already." in act(client, incident.ref, incident.ref, acknowledge="1")
    assert IncidentEvent.objects.filter(kind="acknowledged").count() == 1


def test_assign_to_oneself_to_somebody_and_to_nobody(world: World, client: Client) -> None:
    first, second = make(world), make(world, "bravo")

    assert "2 assigned." in act(client, first.ref, second.ref, assign="me")
    assert state(first)[2] == world.responder
    assert "2 assigned." in act(client, first.ref, second.ref, assign=str(world.admin.public_id))
    assert state(second)[2] == world.admin
    assert "1 assigned." in act(client, first.ref, assign="nobody")
    assert state(first)[2] is None


def test_a_viewer_is_not_to_be_handed_an_incident(world: World, client: Client) -> None:
    incident = make(world)

    assert "1 was not theirs to work." in act(client, incident.ref, assign=str(world.viewer.public_id))
    assert state(incident)[2] is None


@pytest.mark.parametrize("who", ["outsider", "", "x", "\x00"])
def test_nobody_else_can_be_meant(world: World, client: Client, who: str) -> None:
    incident = make(world)
    meant = str(world.outsider.public_id) if who == "outsider" else who

    response = client.post(BULK, {"nr": incident.ref, "assign": meant})

    assert response.status_code == 400
    assert state(incident)[2] is None


@pytest.mark.parametrize("reason", ["recovered", "false_alarm", "not_actionable"])
def test_close_without_a_fix(world: World, client: Client, reason: str) -> None:
    first, second = make(world), make(world, "bravo")

    assert "2 closed." in act(client, first.ref, second.ref, close=reason)
    assert state(first)[:2] == state(second)[:2] == ("resolved", reason)


@pytest.mark.parametrize("reason", ["fixed", "duplicate", "", "x"])
def test_a_fix_or_a_duplicate_is_not_said_of_several(world: World, client: Client, reason: str) -> None:
    incident = make(world)

    assert client.post(BULK, {"nr": incident.ref, "close": reason}).status_code == 400
    assert state(incident)[0] == "open"


def test_investigate_starts_one_for_each_that_has_none(world: World, client: Client) -> None:
    first, second = make(world), make(world, "bravo")
    act(client, first.ref, investigate="1")

    said = act(client, first.ref, second.ref, investigate="1")

    assert "1 being investigated, 1 was being investigated already." in said
    assert first.investigations.count() == second.investigations.count() == 1


def test_the_view_is_kept(world: World, client: Client) -> None:
    incident = make(world)

    response = client.post(f"{BULK}?team=discovery&tab=all&severity=low&page=1", {"nr": incident.ref, "assign": "me"})

    assert response.headers["Location"] == "/incidents/?team=discovery&tab=all&severity=low&page=1"


@pytest.mark.parametrize("refs", [[], ["nonsense"], ["SEARCH-999"], ["SEARCH-99999999999"], ["\x00-1"]])
def test_nothing_ticked_or_nothing_there_is_said_and_no_error(world: World, client: Client, refs: list[str]) -> None:
    make(world)

    said = act(client, *refs, acknowledge="1")

    assert "Nothing was" in said
    assert Incident.objects.get().status == "open"


# --- Who may ----------------------------------------------------------------------------------------------------------
def test_an_incident_of_another_team_is_as_if_it_did_not_exist(world: World, client: Client) -> None:
    own, theirs = make(world), make(world, "bravo", project=world.other_project)

    assert "1 closed." in act(client, own.ref, theirs.ref, close="recovered")
    assert state(theirs)[0] == "open"


def test_without_the_role_for_one_of_them_nothing_is_done_to_any(world: World, signed_in: SignIn) -> None:
    services.add_member(team=world.other_team, user=world.responder, role=Membership.Role.VIEWER, by=None)
    own, theirs = make(world), make(world, "bravo", project=world.other_project)

    response = signed_in(world.responder).post(BULK, {"nr": [own.ref, theirs.ref], "acknowledge": "1"})

    assert response.status_code == 403
    assert state(own)[0] == state(theirs)[0] == "open"


def test_the_list_offers_a_box_only_where_one_may_work(world: World, signed_in: SignIn) -> None:
    services.add_member(team=world.other_team, user=world.responder, role=Membership.Role.VIEWER, by=None)
    own, theirs = make(world), make(world, "bravo", project=world.other_project)

    both = signed_in(world.responder).get("/incidents/").content.decode()
    viewers = signed_in(world.viewer).get("/incidents/").content.decode()

    assert f'value="{own.ref}"' in both
    assert f'value="{theirs.ref}"' not in both
    assert 'name="nr"' not in viewers
    assert 'name="acknowledge"' not in viewers


def test_a_resolved_one_has_no_box(world: World, client: Client) -> None:
    incidents.close(incident=make(world), reason="recovered", duplicate_of=None, by=world.admin)
    active = make(world, "bravo")

    assert re.findall(r'name="nr" value="([^"]+)"', client.get("/incidents/?tab=all").content.decode()) == [active.ref]
    resolved = client.get("/incidents/?tab=resolved").content.decode()
    assert 'name="acknowledge"' not in resolved
    assert "needs the responder role" not in resolved


# --- Undo -------------------------------------------------------------------------------------------------------------
def test_undo_gives_each_back_to_whoever_had_it(world: World, client: Client) -> None:
    nobodys, anothers = make(world), make(world, "bravo")
    incidents.assign(incident=anothers, assignee=world.admin, by=world.admin)

    said = undo(client, act(client, nobodys.ref, anothers.ref, query="?tab=all", assign="me"))

    assert "2 given back." in said
    assert (state(nobodys)[2], state(anothers)[2]) == (None, world.admin)


def test_undo_leaves_alone_what_was_handed_on_since(world: World, client: Client) -> None:
    incident = make(world)
    shown = act(client, incident.ref, assign="me")
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder)

    assert "1 was handed on since." in undo(client, shown)
    assert state(incident)[2] == world.admin


def test_undo_opens_again_what_was_closed(world: World, client: Client) -> None:
    first, second = make(world), make(world, "bravo")

    said = undo(client, act(client, first.ref, second.ref, close="recovered"))

    assert "2 open again." in said
    assert state(first)[:2] == state(second)[:2] == ("open", "")


def test_undo_leaves_alone_what_was_fixed_since(world: World, client: Client) -> None:
    incident = make(world)
    shown = act(client, incident.ref, close="recovered")
    factories.resolve(incident=incident, by=world.admin)

    assert "1 was changed since." in undo(client, shown)
    assert state(incident)[:2] == ("resolved", "fixed")


def test_undo_does_not_open_what_the_same_alert_opened_anew(world: World, client: Client) -> None:
    incident = make(world)
    shown = act(client, incident.ref, close="recovered")
    make(world)  # the same alert again

    assert "1 was resolved already." in undo(client, shown)
    assert state(incident)[0] == "resolved"


def test_undo_is_ones_own_and_not_to_be_made_up(world: World, client: Client, signed_in: SignIn) -> None:
    incident = make(world)
    shown = act(client, incident.ref, close="recovered")
    token = html.unescape(re.findall(r'name="undo" value="([^"]+)"', shown)[0])

    assert signed_in(world.admin).post(f"{BULK}undo/", {"undo": token}).status_code == 400
    for forged in ("", "x", token[:-1], token.replace(":", ".")):
        said = client.post(f"{BULK}undo/", {"undo": forged}, follow=True).content.decode()
        assert "can no longer be undone" in said
    assert state(incident)[0] == "resolved"


def test_acknowledging_has_no_undo(world: World, client: Client) -> None:
    assert 'name="undo"' not in act(client, make(world).ref, acknowledge="1")
