"""Fixes that were tried and failed: written down on the incident's page, corrected on a page of their own."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents.models import Attempt, Incident
from incidents.services import attempts
from incidents.services.incidents import Conflict
from incidents.views.act_forms import attempt_form, followed
from incidents.views.acts import act, say_saved
from incidents.views.incident_page import IncidentPage
from incidents.views.incidents import get_incident, render_incident
from teams import access
from teams.permissions import Permission
from teams.requests import PersonRequest

OUTDATED = "It was corrected meanwhile. What stands here is no longer what is remembered."


@act
def attempt_record(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Save a fix that was tried and failed."""
    page = IncidentPage(incident, request.user)
    form = attempt_form(page, request.POST)
    if not form.is_valid():
        return render_incident(request, incident, status=400, attempt_form=form)
    result = attempts.record_attempt(
        incident=incident,
        by=request.user,
        what_happened=form.cleaned_data["what_happened"],
        fix=form.cleaned_data["known_fix"],
        new_fix_title=form.cleaned_data["new_fix"],
        answers_diagnosis=page.memory,
        **followed(page, form.cleaned_data["followed"]),
    )
    say_saved(request, result, "Saved. It will not be recommended again.")
    return redirect(f"{incident.get_absolute_url()}#saved")


@require_http_methods(["GET", "POST"])
def attempt_correct(request: PersonRequest, key: str, number: int, attempt: UUID) -> HttpResponse:
    """Correct an attempt: one's own, or as a team admin anybody's. What stood there before stays in the history."""
    incident = get_incident(request, key, number, Permission.INCIDENT_WORK)
    theirs = Attempt.objects.select_related("fix", "tried_by", "incident__project__team").filter(incident=incident)
    old = access.get_object(theirs, request.user, Permission.INCIDENT_WORK, public_id=attempt)
    if old.tried_by_id != request.user.pk:
        access.require(request.user, Permission.MEMORY_MANAGE, incident)
    page = IncidentPage(incident, request.user)
    form = attempt_form(page, request.POST if request.method == "POST" else None, corrects=old)
    problem = (
        "It was corrected meanwhile. What stands here is no longer what is remembered." if old.superseded_by_id else ""
    )
    if request.method == "POST" and form.is_valid():
        try:
            result = attempts.correct_attempt(
                attempt=old,
                by=request.user,
                what_happened=form.cleaned_data["what_happened"],
                fix=form.cleaned_data["known_fix"],
                new_fix_title=form.cleaned_data["new_fix"],
                **followed(page, form.cleaned_data["followed"]),
            )
        except Conflict as conflict:
            problem = str(conflict)
        else:
            say_saved(request, result, "Corrected. Memory follows.")
            return redirect(f"{incident.get_absolute_url()}#saved")
    context = {"incident": incident, "project": incident.project, "page": page, "form": form, "attempt": old}
    status = 409 if problem and request.method == "POST" else 400 if form.errors else 200
    return render(request, "incidents/attempt_correct.html", context | {"problem": problem}, status=status)
