import re
import shlex
from typing import Any

import pytest
from django.test import Client

from teams import services
from teams.models import ApiKey, AuditEvent, BankAssignment, Project
from tests import factories
from tests.conftest import World

SETTINGS = "/projects/SEARCH/settings/"
TYPED = {
    "name": "Search",
    "time_zone": "Europe/Berlin",
    "strategy": "autonomous",
    "model": "offline",
    "relevance": "strict",
    "escalation_contact": "Search on-call",
}


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


def test_settings_are_saved(world: World, signed_in: Any) -> None:
    response = signed_in(world.admin).post(SETTINGS, TYPED)

    assert response.status_code == 302
    project = Project.objects.get(key="SEARCH")
    assert (project.strategy, project.model, project.memory_on, project.escalation_contact, project.time_zone) == (
        "autonomous",
        "offline",
        False,
        "Search on-call",
        "Europe/Berlin",
    )
    assert project.relevance == Project.Relevance.STRICT
    event = AuditEvent.objects.get(act="project.change")
    assert (event.before["relevance"], event.after["relevance"]) == ("normal", "strict")


@pytest.mark.parametrize(
    "wrong", [{"strategy": "reckless"}, {"time_zone": "Nowhere"}, {"name": ""}, {"model": ""}, {"relevance": "lax"}]
)
def test_wrong_settings_come_back_with_what_was_typed(world: World, signed_in: Any, wrong: dict[str, str]) -> None:
    response = signed_in(world.admin).post(SETTINGS, TYPED | {"escalation_contact": "Typed here"} | wrong)

    assert response.status_code == 400
    assert 'value="Typed here"' in response.content.decode()
    assert Project.objects.get(key="SEARCH").escalation_contact == ""
    assert "Settings of Search" in words(response)  # the head names the project as it is


def test_key_and_team_of_a_project_cannot_be_posted(world: World, signed_in: Any) -> None:
    signed_in(world.admin).post(
        SETTINGS, TYPED | {"key": "NEW", "team": world.other_team.pk, "next_incident_number": 9}
    )

    project = Project.objects.get(pk=world.project.pk)
    assert (project.key, project.team, project.next_incident_number) == ("SEARCH", world.team, 1)


def test_page_says_why_a_project_is_guided(world: World, signed_in: Any, settings: Any) -> None:
    settings.GROQ_TPM_BUDGET = 8000

    assert "The model’s plan allows 8000 tokens a minute." in words(signed_in(world.admin).get(SETTINGS))


def test_viewer_sees_the_settings_and_no_key(world: World, signed_in: Any) -> None:
    key, _ = services.make_api_key(project=world.project, name="Prom", scopes=["alerts:write"], by=world.admin)

    page = signed_in(world.viewer).get(SETTINGS)

    assert "Changing them needs the admin role in Discovery." in words(page)
    assert key.key_id not in page.content.decode()
    assert "<form" not in page.content.decode().split("<main")[1].split("</main>")[0]


# --- Shared lessons ---------------------------------------------------------------------------------------------------


def test_lesson_switches_are_saved(world: World, signed_in: Any) -> None:
    signed_in(world.admin).post("/projects/SEARCH/lessons/", {"uses_shared_lessons": "on"})

    project = Project.objects.get(key="SEARCH")
    assert (project.uses_shared_lessons, project.contributes_lessons) == (True, False)


@pytest.mark.parametrize(
    ("platform", "project", "answer"),
    [
        (False, False, "No: the platform does not allow it."),
        (False, True, "No: the platform does not allow it."),
        (True, False, "No: the project has it off."),
        (True, True, "Yes."),
    ],
)
def test_page_says_which_of_the_two_says_no(
    world: World, signed_in: Any, platform: bool, project: bool, answer: str
) -> None:
    services.change_project(project=world.project, by=world.admin, uses_shared_lessons=project)
    if not platform:
        BankAssignment.objects.filter(project=world.project, bank__kind="shared", access="read").delete()

    page = words(signed_in(world.admin).get(SETTINGS))

    assert f"Use {answer}" in page


def test_memory_access_is_told_by_name_and_never_by_id(world: World, signed_in: Any) -> None:
    catalogue = factories.make_project(team=world.team, key="CAT", name="Catalogue")
    services.share_memory(reader=world.project, owner=catalogue, by=world.platform_admin)

    page = signed_in(world.admin).get(SETTINGS)

    assert "Reads Memory of Catalogue" in words(page)
    for assignment in BankAssignment.objects.select_related("bank"):
        assert assignment.bank.bank_id not in page.content.decode()
    assert "Read by Search" in words(signed_in(world.admin).get("/projects/CAT/settings/"))


# --- Services ---------------------------------------------------------------------------------------------------------


def test_service_is_added_with_aliases(world: World, signed_in: Any) -> None:
    signed_in(world.admin).post(
        "/projects/SEARCH/services/", {"name": "search-api", "aliases": " sapi,, searchapi ,sapi"}
    )

    assert world.project.services.get().aliases == ["sapi", "searchapi"]


