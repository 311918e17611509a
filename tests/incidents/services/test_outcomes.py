import threading
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from django.utils import timezone

from incidents.models import (
    Attempt,
    Diagnosis,
    Feedback,
    Fix,
    Incident,
    IncidentEvent,
    Investigation,
    MemoryRecord,
    Outcome,
)
from incidents.models.track import applications, track_records
from incidents.services import attempts, feedback, incidents, outcomes
from incidents.services.incidents import Conflict
from teams.models import AuditEvent, Membership
from tests import factories
from tests.conftest import World


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


@pytest.fixture
def diagnosis(incident: Incident) -> Diagnosis:
    return finished_diagnosis(incident)


def finished_diagnosis(incident: Incident, **values: object) -> Diagnosis:
    now = timezone.now()
    investigation = Investigation.objects.create(
        incident=incident,
        number=incident.investigations.count() + 1,
        strategy="guided",
        memory_on=True,
        state=Investigation.State.FINISHED,
        started_at=now,
        finished_at=now,
    )
    defaults: dict[str, object] = {
        "kind": Diagnosis.Kind.WITH_MEMORY,
        "state": Diagnosis.State.FINISHED,
        "root_cause": "DNS failure in the cluster's resolver.",
        "immediate_actions": [{"text": "Restart the resolver", "command": None, "refs": [], "struck": None}],
    }
    return Diagnosis.objects.create(investigation=investigation, **(defaults | values))


def record(incident: Incident, by: object, **changes: object) -> outcomes.SavedOutcome:
    written: dict[str, object] = {
        "root_cause": "The gateway's certificate expired.",
        "what_was_done": "Renewed it by hand.",
        "minutes": 18,
        "new_fix_title": "Renew the gateway certificate",
    }
    return outcomes.record_outcome(incident=incident, by=by, **(written | changes))


def acts(incident: Incident) -> list[str]:
    return list(incident.events.values_list("kind", flat=True))


# --- The verified outcome ---------------------------------------------------------------------------------------------


def test_record_outcome_resolves_and_remembers_in_one_act(world: World, incident: Incident) -> None:
    saved = record(incident, world.responder, command="certctl renew gateway", runbook_title="RB-21 Certificates")

    incident.refresh_from_db()
    assert (incident.status, incident.close_reason) == ("resolved", "fixed")
    assert incident.resolved_by == world.responder
    assert saved.outcome.fix.command == "certctl renew gateway"
    assert saved.record is not None
    assert (saved.record.kind, saved.record.state) == ("verified_resolution", "queued")
    assert saved.record.bank.assignments.get().project == world.project
    assert acts(incident)[-1] == IncidentEvent.Kind.RESOLVED
    assert AuditEvent.objects.get(act="outcome.record").actor_id == world.responder.public_id


def test_record_outcome_leads_with_the_engineers_cause_whole(world: World, incident: Incident) -> None:
    note = "The gateway certificate expired overnight. " + "Its renewal job had been paused since the move. " * 12

    saved = record(incident, world.responder, root_cause=note, answers_diagnosis=finished_diagnosis(incident))

    assert saved.record is not None
    revision = saved.record.revisions.get()
    assert revision.text.startswith(f"Root cause: {note.strip()}")
    assert "DNS failure" not in revision.text
    for identifier in (incident.ref, "Rosa Responder", "18 minutes", "obtaining a connection from the pool"):
        assert identifier in revision.text


def test_record_outcome_twice_is_already_saved(world: World, incident: Incident) -> None:
    first = record(incident, world.responder)

    second = record(incident, world.admin, root_cause="  the gateway's certificate   EXPIRED. ")

    assert second.already_saved
    assert second.outcome == first.outcome
    assert second.record == first.record
    assert Outcome.objects.count() == MemoryRecord.objects.count() == Fix.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [{"root_cause": "A firewall rule."}, {"minutes": 19}, {"new_fix_title": "Roll back the firewall"}],
)
def test_record_outcome_refuses_another_one_in_its_place(
    world: World, incident: Incident, other: dict[str, object]
) -> None:
    record(incident, world.responder)

    with pytest.raises(Conflict, match="Rosa Responder recorded another outcome first: Renew the gateway"):
        record(incident, world.admin, **other)

    assert Outcome.objects.count() == Fix.objects.count() == 1


