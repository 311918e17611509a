"""Start, answer and cancel an investigation; show exactly what a model call sent."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from incidents.models import Incident, Step
from incidents.services import investigations
from incidents.services.incidents import Conflict
from incidents.views.acts import ANSWER, act
from incidents.views.incidents import get_incident
from teams import access
from teams.permissions import Permission


@act
def investigation_start(request: HttpRequest, incident: Incident) -> HttpResponse:
    """Start an investigation, or land on the one that runs."""
    investigations.start(incident=incident, by=request.user)
    return redirect(incident)


@act
def investigation_answer(request: HttpRequest, incident: Incident) -> HttpResponse:
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
    answers = {
        name.removeprefix(ANSWER): value.strip()
        for name, value in request.POST.items()
        if name.startswith(ANSWER) and value.strip()
    }
    if not answers:
        messages.warning(request, "Answer one question, or go on without answers.")
        return redirect(f"{incident.get_absolute_url()}#ask")
    investigations.answer(investigation=investigation, answers=answers, by=request.user)
    return redirect(incident)


@act
def investigation_cancel(request: HttpRequest, incident: Incident) -> HttpResponse:
    """Stop the investigation that runs; what it found stays."""
    investigation = incident.latest_investigation
    if investigation is None or not investigation.is_active:
        raise Conflict("The investigation had already ended.")
    investigations.cancel(investigation=investigation, by=request.user)
    return redirect(incident)


@require_GET
def step_sent(request: HttpRequest, key: str, number: int, step: uuid.UUID) -> HttpResponse:
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
    context = {
        "incident": incident,
        "project": incident.project,
        "step": found,
        "sent": investigations.what_was_sent(found),
    }
    return render(request, "incidents/step_sent.html", context)


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
