"""What a person does to an incident: each view fetches, which authorises, makes one call and goes back to the page.

A form that is not valid, or that another person was quicker than, comes back with what was typed.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_POST

from incidents.forms import (
    AssignForm,
    BringInForm,
    CloseForm,
    FeedbackForm,
    NoteForm,
    ReopenForm,
    SeverityForm,
    SystemTextForm,
)
from incidents.models import Diagnosis, Incident
from incidents.services import bring_in, feedback, incidents, outcomes
from incidents.services.incidents import Conflict
from incidents.services.investigations import NotWaiting
from incidents.views.act_forms import followed, outcome_form
from incidents.views.incident_page import IncidentPage
from incidents.views.incidents import get_incident, render_incident, render_moved
from teams.models import Membership, User
from teams.permissions import Permission
from teams.requests import PersonRequest

Act = Callable[[PersonRequest, Incident], HttpResponse]

# The names of the fields of questions start with this; the question's id follows.
ANSWER = "answer-"
# Fields that hold what a person wrote, as opposed to what they chose.
_WRITTEN = (
    "root_cause",
    "what_was_done",
    "what_happened",
    "note",
    "system_text",
    "word",
    "new_fix",
    "runbook",
    "command",
)


def act(view: Act) -> Callable[..., HttpResponse]:
    """Wrap a POST view of an incident: fetching authorises it, and a conflict comes back with what was typed."""

    @require_POST
    @wraps(view)
    def wrapped(request: PersonRequest, key: str, number: int) -> HttpResponse:
        incident = get_incident(request, key, number, Permission.INCIDENT_WORK)
        if incident.moved_to:
            return render_moved(request, incident, kept=_written(request), status=409)
        try:
            return view(request, incident)
        except (Conflict, NotWaiting) as conflict:
            problem = {"head": str(conflict), "text": "What stands here now is newer than the page you had open."}
            now = get_incident(request, key, number, Permission.INCIDENT_WORK)
            return render_incident(request, now, status=409, problem=problem | {"kept": _written(request)})

    return wrapped


def _written(request: PersonRequest) -> str:
    """Return what the person typed into the form, so that it can be kept as a note."""
    names = [name for name in request.POST if name in _WRITTEN or name.startswith(ANSWER)]
    return "\n".join(text for name in names if (text := request.POST[name].strip()))


def _invalid(request: PersonRequest, incident: Incident, form: Any, head: str = "Not saved.") -> HttpResponse:
    text = " ".join(error for errors in form.errors.values() for error in errors)
    problem = {"head": head, "text": text, "kept": _written(request)}
    return render_incident(request, incident, status=400, problem=problem)


@act
def incident_acknowledge(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Say that somebody is on it."""
    incidents.acknowledge(incident=incident, by=request.user)
    return redirect(incident)


