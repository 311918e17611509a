"""Where an incident belongs: its service and environment corrected, or a misplaced paste moved to another project."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents.forms import CorrectForm, MoveForm
from incidents.services import incidents, investigations, moving
from incidents.services.incidents import Conflict
from incidents.views.incident_page import IncidentPage
from incidents.views.incidents import get_incident, render_moved
from teams.permissions import Permission
from teams.requests import PersonRequest


@require_http_methods(["GET", "POST"])
def incident_correct(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Set service and environment as the person knows them; they survive every repeat."""
    incident = get_incident(request, key, number, Permission.INCIDENT_WORK)
    if incident.moved_to:
        return render_moved(request, incident, status=409)
    initial = {
        "service": incident.service.public_id if incident.service else None,
        "environment": incident.environment,
    }
    form = CorrectForm(request.POST or None, project=incident.project, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            incidents.correct(incident=incident, by=request.user, **form.cleaned_data)
        except Conflict:  # it was moved at this very moment
            incident.refresh_from_db()
            return render_moved(request, incident, status=409)
        return redirect(incident)
    context = {
        "incident": incident,
        "project": incident.project,
        "form": form,
        "may_be_moved": IncidentPage(incident, request.user).may_be_moved,
    }
    return render(request, "incidents/incident_correct.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def incident_move(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Say what moving does, ask for the project, and move; the person lands on the incident that it is there."""
    incident = get_incident(request, key, number, Permission.INCIDENT_WORK)
    if incident.moved_to:
        return render_moved(request, incident, status=409 if request.method == "POST" else 200)
    projects = moving.targets(request.user, incident)
    form = MoveForm(request.POST or None, projects=projects)
    problem, status = moving.why_not(incident), 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            was_investigated = incident.latest_investigation_id is not None
            try:
                new = moving.move(incident=incident, to=form.cleaned_data["project"], by=request.user)
            except Conflict as conflict:
                problem, status = str(conflict), 409
            else:
                if was_investigated:
                    investigations.start(incident=new, by=request.user)
                return redirect(new)
    context = {
        "incident": incident,
        "project": incident.project,
        "form": form,
        "projects": list(projects),
        "problem": problem,
        "was_investigated": incident.latest_investigation_id is not None,
    }
    return render(request, "incidents/incident_move.html", context, status=status)