def test_record_outcome_without_a_note_says_so(world: World, incident: Incident) -> None:
    saved = record(incident, world.responder, root_cause="", what_was_done=" ")

    assert saved.record is not None
    revision = saved.record.revisions.get()
    assert revision.text.startswith("Confirmed without a note.")
    assert revision.cause == ""


def test_record_outcome_redacts_credentials(world: World, incident: Incident) -> None:
    saved = record(incident, world.responder, what_was_done="Set password=hunter2secret in the gateway.")

    assert saved.record is not None
    assert "hunter2secret" not in saved.outcome.what_was_done + saved.record.revisions.get().text
    assert "[redacted: password]" in saved.record.revisions.get().text


def test_record_outcome_reuses_a_fix_of_the_same_name(world: World, incident: Incident) -> None:
    fix = record(incident, world.responder).outcome.fix
    later = factories.make_incident(project=world.project, by=world.responder, text="gateway: x509 has expired again")

    saved = record(later, world.responder, new_fix_title="renew the Gateway certificate", command="certctl renew")

    assert saved.outcome.fix == fix
    fix.refresh_from_db()
    assert fix.command == "certctl renew"
    assert track_records([fix.pk])[fix.pk].worked == 2


def test_record_outcome_refuses_what_belongs_elsewhere(world: World, incident: Incident) -> None:
    foreign = factories.make_incident(project=world.other_project, by=world.outsider)
    fix = record(foreign, world.outsider).outcome.fix

    with pytest.raises(ValueError, match="one project"):
        record(incident, world.responder, fix=fix)
    with pytest.raises(ValueError, match="own incident"):
        record(incident, world.responder, answers_diagnosis=finished_diagnosis(foreign))
    with pytest.raises(ValueError, match="names a fix"):
        record(incident, world.responder, new_fix_title=" ")

    incident.refresh_from_db()
    assert incident.status == "open"


def test_record_outcome_follows_a_record_or_a_suggestion(
    world: World, incident: Incident, diagnosis: Diagnosis
) -> None:
    saved = record(
        incident, world.responder, followed="suggestion", followed_diagnosis=diagnosis, followed_action=0
    ).outcome

    assert (saved.followed, saved.followed_diagnosis, saved.followed_action) == ("suggestion", diagnosis, 0)


def test_record_outcome_is_for_those_who_may_work_the_incident(world: World, incident: Incident) -> None:
    with pytest.raises(PermissionDenied):
        record(incident, world.viewer)
    for nobody in (world.outsider, world.stranger, world.platform_admin):
        with pytest.raises(Http404):
            record(incident, nobody)

    assert Outcome.objects.count() == MemoryRecord.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_record_outcome_eight_times_at_once_is_one_act(world: World, incident: Incident) -> None:
    said: list[bool] = []

    def press() -> None:
        try:
            said.append(record(incident, world.responder).already_saved)
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(said) == [False] + [True] * 7
    assert Outcome.objects.count() == MemoryRecord.objects.count() == Fix.objects.count() == 1


# --- The same fix again, later, and corrected -------------------------------------------------------------------------


def test_confirm_fix_worked_again_copies_no_text(world: World, incident: Incident) -> None:
    first = record(incident, world.responder)
    assert first.record is not None
    later = factories.make_incident(project=world.project, by=world.responder, text="gateway: x509 has expired again")
    Incident.objects.filter(pk=later.pk).update(started_at=timezone.now() - timedelta(minutes=12, seconds=30))
    later.refresh_from_db()

    saved = outcomes.confirm_fix_worked_again(incident=later, record=first.record, by=world.admin)
    twice = outcomes.confirm_fix_worked_again(incident=later, record=first.record, by=world.admin)

    assert twice.already_saved
    assert twice.outcome == saved.outcome
    assert (saved.outcome.is_confirmation, saved.outcome.root_cause, saved.outcome.minutes) == (True, "", 13)
    assert (saved.outcome.followed, saved.outcome.followed_record) == ("record", first.record)
    assert saved.record is not None
    text = saved.record.revisions.get().text
    assert text.startswith("Confirmed without a note.\nThe same fix worked again: Renew the gateway certificate.")
    assert "expired overnight" not in text


