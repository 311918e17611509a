"""The inbox: incidents by tab, facet and words. Every view has an address."""

from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from incidents.models import Delivery, Diagnosis, Incident, Investigation
from incidents.models.investigation import MemoryWord, Pattern
from teams import access
from teams.models import User
from teams.requests import PersonRequest

PAGE_SIZE = 50
TABS = {
    "active": "Active",
    "mine": "Mine",
    "resolved": "Resolved",
    "all": "All",
}
# What the address may filter by, and the column that it means.
FILTERS = {
    "pattern": "latest_investigation__pattern",
    "memory": "latest_investigation__memory_word",
    "severity": "severity",
    "project": "project__key",
}


@require_GET
def incident_list(request: PersonRequest) -> HttpResponse:
    """Show the incidents of the person's teams: by tab, project, pattern and words. Every view has an address."""
    visible = Incident.objects.visible_to(request.user)
    teams = {membership.team.slug: membership.team for membership in access.memberships(request.user)}
    team = teams.get(request.GET.get("team", ""))
    if team:
        visible = visible.filter(project__team=team)
    counts = _tab_counts(visible, request.user)
    tab = request.GET.get("tab", "active")
    shown = _filtered(_in_tab(visible, tab, request.user), request)
    newest_first = ("-last_alert_at", "-pk")
    order = ("status", *newest_first) if tab == "all" else newest_first
    ordered = shown.select_related("project", "service", "assignee", "latest_investigation").order_by(*order)
    page = Paginator(ordered, PAGE_SIZE).get_page(request.GET.get("page"))
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
            "filtered": any(request.GET.get(name) for name in ("q", *FILTERS)),
            "first_steps": _first_steps(request.user),
            "ever": counts["all"] > 0,
        },
    )


@require_POST
def first_steps_dismiss(request: PersonRequest) -> HttpResponse:
    """Take the strip of three steps away for good."""
    User.objects.filter(pk=request.user.pk, first_steps_dismissed_at=None).update(
        first_steps_dismissed_at=timezone.now()
    )
    return redirect("incident_list")


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


def _filtered(incidents: Any, request: PersonRequest, *, but: str = "") -> Any:
    for name, column in FILTERS.items():
        value = request.GET.get(name, "").replace("\x00", "")
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
        "investigation_id", "kind", "root_cause"
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
