"""A team: its members, invitations and projects."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from teams import access, services
from teams.forms import InviteForm, ProjectForm, RoleForm
from teams.models import Membership, Team
from teams.permissions import Permission
from teams.requests import PersonRequest


@never_cache
@require_GET
def team_detail(request: PersonRequest, slug: str) -> HttpResponse:
    """Show the team; an admin can change it here."""
    return _page(request, access.get_team(request.user, slug, Permission.TEAM_VIEW))


def _page(request: PersonRequest, team: Team, *, status: int = 200, **extra: Any) -> HttpResponse:
    members = team.memberships.filter(left_at=None).select_related("user").order_by("user__name")
    can_manage = Permission.TEAM_MANAGE in access.permissions_for(request.user, team)
    invitations = team.invitations.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
    context = {
        "team": team,
        "members": members,
        "admins": sum(1 for member in members if member.role == Membership.Role.ADMIN),
        "roles": Membership.Role.choices,
        "invitations": invitations.select_related("invited_by").order_by("email") if can_manage else [],
        "projects": team.projects.filter(archived_at=None),
        "can_manage": can_manage,
        "invite_form": InviteForm(),
        "project_form": ProjectForm(),
    }
    return render(request, "teams/team_detail.html", context | extra, status=status)


@require_POST
def member_change(request: PersonRequest, slug: str, person: uuid.UUID) -> HttpResponse:
    """Give a member another role."""
    team = access.get_team(request.user, slug, Permission.TEAM_MANAGE)
    membership = _member(request, team, person)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, team, status=400, problem="Choose one of the roles.")
    try:
        changed = services.change_role(team=team, user=membership.user, role=form.cleaned_data["role"], by=request.user)
    except (services.LastAdmin, services.NotAMember) as refusal:
        return _page(request, team, status=409, problem=str(refusal))
    messages.success(request, f"{membership.user} has the role {changed.get_role_display().lower()} now.")
    return redirect(team)


@require_http_methods(["GET", "POST"])
def member_remove(request: PersonRequest, slug: str, person: uuid.UUID) -> HttpResponse:
    """Ask once, then end a membership."""
    team = access.get_team(request.user, slug, Permission.TEAM_MANAGE)
    membership = _member(request, team, person)
    if request.method == "POST":
        try:
            services.remove_member(team=team, user=membership.user, by=request.user)
        except (services.LastAdmin, services.NotAMember) as refusal:
            return _page(request, team, status=409, problem=str(refusal))
        messages.success(request, f"{membership.user} was removed from {team}.")
        return redirect("home" if membership.user == request.user else team)
    return render(request, "teams/member_remove.html", {"team": team, "person": membership.user})


def _member(request: PersonRequest, team: Team, person: uuid.UUID) -> Membership:
    members = team.memberships.filter(left_at=None).select_related("user", "team")
    return access.get_object(members, request.user, Permission.TEAM_MANAGE, user__public_id=person)


@never_cache
@require_POST
def invitation_create(request: PersonRequest, slug: str) -> HttpResponse:
    """Invite an address; the link is shown once, on the page that answers."""
    team = access.get_team(request.user, slug, Permission.TEAM_MANAGE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, team, status=400, invite_form=form)
    try:
        invitation, secret = services.invite(team=team, by=request.user, **form.cleaned_data)
    except services.InvitationProblem as problem:
        form.add_error("email", str(problem))
        return _page(request, team, status=400, invite_form=form)
    link = request.build_absolute_uri(reverse("invitation_accept", args=[secret]))
    return _page(request, team, invited=invitation, invitation_link=link)


@require_POST
def invitation_revoke(request: PersonRequest, slug: str, invitation: uuid.UUID) -> HttpResponse:
    """Take an invitation back."""
    team = access.get_team(request.user, slug, Permission.TEAM_MANAGE)
    found = access.get_object(
        team.invitations.select_related("team"), request.user, Permission.TEAM_MANAGE, public_id=invitation
    )
    services.revoke_invitation(invitation=found, by=request.user)
    messages.success(request, f"The invitation of {found.email} was taken back.")
    return redirect(team)


@require_POST
def project_create(request: PersonRequest, slug: str) -> HttpResponse:
    """Make a project with its private memory."""
    team = access.get_team(request.user, slug, Permission.PROJECT_MANAGE)
    form = ProjectForm(request.POST)
    if not form.is_valid():
        return _page(request, team, status=400, project_form=form)
    try:
        project = services.create_project(team=team, by=request.user, **form.cleaned_data)
    except ValidationError as error:
        form.add_error(None, error)
        return _page(request, team, status=400, project_form=form)
    return redirect("project_settings", project.key)
