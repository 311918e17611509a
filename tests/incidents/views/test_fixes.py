"""The pages of fixes."""

from typing import Any

import pytest
from django.urls import reverse

from incidents.models import Fix, Incident
from incidents.services import attempts
from teams.models import User
from tests import factories
from tests.conftest import World
from tests.incidents.views.test_acts import as_person


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def fix(world: World, incident: Incident) -> Fix:
    return factories.resolve(incident=incident, by=world.responder).outcome.fix


def post(user: User, name: str, fix: Fix, **data: Any) -> Any:
    return as_person(user).post(reverse(name, args=[fix.public_id]), data)


def test_a_fix_says_where_it_was_applied_and_how_it_went(world: World, incident: Incident, fix: Fix) -> None:
    again = factories.make_incident(project=world.project, by=world.responder)
    attempts.record_attempt(incident=again, by=world.responder, fix=fix, what_happened="Came back at once.")

    page = as_person(world.viewer).get(fix.get_absolute_url()).content.decode()

    assert "Worked 1 of 2" in page
    assert incident.get_absolute_url() in page
    assert again.get_absolute_url() in page
    assert "Came back at once." in page
    assert "Rename or mend" not in page  # a viewer changes nothing


def test_a_runbook_link_that_is_none_is_refused_and_kept(world: World, fix: Fix) -> None:
    answer = post(world.responder, "fix_change", fix, title="Pause it", runbook_url="javascript:alert(1)")

    assert answer.status_code == 400
    assert 'value="javascript:alert(1)"' in answer.content.decode()
    assert "A link starts with https://" in answer.content.decode()


def test_a_name_that_is_taken_is_a_conflict_that_keeps_what_was_typed(world: World, fix: Fix) -> None:
    Fix.objects.create(project=world.project, title="Taken", created_by=world.responder)

    answer = post(world.responder, "fix_change", fix, title="Taken", runbook_title="RB-77")

    assert answer.status_code == 409
    assert 'value="RB-77"' in answer.content.decode()


def test_a_duplicate_leads_to_what_it_was_merged_into_and_back(world: World, fix: Fix) -> None:
    other = Fix.objects.create(project=world.project, title="Pausing", created_by=world.responder)

    merged = post(world.responder, "fix_merge", fix, into=other.public_id)
    page = as_person(world.viewer).get(fix.get_absolute_url()).content.decode()
    there = as_person(world.viewer).get(other.get_absolute_url()).content.decode()

    assert merged.headers["Location"] == other.get_absolute_url()
    assert "Merged into" in page
    assert "Worked 1 of 1" in there
    listed = as_person(world.viewer).get("/fixes/?project=SEARCH").content.decode()
    assert other.title in listed
    assert fix.get_absolute_url() not in listed


def test_a_fix_is_merged_into_none_of_another_project(world: World, fix: Fix) -> None:
    theirs = Fix.objects.create(project=world.other_project, title="Theirs", created_by=world.outsider)

    answer = post(world.responder, "fix_merge", fix, into=theirs.public_id)

    assert answer.status_code == 400
    assert "Theirs" not in answer.content.decode()


def test_the_list_shows_no_other_teams_fixes(world: World, fix: Fix) -> None:
    page = as_person(world.outsider).get("/fixes/?project=SEARCH").content.decode()

    assert fix.title not in page
    assert "Fixes of Payments" in page
