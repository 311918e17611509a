import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.test import APIRequestFactory

from teams import audit, services
from teams.authentication import ApiKeyAuthentication
from teams.models import ApiKey, Project, Team
from tests import factories
from tests.conftest import World


@pytest.fixture
def made(world: World) -> tuple[ApiKey, str]:
    return services.make_api_key(project=world.project, name="Prometheus", scopes=["incidents:read"], by=world.admin)


def call(text: str, client: Client | None = None) -> Any:
    return (client or Client()).get("/api/v1/incidents/", headers={"Authorization": text})


def test_key_is_stored_as_a_hash_and_named_by_its_id(made: tuple[ApiKey, str]) -> None:
    key, text = made

    assert re.fullmatch(r"occ_[a-z0-9]{8}_[a-z0-9]{32}", text)
    secret = text.rsplit("_", 1)[1]
    row = ApiKey.objects.filter(pk=key.pk).values().get()
    assert row["secret_hash"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in str(row)


def test_good_key_acts_for_its_project(world: World, made: tuple[ApiKey, str]) -> None:
    factories.make_incident(project=world.project, by=world.responder)
    factories.make_incident(project=world.other_project, by=world.outsider)

    answer = call(f"Bearer {made[1]}")

    assert answer.status_code == 200
    assert {row["project"] for row in answer.json()["results"]} == {"SEARCH"}


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_scheme_is_read_in_any_case(made: tuple[ApiKey, str], scheme: str) -> None:
    assert call(f"{scheme} {made[1]}").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "occ_",
        lambda text: text[:-1],
        lambda text: text + "x",
        lambda text: text.upper(),
        lambda text: text[:-1] + ("b" if text[-1] == "a" else "a"),
        lambda text: "occ_zzzzzzzz_" + text.rsplit("_", 1)[1],
        lambda text: text.replace("occ_", "xyz_"),
        lambda text: text + "\x00",
        lambda text: "\N{SNOWMAN}".encode().decode("latin-1"),
        lambda text: "a" * 10_000,
    ],
)
def test_bad_key_is_told_how_to_authenticate(made: tuple[ApiKey, str], change: Any) -> None:
    answer = call(f"Bearer {change(made[1])}")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["code"] == "not_authenticated"


@pytest.mark.parametrize(
    "field", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}], ids=["revoked", "expired"]
)
def test_dead_key_is_refused_in_the_same_words(made: tuple[ApiKey, str], field: dict[str, Any]) -> None:
    unknown = call(f"Bearer {made[1][:-1]}").json()
    ApiKey.objects.filter(pk=made[0].pk).update(**field)

    answer = call(f"Bearer {made[1]}")

    assert (answer.status_code, answer.json()) == (401, unknown)


def test_key_that_will_expire_still_works(world: World) -> None:
    _, text = services.make_api_key(
        project=world.project,
        name="k",
        scopes=["incidents:read"],
        by=world.admin,
        expires_at=timezone.now() + timedelta(minutes=1),
    )

    assert call(f"Bearer {text}").status_code == 200


def test_revoked_key_is_refused_at_the_next_call(world: World, made: tuple[ApiKey, str]) -> None:
    assert call(f"Bearer {made[1]}").status_code == 200

    services.revoke_api_key(key=made[0], by=world.admin)

    assert call(f"Bearer {made[1]}").status_code == 401


def test_key_of_an_archived_project_or_closed_team_is_dead(world: World, made: tuple[ApiKey, str]) -> None:
    Project.objects.filter(pk=world.project.pk).update(archived_at=timezone.now())
    assert call(f"Bearer {made[1]}").status_code == 401

    Project.objects.filter(pk=world.project.pk).update(archived_at=None)
    Team.objects.filter(pk=world.team.pk).update(closed_at=timezone.now())
    assert call(f"Bearer {made[1]}").status_code == 401


def test_key_outlives_the_person_who_made_it(world: World) -> None:
    second = factories.make_member(team=world.team, role="admin")
    _, text = services.make_api_key(project=world.project, name="k", scopes=["incidents:read"], by=second)

    services.remove_member(team=world.team, user=second, by=world.admin)
    second.is_active = False
    second.save()

    assert call(f"Bearer {text}").status_code == 200


def test_use_is_noted_at_most_once_a_minute(made: tuple[ApiKey, str]) -> None:
    key, text = made
    call(f"Bearer {text}")
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None

    call(f"Bearer {text}")
    key.refresh_from_db()
    assert key.last_used_at == first

    ApiKey.objects.filter(pk=key.pk).update(last_used_at=first - timedelta(seconds=61))
    call(f"Bearer {text}")
    key.refresh_from_db()
    assert key.last_used_at is not None and key.last_used_at >= first


def test_authentication_costs_one_query_once_the_use_is_noted(
    made: tuple[ApiKey, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    call(f"Bearer {made[1]}")
    request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {made[1]}"})

    with django_assert_num_queries(1):
        ApiKeyAuthentication().authenticate(request)  # type: ignore[arg-type]


def test_request_without_a_bearer_is_left_to_the_session() -> None:
    for header in ({}, {"Authorization": "Basic dXNlcjpwdw=="}):
        request = APIRequestFactory().get("/", headers=header)
        assert ApiKeyAuthentication().authenticate(request) is None  # type: ignore[arg-type]


def test_bearer_without_a_key_is_refused() -> None:
    request = APIRequestFactory().get("/", headers={"Authorization": "Bearer"})

    with pytest.raises(AuthenticationFailed):
        ApiKeyAuthentication().authenticate(request)  # type: ignore[arg-type]


def test_acts_of_a_key_come_by_that_key(world: World, made: tuple[ApiKey, str]) -> None:
    request = APIRequestFactory().get("/", headers={"Authorization": f"Bearer {made[1]}"})

    with audit.acting("session", "192.0.2.1"):
        ApiKeyAuthentication().authenticate(request)  # type: ignore[arg-type]
        event = audit.record("project.change", by=None, on=world.project, team=world.team)

    assert event.via == f"key:{made[0].key_id}"


@pytest.mark.parametrize("scopes", [[], ["everything"], ["alerts:write", "outcomes:write"]])
def test_make_api_key_refuses_scopes_that_are_none(world: World, scopes: list[str]) -> None:
    from django.core.exceptions import ValidationError

    with pytest.raises(ValidationError):
        services.make_api_key(project=world.project, name="k", scopes=scopes, by=world.admin)


def test_session_write_by_api_needs_the_csrf_token(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.admin)

    answer = client.post("/api/v1/incidents/", {}, content_type="application/json")

    assert answer.status_code == 403
    assert answer.headers["Content-Type"] == "application/problem+json"