def test_service_that_is_there_is_refused_at_the_field(world: World, signed_in: Any) -> None:
    services.create_service(project=world.project, name="search-api", by=world.admin)

    response = signed_in(world.admin).post("/projects/SEARCH/services/", {"name": "SEARCH-API", "aliases": "typed"})

    assert response.status_code == 400
    assert "search-api goes by search-api already." in words(response)
    assert 'value="typed"' in response.content.decode()


@pytest.mark.parametrize("typed", [{"name": "", "aliases": "kept"}, {"name": "suggest", "aliases": "kept"}])
def test_service_changed_wrongly_comes_back_with_what_was_typed(
    world: World, signed_in: Any, typed: dict[str, str]
) -> None:
    services.create_service(project=world.project, name="suggest", by=world.admin)
    service = services.create_service(project=world.project, name="search-api", by=world.admin)

    response = signed_in(world.admin).post(f"/projects/SEARCH/services/{service.public_id}/", typed)

    assert response.status_code == 400
    assert "Not saved." in words(response)
    assert 'value="kept"' in response.content.decode()
    service.refresh_from_db()
    assert service.name == "search-api"


def test_service_of_another_project_is_not_found(world: World, signed_in: Any) -> None:
    service = services.create_service(project=world.other_project, name="ledger", by=world.outsider)

    response = signed_in(world.admin).post(f"/projects/SEARCH/services/{service.public_id}/", {"name": "mine"})

    assert response.status_code == 404


# --- API keys ---------------------------------------------------------------------------------------------------------


def test_key_is_shown_once_with_a_command_that_sends_an_alert(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)

    page = client.post("/projects/SEARCH/keys/", {"name": "Prometheus", "scopes": ["alerts:write"]})

    text = re.search(r"occ_[a-z0-9]{8}_[a-z0-9]{32}", page.content.decode())
    assert page.status_code == 200 and text
    assert page.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    assert text[0] not in client.get(SETTINGS).content.decode()
    assert sent_by(page).status_code == 202


def sent_by(page: Any) -> Any:
    """Do what the curl command on the page does."""
    command = re.search(r"<pre[^>]*>(.*?)</pre>", page.content.decode(), re.S)
    assert command
    shown = command[1].replace("&quot;", '"').replace("&#x27;", "'").replace("\\\n", " ")
    _, _, header, _, body, url = shlex.split(shown)
    name, _, value = header.partition(": ")
    # What curl sends with -d unless told otherwise.
    form = "application/x-www-form-urlencoded"
    path = url.removeprefix("http://testserver")
    return Client().post(path, body, content_type=form, headers={name: value})


def test_key_without_a_scope_comes_back_with_what_was_typed(world: World, signed_in: Any) -> None:
    response = signed_in(world.admin).post("/projects/SEARCH/keys/", {"name": "Typed"})

    assert response.status_code == 400
    assert 'value="Typed"' in response.content.decode()
    assert not ApiKey.objects.exists()


def test_key_is_revoked(world: World, signed_in: Any) -> None:
    key, text = services.make_api_key(project=world.project, name="Prom", scopes=["incidents:read"], by=world.admin)
    client = signed_in(world.admin)

    client.post(f"/projects/SEARCH/keys/{key.key_id}/revoke/")

    assert Client().get("/api/v1/incidents/", headers={"Authorization": f"Bearer {text}"}).status_code == 401
    assert "Revoked" in words(client.get(SETTINGS))


def test_key_of_another_project_cannot_be_revoked(world: World, signed_in: Any) -> None:
    key, _ = services.make_api_key(project=world.other_project, name="k", scopes=["alerts:write"], by=world.outsider)

    assert signed_in(world.admin).post(f"/projects/SEARCH/keys/{key.key_id}/revoke/").status_code == 404
    key.refresh_from_db()
    assert key.revoked_at is None


def test_page_says_who_made_a_key_and_that_they_have_left(world: World, signed_in: Any) -> None:
    second = factories.make_member(team=world.team, role="admin", name="Ann Other")
    services.make_api_key(project=world.project, name="Prom", scopes=["alerts:write"], by=second)
    client = signed_in(world.admin)
    assert "made by Ann Other, " in words(client.get(SETTINGS))

    services.remove_member(team=world.team, user=second, by=world.admin)

    assert "made by Ann Other, who has left, " in words(client.get(SETTINGS))


def test_settings_page_has_each_id_once(world: World, signed_in: Any) -> None:
    for name in ("search-api", "suggest"):
        services.create_service(project=world.project, name=name, by=world.admin)

    ids = re.findall(r'\sid="([^"]+)"', signed_in(world.admin).get(SETTINGS).content.decode())

    assert len(ids) == len(set(ids))


def test_settings_page_costs_the_same_for_many_services_and_keys(
    world: World, signed_in: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        services.create_service(project=world.project, name=f"service-{number}", by=world.admin)
        services.make_api_key(project=world.project, name=f"{number}", scopes=["alerts:write"], by=world.admin)
    client = signed_in(world.admin)

    with django_assert_max_num_queries(14):
        assert client.get(SETTINGS).status_code == 200
