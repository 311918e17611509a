"""Who belongs to a team. A membership that ended keeps its row, so that old records can say that somebody left."""

from django.db import transaction
from django.utils import timezone

from teams import access, audit
from teams.models import Invitation, Membership, Team, User


class LastAdmin(Exception):
    """A team keeps at least one admin."""

    def __init__(self) -> None:
        super().__init__("A team keeps at least one admin. Make somebody else an admin first.")


class NotAMember(Exception):
    """The person has left already, or never was a member."""

    def __init__(self, user: User) -> None:
        super().__init__(f"{user} is no member of the team any more.")


@transaction.atomic
def add_member(*, team: Team, user: User, role: str, by: User | None) -> Membership:
    """Let the person in; somebody who left comes back with the new role. A member's role stays what it is."""
    membership, created = Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    if not created and membership.left_at is None:
        return membership
    if not created:
        membership.role, membership.left_at = role, None
        membership.save(update_fields=["role", "left_at"])
    access.forget_roles(user)
    audit.record("member.add", by=by, on=user, team=team, after={"role": role})
    return membership


@transaction.atomic
def change_role(*, team: Team, user: User, role: str, by: User) -> Membership:
    """Give a member another role; it holds from the next request on.

    Raises:
        LastAdmin: the team would be left without one.
        NotAMember: the person left meanwhile.
    """
    membership = _locked_membership(team, user)
    if membership.role == role:
        return membership
    _keep_an_admin(membership)
    before, membership.role = membership.role, role
    membership.save(update_fields=["role"])
    access.forget_roles(user)
    audit.record("member.change_role", by=by, on=user, team=team, before={"role": before}, after={"role": role})
    if role != Membership.Role.ADMIN:
        _end_invitations(team, user, by)
    return membership


@transaction.atomic
def remove_member(*, team: Team, user: User, by: User | None) -> None:
    """End the membership; the person's name stays on what they did.

    Raises:
        LastAdmin: the team would be left without one.
        NotAMember: the person left already.
    """
    membership = _locked_membership(team, user)
    _keep_an_admin(membership)
    membership.left_at = timezone.now()
    membership.save(update_fields=["left_at"])
    access.forget_roles(user)
    audit.record("member.remove", by=by, on=user, team=team, before={"role": membership.role})
    _end_invitations(team, user, by)


def _end_invitations(team: Team, inviter: User, by: User | None) -> None:
    """End what somebody invited who may invite no more: else they could come back by a link of their own."""
    open_ = Invitation.objects.filter(team=team, invited_by=inviter, accepted_at=None, revoked_at=None)
    for invitation in open_:
        if open_.filter(pk=invitation.pk).update(revoked_at=timezone.now()):
            audit.record("invitation.revoke", by=by, on=invitation, team=team)


def _locked_membership(team: Team, user: User) -> Membership:
    """Return the membership while nobody else changes the team's: two admins must not remove each other at once."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    membership = Membership.objects.filter(team=team, user=user, left_at=None).first()
    if membership is None:
        raise NotAMember(user)
    return membership


def _keep_an_admin(leaving: Membership) -> None:
    # Somebody whose account is disabled can't act for the team.
    admins = Membership.objects.filter(
        team=leaving.team_id, role=Membership.Role.ADMIN, left_at=None, user__is_active=True
    )
    if leaving.role == Membership.Role.ADMIN and not admins.exclude(pk=leaving.pk).exists():
        raise LastAdmin
