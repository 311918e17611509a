"""What people can do with teams, projects, members, keys and banks. Each act writes its audit row as it happens."""

from teams.services.banks import share_memory, shared_bank, stop_sharing_memory
from teams.services.invitations import InvitationProblem, accept_invitation, find_invitation, invite, revoke_invitation
from teams.services.keys import make_api_key, revoke_api_key
from teams.services.members import LastAdmin, NotAMember, add_member, change_role, remove_member
from teams.services.people import (
    add_address,
    create_user,
    end_sessions,
    free_address,
    make_platform_admin,
    update_profile,
    welcome,
)
from teams.services.projects import change_project, create_project, create_service, update_service
from teams.services.teams import create_team

__all__ = [
    "InvitationProblem",
    "LastAdmin",
    "NotAMember",
    "accept_invitation",
    "add_address",
    "add_member",
    "change_project",
    "change_role",
    "create_project",
    "create_service",
    "create_team",
    "create_user",
    "end_sessions",
    "find_invitation",
    "free_address",
    "invite",
    "make_api_key",
    "make_platform_admin",
    "remove_member",
    "revoke_api_key",
    "revoke_invitation",
    "share_memory",
    "shared_bank",
    "stop_sharing_memory",
    "update_profile",
    "update_service",
    "welcome",
]
