"""Find: incident numbers and titles, records of memory, services and pages, within what the person may see.

A page of its own, and the part of it that the dialog shows.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from incidents.models import Incident, MemoryRecord, MemoryRecordRevision
from incidents.models.track import TrackRecord, track_records
from oncall.templatetags.oncall import age_or_date, visible
from teams import access
from teams.models import BankAssignment, Service, User
from teams.permissions import Permission
from teams.requests import PersonRequest

# So many of each kind: what is not among them is found by another word, or in the list itself.
INCIDENTS, RECORDS, SERVICES, PAGES = 6, 5, 5, 6
LONGEST = 200
_NUMBER = re.compile(r"(?:(?P<key>[A-Za-z][A-Za-z0-9]{1,9})-)?#?(?P<number>[0-9]{1,9})", re.ASCII)
_GONE = (MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN)


@dataclass(frozen=True)
class Found:
    """One line. ``icon`` is a symbol's parts; ``aside`` is what stands at the right."""

    href: str
    icon: tuple[str, str]
    text: SafeString
    number: str = ""
    word: str = ""
    aside: str = ""


@dataclass(frozen=True)
class Group:
    """Lines of one kind."""

    title: str
    lines: list[Found] = field(default_factory=list)


@never_cache
@require_GET
def find(request: PersonRequest) -> HttpResponse:
    """Show what was found, on a page of its own: for who has no script, and for an address to share."""
    return render(request, "incidents/find.html", _context(request))


@never_cache
@require_GET
def find_results(request: PersonRequest) -> HttpResponse:
    """Return what was found, for the dialog."""
    return render(request, "incidents/_found.html", {**_context(request), "as_options": True})


def _context(request: PersonRequest) -> dict[str, Any]:
    words = request.GET.get("find", "").replace("\x00", "").strip()[:LONGEST]
    groups = [
        Group("Incidents", _incidents(request.user, words)),
        Group("Memory", _records(request.user, words) if words else []),
        Group("Services", _services(request.user, words) if words else []),
        Group("Pages", _pages(request.user, words)),
    ]
    return {"words": words, "groups": [group for group in groups if group.lines]}


def _incidents(user: User, words: str) -> list[Found]:
    """Return the incident of a number first, then titles with every word: what is active before what is resolved."""
    named, rank = Q(), []
    for word in words.split()[:12]:
        named &= Q(title__icontains=word)
    if match := _NUMBER.fullmatch(words):
        number = Q(number=int(match["number"]))
        if match["key"]:
            number &= Q(project__key=match["key"].upper())
        named |= number
        rank = [When(number, then=Value(0))]
    resolved = Q(status=Incident.Status.RESOLVED)
    order = Case(*rank, When(resolved, then=Value(2)), default=Value(1), output_field=IntegerField())
    found = (
        Incident.objects.visible_to(user)
        .filter(named)
        .select_related("project")
        .defer("search_text")
        .order_by(order, "-last_alert_at", "-pk")[:INCIDENTS]
    )
    return [_incident(incident, words) for incident in found]


def _incident(incident: Incident, words: str) -> Found:
    if incident.resolved_at:
        aside = format_html("resolved {}", age_or_date(incident.resolved_at))
    else:
        aside = format_html("active, {}", age_or_date(incident.last_alert_at))
    return Found(
        href=incident.get_absolute_url(),
        icon=("sev", incident.severity),
        word=incident.get_severity_display(),
        number=incident.ref,
        text=_marked(incident.title, words),
        aside=aside,
    )


