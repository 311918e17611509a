"""Investigations: start, answer, cancel, and the work of a worker on one diagnosis.

The two diagnoses of an investigation are two tasks. Each is claimed by lease; whichever ends second closes the
investigation. Rooms meet here: the loop is handed its memory, its model and what it may read.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max, Q
from django.utils import timezone

from incidents.investigation import conversation, loop
from incidents.investigation.case import Case, Limits
from incidents.investigation.journal import ASK, Journal, LeaseLost
from incidents.investigation.judging import partial as partial_answer
from incidents.investigation.run import RULES, Ended, Run, Waits
from incidents.investigation.supplied import load
from incidents.memory import banks
from incidents.memory.recall import BoundRecall
from incidents.models import Diagnosis, Evidence, Incident, IncidentEvent, Investigation, Question, Step
from incidents.models.investigation import MemoryWord
from incidents.reading.facts import read_facts
from incidents.reading.redaction import redact
from incidents.reading.text import clean
from incidents.services import incidents, timeline
from oncall.clients import queue
from oncall.clients.llm import get_chat_model
from oncall.clients.memory import get_memory
from oncall.clients.offline import OfflineReasoner
from teams import access, audit
from teams.models import Bank, Project, User
from teams.permissions import Permission

logger = logging.getLogger(__name__)

TASK = "incidents.run_diagnosis"
ATTEMPTS = 4
# A diagnosis that nobody took for this long is handed to the queue again.
QUEUE_PATIENCE = timedelta(seconds=15)
ANSWER_CHARACTERS = 1000
CRASHED = "It crashed repeatedly. What stands here is what was certain before."
MEMORY_SWITCHED_OFF = "Memory was switched off for this project."


class NotWaiting(incidents.Conflict):
    """The wait is over: somebody answered, went on or cancelled before, or it expired."""


# --- What a person does -----------------------------------------------------------------------------------------------


def start(*, incident: Incident, by: User | None, may_ask: bool = True) -> Investigation:
    """Start an investigation, or return the one that is active. ``may_ask``: whether it may wait for a person.

    Raises:
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    if by is not None:
        access.require(by, Permission.INCIDENT_WORK, incident)
    return _start_or_join(incident, by=by, may_ask=may_ask)


def investigate_here(*, incident: Incident, strategy: str = "") -> Investigation:
    """Investigate in this very process, for a command: no worker is needed and nobody is asked.

    Returns the investigation as it stands at the end. One that workers have under way already is only returned.
    """
    investigation = _start_or_join(incident, by=None, may_ask=False, strategy=strategy, publish=False)
    for diagnosis in investigation.diagnoses.order_by("kind"):
        # A breakdown is tried again as the sweep would, until it ends or is given up.
        for _ in range(ATTEMPTS + 1):
            run_diagnosis(diagnosis.pk)
    return Investigation.objects.select_related("incident__project").get(pk=investigation.pk)


def _start_or_join(incident: Incident, **how: Any) -> Investigation:
    with transaction.atomic():
        # The incident's row orders those who start at once; the constraint guards what gets past.
        timeline.touch(incident.pk)
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
        Conflict: no answer says anything, or none belongs to a question of this investigation.
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    asked = {str(key) for key in investigation.questions.values_list("public_id", flat=True)}
    written = {str(key): _tidy(text) for key, text in answers.items()}
    given = {key: text for key, text in written.items() if text and key in asked}
    if not given:
        raise incidents.Conflict("Write an answer to at least one question, or go on without answers.")
    if _may_be_taken_up(investigation):
        return _take_up(investigation, given, by=by)
    _end_wait(investigation, by=by, answers=given)
    return investigation


