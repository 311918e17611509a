"""The inbox: what each address shows, what its counts promise, and which empty state is true."""

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from incidents.models import Incident, Investigation
from incidents.services import diagnosing, incidents, investigations, outcomes
from teams import services
from teams.models import Membership, User
from tests import factories
from tests.conftest import World

SignIn = Callable[[User], Client]
_FACET = re.compile(r'<a href="([^"]*)"([^>]*)>(?:<svg.*?</svg>)?<span class="text-truncate">([^<]*)</span>(.*?)</a>')
# Different enough for a fingerprint each.
_NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")


def make(world: World, name: str = "alpha", *, severity: str = "low", project: Any = None) -> Incident:
    """Return an incident of its own kind, titled by the name."""
    by = world.responder if project is None else world.outsider
    text = f"service=worker-{name} severity={severity}\nERROR {name} job failed to start"
    return factories.make_incident(project=project or world.project, by=by, text=text, title=f"The {name} job fails")


def page(client: Client, query: str = "") -> str:
    """Return the list's HTML."""
    response = client.get(f"/incidents/{query}")
    assert response.status_code == 200
    return response.content.decode()


def titles(markup: str) -> list[str]:
    """Return the names of the rows, from top to bottom."""
    return re.findall(r'<span dir="auto">The (\w+) job fails</span>', markup)