def test_confirm_fix_worked_again_refuses_other_memories(world: World, incident: Incident) -> None:
    foreign = record(factories.make_incident(project=world.other_project, by=world.outsider), world.outsider).record
    failed = attempts.record_attempt(incident=incident, by=world.responder, new_fix_title="Restart").record
    assert foreign is not None
    assert failed is not None

    for other in (foreign, failed):
        with pytest.raises(ValueError, match="remembered in the project itself"):
            outcomes.confirm_fix_worked_again(incident=incident, record=other, by=world.responder)


def test_write_down_later_retains_nothing_until_it_is_written_down(world: World, incident: Incident) -> None:
    assert not outcomes.write_down_later(incident=incident, by=world.responder).already_saved
    assert outcomes.write_down_later(incident=incident, by=world.admin).already_saved

    incident.refresh_from_db()
    resolved_at = incident.resolved_at
    assert MemoryRecord.objects.count() == 0
    assert list(Incident.objects.filter(write_down_later=True)) == [incident]

    record(incident, world.admin)

    incident.refresh_from_db()
    assert (incident.resolved_at, incident.resolved_by) == (resolved_at, world.responder)
    assert list(Incident.objects.filter(write_down_later=True)) == []
    assert MemoryRecord.objects.count() == 1
    assert acts(incident)[-1] == IncidentEvent.Kind.RECORDED


def test_correct_outcome_makes_the_next_revision_of_the_same_document(world: World, incident: Incident) -> None:
    first = record(incident, world.responder)
    assert first.record is not None

    corrected = outcomes.correct_outcome(
        outcome=first.outcome, by=world.responder, root_cause="The intermediate certificate expired.", minutes=20
    )

    assert corrected.record is not None
    assert corrected.record.pk == first.record.pk
    assert corrected.record.document_id == first.record.document_id
    assert (corrected.record.wanted_revision, corrected.record.outcome) == (2, corrected.outcome)
    assert corrected.outcome.fix == first.outcome.fix
    assert (corrected.outcome.verified_by, corrected.outcome.corrected_by) == (world.responder, world.responder)
    first.outcome.refresh_from_db()
    assert first.outcome.superseded_by == corrected.outcome
    assert track_records([first.outcome.fix_id])[first.outcome.fix_id].tried == 1


def test_correct_outcome_without_a_change_is_already_saved(world: World, incident: Incident) -> None:
    saved = record(incident, world.responder)

    again = outcomes.correct_outcome(
        outcome=saved.outcome,
        by=world.responder,
        root_cause=saved.outcome.root_cause,
        what_was_done=saved.outcome.what_was_done,
        minutes=18,
    )

    assert again.already_saved
    assert again.record is not None
    assert again.record.latest_revision == 1


def test_correct_outcome_of_another_needs_a_team_admin(world: World, incident: Incident) -> None:
    outcome = record(incident, world.responder).outcome
    colleague = factories.make_member(team=world.team, role=Membership.Role.RESPONDER, name="Cora Colleague")

    with pytest.raises(PermissionDenied):
        outcomes.correct_outcome(outcome=outcome, by=colleague, root_cause="Other.", minutes=1)
    with pytest.raises(Http404):
        outcomes.correct_outcome(outcome=outcome, by=world.outsider, root_cause="Other.", minutes=1)

    corrected = outcomes.correct_outcome(outcome=outcome, by=world.admin, root_cause="Other.", minutes=18).outcome
    assert (corrected.verified_by, corrected.corrected_by) == (world.responder, world.admin)


