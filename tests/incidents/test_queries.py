"""The list and the page cost a constant number of queries, whatever they show."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents.models import Incident
from incidents.services import diagnosing, incidents, investigations
from teams.models import User
from tests import factories
from tests.conftest import World

# Fewer than fifteen.
LIMIT = 14


def _queries(client: Client, path: str) -> int:
    client.get(path)  # the first request of a process fills caches of content types and the like
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def _investigate(incident: Incident, by: User) -> None:
    run = investigations.start(incident=incident, by=by)
    for diagnosis in run.diagnoses.all():
        diagnosing.run_diagnosis(diagnosis.pk)


@pytest.fixture
def client(world: World, signed_in: Callable[[User], Client]) -> Client:
    return signed_in(world.responder)


def test_the_incident_list_costs_the_same_for_one_and_for_many(world: World, client: Client) -> None:
    first = factories.make_incident(project=world.project, by=world.responder)
    _investigate(first, world.responder)
    few = _queries(client, "/incidents/")

    for number in range(8):
        text = f"service=worker-{number} severity=low\nERROR job {'abcdefgh'[number] * 5} failed to start"
        factories.make_incident(project=world.project, by=world.responder, text=text)
    many = _queries(client, "/incidents/")

    assert few == many
    assert many <= LIMIT


@pytest.mark.parametrize("query", ["team=discovery", "tab=resolved&severity=low&q=x", "team=discovery&q=nothing"])
def test_every_view_of_the_list_stays_under_the_limit(world: World, client: Client, query: str) -> None:
    for text in ("ERROR alpha failed to start", "ERROR bravo failed to start"):
        factories.make_incident(project=world.project, by=world.responder, text=f"service=x severity=low\n{text}")

    assert _queries(client, f"/incidents/?{query}") <= LIMIT


def test_the_incident_page_costs_the_same_for_little_and_for_much(world: World, client: Client) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    _investigate(incident, world.responder)
    little = _queries(client, incident.get_absolute_url())

    for number in range(5):
        factories.make_incident(project=world.project, by=world.responder)
        incidents.add_note(incident=incident, text=f"note {number}", by=world.responder)
        incidents.add_system_text(incident=incident, text=f"log line {number}", by=world.responder)
        incident.refresh_from_db()
    much = _queries(client, incident.get_absolute_url())

    assert little == much
    assert much <= LIMIT


def test_the_page_that_waits_for_an_answer_is_within_the_limit(world: World, client: Client) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder, text="site feels slow")
    _investigate(incident, world.responder)
    incident.refresh_from_db()
    assert incident.latest_investigation is not None
    assert incident.latest_investigation.state == "waiting"

    assert _queries(client, incident.get_absolute_url()) <= LIMIT


def test_the_pages_of_fixes_and_records_cost_the_same_for_one_and_for_many(world: World, client: Client) -> None:
    first = factories.resolve(
        incident=factories.make_incident(project=world.project, by=world.responder), by=world.admin
    )
    pages = [first.outcome.fix.get_absolute_url(), first.record.get_absolute_url(), "/fixes/"]
    few = [_queries(client, page) for page in pages]

    for number in range(5):
        text = f"service=worker-{number} severity=low\nERROR job {'abcdefgh'[number] * 5} failed to start"
        incident = factories.make_incident(project=world.project, by=world.responder, text=text)
        factories.resolve(incident=incident, by=world.responder, fix=None if number < 3 else f"Fix {number}")
    many = [_queries(client, page) for page in pages]

    assert few == many
    assert max(many) <= LIMIT


def test_a_poll_that_finds_nothing_new_writes_nothing(world: World, client: Client) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    incident.refresh_from_db()

    with CaptureQueriesContext(connection) as captured:
        response = client.get(f"{incident.get_absolute_url()}live/?seen={incident.version}")

    assert response.status_code == 204
    assert [query["sql"] for query in captured if not query["sql"].startswith("SELECT")] == []
