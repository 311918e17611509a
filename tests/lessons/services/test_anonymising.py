"""The platform's own names: everybody's, and the old ones."""

import pytest

from lessons.services.anonymising import known_names
from teams.services import projects
from tests.conftest import World


@pytest.mark.django_db
def test_known_names_without_anything_is_empty() -> None:
    assert known_names().teams == ()


def test_known_names_holds_every_team_and_pairs_people_with_their_addresses(world: World) -> None:
    names = known_names()

    assert world.project.team.name in names.teams
    assert world.project.name in names.projects
    assert world.project.key in names.project_keys
    assert (world.responder.name, world.responder.email) in names.members


def test_a_renamed_project_is_known_by_both_names(world: World) -> None:
    before = world.project.name

    projects.change_project(project=world.project, by=world.admin, name="Quellis Weir")

    assert {before, "Quellis Weir"} <= set(known_names().projects)