@act
def incident_assign(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Hand over, or take it."""
    form = AssignForm(request.POST)
    if not form.is_valid():
        return _invalid(request, incident, form, "Nobody was assigned.")
    chosen = form.cleaned_data["assignee"]
    assignee = request.user if "me" in request.POST else _member(incident, chosen) if chosen else None
    incidents.assign(incident=incident, assignee=assignee, by=request.user, word=form.cleaned_data["word"])
    return redirect(incident)


@act
def incident_bring_in(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Write down that somebody was asked to help; they are assigned only where that was ticked."""
    form = BringInForm(request.POST)
    if not form.is_valid():
        return _invalid(request, incident, form, "Nobody was brought in.")
    assign, chosen = form.cleaned_data["assign"], form.cleaned_data["who"]
    if chosen is None and not incident.project.escalation_contact:
        raise Conflict("The project has no escalation contact any more.")
    who = _member(incident, chosen) if chosen else None
    bring_in.bring_in(incident=incident, who=who, by=request.user, assign=assign)
    name = who or incident.project.escalation_contact
    told = f"Written into the timeline. Nobody was paged: tell {name} yourself."
    if assign and who is None:
        told += " The contact is no account here, so it stays assigned as it was."
    messages.success(request, told)
    return redirect(incident)


def _member(incident: Incident, public_id: UUID) -> User:
    """Return the team's member. Whoever else bears the id is not to be named, and is not nobody either.

    Raises:
        Conflict: nobody in the team bears it (any more).
    """
    members = Membership.objects.filter(team=incident.project.team_id, left_at=None, user__public_id=public_id)
    member = members.select_related("user").first()
    if member is None:
        raise Conflict("That person is no member of the team any more.")
    return member.user


@act
def incident_severity(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Set the severity as the person knows it; it survives every repeat."""
    form = SeverityForm(request.POST)
    if not form.is_valid():
        return _invalid(request, incident, form)
    incidents.correct(incident=incident, by=request.user, severity=form.cleaned_data["severity"])
    return redirect(incident)


@act
def note_add(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Add a note to the timeline."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        return render_incident(request, incident, status=400, note_form=form)
    incidents.add_note(incident=incident, text=form.cleaned_data["note"], by=request.user)
    return redirect(f"{incident.get_absolute_url()}#timeline")


@act
def system_text_add(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Add more from the system: it counts as alert text."""
    form = SystemTextForm(request.POST)
    if not form.is_valid():
        return render_incident(request, incident, status=400, system_text_form=form)
    incidents.add_system_text(incident=incident, text=form.cleaned_data["system_text"], by=request.user)
    messages.success(request, "Added to the alert. Investigate again to use it.")
    return redirect(f"{incident.get_absolute_url()}#alert")


@act
def incident_close(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Close without a fix; nothing is retained."""
    form = CloseForm(request.POST)
    if not form.is_valid():
        return _invalid(request, incident, form, "Not closed.")
    duplicate_of = None
    if form.cleaned_data["reason"] == Incident.CloseReason.DUPLICATE:
        duplicate_of = _named_incident(request, incident, form.cleaned_data["duplicate_of"])
        if duplicate_of is None:
            problem = {"head": "Not closed.", "text": "Name another incident of this project, such as SEARCH-41."}
            return render_incident(request, incident, status=400, problem=problem)
    incidents.close(incident=incident, reason=form.cleaned_data["reason"], duplicate_of=duplicate_of, by=request.user)
    return redirect(incident)


def _named_incident(request: PersonRequest, incident: Incident, name: str) -> Incident | None:
    number = name.strip().upper().removeprefix(f"{incident.project.key}-")
    if not number.isascii() or not number.isdigit() or len(number) > 9:
        return None
    return (
        Incident.objects.visible_to(request.user)
        .filter(project=incident.project, number=int(number))
        .exclude(pk=incident.pk)
        .first()
    )


@act
def incident_reopen(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Reopen by hand, and say whether the fix held."""
    form = ReopenForm(request.POST)
    if not form.is_valid():
        return _invalid(request, incident, form, "Not reopened.")
    outcomes.reopen(incident=incident, by=request.user, held=form.cleaned_data["held"])
    return redirect(incident)


@act
def outcome_record(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Save the verified outcome; or confirm a cited fix, write it down later, or correct what was saved."""
    page = IncidentPage(incident, request.user)
    if request.POST.get("act") == "later":
        outcomes.write_down_later(incident=incident, by=request.user)
        return redirect(incident)
    if request.POST.get("act") == "again":
        return _confirm_again(request, page)
    form = outcome_form(page, request.POST)
    if not form.is_valid():
        return render_incident(request, incident, status=400, outcome_form=form)
    runbook = form.cleaned_data["runbook"]
    is_link = runbook.startswith(("http://", "https://"))
    written = {
        "root_cause": form.cleaned_data["root_cause"],
        "what_was_done": form.cleaned_data["what_was_done"],
        "minutes": form.cleaned_data["minutes"],
        "fix": form.cleaned_data["known_fix"],
        "new_fix_title": form.cleaned_data["new_fix"],
        "runbook_title": "" if is_link else runbook,
        "runbook_url": runbook if is_link else "",
        "command": form.cleaned_data["command"],
        **followed(page, form.cleaned_data["followed"]),
    }
    corrects = request.POST.get("corrects", "")
    if page.outcome and corrects == str(page.outcome.public_id):
        result = outcomes.correct_outcome(outcome=page.outcome, by=request.user, **written)
    elif corrects:
        raise Conflict("It was corrected meanwhile. Look at it again first.")
    else:
        result = outcomes.record_outcome(incident=incident, by=request.user, answers_diagnosis=page.memory, **written)
    say_saved(request, result, "Saved. The next investigation starts from this fix.")
    return redirect(f"{incident.get_absolute_url()}#saved")


def _confirm_again(request: PersonRequest, page: IncidentPage) -> HttpResponse:
    card = next((card for card in page.cards if card.evidence.ref == request.POST.get("confirm")), None)
    if card is None or card.record.fix is None or card.record.fix.project_id != page.incident.project_id:
        problem = {"head": "Not saved.", "text": "That record is not cited here, or stands for no fix of this project."}
        return render_incident(request, page.incident, status=400, problem=problem)
    result = outcomes.confirm_fix_worked_again(
        incident=page.incident, record=card.record, by=request.user, answers_diagnosis=page.memory
    )
    say_saved(request, result, "Saved. The fix worked again.")
    return redirect(f"{page.incident.get_absolute_url()}#saved")


@act
def feedback_save(request: PersonRequest, incident: Incident) -> HttpResponse:
    """Rate the answers; a rating can be changed, and the correction reaches the bank."""
    form = FeedbackForm(request.POST)
    if not form.is_valid():
        return render_incident(request, incident, status=400, feedback_form=form)
    page = IncidentPage(incident, request.user)
    if page.investigation is None or str(page.investigation.public_id) != request.POST.get("investigation"):
        raise Conflict("A newer investigation stands here now. Rate its answers instead.")
    for kind in Diagnosis.Kind.values:
        rating, diagnosis = form.cleaned_data[kind], page.diagnoses.get(kind)
        if rating and diagnosis and diagnosis.state in Diagnosis.ENDED:
            feedback.rate(diagnosis=diagnosis, helpful=rating == "yes", note=form.cleaned_data["note"], by=request.user)
    return redirect(f"{incident.get_absolute_url()}#rate")


def say_saved(request: PersonRequest, result: Any, sentence: str) -> None:
    """Tell the person that it is saved, or when and by whom it was already."""
    if result.already_saved:
        record = result.record
        by = "" if not record else "you" if record.created_by_id == request.user.pk else str(record.created_by)
        when = f" at {date_format(timezone.localtime(record.created_at), 'H:i')} by {by}" if record else ""
        sentence = f"Already saved{when}."
    messages.success(request, sentence)