def go_on_without_answers(*, investigation: Investigation, by: User) -> None:
    """Let the run go on with what it has.

    Raises:
        NotWaiting: somebody else ended the wait before.
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    _end_wait(investigation, by=by, answers={})


def cancel(*, investigation: Investigation, by: User) -> bool:
    """Stop an active investigation; False when it had ended. What it found until then stays.

    Raises:
        Http404, PermissionDenied: the person may not work the project's incidents.
    """
    access.require(by, Permission.INCIDENT_WORK, investigation)
    now = timezone.now()
    with transaction.atomic():
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
    return conversation.what_was_sent(step, _readable_banks(step.diagnosis.investigation.incident.project))


# --- Waiting ----------------------------------------------------------------------------------------------------------


def _tidy(text: str) -> str:
    return redact(clean(text)).strip()[:ANSWER_CHARACTERS]


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


def _end_wait(investigation: Investigation, *, by: User | None, answers: Mapping[str, str]) -> None:
    """End the wait and let the run go on. One act wins; ``by`` is None when the wait expired."""
    now = timezone.now()
    with transaction.atomic():
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
        # The incident's row comes before the audit chain's, as everywhere: two orders could lock each other out.
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


# --- What a worker does -----------------------------------------------------------------------------------------------


def run_diagnosis(diagnosis_id: int) -> None:
    """Work on one diagnosis until it ends or waits for a person. Called twice at once, one of them does nothing."""
    token = Diagnosis.objects.claim(
        diagnosis_id,
        state__in=[Diagnosis.State.QUEUED, Diagnosis.State.RUNNING],
        investigation__state__in=Investigation.ACTIVE,
    )
    if token is None:
        return
    diagnosis = Diagnosis.objects.select_related("investigation__incident__project__team").get(pk=diagnosis_id)
    try:
        _work(diagnosis, token)
    except LeaseLost:
        logger.info("Diagnosis %s was taken over or cancelled.", diagnosis.public_id)
    except Exception:
        # The sweep tries again, a few times; the trace shows where it broke.
        logger.exception("Diagnosis %s broke down.", diagnosis.public_id)
        Diagnosis.objects.release(diagnosis_id, token, queued_at=timezone.now())


def _work(diagnosis: Diagnosis, token: UUID) -> None:
    touch = partial(timeline.touch, diagnosis.investigation.incident_id)
    journal = Journal.take_up(diagnosis, token, touch)
    if diagnosis.attempts > ATTEMPTS:
        _give_up(journal)
        return
    case = _case(diagnosis)
    if case.sees_memory and not case.project.memory_on:
        _end(journal, state=Diagnosis.State.CANCELLED, stopped=MEMORY_SWITCHED_OFF)
        return
    Diagnosis.objects.held(diagnosis.pk, token).update(
        state=Diagnosis.State.RUNNING, started_at=diagnosis.started_at or timezone.now()
    )
    run = Run(
        case=case,
        journal=journal,
        model=get_chat_model(offline_only=case.project.model == Project.Model.OFFLINE),
        fallback=OfflineReasoner(),
        recall=_recall(case) if case.sees_memory else None,
    )
    result = loop.go(run)
    if isinstance(result, Waits):
        _wait(journal, result)
    else:
        _finish(journal, result)


def _case(diagnosis: Diagnosis) -> Case:
    incident = diagnosis.investigation.incident
    return Case(
        diagnosis=diagnosis,
        alert_text=incidents.alert_text(incident),
        facts=incidents.facts(incident),
        limits=Limits.from_settings(),
        banks=partial(_readable_banks, incident.project),
        services=incidents.known_services(incident.project),
    )


def _recall(case: Case) -> BoundRecall:
    """Bind the project's memory. What the engineer answered is part of what memories are compared with."""
    answers = "\n".join(question.answer for question in case.diagnosis.investigation.questions.all() if question.answer)
    text, facts = case.alert_text, case.facts
    if answers:
        text = f"{text}\n{answers}"
        read = read_facts(text, services=case.services)
        facts = replace(
            read,
            title=facts.title,
            service=facts.service or read.service,
            environment=facts.environment or read.environment,
            severity=facts.severity or read.severity,
        )
    return BoundRecall(
        project=case.project, memory=get_memory(), alert_text=text, facts=facts, exclude_incident=case.incident
    )


def _readable_banks(project: Project) -> set[int]:
    """Return the ids of the banks that the project may read now."""
    found = {bank.pk for bank, _ in banks.same_team_banks(project)}
    shared = banks.shared_bank(project)
    if shared:
        found.add(shared.pk)
    try:
        found.add(banks.own_bank(project).pk)
    except Bank.DoesNotExist:
        logger.warning("Project %s has no bank of its own.", project.key)
    return found


def _wait(journal: Journal, waits: Waits) -> None:
    """Write the questions down and let the worker go.

    Raises:
        LeaseLost: see there.
    """
    investigation = journal.diagnosis.investigation
    now = timezone.now()
    with transaction.atomic():
        waiting = Investigation.objects.filter(pk=investigation.pk, state=Investigation.State.RUNNING).update(
            state=Investigation.State.WAITING, waits_until=now + timedelta(minutes=settings.INVESTIGATION_WAIT_MINUTES)
        )
        if not waiting:
            raise LeaseLost
        asked = [{"call_id": call_id, "text": ask.text} for call_id, ask in waits.questions]
        step = journal.begin(Step.Kind.TOOL, ASK, turn=waits.turn, scope="engineer", arguments={"questions": asked})
        count = len(asked)
        Step.objects.filter(pk=step.pk).update(line=f"waiting, {count} question{'' if count == 1 else 's'}")
        first = investigation.questions.count() + 1
        for place, (call_id, ask) in enumerate(waits.questions, start=first):
            Question.objects.create(
                investigation=investigation,
                sequence=place,
                asked_by=waits.asked_by,
                text=ask.text,
                example=ask.example,
                call_id=call_id,
                asked_at=now,
            )
        if not Diagnosis.objects.release(journal.diagnosis.pk, journal.token, state=Diagnosis.State.WAITING):
            raise LeaseLost
        timeline.touch(investigation.incident_id)


def _finish(journal: Journal, ended: Ended) -> None:
    values = {**ended.answer.values, "model": ended.model, "simulated": ended.simulated, "stopped": ended.stopped}
    _end(journal, state=Diagnosis.State.FINISHED, evidence=ended.answer.evidence, **values)


