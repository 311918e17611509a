"""Investigations as people act on them: start, answer, go on, cancel. ``diagnosing`` is what a worker does."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from incidents.investigation import conversation
from incidents.investigation.journal import ASK
from incidents.memory import banks
from incidents.models import Diagnosis, Incident, IncidentEvent, Investigation, Question, Step
from incidents.reading.redaction import redact
from incidents.reading.text import clean
from incidents.services import incidents, timeline
from oncall.clients import queue
from teams import access, audit
from teams.models import Project, User
from teams.permissions import Permission

TASK = "incidents.run_diagnosis"
ANSWER_CHARACTERS = 4000


class NotWaiting(incidents.Conflict):
    """The wait is over: somebody answered, went on or cancelled before, or it expired."""


def start(*, incident: Incident, by: User | None, may_ask: bool = True) -> Investigation:
    """Start an investigation, or return the one that is active. ``may_ask``: whether it may wait for a person.

    Raises:
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    if by is not None:
        access.require(by, Permission.INCIDENT_WORK, incident)
    return start_or_join(incident, by=by, may_ask=may_ask)


def start_or_join(incident: Incident, **how: Any) -> Investigation:
    """Start an investigation without asking the gate, for what no person started; or return the one that is active."""
    with transaction.atomic():
        # The incident's row orders those who start at once; the constraint guards what gets past.
        timeline.touch(incident.pk)
        incident.refresh_from_db(fields=["moved_to"])
        incidents.refuse_moved(incident)
        try:
            with transaction.atomic():
                return _active(incident) or _start(incident, **how)
        except IntegrityError:
            active = _active(incident)
            if active is None:
                raise
            return active


def _active(incident: Incident) -> Investigation | None:
    return incident.investigations.filter(state__in=Investigation.ACTIVE).first()


def _start(
    incident: Incident,
    *,
    by: User | None,
    may_ask: bool,
    questions: Sequence[Question] = (),
    strategy: str = "",
    publish: bool = True,
) -> Investigation:
    """Insert an investigation with its diagnoses, and the questions that it knows the answers of."""
    project = Project.objects.select_related("team").get(pk=incident.project_id)
    memory_on = project.memory_on and settings.MEMORY != "off"
    now = timezone.now()
    latest = incident.investigations.aggregate(latest=Max("number"))["latest"] or 0
    investigation = Investigation.objects.create(
        incident=incident,
        number=latest + 1,
        strategy=strategy or project.strategy,
        memory_on=memory_on,
        started_by=by,
        started_at=now,
        may_ask=may_ask,
    )
    for question in questions:
        question.investigation = investigation
        question.save(force_insert=True)
    Incident.objects.filter(pk=incident.pk).update(latest_investigation=investigation)
    audit.record("investigation.start", by=by, on=investigation, team=project.team)
    for kind in [Diagnosis.Kind.ALERT_ONLY, *([Diagnosis.Kind.WITH_MEMORY] if memory_on else [])]:
        diagnosis = Diagnosis.objects.create(investigation=investigation, kind=kind, queued_at=now)
        if publish:
            queue.publish(TASK, diagnosis_id=diagnosis.pk)
    return investigation


def answer(*, investigation: Investigation, answers: Mapping[UUID | str, str], by: User) -> Investigation:
    """Answer questions by their public id; the same run goes on. Empty answers mean "I don't know".

    A run that ended for want of an answer is taken up by a new one that knows them, which is then returned.

    Raises:
        NotWaiting: somebody else ended the wait before.
        Conflict: no answer says anything, none belongs to a question of this investigation, or one is too long.
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    asked = {str(key) for key in investigation.questions.values_list("public_id", flat=True)}
    written = {str(key): _tidy(text) for key, text in answers.items()}
    given = {key: text for key, text in written.items() if text and key in asked}
    if any(len(text) > ANSWER_CHARACTERS for text in given.values()):
        raise incidents.Conflict(f"An answer may have {ANSWER_CHARACTERS:,} characters. Add logs to the alert instead.")
    if not given:
        raise incidents.Conflict("Write an answer to at least one question, or go on without answers.")
    if _may_be_taken_up(investigation):
        return _take_up(investigation, given, by=by)
    end_wait(investigation, by=by, answers=given)
    return investigation


def go_on_without_answers(*, investigation: Investigation, by: User) -> None:
    """Let the run go on with what it has.

    Raises:
        NotWaiting: somebody else ended the wait before.
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    end_wait(investigation, by=by, answers={})


