"""What a worker does on one diagnosis: claim it by lease, hand the loop what it may use, write how it ended.

The two diagnoses of an investigation are two tasks; whichever ends second closes the investigation. Rooms meet here:
the loop is handed its memory, its model and what it may read. The sweep drives on what a killed worker left.
"""

import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from incidents.investigation import loop
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
from incidents.services import incidents, timeline
from incidents.services.investigations import TASK, NotWaiting, end_wait, start_or_join
from oncall.clients import queue
from oncall.clients.llm import get_chat_model
from oncall.clients.memory import get_memory
from oncall.clients.offline import OfflineReasoner
from teams.models import Project

logger = logging.getLogger(__name__)

ATTEMPTS = 4
# A diagnosis that nobody took for this long is handed to the queue again.
QUEUE_PATIENCE = timedelta(seconds=60)
SENT_AGAIN_AT_ONCE = 200
CRASHED = "It crashed repeatedly. What stands here is what was certain before."
MEMORY_SWITCHED_OFF = "Memory was switched off for this project."


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


def investigate_here(*, incident: Incident, strategy: str = "") -> Investigation:
    """Investigate in this very process, for a command: no worker is needed and nobody is asked.

    Returns the investigation as it stands at the end. One that workers have under way already is only returned.
    """
    investigation = start_or_join(incident, by=None, may_ask=False, strategy=strategy, publish=False)
    for diagnosis in investigation.diagnoses.order_by("kind"):
        # A breakdown is tried again as the sweep would, until it ends or is given up.
        for _ in range(ATTEMPTS + 1):
            run_diagnosis(diagnosis.pk)
    return Investigation.objects.select_related("incident__project").get(pk=investigation.pk)


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
        banks=partial(banks.readable, incident.project),
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


def _wait(journal: Journal, waits: Waits) -> None:
    """Write the questions down and let the worker go.

    Raises:
        LeaseLost: see there.
    """
    investigation = journal.diagnosis.investigation
    now = timezone.now()
    with transaction.atomic():
        timeline.hold(investigation.incident_id)
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
        # Two that end at once must see each other: the incident's row orders them.
        timeline.hold(diagnosis.investigation.incident_id)
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


def sweep() -> None:
    """Drive on what a killed worker or a lost message left, and end the waits that expired."""
    _send_again()
    _end_expired_waits()
    for investigation in _left_open():
        with transaction.atomic():
            timeline.hold(investigation.incident_id)
            _close_when_done(investigation)


def _send_again() -> None:
    patient = timezone.now() - QUEUE_PATIENCE
    due = Diagnosis.objects.unleased().filter(
        Q(queued_at=None) | Q(queued_at__lt=patient),
        state__in=[Diagnosis.State.QUEUED, Diagnosis.State.RUNNING],
        investigation__state__in=Investigation.ACTIVE,
    )
    for diagnosis_id in list(due.order_by("queued_at").values_list("pk", flat=True)[:SENT_AGAIN_AT_ONCE]):
        with transaction.atomic():
            # Two sweeps at once: the one that changes the row sends.
            if due.filter(pk=diagnosis_id).update(queued_at=timezone.now()):
                queue.publish(TASK, diagnosis_id=diagnosis_id)


def _end_expired_waits() -> None:
    expired = Investigation.objects.filter(state=Investigation.State.WAITING, waits_until__lt=timezone.now())
    for investigation in expired.select_related("incident__project__team"):
        try:
            end_wait(investigation, by=None, answers={})
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
