"""The paste page, and the incident's page with its live parts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from incidents.examples import EXAMPLES
from incidents.forms import FeedbackForm, NewAlertForm, NoteForm, SystemTextForm
from incidents.models import Delivery, Diagnosis, Incident
from incidents.models.investigation import MemoryWord
from incidents.reading.facts import AlertFacts
from incidents.services import deliveries, investigations
from incidents.views.act_forms import attempt_form, outcome_form
from incidents.views.incident_page import IncidentPage
from incidents.views.summary import summary
from incidents.views.trace import trace
from incidents.views.verdict import verdict
from teams import access
from teams.models import Membership, Project
from teams.permissions import Permission
from teams.requests import PersonRequest

# Whose lines the timeline of a resolved incident shows.
TIMELINE_TABS = {"": "All", "alert": "Alerts", "person": "People", "agent": "Agent"}


@dataclass(frozen=True)
class Banner:
    """A cause that changes what the page can say: one line each."""

    tone: str
    icon: str
    head: str
    text: str


@require_http_methods(["GET", "POST"])
def incident_new(request: PersonRequest) -> HttpResponse:
    """Paste an alert: it opens an incident or joins an open one, and is investigated."""
    projects = access.visible_projects(request.user, Permission.INCIDENT_WORK)
    example = EXAMPLES.get(request.GET.get("example", ""))
    initial = {
        "text": example.text if example else "",
        "project": example.project if example else request.GET.get("project") or _busiest(projects),
    }
    form = NewAlertForm(request.POST or None, projects=projects, initial=initial)
    if request.method == "POST" and form.is_valid():
        project = form.cleaned_data["project"]
        access.require(request.user, Permission.INCIDENT_WORK, project)
        try:
            delivery = deliveries.receive(
                project=project,
                body=form.cleaned_data["text"].encode("utf-8", "surrogatepass"),
                content_type="text/plain; charset=utf-8",
                source=Delivery.Source.PASTE,
                by=request.user,
                title=form.cleaned_data["title"],
            )
        except deliveries.NotAccepted as error:
            form.add_error("text", str(error))
        else:
            if delivery.incident is None:  # the paste says that something was resolved which nobody knows
                form.add_error("text", "It says that something was resolved, and no incident here belongs to it.")
            else:
                if "only" not in request.POST:
                    investigations.start(incident=delivery.incident, by=request.user)
                return redirect(delivery.incident)
    return render(
        request,
        "incidents/incident_new.html",
        {
            "form": form,
            "projects": projects,
            "examples": EXAMPLES.items() if settings.LOCAL else [],
            "retention_days": settings.DELIVERY_RETENTION_DAYS,
            "api_url": request.build_absolute_uri(reverse("api_alert_create")),
        },
        status=400 if form.errors else 200,
    )


def _busiest(projects: QuerySet[Project]) -> str | None:
    """Return the key of the project to which an alert came last: more likely meant than the first by name."""
    newest = Incident.objects.filter(project__in=projects).order_by("-last_alert_at").select_related("project").first()
    return newest.project.key if newest else None


def get_incident(request: PersonRequest, key: str, number: int, permission: Permission) -> Incident:
    """Return the incident that the person may see; 404 when it is not theirs, 403 without the permission."""
    incident = access.get_object(
        Incident.objects.select_related(
            "project__team",
            "service",
            "assignee",
            "latest_investigation",
            "resolved_by",
            "acknowledged_by",
            "previous",
            "duplicate_of",
            "moved_to__project",
        ),
        request.user,
        permission,
        project__key=key,
        number=number,
    )
    request.project = incident.project
    return incident


@never_cache
@require_GET
def incident_detail(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Show the incident; the number of one that was moved leads there, for whoever may see it."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    if incident.moved_to:
        return redirect(incident.moved_to) if _may_follow(request, incident) else render_moved(request, incident)
    return render_incident(request, incident)


def _may_follow(request: PersonRequest, incident: Incident) -> bool:
    return incident.moved_to is not None and incident.moved_to.project.team_id in access.roles(request.user)


def render_moved(request: PersonRequest, incident: Incident, *, kept: str = "", status: int = 200) -> HttpResponse:
    """Say that what stood under this number was moved, and keep what was typed for it."""
    context = {
        "incident": incident,
        "project": incident.project,
        "there": incident.moved_to if _may_follow(request, incident) else None,
        "kept": kept,
    }
    return render(request, "incidents/incident_moved.html", context, status=status)


def render_incident(
    request: PersonRequest,
    incident: Incident,
    *,
    status: int = 200,
    problem: dict[str, str] | None = None,
    **forms: Any,
) -> HttpResponse:
    """Render the incident's page; a form that failed comes back with what was typed."""
    page = IncidentPage(incident, request.user)
    context = _context(request, page) | {"problem": problem}
    context |= {
        "outcome_form": forms.get("outcome_form") or outcome_form(page),
        "attempt_form": forms.get("attempt_form") or attempt_form(page),
        "feedback_form": forms.get("feedback_form") or FeedbackForm(),
        "note_form": forms.get("note_form") or NoteForm(),
        "system_text_form": forms.get("system_text_form") or SystemTextForm(),
    }
    return render(request, "incidents/incident_detail.html", context, status=status)