def test_correct_outcome_from_a_stale_page_is_a_conflict(world: World, incident: Incident) -> None:
    outcome = record(incident, world.responder).outcome
    outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="A better cause.", minutes=18)

    with pytest.raises(Conflict, match="corrected meanwhile"):
        outcomes.correct_outcome(outcome=outcome, by=world.responder, root_cause="Yet another.", minutes=18)


# --- Attempts that failed ---------------------------------------------------------------------------------------------


def test_record_attempt_is_remembered_and_keeps_the_incident_open(world: World, incident: Incident) -> None:
    saved = attempts.record_attempt(
        incident=incident, by=world.responder, what_happened="Errors were back after 4 min.", new_fix_title="Restart"
    )

    incident.refresh_from_db()
    assert incident.status == "open"
    assert saved.record is not None
    assert saved.record.kind == "failed_attempt"
    assert saved.record.revisions.get().text.startswith("Tried and failed: Restart. Errors were back after 4 min.")
    track = track_records([saved.attempt.fix_id])[saved.attempt.fix_id]
    assert (track.worked, track.tried) == (0, 1)


def test_record_attempt_sent_twice_is_one_and_tried_again_later_is_two(world: World, incident: Incident) -> None:
    at = timezone.now() - timedelta(hours=1)
    written = {"incident": incident, "by": world.responder, "new_fix_title": "Restart", "what_happened": "No change."}

    attempts.record_attempt(**written, at=at)
    twice = attempts.record_attempt(**written, at=at + timedelta(seconds=1))
    later = attempts.record_attempt(**written, at=at + timedelta(minutes=30))

    assert twice.already_saved
    assert not later.already_saved
    assert Attempt.objects.count() == MemoryRecord.objects.count() == 2


def test_correct_attempt_makes_the_next_revision(world: World, incident: Incident) -> None:
    saved = attempts.record_attempt(incident=incident, by=world.responder, new_fix_title="Restart")

    corrected = attempts.correct_attempt(attempt=saved.attempt, by=world.responder, what_happened="Made it worse.")

    assert saved.record is not None
    assert corrected.record is not None
    assert (corrected.record.pk, corrected.record.wanted_revision) == (saved.record.pk, 2)
    assert track_records([saved.attempt.fix_id])[saved.attempt.fix_id].tried == 1


# --- Ratings ----------------------------------------------------------------------------------------------------------


def test_rate_can_be_changed_and_the_change_reaches_the_same_document(
    world: World, incident: Incident, diagnosis: Diagnosis
) -> None:
    first = feedback.rate(diagnosis=diagnosis, helpful=True, by=world.responder)
    same = feedback.rate(diagnosis=diagnosis, helpful=True, by=world.responder)
    changed = feedback.rate(diagnosis=diagnosis, helpful=False, note="It was the certificate.", by=world.responder)
    other = feedback.rate(diagnosis=diagnosis, helpful=True, by=world.admin)

    assert same.already_saved
    assert first.record is not None
    assert changed.record is not None
    assert (changed.record.pk, changed.record.wanted_revision) == (first.record.pk, 2)
    assert other.record != first.record
    assert Feedback.objects.count() == 2
    text = changed.record.revisions.get(number=2).text
    assert text.startswith("Not helpful, said Rosa Responder")
    assert "The agent's assessment, not verified: Restart the resolver" in text


def test_rate_refuses_an_answer_that_is_not_finished(world: World, incident: Incident) -> None:
    running = finished_diagnosis(incident, state=Diagnosis.State.RUNNING)

    with pytest.raises(Conflict, match="not finished"):
        feedback.rate(diagnosis=running, helpful=True, by=world.responder)


