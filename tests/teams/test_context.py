from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from teams import services
from teams.context import Frame, frame
from teams.middleware import TimeZoneMiddleware
from teams.models import User
from tests import factories
from tests.conftest import World


def frame_of(user: Any, path: str = "/incidents/") -> Frame:
    request = RequestFactory().get(path)
    request.user = User.objects.get(pk=user.pk) if user else AnonymousUser()
    request.resolver_match = resolve(request.path_info)
    found: Frame = frame(request)["frame"]
    return found


def test_frame_of_nobody_is_empty_and_asks_nothing() -> None:
    found = frame_of(None)

    assert (found.teams, found.team, found.project, found.can, found.zone) == ([], None, None, set(), "")
    assert (found.theme, found.shortcuts) == ("system", False)


def test_frame_of_a_request_that_reached_no_view(world: World) -> None:
    request = RequestFactory().get("/nowhere/")
    request.user = world.viewer

    found = frame(request)["frame"]

    assert found.team == world.team and found.project is None


def test_frame_chooses_the_only_team(world: World) -> None:
    found = frame_of(world.viewer)

    assert found.team == world.team
    assert [(team.slug, team.name, team.current) for team in found.teams] == [("discovery", "Discovery", True)]


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("/incidents/", None),
        ("/incidents/?team=payments", "payments"),
        ("/incidents/?team=secret", None),  # not theirs
        ("/teams/payments/", "payments"),
        ("/incidents/PAY-1/", "payments"),
        ("/projects/SEARCH/settings/", "discovery"),
        ("/projects/OTHER/settings/", None),  # not theirs
        ("/incidents/PAY-1/?team=discovery", "discovery"),  # what is asked for comes first
    ],
)
def test_frame_of_somebody_in_two_teams_follows_the_address(world: World, path: str, slug: str | None) -> None:
    services.add_member(team=world.other_team, user=world.responder, role="viewer", by=None)
    factories.make_project(team=factories.make_team(name="Secret"), key="OTHER")

    found = frame_of(world.responder, path)

    assert (found.team.slug if found.team else None) == slug


def test_frame_can_is_of_the_chosen_team_or_of_any(world: World) -> None:
    services.add_member(team=world.other_team, user=world.responder, role="viewer", by=None)

    assert "incident.work" not in frame_of(world.responder, "/incidents/?team=payments").can
    assert "incident.work" in frame_of(world.responder, "/incidents/?team=discovery").can
    assert "incident.work" in frame_of(world.responder).can


def test_frame_does_not_name_a_project_that_is_not_theirs(world: World) -> None:
    assert frame_of(world.viewer, "/projects/SEARCH/settings/").project == world.project
    assert frame_of(world.viewer, "/projects/PAY/settings/").project is None


def test_frame_costs_two_queries_whatever_the_number_of_teams(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(5):
        services.add_member(team=factories.make_team(), user=world.viewer, role="viewer", by=None)
    found = frame_of(world.viewer, "/projects/SEARCH/settings/")

    with django_assert_num_queries(2):
        for _ in range(2):
            assert (found.team, found.project) == (world.team, world.project)
            assert len(found.teams) == 6
            assert "incident.view" in found.can


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "UTC"),
        ("Asia/Kolkata", "Kolkata, UTC+5:30"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires, UTC−3"),
        ("Pacific/Marquesas", "Marquesas, UTC−9:30"),
        ("Not/AZone", "UTC"),
    ],
)
def test_times_are_in_the_zone_of_the_person_which_the_frame_names(world: World, zone: str, words: str) -> None:
    User.objects.filter(pk=world.viewer.pk).update(time_zone=zone)
    found = frame_of(world.viewer)
    seen = []

    def view(request: Any) -> Any:
        seen.append(found.zone)
        return None

    TimeZoneMiddleware(view)(found._request)  # type: ignore[arg-type]

    assert seen == [words]
    assert timezone.get_current_timezone_name() == "UTC"
