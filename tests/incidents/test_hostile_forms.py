"""Forged and garbled addresses and forms: each ends as a readable page, names no other team, keeps the words."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from incidents.models import Incident
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