# --- Reopening --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "worked", "tried"),
    [
        (True, 1, 1),  # another reason to look again
        (False, 0, 1),  # the fix counts as failed
        (None, 1, 1),  # nobody knows, so only people's word counts
    ],
)
def test_reopen_asks_whether_the_fix_held(
    world: World, incident: Incident, held: bool | None, worked: int, tried: int
) -> None:
    saved = record(incident, world.responder)

    changed = outcomes.reopen(incident=incident, by=world.admin, held=held)

    incident.refresh_from_db()
    assert not changed.already_saved
    assert (incident.status, incident.close_reason, incident.resolved_at) == ("open", "", None)
    track = track_records([saved.outcome.fix_id])[saved.outcome.fix_id]
    assert (track.worked, track.tried) == (worked, tried)
    assert saved.record is not None
    newest = saved.record.revisions.last()
    assert newest is not None
    assert ("did not hold" in newest.text) == (held is False)
    assert outcomes.reopen(incident=incident, by=world.admin, held=held).already_saved


def test_reopened_incident_takes_another_outcome_and_keeps_the_failure(world: World, incident: Incident) -> None:
    first = record(incident, world.responder)
    outcomes.reopen(incident=incident, by=world.responder, held=False)

    second = record(incident, world.responder, root_cause="The clock was wrong.", new_fix_title="Restart ntpd")

    assert second.record != first.record
    assert track_records([first.outcome.fix_id])[first.outcome.fix_id].failed == 1
    assert track_records([second.outcome.fix_id])[second.outcome.fix_id].worked == 1


def test_reopened_incident_fixed_the_same_way_is_the_same_document(world: World, incident: Incident) -> None:
    first = record(incident, world.responder)
    outcomes.reopen(incident=incident, by=world.responder, held=None)

    second = record(incident, world.responder)

    assert not second.already_saved
    assert first.record is not None
    assert second.record is not None
    assert (second.record.pk, second.record.outcome) == (first.record.pk, second.outcome)
    assert Outcome.objects.filter(superseded_by=None).count() == 2


def test_reopen_is_a_conflict_while_the_same_alert_has_another_open_incident(world: World, incident: Incident) -> None:
    record(incident, world.responder)
    other = factories.make_incident(project=world.project, by=world.responder)
    assert other != incident

    with pytest.raises(Conflict, match=other.ref):
        outcomes.reopen(incident=incident, by=world.responder, held=None)


def test_merged_incident_takes_no_acts(world: World, incident: Incident) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="another thing: disk full")
    Incident.objects.filter(pk=incident.pk).update(merged_into=other)

    with pytest.raises(Conflict, match="merged"):
        record(incident, world.responder)


def test_suggested_minutes_come_from_the_incidents_times(world: World, incident: Incident) -> None:
    now = timezone.now()
    incident.started_at, incident.resolved_at = now - timedelta(minutes=17, seconds=1), now
    assert outcomes.suggested_minutes(incident) == 18

    incident.started_at = now + timedelta(hours=1)  # a sender's clock ahead of ours
    assert outcomes.suggested_minutes(incident) == 1


def test_notes_are_never_remembered(world: World, incident: Incident) -> None:
    incidents.add_note(incident=incident, text="I suspect the moon.", by=world.responder)

    saved = record(incident, world.responder)

    assert saved.record is not None
    assert "moon" not in saved.record.revisions.get().text


@pytest.mark.parametrize("held", [True, None, False], ids=["held", "not known", "did not hold"])
def test_an_outcome_after_reopening_leaves_the_first_its_memory_and_its_track(
    world: World, incident: Incident, held: bool | None
) -> None:
    first = record(incident, world.responder, new_fix_title="Pause the reindex")
    outcomes.reopen(incident=incident, by=world.admin, held=held)

    second = record(incident, world.admin, root_cause="A leak.", new_fix_title="Restart the leaking pods")

    first.outcome.refresh_from_db()
    assert first.outcome.superseded_by is None
    assert first.outcome.held is held
    assert second.record is not None
    assert second.record != first.record
    assert first.record is not None
    first.record.refresh_from_db()
    assert first.record.fix == first.outcome.fix
    assert [act.worked for act in applications([first.outcome.fix_id])] == [held is not False]