def _records(user: User, words: str) -> list[Found]:
    """Return records of the projects whose memory the person may read, by their latest title."""
    projects = access.visible_projects(user, Permission.MEMORY_VIEW)
    latest = MemoryRecordRevision.objects.filter(record=OuterRef("pk"), number=OuterRef("latest_revision"))
    records = (
        MemoryRecord.objects.filter(
            bank__assignments__project__in=projects, bank__assignments__access=BankAssignment.Access.OWN
        )
        .exclude(Q(state__in=_GONE) | Q(incident=None))
        .annotate(title=Subquery(latest.values("title")[:1]))
    )
    for word in words.split()[:12]:
        records = records.filter(title__icontains=word)
    records = records.select_related("incident__project").defer("incident__search_text").order_by("-occurred_at")
    found = list(records[:RECORDS])
    tracks = track_records({record.fix_id for record in found if record.fix_id}) if found else {}
    return [
        Found(
            href=record.get_absolute_url(),
            icon=("kind", record.kind),
            number=record.incident.ref if record.incident else "",
            text=_marked(record.title or "Without a title", words),
            aside=_record_aside(record, tracks.get(record.fix_id or 0, TrackRecord())),
        )
        for record in found
    ]


def _record_aside(record: MemoryRecord, track: TrackRecord) -> str:
    kind = record.get_kind_display().lower()
    return (
        f"{kind}, worked {track.worked} of {track.tried}" if record.kind != "failed_attempt" and track.tried else kind
    )


def _services(user: User, words: str) -> list[Found]:
    found: QuerySet[Service] = Service.objects.filter(project__in=access.visible_projects(user))
    for word in words.split()[:12]:
        found = found.filter(name__icontains=word)
    counted = found.select_related("project").annotate(count=Count("incidents")).order_by("name", "project__key")
    lines = []
    for service in counted[:SERVICES]:
        query = urlencode({"tab": "all", "project": service.project.key, "service": service.name})
        count = f"{service.count} incident{'' if service.count == 1 else 's'}"
        lines.append(
            Found(
                href=f"{reverse('incident_list')}?{query}",
                icon=("i-server", ""),
                text=_marked(service.name, words),
                aside=f"{service.project.name}, {count}",
            )
        )
    return lines


def _pages(user: User, words: str) -> list[Found]:
    """Return the list with these words, then pages whose name has them."""
    lines = []
    if words:
        query = urlencode({"tab": "all", "q": words})
        count = Incident.objects.visible_to(user).search(words).count()
        text = format_html("All incidents with “{}”", visible(words))
        lines.append(Found(f"{reverse('incident_list')}?{query}", ("i-arrow-right", ""), text, aside=str(count)))
    wanted = [word.casefold() for word in words.split()]
    for name, href in _known_pages(user):
        if all(word in name.casefold() for word in wanted):
            lines.append(Found(href, ("i-arrow-right", ""), _marked(name, words)))
    return lines[:PAGES]


def _known_pages(user: User) -> list[tuple[str, str]]:
    """Return the name and the address of every page that leads on by itself. One query, for the projects."""
    incidents, memory = reverse("incident_list"), reverse("memory_list")
    memberships = access.memberships(user)
    may_work = any(Permission.INCIDENT_WORK in access.permissions_for(user, each.team) for each in memberships)
    pages = [("New alert", reverse("incident_new"))] if may_work else []
    pages += [
        ("Incidents, active", incidents),
        ("Incidents, mine", f"{incidents}?tab=mine"),
        ("Incidents, to write down", f"{incidents}?tab=to_write_down"),
        ("Incidents, all", f"{incidents}?tab=all"),
        ("Help and keys", reverse("help")),
        ("Your account", reverse("profile")),
    ]
    pages += [(f"Team {each.team.name}", reverse("team_detail", args=[each.team.slug])) for each in memberships]
    for project in access.visible_projects(user).order_by("name"):
        pages += [
            (f"Memory of {project.name}", f"{memory}?{urlencode({'project': project.key})}"),
            (f"Incidents of {project.name}", f"{incidents}?{urlencode({'project': project.key})}"),
            (f"Settings of {project.name}", reverse("project_settings", args=[project.key])),
        ]
    return pages


def _marked(text: str, words: str) -> SafeString:
    """Return the text, hostile characters made visible, with each of the words in a mark."""
    wanted = "|".join(re.escape(word) for word in words.split()[:12])
    if not wanted:
        return visible(text)
    shown, end = SafeString(""), 0
    for match in re.finditer(wanted, text, re.IGNORECASE):
        shown += format_html("{}<mark>{}</mark>", visible(text[end : match.start()]), visible(match[0]))
        end = match.end()
    return shown + visible(text[end:])