def cancel(*, investigation: Investigation, by: User) -> bool:
    """Stop an active investigation; False when it had ended. What it found until then stays.

    Raises:
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    now = timezone.now()
    with transaction.atomic():
        timeline.hold(investigation.incident_id)
        cancelled = Investigation.objects.filter(pk=investigation.pk, state__in=Investigation.ACTIVE).update(
            state=Investigation.State.CANCELLED, cancelled_by=by, finished_at=now, waits_until=None
        )
        if not cancelled:
            return False
        # Without its lease, a worker that is still at it can write nothing more.
        investigation.diagnoses.exclude(state__in=Diagnosis.ENDED).update(
            state=Diagnosis.State.CANCELLED, lease_token=None, lease_until=None, finished_at=now
        )
        investigation.questions.filter(closed_at=None).update(closed_at=now, answered_by=by)
        _close_asking_steps(investigation)
        timeline.add(incident=investigation.incident, kind=IncidentEvent.Kind.INVESTIGATED, by=by, word="cancelled")
        audit.record("investigation.cancel", by=by, on=investigation, team=investigation.incident.project.team)
    return True


def what_was_sent(step: Step) -> conversation.Sent:
    """Return what a model call of the trace was sent, put together under the access of now."""
    return conversation.what_was_sent(step, banks.readable(step.diagnosis.investigation.incident.project))


def _tidy(text: str) -> str:
    return redact(clean(text)).strip()


def _may_be_taken_up(investigation: Investigation) -> bool:
    return (
        Investigation.objects.filter(pk=investigation.pk, state=Investigation.State.FINISHED).exists()
        and investigation.diagnoses.filter(needs_more_info=True).exists()
        and investigation.incident.latest_investigation_id == investigation.pk
    )


def _take_up(earlier: Investigation, answers: Mapping[str, str], *, by: User) -> Investigation:
    """Start a new investigation that has the earlier one's questions, with these answers.

    Raises:
        NotWaiting: another one is under way.
    """
    now = timezone.now()
    questions = [
        Question(
            sequence=question.sequence,
            asked_by=question.asked_by,
            text=question.text,
            example=question.example,
            call_id=f"earlier_{question.sequence}",
            answer=answers.get(str(question.public_id), question.answer),
            answered_by=by,
            asked_at=question.asked_at,
            closed_at=now,
        )
        for question in earlier.questions.all()
    ]
    with transaction.atomic():
        _say_answered(earlier, by=by, count=len(answers))
        if _active(earlier.incident):
            raise NotWaiting("Another investigation is under way.")
        return _start(earlier.incident, by=by, may_ask=True, questions=questions)


def end_wait(investigation: Investigation, *, by: User | None, answers: Mapping[str, str]) -> None:
    """End the wait and let the run go on. One act wins; ``by`` is None when the wait expired."""
    now = timezone.now()
    with transaction.atomic():
        timeline.hold(investigation.incident_id)
        ended = Investigation.objects.filter(pk=investigation.pk, state=Investigation.State.WAITING).update(
            state=Investigation.State.RUNNING, waits_until=None
        )
        if not ended:
            raise NotWaiting("The wait is over: somebody answered or went on before, or it expired.")
        _write_answers(list(investigation.questions.filter(closed_at=None)), answers, by=by, at=now)
        _close_asking_steps(investigation)
        waiting = investigation.diagnoses.filter(state=Diagnosis.State.WAITING)
        ids = list(waiting.values_list("pk", flat=True))
        # A wait is no crash: what was counted before it starts anew.
        waiting.update(state=Diagnosis.State.QUEUED, queued_at=now, attempts=0)
        timeline.touch(investigation.incident_id)
        if by is not None:
            _say_answered(investigation, by=by, count=len(answers))
            audit.record(
                "investigation.answer",
                by=by,
                on=investigation,
                team=investigation.incident.project.team,
                after={"answers": len(answers)},
            )
        for diagnosis_id in ids:
            queue.publish(TASK, diagnosis_id=diagnosis_id)


def _write_answers(questions: list[Question], answers: Mapping[str, str], *, by: User | None, at: datetime) -> None:
    for question in questions:
        question.answer = answers.get(str(question.public_id), question.answer)
        question.answered_by = by
        question.closed_at = at
        question.save(update_fields=["answer", "answered_by", "closed_at"])


def _close_asking_steps(investigation: Investigation) -> None:
    answered = investigation.questions.exclude(answer="").count()
    asked = investigation.questions.count()
    Step.objects.filter(diagnosis__investigation=investigation, name=ASK, status=Step.Status.RUNNING).update(
        status=Step.Status.SUCCESS if answered else Step.Status.NO_DATA, line=f"{answered} of {asked} answered"
    )


def _say_answered(investigation: Investigation, *, by: User, count: int) -> None:
    word = "went on without answers" if not count else f"{count} answer{'' if count == 1 else 's'}"
    timeline.add(incident=investigation.incident, kind=IncidentEvent.Kind.ANSWERED, by=by, word=word)
