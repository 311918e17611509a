from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from teams import access, services
from teams.actors import KeyActor
from teams.models import ApiKey, Invitation, Membership, Project, Team, User
from teams.permissions import ROLE_PERMISSIONS, Permission
from tests import factories
from tests.conftest import World


def fresh(user: User) -> User:
    """Return the person as the next request would load them."""
    return User.objects.get(pk=user.pk)


def key_actor(project: Project, by: User, *scopes: str) -> KeyActor:
    key, _ = services.make_api_key(project=project, name="test", scopes=scopes, by=by)
    return KeyActor(ApiKey.objects.select_related("project__team").get(pk=key.pk))


@pytest.mark.parametrize("role", Membership.Role.values)
def test_permissions_for_member_are_those_of_the_role(world: World, role: str) -> None:
    person = factories.make_member(team=world.team, role=role)

    assert access.permissions_for(person, world.team) == ROLE_PERMISSIONS[role]
    assert access.permissions_for(person, world.other_team) == frozenset()


def test_platform_roles_give_nothing_in_a_team(world: World) -> None:
    assert access.permissions_for(world.platform_admin, world.team) == frozenset()
    assert access.permissions_for(world.reviewer, world.team) == frozenset()


@pytest.mark.parametrize(
    ("who", "error"),
    [
        ("viewer", PermissionDenied),  # sees the project, may not manage it
        ("responder", PermissionDenied),
        ("outsider", Http404),  # an admin, of another team
        ("stranger", Http404),
        ("platform_admin", Http404),  # manages access, and does not thereby see anything
    ],
)
def test_get_project_refuses(world: World, who: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        access.get_project(getattr(world, who), "SEARCH", Permission.PROJECT_MANAGE)


def test_get_project_returns_it_to_its_admin(world: World) -> None:
    assert access.get_project(world.admin, "SEARCH", Permission.PROJECT_MANAGE) == world.project


def test_get_project_that_does_not_exist_is_not_found(world: World) -> None:
    for key in ("NOPE", "search", "SEARCH\n", "SEARCH\x00", ""):
        with pytest.raises(Http404):
            access.get_project(world.admin, key, Permission.TEAM_VIEW)


def test_number_beyond_the_database_is_not_found(world: World) -> None:
    with pytest.raises(Http404):
        access.get_object(Project.objects.all(), world.admin, Permission.TEAM_VIEW, next_incident_number=10**30)


def test_closed_team_is_gone_for_its_members(world: World) -> None:
    Team.objects.filter(pk=world.team.pk).update(closed_at="2026-01-01T00:00Z")

    with pytest.raises(Http404):
        access.get_project(fresh(world.admin), "SEARCH", Permission.TEAM_VIEW)
    assert not access.visible_projects(fresh(world.admin)).exists()


def test_disabled_person_has_no_permission(world: World) -> None:
    User.objects.filter(pk=world.admin.pk).update(is_active=False)

    with pytest.raises(Http404):
        access.get_project(fresh(world.admin), "SEARCH", Permission.TEAM_VIEW)


def test_removed_member_sees_nothing_from_the_next_question_on(world: World) -> None:
    access.get_project(world.responder, "SEARCH", Permission.INCIDENT_WORK)

    services.remove_member(team=world.team, user=world.responder, by=world.admin)

    with pytest.raises(Http404):
        access.get_project(world.responder, "SEARCH", Permission.INCIDENT_WORK)


def test_changed_role_holds_from_the_next_question_on(world: World) -> None:
    access.get_project(world.responder, "SEARCH", Permission.INCIDENT_WORK)

    services.change_role(team=world.team, user=world.responder, role="viewer", by=world.admin)

    with pytest.raises(PermissionDenied):
        access.get_project(world.responder, "SEARCH", Permission.INCIDENT_WORK)


def test_list_and_fetch_agree(world: World) -> None:
    people = [world.viewer, world.responder, world.admin, world.outsider, world.stranger, world.platform_admin]
    for person in people:
        listed = set(access.visible_projects(person))
        fetched = set()
        for project in Project.objects.all():
            try:
                fetched.add(access.get_project(person, project.key, Permission.INCIDENT_VIEW))
            except Http404:
                continue
        assert listed == fetched


def test_visible_projects_with_permission_leaves_out_where_it_is_missing(world: World) -> None:
    services.add_member(team=world.other_team, user=world.responder, role="viewer", by=None)

    assert {p.key for p in access.visible_projects(world.responder)} == {"SEARCH", "PAY"}
    assert {p.key for p in access.visible_projects(world.responder, Permission.INCIDENT_WORK)} == {"SEARCH"}


def test_object_without_a_team_is_a_mistake_of_ours(world: World) -> None:
    with pytest.raises(TypeError, match="User belongs to no team"):
        access.require(world.admin, Permission.TEAM_VIEW, world.viewer)


def test_object_is_judged_by_its_own_links(world: World) -> None:
    invitation, _ = services.invite(team=world.team, email="new@example.org", role="viewer", by=world.admin)

    found = access.get_object(
        Invitation.objects.all(), world.admin, Permission.TEAM_MANAGE, public_id=invitation.public_id
    )

    assert found == invitation
    with pytest.raises(Http404):
        access.get_object(
            Invitation.objects.all(), world.outsider, Permission.TEAM_MANAGE, public_id=invitation.public_id
        )


# --- Keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("alerts:write", {"alerts.write"}),
        ("incidents:read", {Permission.INCIDENT_VIEW}),
        ("incidents:write", {Permission.INCIDENT_VIEW, Permission.INCIDENT_WORK}),
        ("memory:read", {Permission.MEMORY_VIEW}),
    ],
)
def test_key_may_do_what_its_scope_says_in_its_project(world: World, scope: str, allowed: set[str]) -> None:
    actor = key_actor(world.project, world.admin, scope)

    for permission in ("alerts.write", *Permission):
        if permission in allowed:
            access.require(actor, permission, world.project)
        else:
            with pytest.raises(PermissionDenied):
                access.require(actor, permission, world.project)


