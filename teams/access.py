"""THE gate: every page, API call and task asks here who may do what, and fetches through here.

Fetching is authorising. Whoever is not a member of an object's team gets ``Http404``, the same as for an object that
does not exist; a member without the permission gets ``PermissionDenied`` (403). Lists and fetches use the same
``Project.objects.visible_to``.

A request costs one query for its person's memberships, whatever the number of teams: they are kept on the actor, which
lives as long as the request.
"""

from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import Http404

from teams.actors import Actor, KeyActor
from teams.models import Membership, Project, Team, User
from teams.permissions import ROLE_PERMISSIONS, SCOPE_PERMISSIONS, Permission

ModelT = TypeVar("ModelT", bound=models.Model)

NOBODY: frozenset[str] = frozenset()


def memberships(user: User) -> list[Membership]:
    """Return the person's memberships with their teams, by the team's name. One query for each request."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return []
    cached: list[Membership] | None = getattr(user, "_memberships", None)
    if cached is None:
        rows = Membership.objects.filter(user=user.pk, left_at=None, team__closed_at=None)
        cached = list(rows.select_related("team").order_by("team__name"))
        user._memberships = cached  # type: ignore[attr-defined]
    return cached


def roles(user: User) -> dict[int, str]:
    """Return the person's role by team id."""
    return {membership.team_id: membership.role for membership in memberships(user)}


def forget_roles(user: User) -> None:
    """Read the person's roles anew when they are next asked for: a membership has just changed."""
    user.__dict__.pop("_memberships", None)


def permissions_for(actor: Actor, team: Team) -> frozenset[str]:
    """Return what the person may do in the team; nothing when they are no member. A key has no team of its own."""
    if isinstance(actor, KeyActor):
        return _scopes(actor) if actor.project.team_id == team.pk else NOBODY
    return ROLE_PERMISSIONS.get(roles(actor).get(team.pk, ""), NOBODY)


def _scopes(actor: KeyActor) -> frozenset[str]:
    return NOBODY.union(*(SCOPE_PERMISSIONS.get(scope, NOBODY) for scope in actor.key.scopes))


def _permissions_on(actor: Actor, obj: models.Model) -> frozenset[str] | None:
    """Return what the actor may do with the object, None when they may not know that it exists."""
    team, project = _owner(obj)
    if isinstance(actor, KeyActor):
        return _scopes(actor) if project is not None and project.pk == actor.key.project_id else None
    return ROLE_PERMISSIONS.get(roles(actor).get(team.pk, "")) if team.pk in roles(actor) else None


def _owner(obj: models.Model) -> tuple[Team, Project | None]:
    """Return the team and project that an object belongs to, along its own links."""
    if isinstance(obj, Team):
        return obj, None
    if isinstance(obj, Project):
        return obj.team, obj
    for link in ("project", "incident", "investigation", "diagnosis", "delivery", "team"):
        owner = getattr(obj, link, None)
        if isinstance(owner, models.Model):
            return _owner(owner)
    raise TypeError(f"{type(obj).__name__} belongs to no team.")


def require(actor: Actor, permission: str, obj: models.Model) -> None:
    """Return when the actor may do it.

    Raises:
        Http404: the object is not theirs to see.
        PermissionDenied: they may see it, and no more.
    """
    held = _permissions_on(actor, obj)
    if held is None:
        raise Http404
    if permission not in held:
        raise PermissionDenied(permission)


def get_object(queryset: QuerySet[ModelT], actor: Actor, permission: str, **lookup: Any) -> ModelT:
    """Return the one object that matches, once the actor was found to have the permission on it.

    Raises:
        Http404: there is none, or it is not theirs to see.
        PermissionDenied: they may see it, and no more.
    """
    # PostgreSQL refuses a NUL in any text, which would end as a 500; nothing has one in its name.
    if any(isinstance(value, str) and "\x00" in value for value in lookup.values()):
        raise Http404
    try:
        found = queryset.get(**lookup)
    except ObjectDoesNotExist:
        raise Http404 from None
    require(actor, permission, found)
    return found


def get_project(actor: Actor, key: str, permission: str) -> Project:
    """Return the project with this key; raises as ``get_object`` does."""
    return get_object(Project.objects.select_related("team"), actor, permission, key=key)


def get_team(actor: Actor, slug: str, permission: str) -> Team:
    """Return the team with this slug; raises as ``get_object`` does."""
    return get_object(Team.objects.all(), actor, permission, slug=slug)


def visible_projects(actor: Actor, permission: str | None = None) -> QuerySet[Project]:
    """Return the projects that the actor may see, or in which they have the permission.

    Raises:
        PermissionDenied: a key's scopes do not hold the permission, so that no project could be in the list.
    """
    if isinstance(actor, KeyActor):
        if permission is not None and permission not in _scopes(actor):
            raise PermissionDenied(permission)
        return Project.objects.filter(pk=actor.key.project_id)
    projects = Project.objects.visible_to(actor).filter(archived_at=None)
    if permission is None:
        return projects
    held = [team for team, role in roles(actor).items() if permission in ROLE_PERMISSIONS.get(role, NOBODY)]
    return projects.filter(team__in=held)


def require_platform(user: Actor, permission: Permission) -> None:
    """Return when the person has the platform role; a platform page does not exist for anybody else.

    Raises:
        Http404: they do not have it.
    """
    role = {
        Permission.PLATFORM_MANAGE: "is_platform_admin",
        Permission.LESSON_REVIEW: "is_lesson_reviewer",
    }[permission]
    if isinstance(user, KeyActor) or not user.is_active or not getattr(user, role, False):
        raise Http404
