"""The fixes of a project: the list, a fix's page with its track record, rename and mend, merge and take apart."""

import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from incidents.forms import FixForm, MergeForm
from incidents.models import Fix
from incidents.models.track import TrackRecord, applications, sum_up, track_records, usual_minutes
from incidents.services import fixes
from incidents.services.incidents import Conflict
from incidents.views.cards import dots
from teams import access
from teams.permissions import Permission
from teams.requests import PersonRequest

PAGE_SIZE = 50
# Applications that a fix's page shows, newest first; the numbers beside them count all.
APPLICATIONS_SHOWN = 50
# Fixes that a duplicate can be merged into, by name.
MERGE_CHOICES = 500

FixAct = Callable[[PersonRequest, Fix], HttpResponse]


@require_GET
def fix_list(request: PersonRequest) -> HttpResponse:
    """Show one project's fixes with their track records; those merged into another stand on its page."""
    projects = list(access.visible_projects(request.user).order_by("name"))
    chosen = next((project for project in projects if project.key == request.GET.get("project")), None)
    project = chosen or (projects[0] if projects else None)
    query = request.GET.get("q", "").replace("\x00", "").strip()
    found = Fix.objects.filter(project=project, merged_into=None)
    if query:
        found = found.filter(title__icontains=query)
    page = Paginator(found.order_by("title", "pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    tracks = track_records(fix.pk for fix in rows)
    context = {
        "projects": projects,
        "project": project,
        "page": page,
        "rows": [(fix, tracks[fix.pk], dots(tracks[fix.pk])) for fix in rows],
        "query": query,
    }
    return render(request, "incidents/fix_list.html", context)


def _get_fix(request: PersonRequest, fix: uuid.UUID, permission: Permission) -> Fix:
    rows = Fix.objects.select_related("project__team", "created_by", "merged_into")
    found = access.get_object(rows, request.user, permission, public_id=fix)
    request.project = found.project
    return found


@require_GET
def fix_detail(request: PersonRequest, fix: uuid.UUID) -> HttpResponse:
    """Show a fix: how often it worked, where it was applied, its runbook, what was merged into it."""
    return _render_fix(request, _get_fix(request, fix, Permission.INCIDENT_VIEW))


def _render_fix(
    request: PersonRequest,
    fix: Fix,
    *,
    status: int = 200,
    problem: str = "",
    form: FixForm | None = None,
    merge_form: MergeForm | None = None,
) -> HttpResponse:
    applied = applications([fix.pk])
    track = sum_up(applied).get(fix.root_id, TrackRecord()) if applied else TrackRecord()
    context = {
        "fix": fix,
        "project": fix.project,
        "track": track,
        "dots": dots(track),
        "usually": usual_minutes(applied),
        "applied": applied[: -APPLICATIONS_SHOWN - 1 : -1],
        "applied_count": len(applied),
        "merged": list(fix.merged.order_by("title")),
        "form": form or FixForm(initial={name: getattr(fix, name) for name in FixForm.base_fields}),
        "merge_form": merge_form or MergeForm(others=_others(fix)),
        "others": list(_others(fix)[:MERGE_CHOICES]),
        "can_work": Permission.INCIDENT_WORK in access.permissions_for(request.user, fix.project.team),
        "problem": problem,
    }
    return render(request, "incidents/fix_detail.html", context, status=status)


def _others(fix: Fix) -> Any:
    return fix.project.fixes.filter(merged_into=None).exclude(pk=fix.pk).order_by("title", "pk")


def fix_act(view: FixAct) -> Callable[..., HttpResponse]:
    """Wrap a POST view of a fix: fetching authorises it, and a conflict comes back on the page."""

    @require_POST
    @wraps(view)
    def wrapped(request: PersonRequest, fix: uuid.UUID) -> HttpResponse:
        found = _get_fix(request, fix, Permission.INCIDENT_WORK)
        try:
            return view(request, found)
        except Conflict as conflict:
            now = _get_fix(request, fix, Permission.INCIDENT_WORK)
            typed = FixForm(request.POST) if "title" in request.POST else None
            return _render_fix(request, now, status=409, problem=str(conflict), form=typed)

    return wrapped


@fix_act
def fix_change(request: PersonRequest, fix: Fix) -> HttpResponse:
    """Rename it; mend its steps, command and runbook."""
    form = FixForm(request.POST)
    if not form.is_valid():
        return _render_fix(request, fix, status=400, form=form)
    fixes.describe(fix=fix, by=request.user, **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect(fix)


@fix_act
def fix_merge(request: PersonRequest, fix: Fix) -> HttpResponse:
    """Make it a duplicate of another fix of the project, whose page follows."""
    form = MergeForm(request.POST, others=_others(fix))
    if not form.is_valid():
        return _render_fix(request, fix, status=400, merge_form=form)
    into = fixes.merge(fix=fix, into=form.cleaned_data["into"], by=request.user)
    messages.success(request, f"Merged. What “{fix.title}” did counts here now.")
    return redirect(into)


@fix_act
def fix_take_apart(request: PersonRequest, fix: Fix) -> HttpResponse:
    """Undo a merge."""
    fixes.take_apart(fix=fix, by=request.user)
    messages.success(request, "Taken apart. It counts for itself again.")
    return redirect(fix)
