"""Who belongs to a team. A membership that ended keeps its row, so that old records can say that somebody left."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from teams import audit
from teams.models import Membership, Team, User


class LastAdmin(Exception):
    """A team keeps at least one admin."""

    def __init__(self) -> None:
        super().__init__("A team keeps at least one admin. Make somebody else an admin first.")


@transaction.atomic
def add_member(*, team: Team, user: User, role: str, by: User | None) -> Membership:
    """Let the person in; somebody who left comes back with the new role."""
    membership, created = Membership.objects.get_or_create(team=team, user=user, defaults={"role": role})
    if not created:
        membership.role, membership.left_at = role, None
        membership.save(update_fields=["role", "left_at"])
    audit.record("member.add", by=by, on=user, team=team, after={"role": role})
    return membership


@transaction.atomic
def change_role(*, team: Team, user: User, role: str, by: User) -> None:
    """Give a member another role; it holds from the next request on.

    Raises:
        LastAdmin: the team would be left without one.
    """
    membership = _active(team).get(user=user)
    if membership.role == role:
        return
    if role != Membership.Role.ADMIN:
        _keep_an_admin(team, membership)
    before = membership.role
    _active(team).filter(pk=membership.pk).update(role=role)
    audit.record("member.change_role", by=by, on=user, team=team, before={"role": before}, after={"role": role})


@transaction.atomic
def remove_member(*, team: Team, user: User, by: User | None) -> None:
    """End the membership; the person's name stays on what they did.

    Raises:
        LastAdmin: the team would be left without one.
    """
    membership = _active(team).get(user=user)
    _keep_an_admin(team, membership)
    _active(team).filter(pk=membership.pk).update(left_at=timezone.now())
    audit.record("member.remove", by=by, on=user, team=team, before={"role": membership.role})


def _active(team: Team) -> QuerySet[Membership]:
    return Membership.objects.select_for_update().filter(team=team, left_at=None)


def _keep_an_admin(team: Team, leaving: Membership) -> None:
    if leaving.role != Membership.Role.ADMIN:
        return
    # Locked, so that two admins cannot remove each other at the same moment.
    admins = list(_active(team).filter(role=Membership.Role.ADMIN).values_list("pk", flat=True))
    if admins == [leaving.pk]:
        raise LastAdmin
