"""What every test may use: one world with a fixed cast, and the rule about services that are absent."""

import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from xdist.scheduler import LoadFileScheduling

from teams import audit
from teams.models import Membership, Project, Team, User
from tests import factories


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """Hash passwords quickly: a real hash takes a third of a second for each of a world's people."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def no_static_files(settings: Any) -> None:
    """Leave out what serves static files: it looks at every one of them for each client of a test."""
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.startswith("whitenoise")]


@pytest.fixture(autouse=True)
def cache_of_its_own(settings: Any) -> None:
    """Keep what one test counts, such as sign-ins, from the next: unlike a database, Redis undoes nothing."""
    if settings.REDIS_URL:
        default = settings.CACHES["default"]
        settings.CACHES = settings.CACHES | {"default": {**default, "KEY_PREFIX": str(uuid.uuid4())}}


@dataclass(frozen=True)
class World:
    """Two teams with a project each, and one of every kind of person."""

    team: Team
    project: Project
    viewer: User
    responder: User
    admin: User
    other_team: Team
    other_project: Project
    outsider: User
    stranger: User
    reviewer: User
    platform_admin: User


@pytest.fixture(autouse=True)
def _door() -> Iterator[None]:
    """Each test acts through the door of a task, whatever a test before it came by."""
    with audit.acting("task"):
        yield


@pytest.fixture
def world(db: None) -> World:
    """Discovery has SEARCH; the other team, Payments, has PAY. A stranger is in no team."""
    team = factories.make_team(name="Discovery")
    other_team = factories.make_team(name="Payments")
    project = factories.make_project(team=team, key="SEARCH", name="Search")
    other_project = factories.make_project(team=other_team, key="PAY", name="Payments")
    return World(
        team=team,
        project=project,
        viewer=factories.make_member(team=team, role=Membership.Role.VIEWER, name="Vera Viewer"),
        responder=factories.make_member(team=team, role=Membership.Role.RESPONDER, name="Rosa Responder"),
        admin=factories.make_member(team=team, role=Membership.Role.ADMIN, name="Ada Admin"),
        other_team=other_team,
        other_project=other_project,
        outsider=factories.make_member(team=other_team, role=Membership.Role.ADMIN, name="Otto Outsider"),
        stranger=factories.make_user(name="Sven Stranger"),
        reviewer=factories.make_user(name="Lea Reviewer", is_lesson_reviewer=True),
        platform_admin=factories.make_user(name="Petra Platform", is_platform_admin=True),
    )


@pytest.fixture
def signed_in() -> object:
    """Return a function that gives a client signed in as a person."""

    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out browser tests where Chromium is absent, and say what to install; in CI that is a failure instead."""
    if shutil.which("chromium") or os.environ.get("CI"):
        return
    skip = pytest.mark.skip(reason="Chromium is absent: install the package chromium to run the browser tests")
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(skip)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Keep all browser tests on one worker: they share one running product, and one database of it."""

    class BrowserTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)

    return BrowserTogether(config, log)