@never_cache
@require_GET
def incident_live(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Return the parts that change while an investigation runs; 204 when nothing changed since ``seen``."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    if incident.moved_to:
        return HttpResponse(status=410)  # the page stops asking
    if request.GET.get("seen") == str(incident.version):
        return HttpResponse(status=204)
    return render(request, "incidents/_live.html", _context(request, IncidentPage(incident, request.user)))


@never_cache
@require_GET
def incident_saved(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Return what was saved from the incident and how far it is; 204 when nothing changed since ``seen``."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    page = IncidentPage(incident, request.user)
    version = _saved_version(page)
    if request.GET.get("seen") == version:
        return HttpResponse(status=204)
    permissions = access.permissions_for(request.user, incident.project.team)
    context = {
        "incident": incident,
        "project": incident.project,
        "page": page,
        "saved_version": version,
        "can_correct": Permission.MEMORY_MANAGE in permissions,
    }
    return render(request, "incidents/_saved.html", context)


@require_GET
def incident_summary(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Show the summary for a chat; where the script runs, the button copies it instead."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    page = IncidentPage(incident, request.user)
    text = summary(page, verdict(page), request.build_absolute_uri(incident.get_absolute_url()))
    context = {"incident": incident, "project": incident.project, "summary": text}
    return render(request, "incidents/incident_summary.html", context)


@require_GET
def delivery_body(request: PersonRequest, key: str, number: int, delivery: Any) -> HttpResponse:
    """Return a body as it was received, as a plain download: it is hostile text."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    received = access.get_object(
        Delivery.objects.filter(alerts__incident=incident).distinct(),
        request.user,
        Permission.INCIDENT_VIEW,
        public_id=delivery,
    )
    response = HttpResponse(bytes(received.body), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"{incident.ref}.txt") or "attachment"
    return response


def _context(request: PersonRequest, page: IncidentPage) -> dict[str, Any]:
    incident = page.incident
    permissions = access.permissions_for(request.user, incident.project.team)
    rated = [d for d in page.diagnoses.values() if d.my_rating is not None]  # type: ignore[attr-defined]
    said = verdict(page)
    chosen = request.GET.get("timeline", "")
    shows = chosen if chosen in TIMELINE_TABS else ""
    return {
        "incident": incident,
        "project": incident.project,
        "page": page,
        "verdict": said,
        "summary": summary(page, said, request.build_absolute_uri(incident.get_absolute_url())),
        "banners": list(_banners(page)),
        "answers_line": _answers_line(page),
        "trace": trace(page),
        "alert_texts": _alert_texts(page),
        "metrics": _metrics(page),
        "timeline": [line for line in page.timeline if shows in ("", line.by)],
        "timeline_tabs": [
            {"label": label, "href": f"?timeline={by}#timeline" if by else "?#timeline", "set": shows == by}
            for by, label in TIMELINE_TABS.items()
        ],
        "saved_version": _saved_version(page),
        "can_work": Permission.INCIDENT_WORK in permissions,
        "severities": Incident.Severity.choices,
        "rated": len(rated),
        "my_note": next((d.my_note for d in rated if d.my_note), ""),  # type: ignore[attr-defined]
        "can_correct": Permission.MEMORY_MANAGE in permissions,
        "may_correct_outcome": page.outcome is not None
        and (page.outcome.verified_by_id == request.user.pk or Permission.MEMORY_MANAGE in permissions),
        "admins": [m.user.name for m in page.memberships.values() if m.role == Membership.Role.ADMIN and not m.left_at],
    }


def _banners(page: IncidentPage) -> Iterable[Banner]:
    simulated = [d for d in page.diagnoses.values() if d.simulated and d.state in Diagnosis.ENDED]
    if simulated:
        chosen = page.incident.project.model == Project.Model.OFFLINE or settings.LLM == "offline"
        text = (
            "No language model is used here. This answer was put together from tool results and fixed tables."
            if chosen
            else "The language model did not answer. This answer was put together from tool results and fixed tables."
        )
        yield Banner("info", "i-alert-circle", "The offline reasoner wrote this.", text)


def _answers_line(page: IncidentPage) -> str:
    ended = [d for d in page.diagnoses.values() if d.state in Diagnosis.ENDED]
    if len(ended) < len(page.diagnoses):
        return f"{len(ended)} of {len(page.diagnoses)} ready"
    word = page.investigation.memory_word if page.investigation else ""
    said: dict[str, str] = {
        MemoryWord.MATCHED: page.changed,
        MemoryWord.NO_MATCH: "Memory supports neither cause.",
        MemoryWord.EMPTY: "Memory had nothing to add.",
        MemoryWord.UNAVAILABLE: "Memory could not be read.",
        MemoryWord.OFF: "Memory is off for this project.",
    }
    return said.get(word, "")


def _alert_texts(page: IncidentPage) -> list[str]:
    texts: list[str] = []
    for alert in page.alerts:
        if alert.text not in texts:
            texts.append(alert.text)
    return texts[:3]


def _metrics(page: IncidentPage) -> list[Any]:
    if not page.alerts:
        return []
    return list(AlertFacts.from_dict(page.alerts[0].facts).metrics[:6])


def _saved_version(page: IncidentPage) -> str:
    states = "".join(f"{record.state[:3]}{record.attempts}{record.latest_revision}" for record in page.records)
    return f"{len(page.records)}{states}{int(page.attempts_after_answer)}"
