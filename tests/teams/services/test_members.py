import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from teams import services
from teams.models import AuditEvent, Invitation, Membership, Team, User
from tests import factories
from tests.conftest import World


def membership(team: Team, user: User) -> Membership:
    return Membership.objects.get(team=team, user=user)


def acts(team: Team) -> list[str]:
    rows = AuditEvent.objects.filter(chain__name=f"team:{team.public_id}").order_by("sequence")
    return list(rows.values_list("act", flat=True))


def test_removed_member_keeps_the_row(world: World) -> None:
    services.remove_member(team=world.team, user=world.responder, by=world.admin)

    row = membership(world.team, world.responder)
    assert row.left_at is not None and row.role == "responder"
    assert acts(world.team)[-1] == "member.remove"


def test_member_who_comes_back_is_one_row_with_the_new_role(world: World) -> None:
    services.remove_member(team=world.team, user=world.responder, by=world.admin)

    services.add_member(team=world.team, user=world.responder, role="viewer", by=world.admin)

    row = membership(world.team, world.responder)
    assert (row.left_at, row.role) == (None, "viewer")


def test_adding_a_member_again_does_not_change_their_role(world: World) -> None:
    services.add_member(team=world.team, user=world.admin, role="viewer", by=None)

    assert membership(world.team, world.admin).role == "admin"


@pytest.mark.parametrize("role", ["viewer", "responder"])
def test_last_admin_keeps_the_role(world: World, role: str) -> None:
    with pytest.raises(services.LastAdmin):
        services.change_role(team=world.team, user=world.admin, role=role, by=world.admin)

    assert membership(world.team, world.admin).role == "admin"


def test_last_admin_cannot_leave(world: World) -> None:
    with pytest.raises(services.LastAdmin):
        services.remove_member(team=world.team, user=world.admin, by=world.admin)

    assert membership(world.team, world.admin).left_at is None


def test_admin_who_left_does_not_count_as_one(world: World) -> None:
    second = factories.make_member(team=world.team, role="admin")
    services.remove_member(team=world.team, user=second, by=world.admin)

    with pytest.raises(services.LastAdmin):
        services.remove_member(team=world.team, user=world.admin, by=world.admin)


def test_admin_whose_account_is_disabled_does_not_count_as_one(world: World) -> None:
    second = factories.make_member(team=world.team, role="admin")
    User.objects.filter(pk=second.pk).update(is_active=False)

    with pytest.raises(services.LastAdmin):
        services.change_role(team=world.team, user=world.admin, role="viewer", by=world.admin)


def test_one_of_two_admins_can_leave(world: World) -> None:
    factories.make_member(team=world.team, role="admin")

    services.remove_member(team=world.team, user=world.admin, by=world.admin)

    assert membership(world.team, world.admin).left_at is not None


@pytest.mark.django_db(transaction=True)
def test_two_admins_cannot_remove_each_other_at_the_same_moment() -> None:
    team = factories.make_team()
    one, two = (factories.make_member(team=team, role="admin") for _ in range(2))
    ready = threading.Barrier(2)

    def leave(user: User) -> bool:
        ready.wait()
        try:
            services.remove_member(team=team, user=user, by=user)
        except services.LastAdmin:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        left = list(pool.map(leave, [one, two]))

    assert sorted(left) == [False, True]
    assert Membership.objects.filter(team=team, role="admin", left_at=None).count() == 1


def test_changing_somebody_who_left_is_told(world: World) -> None:
    services.remove_member(team=world.team, user=world.responder, by=world.admin)

    with pytest.raises(services.NotAMember, match="Rosa Responder is no member"):
        services.remove_member(team=world.team, user=world.responder, by=world.admin)
    with pytest.raises(services.NotAMember):
        services.change_role(team=world.team, user=world.responder, role="viewer", by=world.admin)


def test_same_role_again_is_no_act(world: World) -> None:
    before = acts(world.team)

    services.change_role(team=world.team, user=world.viewer, role="viewer", by=world.admin)

    assert acts(world.team) == before


# --- Invitations ------------------------------------------------------------------------------------------------------


def invited(world: World, email: str = "new@example.org", role: str = "responder") -> tuple[Invitation, str]:
    return services.invite(team=world.team, email=email, role=role, by=world.admin)


def test_invite_keeps_a_hash_and_the_address_in_lower_case(world: World) -> None:
    invitation, secret = invited(world, "Bob.Ops@Example.com")

    assert invitation.email == "bob.ops@example.com"
    assert len(secret) >= 40
    row = Invitation.objects.filter(pk=invitation.pk).values().get()
    assert secret not in str(row)
    assert acts(world.team)[-1] == "invitation.create"


