"""The inbox: incidents by tab, facet and words. Every view has an address."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from incidents.models import Delivery, Incident
from incidents.views.bulk import AT_MOST, CLOSE_REASONS
from incidents.views.facets import counted_elsewhere, facets, removals, tabs
from incidents.views.inbox_address import SORTS, InboxAddress
from incidents.views.inbox_rows import rows
from teams import access
from teams.models import Membership, User
from teams.permissions import Permission
from teams.requests import PersonRequest

PAGE_SIZE = AT_MOST
# More than this many new ones are "100+": the count only says whether to look.
NEWS_AT_MOST = 100
OLDEST_PAGE = timedelta(days=30)


@never_cache
@require_GET
def incident_list(request: PersonRequest) -> HttpResponse:
    """Show the incidents of the person's teams, as the address says."""
    asked_at = timezone.now()
    address = InboxAddress(request.GET, request.user)
    shown_facets, count = facets(address)
    shown_tabs = tabs(address)
    incidents = (
        address.shown()
        .select_related("project", "service", "assignee", "latest_investigation", "duplicate_of")
        .defer("search_text", "duplicate_of__search_text")
        .order_by(*address.order)
    )
    paginator = Paginator(incidents, PAGE_SIZE)
    paginator.count = count  # counted already, with the facets
    page = paginator.get_page(request.GET.get("page"))
    shown_rows = rows(list(page.object_list), request.user)
    counts = {tab.key: tab.count for tab in shown_tabs}
    steps = _first_steps(request.user) if counts["all"] else []
    return render(
        request,
        "incidents/incident_list.html",
        {
            "address": address,
            "here": f"?{request.GET.urlencode()}" if request.GET else "",
            "tabs": shown_tabs,
            "facets": shown_facets,
            "removals": removals(address),
            "page": page,
            "rows": shown_rows,
            "can_act": any(row.may_tick for row in shown_rows),
            "reads_only": not any(row.may_work for row in shown_rows),
            "close_reasons": CLOSE_REASONS,
            "people": _people(address) if shown_rows else [],
            "sorts": [(label, address.href(sort=key), key == address.sort) for key, label in SORTS.items()],
            "kept": [(name, value) for name, value in request.GET.items() if name not in ("q", "page")],
            "clear_href": address.plain_href(tab=address.tab),
            "news_href": _news_href(address, asked_at),
            "empty": None if shown_rows else _empty(address, counts),
            "first_steps": steps,
            "first_steps_done": sum(step["done"] for step in steps),
        },
    )


@never_cache
@require_GET
def incident_news(request: PersonRequest) -> HttpResponse:
    """Answer 204 while nothing new is in the view, else the bar that says how many came since it was shown."""
    address = InboxAddress(request.GET, request.user)
    since = _since(address.value("since"))
    if since is None:
        return HttpResponse(status=204)
    new = address.shown().filter(created_at__gt=since)[:NEWS_AT_MOST].count()
    if str(new) == (address.value("seen") or "0"):
        return HttpResponse(status=204)
    context = {
        "new": new,
        "capped": new == NEWS_AT_MOST,
        "news_href": _news_href(address, since, seen=new),
        "show_href": _without_news(address),
    }
    return render(request, "incidents/_news.html", context)


def _since(text: str) -> datetime | None:
    """Return the moment that a page was shown at; None for what cannot be one."""
    try:
        since = parse_datetime(text)
    except ValueError:
        return None
    if since is None or timezone.is_naive(since) or abs(timezone.now() - since) > OLDEST_PAGE:
        return None
    return since


def _news_href(address: InboxAddress, since: datetime, seen: int = 0) -> str:
    query = address.href(since=since.isoformat(), seen=str(seen) if seen else "")
    return f"{reverse('incident_news')}{query}"


def _without_news(address: InboxAddress) -> str:
    query = QueryDict(address.href(since="", seen="")[1:], mutable=True)
    return f"{reverse('incident_list')}?{query.urlencode()}"


@require_POST
def first_steps_dismiss(request: PersonRequest) -> HttpResponse:
    """Take the strip of three steps away for good."""
    User.objects.filter(pk=request.user.pk, first_steps_dismissed_at=None).update(
        first_steps_dismissed_at=timezone.now()
    )
    return redirect("incident_list")


def _people(address: InboxAddress) -> list[User]:
    """Return to whom a chosen team's incidents can be handed over, but oneself. One query, or none."""
    team = address.team
    if team is None or Permission.INCIDENT_WORK not in access.permissions_for(address.user, team):
        return []
    members = Membership.objects.filter(team=team, left_at=None, user__is_active=True).exclude(user=address.user)
    members = members.exclude(role=Membership.Role.VIEWER).select_related("user").order_by("user__name")
    return [member.user for member in members]


def _empty(address: InboxAddress, counts: dict[str, int]) -> dict[str, Any]:
    """Return which of the reasons for an empty list is the true one, with what it is told with. At most two queries."""
    if address.is_narrowed:
        elsewhere = counted_elsewhere(address)
        href = address.plain_href(tab="resolved", q=address.words)
        return {"why": "filters", "without": counts[address.tab], "elsewhere": elsewhere, "elsewhere_href": href}
    if counts["all"]:
        last = address.visible().filter(status=Incident.Status.RESOLVED).select_related("project", "resolved_by")
        return {
            "why": address.tab,
            "last": last.defer("search_text").order_by("-resolved_at").first(),
            "href": address.plain_href(tab="resolved" if address.tab == "active" else "all"),
        }
    if not access.memberships(address.user):
        return {"why": "no team"}
    teams = [membership.team for membership in access.memberships(address.user)]
    managed = {team.pk for team in teams if Permission.PROJECT_MANAGE in access.permissions_for(address.user, team)}
    project = next((project for project in address.projects if project.team_id in managed), None)
    return {"why": "no alert", "project": project}


def _first_steps(user: User) -> list[dict[str, Any]]:
    """Return the strip of three steps for who may do them, and has not done or dismissed them."""
    if user.first_steps_dismissed_at or not settings.LOCAL:
        return []
    if not any(
        Permission.INCIDENT_WORK in access.permissions_for(user, each.team) for each in access.memberships(user)
    ):
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
