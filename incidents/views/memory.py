"""What a project remembers: the list of its records, and a record's own page."""

import uuid

from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, Subquery
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from incidents.models import Evidence, MemoryRecord, MemoryRecordRevision
from incidents.models.track import TrackRecord, applications, sum_up, track_records, usual_minutes
from incidents.services import memory
from incidents.views.cards import dots, left
from incidents.views.citations import SHOWN as CITATIONS_SHOWN
from incidents.views.citations import citations
from incidents.views.revisions import with_differences
from teams import access
from teams.models import BankAssignment, Membership, User
from teams.permissions import Permission
from teams.requests import PersonRequest

PAGE_SIZE = 50


@require_GET
def memory_list(request: PersonRequest) -> HttpResponse:
    """Show one project's records: kind, first line, state, track record, how often cited, when."""
    projects = list(access.visible_projects(request.user).annotate(records=Count("incidents__memory_records")))
    chosen = next((project for project in projects if project.key == request.GET.get("project")), None)
    project = chosen or (projects[0] if projects else None)
    records = MemoryRecord.objects.none()
    if project:
        access.require(request.user, Permission.MEMORY_VIEW, project)
        records = MemoryRecord.objects.filter(
            bank__assignments__project=project, bank__assignments__access=BankAssignment.Access.OWN
        )
    latest = MemoryRecordRevision.objects.filter(record=OuterRef("pk"), number=OuterRef("latest_revision"))
    shown = records.annotate(title=Subquery(latest.values("title")), service=Subquery(latest.values("service")))
    # PostgreSQL refuses a NUL in any text.
    kind, state, query = (request.GET.get(name, "").replace("\x00", "").strip() for name in ("kind", "state", "q"))
    if kind:
        shown = shown.filter(kind=kind)
    if state:
        shown = shown.filter(state=state)
    if query:
        shown = shown.filter(Q(revisions__text__icontains=query) | Q(revisions__title__icontains=query)).distinct()
    page = Paginator(
        shown.select_related("incident__project", "created_by", "fix", "outcome")
        .annotate(cited=Count("citations", filter=Q(citations__accepted=True), distinct=True))
        .order_by("-occurred_at", "-pk"),
        PAGE_SIZE,
    ).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    tracks = track_records({row.fix.root_id for row in rows if row.fix})
    counts = records.aggregate(failed=Count("pk", filter=Q(state=MemoryRecord.State.FAILED)), all=Count("pk"))
    return render(
        request,
        "memory/memory_list.html",
        {
            "projects": projects,
            "project": project,
            "page": page,
            "rows": [(row, tracks[row.fix.root_id] if row.fix else TrackRecord()) for row in rows],
            "kinds": _facet(records, "kind", MemoryRecord.Kind.choices, kind),
            "states": _facet(records, "state", MemoryRecord.State.choices, state),
            "counts": counts,
            "query": query,
            "filtered": bool(kind or state or query),
        },
    )


def _facet(records: object, column: str, choices: list[tuple[str, str]], chosen: str) -> list[dict[str, object]]:
    rows = records.order_by().values(column).annotate(count=Count("pk"))  # type: ignore[attr-defined]
    counts = {row[column]: row["count"] for row in rows}
    return [
        {"value": value, "label": label, "count": counts[value], "set": value == chosen}
        for value, label in choices
        if value in counts
    ]


def _get_record(request: PersonRequest, record: uuid.UUID, permission: Permission) -> MemoryRecord:
    return access.get_object(
        MemoryRecord.objects.select_related(
            "incident__project__team",
            "created_by",
            "forgotten_by",
            "fix__merged_into",
            "outcome__verified_by",
            "attempt__tried_by",
            "feedback",
            "bank",
        ).exclude(incident=None),
        request.user,
        permission,
        public_id=record,
    )


@require_GET
def memory_detail(request: PersonRequest, record: uuid.UUID) -> HttpResponse:
    """Show a record: its text word for word, its revisions, where it was cited, its track record."""
    found = _get_record(request, record, Permission.MEMORY_VIEW)
    project = found.incident.project  # type: ignore[union-attr]
    request.project = project
    revisions = list(found.revisions.select_related("created_by").order_by("-number"))
    cited = citations(found, request.user)
    readers = found.bank.assignments.select_related("project").order_by("project__key")
    fix = left(found.fix) if found.fix else None
    applied = applications([fix.pk]) if fix else []
    track = sum_up(applied).get(fix.pk, TrackRecord()) if fix else None
    permissions = access.permissions_for(request.user, project.team)
    return render(
        request,
        "memory/memory_detail.html",
        {
            "record": found,
            "project": project,
            "gone": found.state in (MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN),
            "revisions": with_differences(revisions),
            "latest": revisions[0] if revisions else None,
            "citations": cited if request.GET.get("all") else cited[:CITATIONS_SHOWN],
            "cited": len(cited),
            "fix": fix,
            "track": track,
            "dots": dots(track) if track else None,
            "usually": usual_minutes(applied),
            "readers": [assignment.project.name for assignment in readers],
            "can_manage": Permission.MEMORY_MANAGE in permissions,
            "correct_at": _where_to_correct(found, request.user, permissions),
            "has_left": _has_left(found),
        },
    )


def _where_to_correct(record: MemoryRecord, user: User, permissions: frozenset[str]) -> str:
    """Return the address at which this person may correct it; "" where they may not, or it stands no more.

    Memory is corrected through the act that wrote it: by its author, or for others by a team admin. A rating is only
    its author's.
    """
    incident = record.incident
    if incident is None or Permission.INCIDENT_WORK not in permissions or record.forgotten_at:
        return ""
    page, manages = incident.get_absolute_url(), Permission.MEMORY_MANAGE in permissions
    if record.outcome and record.outcome.is_current and (manages or record.outcome.verified_by == user):
        return f"{page}#fixed"
    if record.attempt and (manages or record.attempt.tried_by == user):
        return reverse("attempt_correct", args=[incident.project.key, incident.number, record.attempt.public_id])
    if record.feedback and record.feedback.user_id == user.pk:
        return f"{page}#rate"
    return ""


def _has_left(record: MemoryRecord) -> bool:
    """Return whether its author is no active member of the team any more."""
    if record.created_by_id is None:
        return False
    still_there = Membership.objects.filter(
        team=record.incident.project.team_id,  # type: ignore[union-attr]
        user=record.created_by_id,
        left_at=None,
        user__is_active=True,
    )
    return not still_there.exists()


@require_http_methods(["GET", "POST"])
def memory_forget(request: PersonRequest, record: uuid.UUID) -> HttpResponse:
    """Ask once, then forget: the text goes, here and in the bank; a line stays that says who and when."""
    found = _get_record(request, record, Permission.MEMORY_MANAGE)
    request.project = found.incident.project  # type: ignore[union-attr]
    if request.method == "POST":
        memory.forget(record=found, by=request.user)
        return redirect(found)
    cited = Evidence.objects.filter(record=found, accepted=True).count()
    return render(
        request,
        "memory/memory_forget.html",
        {"record": found, "project": found.incident.project, "cited": cited},  # type: ignore[union-attr]
    )
