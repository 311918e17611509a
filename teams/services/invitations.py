"""Invitations: a link for one address, hashed, good for one use and seven days."""

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from teams import audit
from teams.models import Invitation, Membership, Team, User
from teams.services.members import add_member

GOOD_FOR = timedelta(days=7)


class InvitationProblem(Exception):
    """The invitation cannot be used; the sentence says why, for the person who opened the link."""


@transaction.atomic
def invite(*, team: Team, email: str, role: str, by: User) -> tuple[Invitation, str]:
    """Invite an address and return the invitation with its secret, which stands in the link and is not kept.

    An open invitation for the same address is replaced: its old link ends.

    Raises:
        InvitationProblem: the address belongs to a member already.
    """
    address = email.strip().lower()
    # One at a time for a team, so that two invitations of one address end as one that is open.
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if Membership.objects.filter(team=team, user__email=address, left_at=None).exists():
        raise InvitationProblem("This address belongs to a member of the team already.")
    Invitation.objects.filter(team=team, email=address, accepted_at=None, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        team=team,
        email=address,
        role=role,
        secret_hash=_hash(secret),
        invited_by=by,
        expires_at=timezone.now() + GOOD_FOR,
    )
    audit.record("invitation.create", by=by, on=invitation, team=team, after={"role": role})
    return invitation, secret


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: User) -> None:
    """End an open invitation; its link stops working."""
    open_ = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if open_.update(revoked_at=timezone.now()):
        audit.record("invitation.revoke", by=by, on=invitation, team=invitation.team)


def find_invitation(secret: str) -> Invitation:
    """Return the open invitation of a link. Changes nothing: mail scanners open links.

    Raises:
        InvitationProblem: it was used, replaced, revoked or is too old, or there never was one.
    """
    found = Invitation.objects.select_related("team", "invited_by").filter(secret_hash=_hash(secret)).first()
    if found is None:
        raise InvitationProblem("This link belongs to no invitation.")
    if found.accepted_at:
        raise InvitationProblem("This invitation was used already.")
    if found.revoked_at:
        raise InvitationProblem("This invitation was taken back or replaced by a newer one.")
    if found.expires_at < timezone.now() or found.team.closed_at:
        raise InvitationProblem("This invitation is too old.")
    return found


@transaction.atomic
def accept_invitation(*, secret: str, user: User) -> Membership:
    """Let the person in, once.

    Raises:
        InvitationProblem: the link cannot be used, or was made for another address.
    """
    invitation = find_invitation(secret)
    if invitation.email != user.email.lower():
        raise InvitationProblem("This invitation was made for another address. Sign in with that one.")
    # The team before the audit's chain, as in every act on a team.
    Team.objects.select_for_update(no_key=True).get(pk=invitation.team_id)
    used = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None).update(
        accepted_at=timezone.now(), accepted_by=user
    )
    if not used:
        raise InvitationProblem("This invitation was used already.")
    audit.record("invitation.accept", by=user, on=invitation, team=invitation.team)
    return add_member(team=invitation.team, user=user, role=invitation.role, by=user)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
