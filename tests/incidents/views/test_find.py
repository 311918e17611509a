"""Find: numbers, titles, records, services and pages, and nothing that is another team's."""

import html
import re
from collections.abc import Callable

import pytest
from django.test import Client

from incidents.services import memory
from teams import services
from teams.models import User
from tests import factories
from tests.conftest import World
from tests.incidents.views.test_inbox import make

SignIn = Callable[[User], Client]
_LINE = re.compile(r'<a class="oc-found" href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)


def find(client: Client, words: str) -> dict[str, str]:
    """Return what each found line says, by where it leads; the page and the dialog find the same."""
    page = client.get("/find/", {"find": words})
    part = client.get("/find/results/", {"find": words})
    assert (page.status_code, part.status_code) == (200, 200)
    found = [
        {html.unescape(href): " ".join(re.sub(r"<[^>]*>", " ", text).split()) for href, text in _LINE.findall(markup)}
        for markup in (page.content.decode(), part.content.decode())
    ]
    assert found[0] == found[1]
    return {href: html.unescape(text) for href, text in found[0].items()}


@pytest.fixture
def client(world: World, signed_in: SignIn) -> Client:
    return signed_in(world.responder)


@pytest.mark.parametrize("words", ["SEARCH-2", "search-2", "2", "#2"])
def test_a_number_comes_first(world: World, client: Client, words: str) -> None:
    make(world)
    second = make(world, "bravo")
    make(world, "charlie")

    assert next(iter(find(client, words))) == second.get_absolute_url()


def test_titles_are_found_by_any_of_their_words_in_any_order(world: World, client: Client) -> None:
    incident = make(world)
    make(world, "bravo")

    found = find(client, "fails ALPHA")

    assert "active, " in found[incident.get_absolute_url()]
    assert [href for href in found if "SEARCH-" in href] == [incident.get_absolute_url()]


def test_services_lead_to_their_incidents(world: World, client: Client) -> None:
    services.create_service(project=world.project, name="worker-alpha", by=world.admin)
    incident = make(world)
    make(world, "bravo")

    found = find(client, "worker")
    href = "/incidents/?tab=all&project=SEARCH&service=worker-alpha"

    assert found[href] == "worker -alpha Search, 1 incident"
    assert incident.ref in client.get(href).content.decode()
    assert "SEARCH-2" not in client.get(href).content.decode()


def test_records_are_found_by_their_title_until_they_are_forgotten(world: World, client: Client) -> None:
    factories.resolve(incident=make(world), by=world.responder, fix="Feed the marmot")
    record = world.project.incidents.get().memory_records.get()
    title = record.revisions.get().title

    assert record.get_absolute_url() in find(client, title)
    memory.forget(record=record, by=world.admin)
    assert record.get_absolute_url() not in find(client, title)


def test_pages_are_found_as_far_as_one_has_them(world: World, client: Client) -> None:
    assert "/teams/discovery/" in find(client, "team disc")
    assert "/memory/?project=SEARCH" in find(client, "memory")
    assert "/help/" in find(client, "keys")
    assert "/teams/payments/" not in find(client, "payments")
    assert not any("PAY" in href for href in find(client, "settings"))


def test_nothing_of_another_team_is_found(world: World, client: Client) -> None:
    services.create_service(project=world.other_project, name="worker-alpha", by=world.outsider)
    incident = make(world, project=world.other_project)
    factories.resolve(incident=incident, by=world.outsider, fix="Feed the marmot")

    for words in ("alpha", "PAY-1", "1", "marmot", "worker", "job fails"):
        found = find(client, words)
        assert [href for href in found if "/PAY-" in href or "/memory/" in href or "service=" in href] == []
        assert all(text.endswith(" 0") for href, text in found.items() if "q=" in href)


def test_a_reviewer_who_is_in_no_team_finds_pages_only(world: World, signed_in: SignIn) -> None:
    make(world)

    assert set(find(signed_in(world.reviewer), "")) == {
        "/incidents/", "/incidents/?tab=mine", "/incidents/?tab=to_write_down", "/incidents/?tab=all",
        "/help/", "/profile/",
    }  # fmt: skip


@pytest.mark.parametrize(
    "words", ["%", "_", "\x00", "'\"<b>", "(((", "x" * 5000, "\u202e", "9" * 40, " ".join("abc" * 99)]
)
def test_hostile_words_are_only_words(world: World, client: Client, words: str) -> None:
    factories.make_incident(project=world.project, by=world.responder, title="<b>\u202e (((")

    find(client, words)
    markup = client.get("/find/results/", {"find": words}).content.decode()

    assert "<b>" not in markup
    assert "\u202e" not in markup


def test_words_that_match_are_marked(world: World, client: Client) -> None:
    make(world)

    markup = client.get("/find/results/", {"find": "alpha fails"}).content.decode()

    assert "The <mark>alpha</mark> job <mark>fails</mark>" in markup
    assert 'role="option"' in markup


def test_find_costs_the_same_for_little_and_for_much(
    world: World, client: Client, django_assert_max_num_queries: Callable[[int], object]
) -> None:
    for name in ("alpha", "bravo", "charlie"):
        services.create_service(project=world.project, name=f"job-{name}", by=world.admin)
        factories.resolve(incident=make(world, name), by=world.responder, fix=f"Restart the {name} job")

    with django_assert_max_num_queries(14):  # type: ignore[attr-defined]
        client.get("/find/results/", {"find": "job"})


def test_help_explains_every_word(client: Client) -> None:
    text = re.sub(r"<[^>]*>", " ", client.get("/help/").content.decode())

    for word in (
        "Known here", "Seen elsewhere", "New pattern", "Needs info", "High", "Medium", "Low",
        "Matched", "No match", "Empty", "Off", "Unavailable",
        "Safe to run", "Needs approval", "Escalate", "Blocked",
    ):  # fmt: skip
        assert word in text
