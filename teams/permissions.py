"""The table of who may do what. Data only; ``teams.access`` asks it."""

from enum import StrEnum


class Permission(StrEnum):
    """An act in a team, or on the platform."""

    INCIDENT_VIEW = "incident.view"
    INCIDENT_WORK = "incident.work"
    MEMORY_VIEW = "memory.view"
    MEMORY_MANAGE = "memory.manage"
    TEAM_VIEW = "team.view"
    TEAM_MANAGE = "team.manage"
    PROJECT_MANAGE = "project.manage"
    LESSON_PROPOSE = "lesson.propose"
    LESSON_REVIEW = "lesson.review"
    PLATFORM_MANAGE = "platform.manage"


_VIEWER = frozenset({Permission.INCIDENT_VIEW, Permission.MEMORY_VIEW, Permission.TEAM_VIEW})
_RESPONDER = _VIEWER | {Permission.INCIDENT_WORK, Permission.LESSON_PROPOSE}
_ADMIN = _RESPONDER | {Permission.MEMORY_MANAGE, Permission.TEAM_MANAGE, Permission.PROJECT_MANAGE}

# By Membership.Role.
ROLE_PERMISSIONS: dict[str, frozenset[Permission]] = {
    "viewer": _VIEWER,
    "responder": _RESPONDER,
    "admin": frozenset(_ADMIN),
}

# By ApiKey.Scope. Whatever needs a person is in none of them.
SCOPE_PERMISSIONS: dict[str, frozenset[str]] = {
    "alerts:write": frozenset({"alerts.write"}),
    "incidents:read": frozenset({Permission.INCIDENT_VIEW}),
    "incidents:write": frozenset({Permission.INCIDENT_VIEW, Permission.INCIDENT_WORK}),
    "memory:read": frozenset({Permission.MEMORY_VIEW}),
}
