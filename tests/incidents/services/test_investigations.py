"""Starting, answering, cancelling and driving investigations, on the real embedded memory and the offline reasoner."""

import threading
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from django.utils import timezone

from incidents.models import Diagnosis, Incident, Investigation, MemoryRecord, Question, Step
from incidents.services import attempts, diagnosing, investigations, memory
from incidents.services.incidents import Conflict
from teams.models import AuditEvent, Membership, Project
from tests import factories
from tests.conftest import World

ALERT_ONLY, WITH_MEMORY = Diagnosis.Kind.ALERT_ONLY, Diagnosis.Kind.WITH_MEMORY
SIMILAR = """\
search-api in prod-eu answers 502 again
Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool. max pool size was reached.
"""


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    settings.LLM = "offline"


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def vague(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder, text="site feels slow")


def remember_all() -> None:
    """Bring every bank to what its records want, as the workers would."""
    for _ in range(2):
        for record in MemoryRecord.objects.all():
            memory.sync_record(record.pk)


def work(investigation: Investigation) -> Investigation:
    """Do what the workers would: both diagnoses, the one with memory first."""
    for diagnosis in investigation.diagnoses.order_by("-kind"):
        diagnosing.run_diagnosis(diagnosis.pk)
    investigation.refresh_from_db()
    return investigation


def diagnosis_of(investigation: Investigation, kind: str = WITH_MEMORY) -> Diagnosis:
    return investigation.diagnoses.get(kind=kind)


def answers_to(investigation: Investigation, text: str) -> dict[Any, str]:
    return {investigation.questions.first().public_id: text}  # type: ignore[union-attr]


# --- Start ------------------------------------------------------------------------------------------------------------


def test_start_makes_two_diagnoses_and_writes_the_audit(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)

    incident.refresh_from_db()
    assert sorted(investigation.diagnoses.values_list("kind", flat=True)) == ["alert_only", "with_memory"]
    assert incident.latest_investigation == investigation
    assert AuditEvent.objects.filter(act="investigation.start", actor_id=world.responder.public_id).count() == 1


def test_start_returns_the_active_one(world: World, incident: Incident) -> None:
    first = investigations.start(incident=incident, by=world.responder)

    assert investigations.start(incident=incident, by=world.admin) == first
    work(first)
    assert investigations.start(incident=incident, by=world.admin).number == 2


@pytest.mark.django_db(transaction=True)
def test_ten_starts_at_once_make_one_investigation(world: World, incident: Incident) -> None:
    begun: list[Investigation] = []

    def press() -> None:
        try:
            begun.append(investigations.start(incident=incident, by=world.responder))
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(begun) == 10
    assert len({investigation.pk for investigation in begun}) == 1
    assert Investigation.objects.count() == 1
    assert Diagnosis.objects.count() == 2


def test_start_is_for_those_who_may_work_the_incident(world: World, incident: Incident) -> None:
    with pytest.raises(PermissionDenied):
        investigations.start(incident=incident, by=world.viewer)
    with pytest.raises(Http404):
        investigations.start(incident=incident, by=world.outsider)


def test_memory_off_makes_one_diagnosis_and_says_off(world: World, incident: Incident) -> None:
    Project.objects.filter(pk=world.project.pk).update(memory_on=False)

    investigation = work(investigations.start(incident=incident, by=world.responder))

    assert investigation.state == Investigation.State.FINISHED
    assert [one.kind for one in investigation.diagnoses.all()] == ["alert_only"]
    assert (investigation.memory_word, investigation.pattern) == ("off", "")


# --- The story --------------------------------------------------------------------------------------------------------


def test_the_second_incident_is_known_and_what_failed_is_not_repeated(world: World, incident: Incident) -> None:
    attempts.record_attempt(
        incident=incident,
        by=world.responder,
        what_happened="Errors were back after four minutes.",
        new_fix_title="Restart the search-api pods",
    )
    factories.resolve(incident=incident, by=world.responder)
    remember_all()
    again = factories.make_incident(project=world.project, by=world.responder, text=SIMILAR)

    investigation = work(investigations.start(incident=again, by=world.responder))

    diagnosis = diagnosis_of(investigation)
    cited = diagnosis.evidence.filter(accepted=True).get()
    assert (investigation.pattern, investigation.memory_word) == ("known_here", "matched")
    assert cited.record.incident == incident
    assert cited.record.fix.title == "Pause the nightly reindex"  # type: ignore[union-attr]
    assert diagnosis.simulated
    assert diagnosis.model == "offline reasoner"
    assert not any("Restart" in action["text"] for action in diagnosis.immediate_actions)
    assert len(diagnosis.do_not_repeat) == 1
    again.refresh_from_db()
    assert again.events.filter(kind="investigated").count() == 1