def words(markup: str) -> str:
    """Return what a reader sees."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def choices(markup: str) -> dict[str, tuple[str, int, bool]]:
    """Return each value of a facet: where it leads, its count, whether it is set."""
    return {
        html.unescape(label): (
            html.unescape(href),
            int(re.findall(r'oc-quiet">(\d+)<', rest)[0]),
            'aria-current="true"' in attributes,
        )
        for href, attributes, label, rest in _FACET.findall(markup)
    }


@pytest.fixture
def client(world: World, signed_in: SignIn) -> Client:
    return signed_in(world.responder)


# --- Tabs -------------------------------------------------------------------------------------------------------------
def test_each_tab_shows_as_many_as_it_counts(world: World, client: Client) -> None:
    mine, closed, later, _ = (make(world, name) for name in _NAMES[:4])
    incidents.acknowledge(incident=mine, by=world.responder)
    incidents.close(incident=closed, reason="false_alarm", duplicate_of=None, by=world.responder)
    outcomes.write_down_later(incident=later, by=world.responder)

    shown = {tab: len(titles(page(client, f"?tab={tab}"))) for tab in ("active", "mine", "resolved", "all")}
    counts = dict(re.findall(r"(\w+) <span class=\"oc-count\">(\d+)</span></a>", page(client)))

    assert shown == {"active": 2, "mine": 1, "resolved": 2, "all": 4}
    assert {name: int(count) for name, count in counts.items()} == {
        "Active": 2, "Mine": 1, "Resolved": 2, "All": 4, "down": 1,
    }  # fmt: skip
    assert titles(page(client, "?tab=to_write_down")) == ["charlie"]


def test_to_write_down_is_there_only_while_there_is_one(world: World, client: Client) -> None:
    make(world)

    assert "To write down" not in words(page(client))


@pytest.mark.parametrize("query", ["?tab=nonsense", "?page=0", "?page=99", "?page=x", "?sort=x", "?tab=%00"])
def test_an_address_that_makes_no_sense_shows_something_sensible(world: World, client: Client, query: str) -> None:
    make(world)

    assert titles(page(client, query)) == ["alpha"]


# --- Teams ------------------------------------------------------------------------------------------------------------
def test_a_team_in_the_address_is_the_only_one_shown(world: World, signed_in: SignIn) -> None:
    services.add_member(team=world.other_team, user=world.responder, role=Membership.Role.VIEWER, by=None)
    make(world, "alpha")
    make(world, "bravo", project=world.other_project)
    client = signed_in(world.responder)

    assert set(titles(page(client))) == {"alpha", "bravo"}
    assert titles(page(client, "?team=discovery")) == ["alpha"]
    assert "team=discovery" in page(client, "?team=discovery&tab=all")
    assert set(titles(page(client, "?team=all"))) == {"alpha", "bravo"}


@pytest.mark.parametrize("team", ["payments", "nowhere"])
def test_a_team_that_is_not_ones_own_does_not_exist(world: World, client: Client, team: str) -> None:
    make(world, project=world.other_project)

    assert client.get(f"/incidents/?team={team}").status_code == 404


# --- Facets -----------------------------------------------------------------------------------------------------------
def test_a_facet_counts_what_it_shows(world: World, client: Client) -> None:
    make(world, "alpha", severity="high")
    make(world, "bravo", severity="high")
    make(world, "charlie", severity="low")
    incidents.acknowledge(incident=make(world, "delta", severity="low"), by=world.responder)

    for query in ("", "?severity=high", "?severity=low&assignee=none", "?tab=all&q=job&project=SEARCH"):
        found = choices(page(client, query))
        assert found
        for label, (href, count, is_set) in found.items():
            if not is_set:
                assert (label, len(titles(page(client, href)))) == (label, count)


def test_a_set_facet_is_marked_and_leads_to_its_removal(world: World, client: Client) -> None:
    make(world, severity="high")
    make(world, "bravo", severity="low")

    href, count, is_set = choices(page(client, "?tab=all&severity=high&sort=new"))["High"]

    assert (count, is_set) == (1, True)
    assert href == "?tab=all&sort=new"
    assert [is_set for _, _, is_set in choices(page(client, "?severity=low")).values()].count(True) == 1


def test_needs_info_counts_what_still_waits_for_an_answer(world: World, client: Client) -> None:
    incident = make(world)
    run = investigations.start(incident=incident, by=world.responder)
    Investigation.objects.filter(pk=run.pk).update(state=Investigation.State.WAITING)

    assert choices(page(client))["Needs info"][1] == 1
    assert titles(page(client, "?pattern=needs_more_info")) == ["alpha"]
    assert "Questions are waiting for an answer." in words(page(client))


def test_incidents_without_memory_can_be_found(world: World, client: Client) -> None:
    incident = make(world)
    make(world, "bravo")
    run = investigations.start(incident=incident, by=world.responder)
    Investigation.objects.filter(pk=run.pk).update(state="finished", memory_word="unavailable")

    assert titles(page(client, "?memory=unavailable")) == ["alpha"]
    assert "Memory was unavailable. Alert-only answer." in words(page(client, "?memory=unavailable"))


@pytest.mark.parametrize(
    "query", ["severity=worst", "project=PAY", "assignee=%00x", "memory=matched", "pattern=<b>", "service=nothing"]
)
def test_a_value_that_does_not_exist_matches_nothing_and_can_be_removed(
    world: World, client: Client, query: str
) -> None:
    make(world)

    shown = page(client, f"?{query}")

    assert titles(shown) == []
    assert "No active incident matches these filters." in words(shown)
    assert 'href="?tab=active"' in shown


# --- Search, order, pages ---------------------------------------------------------------------------------------------
def test_search_finds_titles_alerts_notes_attempts_and_outcomes(world: World, client: Client) -> None:
    incident = make(world)
    make(world, "bravo")
    incidents.add_note(incident=incident, text="Asked the zeppelin crew about index-5", by=world.responder)
    factories.resolve(incident=incident, by=world.responder, root_cause="A marmot chewed the cable", fix="Mend it")

    for query in ("alpha job", "worker-alpha", "zeppelin", "marmot", "mend", "search-1", "index-5"):
        assert (query, titles(page(client, f"?tab=all&q={query}"))) == (query, ["alpha"])
    assert titles(page(client, "?tab=all&q=nothing-of-the-kind")) == []


def test_a_later_alert_that_says_something_else_is_searched_too(world: World, client: Client) -> None:
    first = make(world)
    text = "service=worker-alpha severity=low\nERROR alpha job failed to start\nThe walrus is full"
    again = factories.make_incident(project=world.project, by=world.responder, text=text, title=first.title)
    assert again == first

    assert titles(page(client, "?q=walrus")) == ["alpha"]


def test_sorting(world: World, client: Client) -> None:
    now = timezone.now()
    for name, severity, count, hours in (
        ("alpha", "low", 5, 1),
        ("bravo", "critical", 1, 3),
        ("charlie", "critical", 2, 2),
    ):
        incident = make(world, name, severity=severity)
        Incident.objects.filter(pk=incident.pk).update(alert_count=count, last_alert_at=now - timedelta(hours=hours))

    assert titles(page(client)) == ["charlie", "bravo", "alpha"]
    assert titles(page(client, "?sort=new")) == ["alpha", "charlie", "bravo"]
    assert titles(page(client, "?sort=alerts")) == ["alpha", "charlie", "bravo"]
    assert titles(page(client, "?tab=all")) == ["alpha", "charlie", "bravo"]


def test_pages_keep_the_view(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incidents.views.inbox.PAGE_SIZE", 2)
    for name in _NAMES[:5]:
        make(world, name)

    seen: list[str] = []
    query: str | None = "?tab=all&severity=low"
    while query:
        shown = page(client, query)
        seen += titles(shown)
        found = re.search(r'rel="next" href="([^"]+)"', shown)
        query = html.unescape(found[1]) if found else None

    assert sorted(seen) == sorted(_NAMES[:5])
    assert "5 to 5 of 5" in words(shown)


# --- What a row says --------------------------------------------------------------------------------------------------
def test_a_row_says_how_often_the_cited_fix_worked(world: World, client: Client) -> None:
    for _ in range(2):
        incident = factories.make_incident(project=world.project, by=world.responder)
        factories.resolve(incident=incident, by=world.responder)
        world.project.refresh_from_db()
    again = factories.make_incident(project=world.project, by=world.responder)
    _sync(world)
    run = investigations.start(incident=again, by=world.responder)
    for diagnosis in run.diagnoses.all():
        diagnosing.run_diagnosis(diagnosis.pk)

    shown = words(page(client))

    assert "Known here" in shown
    assert re.search(r"Fixed \d of \d times?: Pause the nightly reindex\.", shown)


def _sync(world: World) -> None:
    from incidents.models import MemoryRecord
    from incidents.services import memory

    for record in MemoryRecord.objects.all():
        memory.sync_record(record.pk)


def test_a_resolved_row_says_what_fixed_it(world: World, client: Client) -> None:
    factories.resolve(incident=make(world), by=world.responder, fix="Turn it off and on")

    assert "Turn it off and on, 18 min." in words(page(client, "?tab=resolved"))


def test_hostile_titles_are_shown_as_what_they_are(world: World, client: Client) -> None:
    title = "<script>alert(1)</script> \u202egnp.exe " + "x" * 150
    factories.make_incident(project=world.project, by=world.responder, title=title)

    shown = page(client)

    assert "<script>alert(1)" not in shown
    assert "\u202e" not in shown
    assert "U+202E" in words(shown)


# --- Empty ------------------------------------------------------------------------------------------------------------
def test_empty_because_no_alert_ever_came(client: Client, world: World) -> None:
    shown = words(page(client))

    assert "No alert has come in yet." in shown
    assert "Paste an alert" in shown
    assert "Make an API key" not in shown  # an admin's business


def test_an_admin_is_led_to_the_keys(world: World, signed_in: SignIn) -> None:
    assert 'href="/projects/SEARCH/settings/#keys"' in page(signed_in(world.admin))


def test_empty_because_nothing_is_active(world: World, client: Client) -> None:
    incidents.close(incident=make(world), reason="recovered", duplicate_of=None, by=world.responder)

    shown = words(page(client))

    assert "Nothing is active. The last incident, SEARCH-1 , was resolved" in shown
    assert "by Rosa Responder" in shown


def test_empty_because_the_filters_leave_nothing(world: World, client: Client) -> None:
    make(world, "alpha")
    incidents.close(incident=make(world, "bravo"), reason="recovered", duplicate_of=None, by=world.responder)

    shown = page(client, "?q=bravo")

    assert "No active incident matches these filters." in words(shown)
    assert "1 incident is active without them, and 1 resolved one mentions “bravo”." in words(shown)
    assert titles(page(client, "?tab=resolved&q=bravo")) == ["bravo"]


def test_empty_because_one_is_in_no_team(world: World, signed_in: SignIn) -> None:
    assert "You are in no team yet." in words(page(signed_in(world.stranger)))


# --- New arrivals -----------------------------------------------------------------------------------------------------
def _news(markup: str) -> str:
    found = re.search(r'data-live="([^"]+)"', markup)
    assert found
    return html.unescape(found[1])


def test_news_are_counted_without_moving_a_row(world: World, client: Client) -> None:
    make(world, "alpha")
    asks = _news(page(client, "?severity=low"))

    assert client.get(asks).status_code == 204
    make(world, "bravo")
    make(world, "charlie", severity="high")  # not in this view
    bar = client.get(asks)

    assert bar.status_code == 200
    assert "1 new incident. Show" in words(bar.content.decode())
    assert titles(bar.content.decode()) == []
    assert client.get(_news(bar.content.decode())).status_code == 204
    shown = html.unescape(re.findall(r'href="([^"]+)"', bar.content.decode())[0])
    assert shown == "/incidents/?severity=low"


def test_news_of_others_are_none(world: World, client: Client) -> None:
    make(world)
    asks = _news(page(client))
    make(world, "bravo", project=world.other_project)

    assert client.get(asks).status_code == 204


@pytest.mark.parametrize(
    "since", ["", "yesterday", "2026-13-45T99:99", "2026-01-01T00:00", "0001-01-01T00:00%2B23:59", "%00"]
)
def test_news_since_no_moment_are_none(world: World, client: Client, since: str) -> None:
    make(world)

    assert client.get(f"/incidents/news/?since={since}").status_code == 204


# --- First steps ------------------------------------------------------------------------------------------------------
def test_three_steps_are_shown_to_who_can_do_them(
    world: World, client: Client, signed_in: SignIn, settings: Any
) -> None:
    settings.LOCAL = True
    assert "Three steps" not in page(client)  # nothing to look at yet
    make(world)

    assert "2 of 3 done" in page(client)
    assert "Three steps" not in page(signed_in(world.viewer))
    client.post("/incidents/first-steps/dismiss/")
    assert "Three steps" not in page(client)


def test_words_without_end_are_cut(world: World, client: Client) -> None:
    make(world)

    assert titles(page(client, f"?q={'x' * 60_000}")) == []
