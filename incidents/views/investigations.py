"""Start, answer and cancel an investigation; show exactly what a model call sent."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from incidents.models import Incident, Step
from incidents.services import investigations
from incidents.services.incidents import Conflict
from incidents.views.acts import ANSWER, act
from incidents.views.incidents import get_incident
from teams import access
from teams.permissions import Permission
from teams.requests import PersonRequest


@act
def investigation_start(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Start an investigation, or land on the one that runs."""
    investigations.start(incident=incident, by=request.user)
    return redirect(incident)


@act
def investigation_answer(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Answer its questions, or go on without answers; the first of several people wins."""
    investigation = access.get_object(
        incident.investigations.all(),
        request.user,
        Permission.INCIDENT_WORK,
        public_id=_uuid(request.POST.get("investigation", "")),
    )
    if "go_on" in request.POST:
        investigations.go_on_without_answers(investigation=investigation, by=request.user)
        return redirect(incident)
    answers: dict[UUID | str, str] = {
        name.removeprefix(ANSWER): request.POST[name].strip()
        for name in request.POST
        if name.startswith(ANSWER) and request.POST[name].strip()
    }
    if not answers:
        messages.warning(request, "Answer one question, or go on without answers.")
        return redirect(f"{incident.get_absolute_url()}#ask")
    investigations.answer(investigation=investigation, answers=answers, by=request.user)
    return redirect(incident)


@act
def investigation_cancel(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Stop the investigation that runs; what it found stays."""
    investigation = incident.latest_investigation
    if investigation is None or not investigation.is_active:
        raise Conflict("The investigation had already ended.")
    investigations.cancel(investigation=investigation, by=request.user)
    return redirect(incident)


@require_GET
def step_sent(request: PersonRequest, key: str, number: int, step: UUID) -> HttpResponse:
    """Show one model call: the messages in order, what came back, and what the rules changed."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    found = access.get_object(
        Step.objects.filter(diagnosis__investigation__incident=incident).select_related(
            "diagnosis__investigation__incident__project__team"
        ),
        request.user,
        Permission.INCIDENT_VIEW,
        public_id=step,
    )
    calls = (
        Step.objects.filter(diagnosis__investigation=found.diagnosis.investigation, kind=Step.Kind.MODEL)
        .exclude(sent_hash="")
        .select_related("diagnosis")
        .order_by("started_at", "pk")
    )
    context = {
        "incident": incident,
        "project": incident.project,
        "step": found,
        "calls": list(calls),
        "sent": investigations.what_was_sent(found),
    }
    return render(request, "incidents/step_sent.html", context)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
