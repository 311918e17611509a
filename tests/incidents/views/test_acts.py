"""What people do on the incident's page, sent twice, sent too late, or sent by the wrong person."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.models import Attempt, Incident, MemoryRecord, Outcome
from incidents.services import attempts
from teams.models import User
from tests import factories
from tests.conftest import World

WRITTEN = {
    "fix": "new",
    "new_fix": "Stop the export",
    "root_cause": "The export kept every connection.",
    "what_was_done": "Stopped it.",
    "minutes": "14",
}


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def attempt(world: World, incident: Incident) -> Attempt:
    return attempts.record_attempt(
        incident=incident, by=world.responder, new_fix_title="Restart the pods", what_happened="Back in a minute."
    ).attempt


def as_person(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(user: User, name: str, incident: Incident, data: dict[str, Any], **parts: Any) -> Any:
    address = reverse(name, kwargs={"key": incident.project.key, "number": incident.number, **parts})
    return as_person(user).post(address, data)


def test_the_same_outcome_sent_twice_is_saved_once(world: World, incident: Incident) -> None:
    for _ in range(2):
        assert post(world.responder, "outcome_record", incident, WRITTEN).status_code == 302

    assert Outcome.objects.count() == 1
    assert MemoryRecord.objects.count() == 1


def test_a_second_outcome_from_an_old_page_is_a_conflict_that_keeps_the_words(world: World, incident: Incident) -> None:
    post(world.admin, "outcome_record", incident, WRITTEN)

    late = post(
        world.responder, "outcome_record", incident, WRITTEN | {"root_cause": "A dead disk.", "new_fix": "Swap it"}
    )

    assert late.status_code == 409
    assert "A dead disk." in late.content.decode()
    assert Outcome.objects.get().root_cause == WRITTEN["root_cause"]


def test_a_correction_replaces_only_the_outcome_that_it_was_made_for(world: World, incident: Incident) -> None:
    post(world.responder, "outcome_record", incident, WRITTEN)
    first = Outcome.objects.get()
    fix = {"fix": str(first.fix.public_id), "new_fix": "", "corrects": str(first.public_id)}

    corrected = post(world.responder, "outcome_record", incident, WRITTEN | fix | {"minutes": "20"})
    late = post(world.responder, "outcome_record", incident, WRITTEN | fix | {"root_cause": "Written in another tab."})

    assert corrected.status_code == 302
    assert late.status_code == 409
    assert "Written in another tab." in late.content.decode()
    assert Outcome.objects.get(superseded_by=None).minutes == 20


def test_an_author_corrects_an_attempt_and_memory_follows(world: World, attempt: Attempt) -> None:
    address = {"attempt": attempt.public_id}
    shown = as_person(world.responder).get(
        reverse("attempt_correct", args=[attempt.incident.project.key, attempt.incident.number, attempt.public_id])
    )
    assert "Back in a minute." in shown.content.decode()

    saved = post(
        world.responder,
        "attempt_correct",
        attempt.incident,
        {"fix": str(attempt.fix.public_id), "what_happened": "It made the waits longer."},
        **address,
    )

    assert saved.status_code == 302
    attempt.refresh_from_db()
    assert attempt.superseded_by is not None
    assert attempt.superseded_by.what_happened == "It made the waits longer."
    assert MemoryRecord.objects.get().wanted_revision == 2


def test_a_colleague_may_not_correct_it_but_an_admin_may(world: World, attempt: Attempt) -> None:
    colleague = factories.make_member(team=world.team, name="Carl Colleague")
    correction = {"fix": str(attempt.fix.public_id), "what_happened": "No."}

    refused = post(colleague, "attempt_correct", attempt.incident, correction, attempt=attempt.public_id)
    allowed = post(world.admin, "attempt_correct", attempt.incident, correction, attempt=attempt.public_id)

    assert (refused.status_code, allowed.status_code) == (403, 302)


def test_an_attempt_corrected_meanwhile_is_a_conflict_that_keeps_the_words(world: World, attempt: Attempt) -> None:
    attempts.correct_attempt(attempt=attempt, by=world.responder, what_happened="First.")

    late = post(
        world.responder,
        "attempt_correct",
        attempt.incident,
        {"fix": str(attempt.fix.public_id), "what_happened": "Second, from another tab."},
        attempt=attempt.public_id,
    )

    assert late.status_code == 409
    assert "Second, from another tab." in late.content.decode()
    assert Attempt.objects.get(superseded_by=None).what_happened == "First."


def test_an_attempt_of_another_incident_is_not_found(world: World, attempt: Attempt) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="disk 91% full", title="Disk")

    answer = post(world.responder, "attempt_correct", other, {"fix": "new"}, attempt=attempt.public_id)

    assert answer.status_code == 404
