"""The list of incidents, the paste page, and the incident's page with its live parts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents.examples import EXAMPLES
from incidents.forms import AttemptForm, FeedbackForm, NewAlertForm, NoteForm, OutcomeForm, SystemTextForm
from incidents.models import Delivery, Diagnosis, Incident, Investigation, Outcome, Step
from incidents.models.fix import Followed
from incidents.models.investigation import MemoryWord, Pattern
from incidents.reading.facts import AlertFacts
from incidents.services import deliveries, investigations, outcomes
from incidents.views.incident_page import IncidentPage
from incidents.views.verdict import verdict
from teams import access
from teams.models import Membership, Project, User
from teams.permissions import Permission
from teams.requests import PersonRequest

PAGE_SIZE = 50
TABS = {
    "active": "Active",
    "mine": "Mine",
    "resolved": "Resolved",
    "all": "All",
}


@dataclass(frozen=True)
class Banner:
    """A cause that changes what the page can say: one line each."""

    tone: str
    icon: str
    head: str
    text: str


@dataclass(frozen=True)
class Bar:
    """A step of the trace, with its share of the time as a bar (0 to 100)."""

    step: Step
    name: str
    state: str
    icon: str
    line: str
    lines: list[str]
    open: bool
    sent: bool
    x: float
    width: float


@require_GET
def incident_list(request: PersonRequest) -> HttpResponse:
    """Show the incidents of the person's teams: by tab, project, pattern and words. Every view has an address."""
    visible = Incident.objects.visible_to(request.user)
    teams = {project.team for project in access.visible_projects(request.user).select_related("team")}
    team = next((team for team in teams if team.slug == request.GET.get("team")), None)
    if team:
        visible = visible.filter(project__team=team)
    counts = _tab_counts(visible, request.user)
    tab = request.GET.get("tab", "active")
    shown = _filtered(_in_tab(visible, tab, request.user), request)
    page = Paginator(
        shown.select_related("project", "service", "assignee", "latest_investigation").order_by(
            "status", "-last_alert_at", "-pk"
        )
        if tab == "all"
        else shown.select_related("project", "service", "assignee", "latest_investigation").order_by(
            "-last_alert_at", "-pk"
        ),
        PAGE_SIZE,
    ).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    return render(
        request,
        "incidents/incident_list.html",
        {
            "tabs": [(key, label, counts[key], key == tab) for key, label in TABS.items()],
            "to_write_down": counts["to_write_down"],
            "tab": tab,
            "page": page,
            "rows": _with_memory_lines(rows),
            "facets": _facets(visible, tab, request),
            "query": request.GET.get("q", ""),
            "filtered": any(request.GET.get(name) for name in ("q", "pattern", "memory", "project", "severity")),
            "first_steps": _first_steps(request.user),
            "ever": counts["all"] > 0,
        },
    )


@require_http_methods(["GET", "POST"])
def incident_new(request: PersonRequest) -> HttpResponse:
    """Paste an alert: it opens an incident or joins an open one, and is investigated."""
    projects = access.visible_projects(request.user, Permission.INCIDENT_WORK)
    example = EXAMPLES.get(request.GET.get("example", ""))
    initial = {
        "text": example.text if example else "",
        "project": example.project if example else request.GET.get("project"),
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
        ),
        request.user,
        permission,
        project__key=key,
        number=number,
    )
    request.project = incident.project
    return incident


@require_POST
def first_steps_dismiss(request: PersonRequest) -> HttpResponse:
    """Take the strip of three steps away for good."""
    User.objects.filter(pk=request.user.pk, first_steps_dismissed_at=None).update(
        first_steps_dismissed_at=timezone.now()
    )
    return redirect("incident_list")


@never_cache
@require_GET
def incident_detail(request: PersonRequest, key: str, number: int) -> HttpResponse:
    """Show the incident."""
    incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
    return render_incident(request, incident)


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
    context = {"incident": incident, "project": incident.project, "page": page, "saved_version": version}
    return render(request, "incidents/_saved.html", context)


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


def outcome_form(page: IncidentPage, data: Any = None) -> OutcomeForm:
    """Return the outcome form, filled with the minutes so far or with the outcome that is corrected."""
    outcome = page.outcome
    initial: dict[str, Any] = {"minutes": outcomes.suggested_minutes(page.incident)}
    if outcome:
        initial = {
            "root_cause": outcome.root_cause,
            "what_was_done": outcome.what_was_done,
            "minutes": outcome.minutes,
            "fix": str(outcome.fix.public_id),
            "followed": _followed_key(page, outcome),
            "runbook": outcome.fix.runbook_url or outcome.fix.runbook_title,
            "command": outcome.fix.command,
        }
    return OutcomeForm(data, project=page.incident.project, followable=page.followable, initial=initial)