def test_what_nothing_explains_is_a_new_pattern_with_low_confidence(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.responder)
    remember_all()
    text = "[FIRING] rec-ranker: model file checksum differs on 3 of 8 nodes\nerror: sha256 mismatch for ranker.bin"
    other = factories.make_incident(project=world.project, by=world.responder, text=text)

    investigation = work(investigations.start(incident=other, by=world.responder))

    diagnosis = diagnosis_of(investigation)
    assert investigation.pattern == "new_pattern"
    assert diagnosis.confidence == "low"
    assert not diagnosis.evidence.filter(accepted=True).exists()
    assert "I don't know" in diagnosis.root_cause


def test_an_empty_memory_is_empty_and_not_no_match(world: World, incident: Incident) -> None:
    investigation = work(investigations.start(incident=incident, by=world.responder))

    assert (investigation.memory_word, investigation.pattern) == ("empty", "new_pattern")


def test_projects_never_see_each_others_memories(world: World, incident: Incident) -> None:
    factories.resolve(incident=incident, by=world.responder)
    remember_all()
    theirs = factories.make_incident(project=world.other_project, by=world.outsider)

    investigation = work(investigations.start(incident=theirs, by=world.outsider))

    assert investigation.memory_word == "empty"
    assert not diagnosis_of(investigation).evidence.exists()


def test_each_step_counts_the_incidents_version(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    incident.refresh_from_db()
    before = incident.version

    work(investigation)

    incident.refresh_from_db()
    assert incident.version - before >= 2 * Step.objects.count()


# --- Waiting ----------------------------------------------------------------------------------------------------------


def test_a_vague_alert_waits_and_the_other_answer_stays(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))

    alone, waiting = diagnosis_of(investigation, ALERT_ONLY), diagnosis_of(investigation)
    assert investigation.state == Investigation.State.WAITING
    assert investigation.waits_until is not None
    assert (alone.state, waiting.state) == ("finished", "waiting")
    assert waiting.lease_token is None
    assert alone.needs_more_info
    assert len(alone.clarifying_questions) == 3
    assert 2 <= len(alone.safe_checks) <= 3
    assert investigation.questions.count() == 3


def test_an_answer_resumes_the_same_run_and_is_in_what_was_sent(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    steps = list(diagnosis_of(investigation).steps.values_list("pk", flat=True))

    investigations.answer(
        investigation=investigation,
        answers=answers_to(investigation, "search-api: Timeout expired obtaining a connection from the pool"),
        by=world.responder,
    )
    work(investigation)

    diagnosis = diagnosis_of(investigation)
    after = list(diagnosis.steps.order_by("sequence"))
    assert investigation.state == Investigation.State.FINISHED
    assert [step.pk for step in after[: len(steps)]] == steps
    assert [step.name for step in after].count("inspect_alert") == 1
    assert [step.name for step in after].count("ask_engineer_question") == 1
    sent = investigations.what_was_sent(next(step for step in after if step.name == "answer"))
    assert not sent.changed
    assert any("Timeout expired obtaining" in message.content for message in sent.messages)
    assert vague.events.filter(kind="answered").count() == 1


def test_one_act_ends_the_wait_and_the_others_are_told(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    given = answers_to(investigation, "search-api answers 502")

    investigations.answer(investigation=investigation, answers=given, by=world.responder)

    with pytest.raises(investigations.NotWaiting):
        investigations.answer(investigation=investigation, answers=given, by=world.admin)
    with pytest.raises(investigations.NotWaiting):
        investigations.go_on_without_answers(investigation=investigation, by=world.admin)
    assert vague.events.filter(kind="answered").count() == 1


def test_an_answer_that_is_too_long_is_refused_and_not_cut(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))

    with pytest.raises(Conflict, match="4,000 characters"):
        investigations.answer(
            investigation=investigation, answers=answers_to(investigation, "x" * 4001), by=world.responder
        )
    assert not investigation.questions.exclude(answer="").exists()


@pytest.mark.parametrize("forged", [False, True], ids=["blank", "of another investigation"])
def test_an_answer_that_says_nothing_is_refused(world: World, vague: Incident, forged: bool) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    answers = {uuid.uuid4(): "It is the database"} if forged else answers_to(investigation, "  ")

    with pytest.raises(Conflict, match="Write an answer"):
        investigations.answer(investigation=investigation, answers=answers, by=world.responder)

    investigation.refresh_from_db()
    assert investigation.state == Investigation.State.WAITING


def test_credentials_in_an_answer_are_redacted(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    secret = "postgres://search:hunter2hunter2@db-1/search"

    investigations.answer(
        investigation=investigation, answers=answers_to(investigation, f"it says {secret}"), by=world.responder
    )

    assert "hunter2" not in investigation.questions.get(sequence=1).answer


def test_going_on_without_answers_ends_as_needs_more_info(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))

    investigations.go_on_without_answers(investigation=investigation, by=world.responder)
    work(investigation)

    assert investigation.pattern == "needs_more_info"
    assert diagnosis_of(investigation).steps.get(name="ask_engineer_question").status == Step.Status.NO_DATA


def test_a_wait_that_expires_ends_and_can_be_taken_up_later(world: World, vague: Incident) -> None:
    first = work(investigations.start(incident=vague, by=world.responder))
    Investigation.objects.filter(pk=first.pk).update(waits_until=timezone.now() - timedelta(seconds=1))

    diagnosing.sweep()
    work(first)
    assert (first.state, first.pattern) == ("finished", "needs_more_info")
    assert len(diagnosis_of(first).safe_checks) >= 2

    second = investigations.answer(
        investigation=first, answers=answers_to(first, "search-api answers 502, Timeout expired"), by=world.responder
    )
    work(second)

    assert second.pk != first.pk
    assert second.pattern == "new_pattern"
    assert not diagnosis_of(second).needs_more_info
    assert [step.name for step in diagnosis_of(second).steps.all()][:2] == ["inspect_alert", "ask_engineer_question"]
    assert not Question.objects.filter(investigation=first).exclude(answer="").exists()


def test_people_who_may_not_work_it_cannot_answer_or_cancel(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))

    for act in (investigations.go_on_without_answers, investigations.cancel):
        with pytest.raises(PermissionDenied):
            act(investigation=investigation, by=world.viewer)
        with pytest.raises(Http404):
            act(investigation=investigation, by=world.outsider)


