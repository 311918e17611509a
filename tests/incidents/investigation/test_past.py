"""What people's acts say about fixes: which failed last, and what was rated."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from incidents.investigation.past import failed_fixes, keys_of, normal_command, ratings_for
from incidents.models import Diagnosis, Fix, Incident, MemoryRecord
from incidents.services import attempts, feedback, investigations, outcomes
from tests import factories
from tests.conftest import World


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


def fail(incident: Incident, world: World, *, days: float = 1.0, **fix: Any) -> Fix:
    named = fix or {"new_fix_title": "Restart the search-api pods"}
    at = timezone.now() - timedelta(days=days)
    return attempts.record_attempt(incident=incident, by=world.responder, at=at, **named).attempt.fix


def work_out(incident: Incident, world: World, *, days: float = 0.0, **fix: Any) -> Fix:
    at = timezone.now() - timedelta(days=days)
    saved = outcomes.record_outcome(
        incident=incident, by=world.responder, root_cause="It was the job.", minutes=5, at=at, **fix
    )
    return saved.outcome.fix


def titles(failed: Any) -> list[tuple[str, bool]]:
    return [(one.fix.title, one.doubtful) for one in failed]


def test_a_fix_that_failed_on_this_incident_is_found_with_its_record(world: World, incident: Incident) -> None:
    fail(incident, world)

    [failed] = failed_fixes(incident)

    assert titles([failed]) == [("Restart the search-api pods", False)]
    assert failed.record == MemoryRecord.objects.get(kind=MemoryRecord.Kind.FAILED_ATTEMPT)
    assert set(failed.stored()) == {"fix", "attempt", "record", "doubtful"}


def test_a_fix_that_failed_on_the_same_fingerprint_before_is_found(world: World, incident: Incident) -> None:
    fail(incident, world)
    work_out(incident, world, new_fix_title="Pause the nightly reindex")

    again = factories.make_incident(project=world.project, by=world.responder)

    assert again != incident
    assert again.fingerprint == incident.fingerprint
    assert titles(failed_fixes(again)) == [("Restart the search-api pods", False)]


def test_a_fix_that_worked_since_is_not_struck_out(world: World, incident: Incident) -> None:
    fix = fail(incident, world)
    work_out(incident, world, fix=fix)

    assert failed_fixes(incident) == []


def test_a_fix_that_worked_before_and_failed_since_is_struck_out(world: World, incident: Incident) -> None:
    fix = work_out(incident, world, days=3, new_fix_title="Pause the nightly reindex")
    again = factories.make_incident(project=world.project, by=world.responder)
    fail(again, world, fix=fix)

    assert titles(failed_fixes(again)) == [("Pause the nightly reindex", False)]


def test_an_outcome_that_did_not_hold_is_a_failure(world: World, incident: Incident) -> None:
    work_out(incident, world, new_fix_title="Pause the nightly reindex")
    outcomes.reopen(incident=incident, by=world.responder, held=False)

    [failed] = failed_fixes(incident)

    assert failed.fix.title == "Pause the nightly reindex"
    assert failed.record is not None


def test_other_incidents_count_only_if_they_match_and_partly_only_in_doubt(world: World, incident: Incident) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="OOMKilled: ranker-7 heap 98%")
    fail(other, world)

    assert failed_fixes(incident) == []
    assert titles(failed_fixes(incident, close=[other.pk])) == [("Restart the search-api pods", False)]
    assert titles(failed_fixes(incident, partial=[other.pk])) == [("Restart the search-api pods", True)]


def test_what_only_matches_in_part_does_not_outweigh_what_is_sure(world: World, incident: Incident) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="OOMKilled: ranker-7 heap 98%")
    fix = fail(incident, world)
    work_out(other, world, fix=fix)

    assert titles(failed_fixes(incident, partial=[other.pk])) == [("Restart the search-api pods", False)]


def test_another_projects_failure_strikes_out_nothing(world: World, incident: Incident) -> None:
    theirs = factories.make_incident(project=world.other_project, by=world.outsider)
    attempts.record_attempt(incident=theirs, by=world.outsider, new_fix_title="Restart everything")

    assert theirs.fingerprint == incident.fingerprint or theirs.project != incident.project
    assert failed_fixes(incident) == []


def test_the_newest_rating_of_what_was_put_first_counts(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    diagnosis = investigation.diagnoses.get(kind=Diagnosis.Kind.ALERT_ONLY)
    first = {"text": "Restart the pods", "command": "kubectl rollout restart deploy/x", "struck": None, "fix": None}
    struck = {"text": "Reboot", "command": None, "struck": {"attempt": "a"}, "fix": None}
    Diagnosis.objects.filter(pk=diagnosis.pk).update(immediate_actions=[struck, first], state="finished")
    diagnosis.refresh_from_db()

    feedback.rate(diagnosis=diagnosis, helpful=False, note="", by=world.responder)

    ratings = ratings_for(incident)
    assert ratings.not_helpful(*keys_of("restart the PODS!", None, None))
    assert ratings.not_helpful(*keys_of("Bounce", "kubectl  rollout restart deploy/x", None))
    assert not ratings.not_helpful(*keys_of("Reboot", None, None))

    feedback.rate(diagnosis=diagnosis, helpful=True, note="", by=world.responder)
    assert not ratings_for(incident).not_helpful(*keys_of("Restart the pods", None, None))


def test_ratings_of_another_fingerprint_say_nothing(world: World, incident: Incident) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="OOMKilled: ranker-7 heap 98%")
    investigation = investigations.start(incident=other, by=world.responder)
    diagnosis = investigation.diagnoses.get(kind=Diagnosis.Kind.ALERT_ONLY)
    action = {"text": "Restart the pods", "command": None, "struck": None, "fix": None}
    Diagnosis.objects.filter(pk=diagnosis.pk).update(immediate_actions=[action], state="finished")
    diagnosis.refresh_from_db()
    feedback.rate(diagnosis=diagnosis, helpful=False, note="", by=world.responder)

    assert ratings_for(incident).helpful == {}


def test_commands_are_the_same_white_space_aside() -> None:
    assert normal_command(" kubectl   get\npods ") == "kubectl get pods"
    assert normal_command(None) == ""
    assert keys_of("", None, None) == []