def _followed_key(page: IncidentPage, outcome: Outcome) -> str:
    """Return which choice of the form says what the outcome followed; "" when it stands on the page no longer."""
    if outcome.followed == Followed.RECORD:
        cited = (card for card in page.cards if card.record.pk == outcome.followed_record_id)
        return next((f"record:{card.evidence.ref}" for card in cited), "")
    if outcome.followed == Followed.SUGGESTION:
        kinds = {diagnosis.pk: kind for kind, diagnosis in page.diagnoses.items()}
        kind = kinds.get(outcome.followed_diagnosis_id or 0)
        return f"action:{kind}:{outcome.followed_action}" if kind else ""
    return str(Followed.SOMETHING_ELSE)


def attempt_form(page: IncidentPage, data: Any = None) -> AttemptForm:
    """Return the form for an attempt that failed."""
    return AttemptForm(data, project=page.incident.project, followable=page.followable)


def _context(request: PersonRequest, page: IncidentPage) -> dict[str, Any]:
    incident = page.incident
    permissions = access.permissions_for(request.user, incident.project.team)
    rated = [d for d in page.diagnoses.values() if d.my_rating is not None]  # type: ignore[attr-defined]
    return {
        "incident": incident,
        "project": incident.project,
        "page": page,
        "verdict": verdict(page),
        "banners": list(_banners(page)),
        "answers_line": _answers_line(page),
        "trace": _trace(page),
        "alert_texts": _alert_texts(page),
        "metrics": _metrics(page),
        "saved_version": _saved_version(page),
        "can_work": Permission.INCIDENT_WORK in permissions,
        "severities": Incident.Severity.choices,
        "services": incident.project.services.all(),
        "rated": len(rated),
        "my_note": next((d.my_note for d in rated if d.my_note), ""),  # type: ignore[attr-defined]
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


_STEP_STATES = {
    Step.Status.RUNNING: ("queued", "step-running"),
    Step.Status.SUCCESS: ("done", "step-done"),
    Step.Status.NO_DATA: ("done", "step-done"),
    Step.Status.REFUSED: ("failed", "step-failed"),
    Step.Status.ERROR: ("failed", "step-failed"),
}


def _trace(page: IncidentPage) -> list[Bar]:
    total = page.seconds or 1
    bars, passed = [], 0.0
    for step in page.steps:
        state, icon = _STEP_STATES[Step.Status(step.status)]
        rules = step.kind == Step.Kind.RULES
        bars.append(
            Bar(
                step=step,
                name="Checked by the rules" if rules else step.name,
                state=state,
                icon="i-shield-check" if rules else icon,
                line=_step_line(step),
                lines=_step_lines(step, page),
                open=rules,
                sent=bool(step.sent_hash),
                x=round(100 * passed / total, 1),
                width=max(1, round(100 * step.seconds / total, 1)),
            )
        )
        passed += step.seconds
    return bars


def _step_line(step: Step) -> str:
    parts = [step.scope, step.line]
    if step.kind == Step.Kind.MODEL:
        tokens = step.prompt_tokens + step.completion_tokens
        parts = [step.model, f"{tokens:,} tokens" if tokens else "", step.line]
    return ", ".join(part for part in parts if part)


def _step_lines(step: Step, page: IncidentPage) -> list[str]:
    if step.kind == Step.Kind.RULES:
        return [f"{warning['text']}" for warning in page.memory.warnings] if page.memory else []
    lines = [f"{name}: {value}" for name, value in step.arguments.items() if isinstance(value, str)]
    for query in step.arguments.get("queries", []):
        lines.append(f"query: {query}")
    if step.name == "inspect_alert":
        lines += [f"{name}: {value}" for name, value in step.result.items() if isinstance(value, str) and value]
        lines += [f"error: {signature}" for signature in step.result.get("error_signatures", [])]
    refs = [str(memory.get("ref")) for memory in step.result.get("memories", []) if isinstance(memory, dict)]
    if refs:
        lines.append("  ".join(refs))
    return lines


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


# --- The list ---------------------------------------------------------------------------------------------------------


def _in_tab(incidents: Any, tab: str, user: User) -> Any:
    if tab == "mine":
        return incidents.active().filter(assignee=user)
    if tab == "resolved":
        return incidents.filter(status=Incident.Status.RESOLVED)
    if tab == "to_write_down":
        return incidents.to_write_down()
    if tab == "all":
        return incidents
    return incidents.active()


def _tab_counts(incidents: QuerySet[Incident], user: User) -> dict[str, int]:
    active = ~Q(status=Incident.Status.RESOLVED)
    return incidents.aggregate(
        active=Count("pk", filter=active),
        mine=Count("pk", filter=active & Q(assignee=user)),
        resolved=Count("pk", filter=~active),
        all=Count("pk"),
        to_write_down=Count("pk", filter=~active & Q(write_down_later=True)),
    )


FILTERS = {
    "pattern": "latest_investigation__pattern",
    "memory": "latest_investigation__memory_word",
    "severity": "severity",
    "project": "project__key",
}


def _filtered(incidents: Any, request: PersonRequest, *, but: str = "") -> Any:
    for name, column in FILTERS.items():
        value = request.GET.get(name)
        if value and name != but:
            incidents = incidents.filter(**{column: value})
    query = request.GET.get("q", "").replace("\x00", "").strip()
    return incidents.search(query) if query else incidents


def _facets(incidents: Any, tab: str, request: PersonRequest) -> list[dict[str, Any]]:
    """Return each facet with its values, what choosing one would show, and the address that chooses or removes it."""
    titles: list[tuple[str, str, Any]] = [
        ("pattern", "Memory said", Pattern.choices),
        ("memory", "", [(MemoryWord.UNAVAILABLE, "Memory unavailable")]),
        ("severity", "Severity", Incident.Severity.choices),
        ("project", "Project", None),
    ]
    in_tab = _in_tab(incidents, tab, request.user)
    facets = []
    for name, title, choices in titles:
        column = FILTERS[name]
        rows = _filtered(in_tab, request, but=name).order_by().values(column).annotate(count=Count("pk"))
        counts = {row[column]: row["count"] for row in rows}
        values = choices or [(key, key) for key in sorted(key for key in counts if key)]
        links = [
            {
                "value": value,
                "label": label,
                "count": counts.get(value, 0),
                "set": request.GET.get(name) == value,
                "href": _href(request, **{name: "" if request.GET.get(name) == value else value}),
            }
            for value, label in values
        ]
        facets.append({"name": name, "title": title, "links": links})
    return facets


def _href(request: PersonRequest, **changes: str) -> str:
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query[name] = value
        if not value:
            del query[name]
    return f"?{query.urlencode()}"


def _with_memory_lines(rows: list[Incident]) -> list[tuple[Incident, str]]:
    """Pair each incident with what its newest investigation says, in one line. One query."""
    ids = [row.latest_investigation_id for row in rows if row.latest_investigation_id]
    best: dict[int, Diagnosis] = {}
    found = Diagnosis.objects.filter(investigation__in=ids, state=Diagnosis.State.FINISHED).only(
        "investigation_id", "kind", "root_cause", "immediate_actions"
    )
    for diagnosis in found:
        if diagnosis.kind == Diagnosis.Kind.WITH_MEMORY or diagnosis.investigation_id not in best:
            best[diagnosis.investigation_id] = diagnosis
    return [(row, _memory_line(row, best.get(row.latest_investigation_id or 0))) for row in rows]


def _memory_line(incident: Incident, diagnosis: Diagnosis | None) -> str:
    investigation = incident.latest_investigation
    if investigation is None:
        return "Not investigated yet."
    if investigation.state == Investigation.State.WAITING:
        return "Questions are waiting for an answer."
    if investigation.is_active:
        return "Being investigated."
    if investigation.memory_word == MemoryWord.UNAVAILABLE:
        return "Memory was unavailable. Alert-only answer."
    if investigation.memory_word == MemoryWord.EMPTY:
        return "No verified fix here yet."
    if investigation.pattern == Pattern.NEW_PATTERN:
        return "I don’t know. Nothing verified matches."
    return diagnosis.root_cause if diagnosis else ""


def _first_steps(user: User) -> list[dict[str, Any]]:
    """Return the strip of three steps for who has not done or dismissed them."""
    if user.first_steps_dismissed_at or not settings.LOCAL:
        return []
    # What the example data says they did was before they joined.
    pasted = Delivery.objects.filter(received_by=user, received_at__gt=user.joined_at).exists()
    resolved = Incident.objects.filter(resolved_by=user, resolved_at__gt=user.joined_at).exists()
    done = [True, pasted, resolved]
    if all(done):
        return []
    steps = [
        ("Look at an answer", "The incidents below are examples, one for each thing memory can say.", ""),
        ("Paste an alert", "Two answers come back: from the alert alone, and with memory.", reverse("incident_new")),
        ("Write down what fixed it", "The next alert like it starts from your fix.", ""),
    ]
    current = done.index(False)
    return [
        {"head": head, "text": text, "href": href, "done": done[index], "current": index == current}
        for index, (head, text, href) in enumerate(steps)
    ]
