"""Acts on the incidents that are ticked in the inbox, and their undoing from the toast."""

import re
from collections import defaultdict

from django.contrib import messages
from django.core import signing
from django.core.exceptions import BadRequest
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from incidents.models import Incident
from incidents.services import bulk
from incidents.services.bulk import Done
from teams.models import Membership, User
from teams.requests import PersonRequest

# A page has no more rows.
AT_MOST = 50
# Why several incidents can be closed at once; a fix is written down on an incident's own page.
CLOSE_REASONS = (
    Incident.CloseReason.RECOVERED,
    Incident.CloseReason.FALSE_ALARM,
    Incident.CloseReason.NOT_ACTIONABLE,
)
_REF = re.compile(r"([A-Z][A-Z0-9]{1,9})-([0-9]{1,9})", re.ASCII)
_SALT = "incidents.bulk.undo"
UNDO_SECONDS = 15 * 60


@require_POST
def incident_bulk(request: PersonRequest) -> HttpResponse:
    """Acknowledge, assign, investigate or close what is ticked; the address's query is the view to go back to."""
    refs = request.POST.getlist("nr")[:AT_MOST]
    if not refs:
        messages.warning(request, "Nothing was selected. Tick the incidents first.")
        return _back(request)
    chosen = _chosen(request.user, refs)
    token = {"by": str(request.user.public_id)}
    if "acknowledge" in request.POST:
        done = bulk.acknowledge(chosen=chosen, by=request.user)
    elif "assign" in request.POST:
        assignee = _assignee(request.user, chosen, request.POST["assign"])
        done = bulk.assign(chosen=chosen, assignee=assignee, by=request.user)
        token |= {"act": "assign", "to": str(assignee.public_id) if assignee else ""}
    elif "investigate" in request.POST:
        done = bulk.investigate(chosen=chosen, by=request.user)
    elif request.POST.get("close") in CLOSE_REASONS:
        done = bulk.close(chosen=chosen, reason=request.POST["close"], by=request.user)
        token |= {"act": "close"}
    else:
        raise BadRequest("There is no such act on several incidents.")
    undo = signing.dumps({**token, "before": done.undo}, salt=_SALT, compress=True) if done.undo else ""
    return _told(request, done, undo)


@require_POST
def incident_bulk_undo(request: PersonRequest) -> HttpResponse:
    """Undo what the toast told of, once; whatever somebody changed since stays as it is."""
    try:
        token = signing.loads(request.POST.get("undo", ""), salt=_SALT, max_age=UNDO_SECONDS)
    except signing.BadSignature:
        messages.warning(request, "That can no longer be undone from here. Open the incident and change it there.")
        return _back(request)
    if token["by"] != str(request.user.public_id):
        raise BadRequest("This undo is another person's.")
    chosen = _known(request.user).filter(public_id__in=token["before"])
    if token["act"] == "close":
        return _told(request, bulk.undo_close(chosen=chosen, by=request.user))
    people = {str(user.public_id): user for user in User.objects.filter(public_id__in=_people(token))}
    before = {incident: people.get(had) for incident, had in token["before"].items()}
    done = bulk.undo_assign(chosen=chosen, before=before, given_to=people.get(token["to"]), by=request.user)
    return _told(request, done)


def _people(token: dict[str, object]) -> set[str]:
    """Return the public ids of the people whom an undone assignment names."""
    before: dict[str, str] = token["before"]  # type: ignore[assignment]
    return {who for who in [*before.values(), str(token["to"])] if who}


def _told(request: PersonRequest, done: Done, undo: str = "") -> HttpResponse:
    """Go back to the list and say how it went. The toast's tag carries what its button sends."""
    if done.changed:
        messages.success(request, str(done), extra_tags=undo)
    else:
        messages.warning(request, str(done))
    return _back(request)


def _back(request: PersonRequest) -> HttpResponse:
    query = request.GET.urlencode()
    return redirect(f"{reverse('incident_list')}?{query}" if query else "incident_list")


def _known(user: User) -> QuerySet[Incident]:
    return Incident.objects.visible_to(user).select_related("project__team", "assignee", "latest_investigation")


def _chosen(user: User, refs: list[str]) -> list[Incident]:
    """Return the named incidents that the person may see; the others are as if they did not exist."""
    numbers = defaultdict(set)
    for ref in refs:
        if match := _REF.fullmatch(ref):
            numbers[match[1]].add(int(match[2]))
    named = Q(pk__in=[])
    for key, wanted in numbers.items():
        named |= Q(project__key=key, number__in=wanted)
    return list(_known(user).filter(named).order_by("pk"))


def _assignee(by: User, chosen: list[Incident], who: str) -> User | None:
    """Return the person meant by "me", "nobody" or a public id, among the members of the incidents' teams.

    Raises:
        BadRequest: it is none of them.
    """
    if who == "me":
        return by
    if who == "nobody":
        return None
    teams = {incident.project.team_id for incident in chosen}
    members = Membership.objects.filter(team__in=teams, left_at=None).select_related("user")
    found = next((member.user for member in members if str(member.user.public_id) == who), None)
    if found is None:
        raise BadRequest("Nobody of the team is meant.")
    return found