def test_key_does_not_see_another_project_of_its_team(world: World) -> None:
    sibling = factories.make_project(team=world.team, key="CAT")
    actor = key_actor(world.project, world.admin, *ApiKey.Scope.values)

    with pytest.raises(Http404):
        access.get_project(actor, sibling.key, Permission.INCIDENT_VIEW)
    assert list(access.visible_projects(actor)) == [world.project]


def test_key_does_not_see_the_team(world: World) -> None:
    actor = key_actor(world.project, world.admin, *ApiKey.Scope.values)

    with pytest.raises(Http404):
        access.get_team(actor, world.team.slug, Permission.TEAM_VIEW)


def test_key_without_the_scope_gets_no_empty_list(world: World) -> None:
    with pytest.raises(PermissionDenied):
        access.visible_projects(key_actor(world.project, world.admin, "alerts:write"), Permission.INCIDENT_VIEW)


# --- The platform -----------------------------------------------------------------------------------------------------


def test_platform_page_is_not_found_without_the_role(world: World) -> None:
    access.require_platform(world.platform_admin, Permission.PLATFORM_MANAGE)
    access.require_platform(world.reviewer, Permission.LESSON_REVIEW)

    for person, permission in [
        (world.admin, Permission.PLATFORM_MANAGE),
        (world.reviewer, Permission.PLATFORM_MANAGE),
        (world.platform_admin, Permission.LESSON_REVIEW),
        (key_actor(world.project, world.admin, *ApiKey.Scope.values), Permission.PLATFORM_MANAGE),
    ]:
        with pytest.raises(Http404):
            access.require_platform(person, permission)


# --- Cost -------------------------------------------------------------------------------------------------------------


def test_access_costs_two_queries_whatever_the_number_of_teams(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        services.add_member(team=factories.make_team(), user=world.admin, role="viewer", by=None)
    person = fresh(world.admin)

    with django_assert_num_queries(2):
        project = access.get_project(person, "SEARCH", Permission.PROJECT_MANAGE)
        access.require(person, Permission.TEAM_MANAGE, project.team)
        access.permissions_for(person, project.team)


def test_page_of_a_person_in_many_teams_costs_no_more(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)
    client.get("/teams/discovery/")
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get("/teams/discovery/")
        counts.append(len(queries))
        for _ in range(4):
            services.add_member(team=factories.make_team(), user=world.admin, role="admin", by=None)

    assert counts[0] == counts[1]