def test_invite_ends_after_seven_days(world: World) -> None:
    invitation, secret = invited(world)
    services.find_invitation(secret)

    Invitation.objects.filter(pk=invitation.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    assert timedelta(days=6, hours=23) < invitation.expires_at - timezone.now() <= timedelta(days=7)
    with pytest.raises(services.InvitationProblem, match="too old"):
        services.find_invitation(secret)


def test_invite_again_replaces_the_open_invitation(world: World) -> None:
    _, old = invited(world)
    _, new = invited(world, "NEW@example.org", "viewer")

    services.find_invitation(new)
    with pytest.raises(services.InvitationProblem, match="replaced by a newer one"):
        services.find_invitation(old)


def test_invite_a_member_is_refused(world: World) -> None:
    with pytest.raises(services.InvitationProblem, match="member of the team already"):
        invited(world, world.viewer.email.upper())


def test_find_invitation_that_never_was(world: World) -> None:
    for secret in ("", "nonsense", "x" * 5000):
        with pytest.raises(services.InvitationProblem, match="belongs to no invitation"):
            services.find_invitation(secret)


def test_accept_invitation_lets_the_person_in_once(world: World) -> None:
    person = factories.make_user(email="new@example.org")
    _, secret = invited(world)

    services.accept_invitation(secret=secret, user=person)

    assert membership(world.team, person).role == "responder"
    assert acts(world.team)[-2:] == ["invitation.accept", "member.add"]
    with pytest.raises(services.InvitationProblem, match="used already"):
        services.accept_invitation(secret=secret, user=person)


def test_accept_invitation_of_another_address_is_refused(world: World) -> None:
    _, secret = invited(world)

    with pytest.raises(services.InvitationProblem, match="another address"):
        services.accept_invitation(secret=secret, user=world.stranger)

    assert not Membership.objects.filter(team=world.team, user=world.stranger).exists()
    services.find_invitation(secret)  # still open for its owner


def test_revoked_invitation_is_dead(world: World) -> None:
    invitation, secret = invited(world)

    services.revoke_invitation(invitation=invitation, by=world.admin)
    services.revoke_invitation(invitation=invitation, by=world.admin)

    assert acts(world.team).count("invitation.revoke") == 1
    with pytest.raises(services.InvitationProblem, match="taken back"):
        services.find_invitation(secret)


def test_invitation_to_a_closed_team_is_dead(world: World) -> None:
    _, secret = invited(world)
    Team.objects.filter(pk=world.team.pk).update(closed_at=timezone.now())

    with pytest.raises(services.InvitationProblem):
        services.find_invitation(secret)


@pytest.mark.django_db(transaction=True)
def test_two_presses_of_accept_at_once_are_one_membership() -> None:
    team = factories.make_team()
    admin = factories.make_member(team=team, role="admin")
    person = factories.make_user(email="new@example.org")
    _, secret = services.invite(team=team, email=person.email, role="viewer", by=admin)

    def press(_: int) -> bool:
        try:
            services.accept_invitation(secret=secret, user=User.objects.get(pk=person.pk))
        except services.InvitationProblem:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(press, range(4))) == [False, False, False, True]


@pytest.mark.django_db(transaction=True)
def test_two_invitations_of_an_address_at_once_leave_one_open() -> None:
    team = factories.make_team()
    admin = factories.make_member(team=team, role="admin")

    def invite(_: int) -> None:
        try:
            services.invite(team=team, email="new@example.org", role="viewer", by=admin)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(invite, range(4)))

    assert Invitation.objects.filter(team=team, revoked_at=None).count() == 1


# --- People -----------------------------------------------------------------------------------------------------------


def test_create_user_is_known_and_proven(db: None) -> None:
    user = services.create_user(email="Ada@Example.org", name="Ada", by=None)

    assert user.email == "ada@example.org"
    assert user.emailaddress_set.get().verified  # type: ignore[attr-defined]
    assert not user.has_usable_password()


def test_update_profile_changes_only_what_is_named(world: World) -> None:
    services.update_profile(user=world.viewer, theme="dark")

    world.viewer.refresh_from_db()
    assert (world.viewer.theme, world.viewer.name) == ("dark", "Vera Viewer")
    event = AuditEvent.objects.latest("pk")
    assert (event.act, event.before, event.after) == ("person.change", {"theme": "system"}, {"theme": "dark"})


def test_update_profile_does_not_make_an_admin(world: World) -> None:
    for change in ({"is_platform_admin": True}, {"email": "other@example.org"}):
        with pytest.raises(ValueError, match="Nobody changes this"):
            services.update_profile(user=world.viewer, **change)


def test_what_a_removed_member_invited_ends_with_them(world: World) -> None:
    second = factories.make_member(team=world.team, role="admin")
    _, secret = services.invite(team=world.team, email="friend@example.org", role="admin", by=second)
    others, _ = services.invite(team=world.team, email="wanted@example.org", role="viewer", by=world.admin)

    services.remove_member(team=world.team, user=second, by=world.admin)

    with pytest.raises(services.InvitationProblem, match="taken back"):
        services.find_invitation(secret)
    others.refresh_from_db()
    assert others.revoked_at is None
    assert acts(world.team)[-2:] == ["member.remove", "invitation.revoke"]
