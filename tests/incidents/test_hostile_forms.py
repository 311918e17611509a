"""Forged and garbled addresses and forms: each ends as a readable page, names no other team, keeps the words."""

import uuid
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from incidents.models import Incident, Outcome
from teams.models import User
from tests import factories
from tests.conftest import World

SignIn = Callable[[User], Client]


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        *(("incident_list", name) for name in ("severity", "pattern", "memory", "project", "q", "tab", "team", "page")),
        *(("memory_list", name) for name in ("kind", "state", "q", "project", "page")),
    ],
)
def test_a_nul_in_a_filter_is_no_server_error(
    world: World, incident: Incident, signed_in: SignIn, name: str, parameter: str
) -> None:
    """PostgreSQL refuses a NUL in any text; SQLite takes it."""
    response = signed_in(world.responder).get(f"{reverse(name)}?{parameter}=%00")

    assert response.status_code == 200


@pytest.mark.parametrize("act", ["outcome", "attempt"])
def test_a_fix_named_by_control_characters_is_not_saved_and_the_words_stay(
    world: World, incident: Incident, signed_in: SignIn, act: str
) -> None:
    words = {"root_cause": "the pool is too small", "what_happened": "it came back at once", "minutes": "5"}

    response = signed_in(world.responder).post(
        f"{incident.get_absolute_url()}{act}/", {**words, "fix": "new", "new_fix": "\x01"}
    )

    assert response.status_code == 400
    assert words["root_cause" if act == "outcome" else "what_happened"] in response.content.decode()


def test_a_cause_of_control_characters_is_none(world: World, incident: Incident, signed_in: SignIn) -> None:
    response = signed_in(world.responder).post(
        f"{incident.get_absolute_url()}outcome/",
        {"root_cause": "\x01", "fix": "new", "new_fix": "raise the pool", "minutes": "5"},
    )

    assert response.status_code == 400
    assert not Outcome.objects.exists()


def test_assigning_names_nobody_of_another_team(world: World, incident: Incident, signed_in: SignIn) -> None:
    response = signed_in(world.responder).post(
        f"{incident.get_absolute_url()}assign/", {"assignee": str(world.outsider.public_id), "word": "over to you"}
    )

    page = response.content.decode()
    assert response.status_code == 409
    assert world.outsider.name not in page
    assert "over to you" in page


def test_assigning_to_an_id_that_nobody_has_takes_it_from_nobody(
    world: World, incident: Incident, signed_in: SignIn
) -> None:
    client = signed_in(world.responder)
    client.post(f"{incident.get_absolute_url()}assign/", {"me": "1"})

    response = client.post(f"{incident.get_absolute_url()}assign/", {"assignee": str(uuid.uuid4())})

    incident.refresh_from_db()
    assert response.status_code == 409
    assert incident.assignee == world.responder


def test_a_word_that_is_too_long_comes_back_when_nobody_is_assigned(
    world: World, incident: Incident, signed_in: SignIn
) -> None:
    word = "please look at the pool first " * 20

    response = signed_in(world.responder).post(
        f"{incident.get_absolute_url()}assign/", {"assignee": str(world.responder.public_id), "word": word}
    )

    assert response.status_code == 400
    assert word.strip() in response.content.decode()