def test_memory_switched_off_meanwhile_is_not_read_on_resume(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    Project.objects.filter(pk=world.project.pk).update(memory_on=False)

    investigations.go_on_without_answers(investigation=investigation, by=world.responder)
    work(investigation)

    assert (investigation.state, investigation.memory_word, investigation.pattern) == ("finished", "off", "")
    assert not diagnosis_of(investigation).steps.filter(name="recall_project_memory").exists()


# --- Cancel, crashes, sweep -------------------------------------------------------------------------------------------


def test_cancel_stops_it_and_it_can_be_run_again(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    held = diagnosis_of(investigation)
    token = Diagnosis.objects.claim(held.pk)

    assert investigations.cancel(investigation=investigation, by=world.responder)
    assert not investigations.cancel(investigation=investigation, by=world.responder)

    work(investigation)
    assert investigation.state == Investigation.State.CANCELLED
    assert not Diagnosis.objects.renew(held.pk, token)  # the worker that had it can write nothing more
    assert not Step.objects.exists()
    assert investigations.start(incident=incident, by=world.responder).number == 2


def test_two_workers_on_one_diagnosis_do_it_once(world: World, incident: Incident) -> None:
    investigation = work(investigations.start(incident=incident, by=world.responder))
    steps = Step.objects.count()

    work(investigation)

    assert Step.objects.count() == steps


def test_the_sweep_hands_over_what_a_killed_worker_held(
    world: World, incident: Incident, django_capture_on_commit_callbacks: Any
) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    gone = timezone.now() - timedelta(seconds=60)
    Diagnosis.objects.claim(diagnosis_of(investigation).pk)
    Diagnosis.objects.update(queued_at=gone)

    with django_capture_on_commit_callbacks() as sent:
        diagnosing.sweep()
    assert len(sent) == 1  # the other one; the lease still holds

    Diagnosis.objects.filter(kind=WITH_MEMORY).update(lease_until=gone)
    with django_capture_on_commit_callbacks() as sent:
        diagnosing.sweep()
        diagnosing.sweep()
    assert len(sent) == 1

    assert work(investigation).state == Investigation.State.FINISHED


def test_a_diagnosis_that_crashes_again_and_again_ends_readable(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    Diagnosis.objects.filter(kind=WITH_MEMORY).update(attempts=diagnosing.ATTEMPTS)

    work(investigation)

    diagnosis = diagnosis_of(investigation)
    assert investigation.state == Investigation.State.FINISHED
    assert (diagnosis.state, diagnosis.stopped) == ("failed", diagnosing.CRASHED)
    assert diagnosis.safe_checks
    assert investigation.pattern == ""


def test_leases_are_released_for_a_shutdown(world: World, incident: Incident) -> None:
    investigation = investigations.start(incident=incident, by=world.responder)
    token = Diagnosis.objects.claim(diagnosis_of(investigation).pk)

    assert diagnosing.release_leases() == 1

    assert not Diagnosis.objects.renew(diagnosis_of(investigation).pk, token)
    assert work(investigation).state == Investigation.State.FINISHED


def test_an_investigation_that_was_left_open_is_closed(world: World, incident: Incident) -> None:
    investigation = work(investigations.start(incident=incident, by=world.responder))
    Investigation.objects.filter(pk=investigation.pk).update(state=Investigation.State.RUNNING, pattern="")

    diagnosing.sweep()

    investigation.refresh_from_db()
    assert (investigation.state, investigation.pattern) == ("finished", "new_pattern")


def test_a_member_who_left_cannot_answer(world: World, vague: Incident) -> None:
    investigation = work(investigations.start(incident=vague, by=world.responder))
    Membership.objects.filter(user=world.responder).update(left_at=timezone.now())
    person = type(world.responder).objects.get(pk=world.responder.pk)

    with pytest.raises(Http404):
        investigations.go_on_without_answers(investigation=investigation, by=person)
