"""A project's settings, services and API keys."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from teams import access, services
from teams.forms import ApiKeyForm, LessonSwitchesForm, ProjectSettingsForm, ServiceForm
from teams.models import ApiKey, BankAssignment, Project, Service
from teams.permissions import Permission
from teams.requests import PersonRequest


@never_cache
@require_http_methods(["GET", "POST"])
def project_settings(request: PersonRequest, key: str) -> HttpResponse:
    """Show how the project's investigations run; an admin can change it here."""
    needed = Permission.PROJECT_MANAGE if request.method == "POST" else Permission.TEAM_VIEW
    project = access.get_project(request.user, key, needed)
    if request.method == "GET":
        return _page(request, project)
    form = ProjectSettingsForm(request.POST, instance=Project.objects.get(pk=project.pk))
    if not form.is_valid():
        return _page(request, project, status=400, form=form)
    services.change_project(project=project, by=request.user, **form.cleaned_data)
    messages.success(request, "Saved. The next investigation obeys.")
    return redirect("project_settings", key)


def _page(
    request: PersonRequest,
    project: Project,
    *,
    status: int = 200,
    typed: tuple[Service, ServiceForm] | None = None,
    **extra: Any,
) -> HttpResponse:
    """Render the settings; ``typed`` is the service whose form comes back with what was typed."""
    assignments = project.bank_assignments.select_related("bank")
    limits = {assignment.access for assignment in assignments if assignment.bank.kind == "shared"}
    readers = BankAssignment.objects.filter(
        bank__assignments__project=project, bank__assignments__access="own", access="read"
    ).select_related("project")
    can_manage = Permission.PROJECT_MANAGE in access.permissions_for(request.user, project.team)
    context = {
        "project": project,
        "team": project.team,
        "can_manage": can_manage,
        "form": ProjectSettingsForm(instance=project),
        "lessons_form": LessonSwitchesForm(instance=project),
        "platform_allows_use": BankAssignment.Access.READ in limits,
        "platform_allows_contribute": BankAssignment.Access.CONTRIBUTE in limits,
        "reads": [a.bank.name for a in assignments if a.access == "read" and a.bank.kind == "private"],
        "readers": [assignment.project.name for assignment in readers],
        "services": _service_rows(project, typed),
        "service_form": ServiceForm(auto_id="new_service_%s"),
        "keys": _keys(project) if can_manage else [],
        "key_form": ApiKeyForm(auto_id="new_key_%s"),
        "tokens_a_minute": settings.GROQ_TPM_BUDGET,
        "guided_below": settings.GUIDED_BELOW_TPM,
        "llm": settings.LLM,
        "memory": settings.MEMORY,
    }
    return render(request, "teams/project_settings.html", context | extra, status=status)


def _service_rows(project: Project, typed: tuple[Service, ServiceForm] | None) -> list[tuple[Service, ServiceForm]]:
    """Return each service with its form."""
    rows = []
    for number, service in enumerate(project.services.all(), 1):
        if typed and typed[0].pk == service.pk:
            form = typed[1]
        else:
            form = ServiceForm(initial={"name": service.name, "aliases": ", ".join(service.aliases)})
        form.auto_id = f"service_{number}_%s"
        rows.append((service, form))
    return rows


def _keys(project: Project) -> list[ApiKey]:
    """Return the project's keys, those that work first, each with whether its maker is still a member."""
    keys = list(project.api_keys.select_related("created_by").order_by("-created_at"))
    members = set(project.team.memberships.filter(left_at=None).values_list("user_id", flat=True))
    for key in keys:
        key.maker_left = key.created_by_id not in members  # type: ignore[attr-defined]
    return sorted(keys, key=lambda key: key.revoked_at is not None)


@require_POST
def project_lessons(request: PersonRequest, key: str) -> HttpResponse:
    """Switch the use of shared lessons, and contributing to them, on or off."""
    project = access.get_project(request.user, key, Permission.PROJECT_MANAGE)
    form = LessonSwitchesForm(request.POST, instance=Project.objects.get(pk=project.pk))
    if not form.is_valid():
        return _page(request, project, status=400, lessons_form=form)
    services.change_project(project=project, by=request.user, **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect(f"{reverse('project_settings', args=[key])}#lessons")


@require_POST
def service_create(request: PersonRequest, key: str) -> HttpResponse:
    """Add a service that alerts may name."""
    project = access.get_project(request.user, key, Permission.PROJECT_MANAGE)
    form = ServiceForm(request.POST, auto_id="new_service_%s")
    if not form.is_valid():
        return _page(request, project, status=400, service_form=form)
    try:
        services.create_service(project=project, by=request.user, **form.cleaned_data)
    except ValidationError as refusal:
        form.add_error("name", refusal.messages)
        return _page(request, project, status=400, service_form=form)
    return redirect(f"{reverse('project_settings', args=[key])}#services")


@require_POST
def service_change(request: PersonRequest, key: str, service: uuid.UUID) -> HttpResponse:
    """Rename a service or change its aliases."""
    project = access.get_project(request.user, key, Permission.PROJECT_MANAGE)
    found = access.get_object(
        project.services.select_related("project__team"), request.user, Permission.PROJECT_MANAGE, public_id=service
    )
    form = ServiceForm(request.POST)
    if not form.is_valid():
        problem = " ".join(str(message) for found_wrong in form.errors.values() for message in found_wrong)
        return _page(request, project, status=400, typed=(found, form), service_problem=problem)
    try:
        services.update_service(service=found, by=request.user, **form.cleaned_data)
    except ValidationError as refusal:
        return _page(request, project, status=400, typed=(found, form), service_problem=" ".join(refusal.messages))
    messages.success(request, "Saved.")
    return redirect(f"{reverse('project_settings', args=[key])}#services")


@never_cache
@require_POST
def key_create(request: PersonRequest, key: str) -> HttpResponse:
    """Make an API key; its text is shown once, on the page that answers."""
    project = access.get_project(request.user, key, Permission.PROJECT_MANAGE)
    form = ApiKeyForm(request.POST, auto_id="new_key_%s")
    if not form.is_valid():
        return _page(request, project, status=400, key_form=form)
    made, secret = services.make_api_key(project=project, by=request.user, **form.cleaned_data)
    address = request.build_absolute_uri(reverse("api_alert_create"))
    return _page(request, project, made=made, secret=secret, alerts_address=address)


@require_POST
def key_revoke(request: PersonRequest, key: str, key_id: str) -> HttpResponse:
    """End an API key."""
    project = access.get_project(request.user, key, Permission.PROJECT_MANAGE)
    found = access.get_object(
        project.api_keys.select_related("project__team"), request.user, Permission.PROJECT_MANAGE, key_id=key_id
    )
    services.revoke_api_key(key=found, by=request.user)
    messages.success(request, f"The key “{found.name}” was revoked. The next call with it is refused.")
    return redirect(f"{reverse('project_settings', args=[key])}#keys")