def _give_up(journal: Journal) -> None:
    """End a diagnosis that crashes again and again, with what is certain without a model."""
    try:
        case = _case(journal.diagnosis)
        values = partial_answer(case, load(journal.done, case.banks()) if case.sees_memory else {})
    except Exception:
        # Whatever crashed it may crash this too; it must end all the same.
        logger.exception("Diagnosis %s has no partial answer.", journal.diagnosis.public_id)
        values = {}
    _end(journal, state=Diagnosis.State.FAILED, stopped=CRASHED, **values)


def _end(journal: Journal, *, state: str, evidence: list[dict[str, Any]] | None = None, **values: Any) -> None:
    """Write the last of a diagnosis, and close its investigation if it is the second to end.

    Raises:
        LeaseLost: see there.
    """
    diagnosis = journal.diagnosis
    with transaction.atomic():
        # Two that end at once must see each other: the investigation's row orders them.
        Investigation.objects.select_for_update().get(pk=diagnosis.investigation_id)
        ended = Diagnosis.objects.release(
            diagnosis.pk, journal.token, state=state, finished_at=timezone.now(), **values
        )
        if not ended:
            raise LeaseLost
        Evidence.objects.bulk_create(Evidence(diagnosis=diagnosis, **one) for one in evidence or [])
        _close_when_done(diagnosis.investigation)
        timeline.touch(diagnosis.investigation.incident_id)


def _close_when_done(investigation: Investigation) -> None:
    """Finish the investigation once all its diagnoses have ended. Harmless when called again."""
    diagnoses = {diagnosis.kind: diagnosis for diagnosis in investigation.diagnoses.all()}
    if any(diagnosis.state not in Diagnosis.ENDED for diagnosis in diagnoses.values()):
        return
    with_memory = diagnoses.get(Diagnosis.Kind.WITH_MEMORY)
    word, pattern = _memory_and_pattern(with_memory)
    closed = Investigation.objects.filter(pk=investigation.pk, state=Investigation.State.RUNNING).update(
        state=Investigation.State.FINISHED, finished_at=timezone.now(), memory_word=word, pattern=pattern
    )
    if not closed:
        return
    main = next((one for one in (with_memory, diagnoses[Diagnosis.Kind.ALERT_ONLY]) if one and one.confidence), None)
    if main:
        Incident.objects.filter(pk=investigation.incident_id).update(category=main.category)
    timeline.add(
        incident=investigation.incident,
        kind=IncidentEvent.Kind.INVESTIGATED,
        by=None,
        pattern=Investigation.Pattern(pattern).label.lower() if pattern else "",
        confidence=main.confidence if main else "",
        memory="" if pattern or not word else f"memory {MemoryWord(word).label.lower()}",
    )


def _memory_and_pattern(with_memory: Diagnosis | None) -> tuple[str, str]:
    """Return what the rules of the with-memory run said; "" twice where it broke down before they could."""
    if with_memory is None or with_memory.stopped == MEMORY_SWITCHED_OFF:
        return MemoryWord.OFF, ""
    judged = with_memory.steps.filter(name=RULES, status=Step.Status.SUCCESS).last()
    if with_memory.state != Diagnosis.State.FINISHED or judged is None:
        return "", ""
    return judged.result["memory_word"], judged.result["pattern"]


# --- What the sweep does ----------------------------------------------------------------------------------------------


def sweep() -> None:
    """Drive on what a killed worker or a lost message left, and end the waits that expired."""
    _send_again()
    _end_expired_waits()
    for investigation in _left_open():
        with transaction.atomic():
            _close_when_done(investigation)


def _send_again() -> None:
    patient = timezone.now() - QUEUE_PATIENCE
    due = Diagnosis.objects.unleased().filter(
        Q(queued_at=None) | Q(queued_at__lt=patient),
        state__in=[Diagnosis.State.QUEUED, Diagnosis.State.RUNNING],
        investigation__state__in=Investigation.ACTIVE,
    )
    for diagnosis_id in list(due.values_list("pk", flat=True)):
        with transaction.atomic():
            # Two sweeps at once: the one that changes the row sends.
            if due.filter(pk=diagnosis_id).update(queued_at=timezone.now()):
                queue.publish(TASK, diagnosis_id=diagnosis_id)


def _end_expired_waits() -> None:
    expired = Investigation.objects.filter(state=Investigation.State.WAITING, waits_until__lt=timezone.now())
    for investigation in expired.select_related("incident__project__team"):
        try:
            _end_wait(investigation, by=None, answers={})
        except NotWaiting:
            continue  # somebody answered at this very moment


def _left_open() -> list[Investigation]:
    """Return running investigations whose diagnoses have all ended: the worker died between the two writes."""
    unfinished = Diagnosis.objects.exclude(state__in=Diagnosis.ENDED).values("investigation")
    return list(
        Investigation.objects.filter(state=Investigation.State.RUNNING)
        .exclude(pk__in=unfinished)
        .select_related("incident__project__team")
    )


def release_leases() -> int:
    """Let go of every diagnosis, for a shutdown in order, so that a restart need not wait for leases to end."""
    held = Diagnosis.objects.exclude(lease_token=None)
    # A shutdown is no crash.
    held.update(queued_at=None, attempts=0)
    return int(held.let_go())
