"""How people come in, and what they change of themselves."""

import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.test import Client
from django.urls import reverse

from teams import services
from teams.models import AuditEvent, KnownName, Membership, User
from tests import factories
from tests.conftest import World

SIGN_UP = {"email": "bob.ops@example.com", "name": "Bob Ops", "password1": "four plain words here"}


def invite(world: World, email: str = "Bob.Ops@Example.com") -> str:
    """Return the address of an invitation's link."""
    _, secret = services.invite(team=world.team, email=email, role="responder", by=world.admin)
    return reverse("invitation_accept", args=[secret])


def count() -> tuple[int, int, int]:
    return User.objects.count(), Membership.objects.count(), AuditEvent.objects.count()


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


# --- Invitations ------------------------------------------------------------------------------------------------------


def test_opening_the_link_changes_nothing(world: World, client: Client) -> None:
    link = invite(world)
    before = count()

    for _ in range(5):
        response = client.get(link)
        assert response.status_code == 200

    assert "Ada Admin invited bob.ops@example.com as responder" in words(response)
    assert count() == before


def test_invited_person_signs_up_and_is_in(world: World, client: Client) -> None:
    link = invite(world)

    to_sign_up = client.post(link)
    assert to_sign_up.headers["Location"] == "/accounts/signup/?email=bob.ops%40example.com"
    assert 'value="bob.ops@example.com"' in client.get(to_sign_up.headers["Location"]).content.decode()
    signed_up = client.post(reverse("account_signup"), SIGN_UP)

    assert signed_up.status_code == 302, words(signed_up)
    user = User.objects.get(email="bob.ops@example.com")
    assert user.name == "Bob Ops"
    assert Membership.objects.get(user=user, team=world.team).role == "responder"
    assert user.emailaddress_set.get().verified  # type: ignore[attr-defined]
    assert client.get(reverse("team_detail", args=[world.team.slug])).status_code == 200


def test_signing_up_writes_names_and_acts(world: World, client: Client) -> None:
    client.post(invite(world))
    client.post(reverse("account_signup"), SIGN_UP)

    user = User.objects.get(email="bob.ops@example.com")
    assert set(KnownName.objects.filter(object_id=user.public_id).values_list("name", flat=True)) == {
        "Bob Ops",
        "bob.ops@example.com",
    }
    acts = AuditEvent.objects.filter(actor_id=user.public_id).order_by("pk").values_list("act", "via")
    names = ("person.create", "invitation.accept", "member.add", "person.sign_in")
    assert list(acts) == [(name, "session") for name in names]


def test_signing_up_in_capitals_is_the_same_address(world: World, client: Client) -> None:
    client.post(invite(world, "bob.ops@example.com"))

    client.post(reverse("account_signup"), SIGN_UP | {"email": "BOB.OPS@EXAMPLE.COM"})

    assert User.objects.get(email__iexact="bob.ops@example.com").email == "bob.ops@example.com"


def test_address_that_was_not_invited_cannot_sign_up_with_the_link(world: World, client: Client) -> None:
    client.post(invite(world))
    before = count()

    response = client.post(reverse("account_signup"), SIGN_UP | {"email": "eve@example.com"})

    assert "The invitation was made for another address." in words(response)
    assert count() == before


def test_second_account_for_the_address_is_not_made(world: World, client: Client) -> None:
    client.post(invite(world))
    client.post(reverse("account_signup"), SIGN_UP)
    again = Client()
    services.remove_member(team=world.team, user=User.objects.get(email="bob.ops@example.com"), by=world.admin)
    again.post(invite(world))
    session = again.session
    assert session["invitation"]

    again.post(reverse("account_signup"), SIGN_UP | {"email": "BOB.ops@example.com"})

    assert User.objects.filter(email__iexact="bob.ops@example.com").count() == 1


@pytest.mark.parametrize("end", ["used", "replaced", "revoked", "never"])
def test_link_that_cannot_be_used_ends_on_a_readable_page(world: World, client: Client, end: str) -> None:
    link = invite(world)
    if end == "used":
        other = Client()
        other.post(link)
        other.post(reverse("account_signup"), SIGN_UP)
    elif end == "replaced":
        invite(world)
    elif end == "revoked":
        services.revoke_invitation(invitation=world.team.invitations.get(), by=world.admin)
    else:
        link = reverse("invitation_accept", args=["never-was"])
    before = count()

    for response in (client.get(link), client.post(link)):
        assert response.status_code == 410
        assert "This invitation cannot be used" in words(response)
    assert count() == before


def test_link_used_while_the_form_was_filled_in_makes_no_account(world: World, client: Client) -> None:
    """Two browsers hold the same link; the slower one has the form open when the other is done."""
    link = invite(world)
    client.post(link)
    adapter_sees_open_invitation = services.find_invitation(link.rstrip("/").rsplit("/", 1)[1])
    person = factories.make_user(email="someone@example.org")
    type(adapter_sees_open_invitation).objects.update(accepted_by=person, accepted_at="2026-01-01T00:00Z")
    before = count()

    response = client.post(reverse("account_signup"), SIGN_UP)

    assert "Accounts come by invitation" in words(response)
    assert count() == before


def test_person_with_an_account_signs_in_first_and_then_joins(world: World, client: Client) -> None:
    person = factories.make_user(email="bob.ops@example.com")
    link = invite(world)

    to_sign_in = client.post(link)
    assert to_sign_in.headers["Location"] == f"/accounts/login/?next={link}"
    client.post(to_sign_in.headers["Location"], {"login": person.email, "password": factories.PASSWORD})
    assert "Join Discovery" in words(client.get(link))
    joined = client.post(link)

    assert joined.headers["Location"] == "/"
    assert Membership.objects.get(user=person, team=world.team).role == "responder"


def test_signed_in_with_another_address_is_told(world: World, signed_in: Any) -> None:
    client = signed_in(world.stranger)
    link = invite(world)

    assert f"You are signed in as {world.stranger.email}" in words(client.get(link))
    assert client.post(link).status_code == 410
    assert not Membership.objects.filter(user=world.stranger).exists()


# --- Nobody else gets in ----------------------------------------------------------------------------------------------


def test_sign_up_without_an_invitation_is_closed(world: World, client: Client) -> None:
    before = count()

    for response in (client.get(reverse("account_signup")), client.post(reverse("account_signup"), SIGN_UP)):
        assert "Accounts come by invitation" in words(response)
    assert count() == before


@pytest.mark.parametrize(
    "path", ["/_allauth/browser/v1/auth/signup", "/_allauth/app/v1/auth/signup", "/accounts/social/signup/"]
)
def test_other_doors_do_not_exist(world: World, client: Client, path: str) -> None:
    before = count()

    response = client.post(path, SIGN_UP, content_type="application/json")

    assert response.status_code in (302, 404)
    assert count() == before


def test_sign_in_says_the_same_for_a_known_and_an_unknown_address(world: World) -> None:
    pages = []
    for email in (world.viewer.email, "nobody@example.net"):
        page = words(Client().post(reverse("account_login"), {"login": email, "password": "wrong password"}))
        pages.append(page.replace(email, "…"))

    assert pages[0] == pages[1]


def test_sign_in_is_limited(world: World, client: Client) -> None:
    for _ in range(5):
        client.post(reverse("account_login"), {"login": world.viewer.email, "password": "wrong"})

    response = client.post(reverse("account_login"), {"login": world.viewer.email, "password": factories.PASSWORD})

    assert response.status_code == 200
    assert "_auth_user_id" not in client.session


def test_disabled_person_is_out_at_the_next_request(world: World, signed_in: Any) -> None:
    client = signed_in(world.viewer)
    assert client.get("/profile/").status_code == 200

    User.objects.filter(pk=world.viewer.pk).update(is_active=False)

    assert client.get("/profile/").headers["Location"].startswith("/accounts/login/")


def test_new_password_ends_the_other_sessions(world: World) -> None:
    here, there = Client(), Client()
    for client in (here, there):
        client.post(reverse("account_login"), {"login": world.viewer.email, "password": factories.PASSWORD})
        assert client.get("/profile/").status_code == 200

    changed = here.post(
        reverse("account_change_password"),
        {
            "oldpassword": factories.PASSWORD,
            "password1": "another four plain words",
            "password2": "another four plain words",
        },
    )

    assert changed.status_code == 302
    assert here.get("/profile/").status_code == 200
    assert there.get("/profile/").status_code == 302


# --- Example people ---------------------------------------------------------------------------------------------------


@pytest.fixture
def mei(world: World) -> User:
    person = services.create_user(email="mei@example.com", name="Mei Castellan", by=None)
    services.add_member(team=world.team, user=person, role="viewer", by=None)
    return person


def test_example_person_signs_in_by_a_button(mei: User, client: Client) -> None:
    page = client.get(reverse("account_login")).content.decode()
    assert "Mei Castellan" in page and "mei@example.com" in page

    response = client.post(reverse("demo_login"), {"email": mei.email, "next": "/profile/"})

    assert response.headers["Location"] == "/profile/"
    assert "Mei Castellan" in words(client.get("/profile/"))


def test_example_person_is_not_sent_to_another_site(mei: User, client: Client) -> None:
    for target in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        response = client.post(reverse("demo_login"), {"email": mei.email, "next": target})
        assert response.headers["Location"] == "/"


def test_person_with_a_password_is_no_example_person(world: World, client: Client) -> None:
    response = client.post(reverse("demo_login"), {"email": world.admin.email})

    assert response.status_code == 404
    assert "_auth_user_id" not in client.session


def test_address_that_only_ends_alike_is_no_example_person(world: World, client: Client) -> None:
    services.create_user(email="eve@evil-example.com", name="Eve", by=None, is_platform_admin=True)

    assert client.post(reverse("demo_login"), {"email": "eve@evil-example.com"}).status_code == 404


def test_outside_of_the_local_profile_there_are_no_example_people(mei: User, client: Client, settings: Any) -> None:
    settings.LOCAL = False

    assert "Mei Castellan" not in client.get(reverse("account_login")).content.decode()
    assert client.post(reverse("demo_login"), {"email": mei.email}).status_code == 404


# --- Oneself ----------------------------------------------------------------------------------------------------------


def test_home_of_a_member_is_the_list(world: World, signed_in: Any) -> None:
    assert signed_in(world.viewer).get("/").headers["Location"] == "/incidents/"


@pytest.mark.parametrize(
    ("who", "sentence"),
    [
        ("stranger", "A team’s admin sends an invitation to"),
        ("platform_admin", "You do not read a team’s incidents unless that team invites you."),
        ("reviewer", "As a lesson reviewer you will read anonymised lessons"),
    ],
)
def test_home_without_a_team_says_what_to_do(world: World, signed_in: Any, who: str, sentence: str) -> None:
    assert sentence in words(signed_in(getattr(world, who)).get("/"))


def test_profile_is_saved(world: World, signed_in: Any) -> None:
    client = signed_in(world.viewer)

    response = client.post(
        "/profile/", {"name": "Vera V", "time_zone": "Europe/Berlin", "theme": "dark", "shortcuts_on": ""}
    )

    assert response.status_code == 302
    world.viewer.refresh_from_db()
    assert (world.viewer.name, world.viewer.time_zone, world.viewer.theme, world.viewer.shortcuts_on) == (
        "Vera V",
        "Europe/Berlin",
        "dark",
        False,
    )
    assert KnownName.objects.filter(name="Vera V").exists()


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"time_zone": "Mars/Olympus"}, {"theme": "pink"}, {"name": "x" * 121}, {"name": "a\x00b"}]
)
def test_profile_that_is_wrong_comes_back_with_what_was_typed(
    world: World, signed_in: Any, wrong: dict[str, str]
) -> None:
    client = signed_in(world.viewer)
    typed = {"name": "Typed Name", "time_zone": "UTC", "theme": "light"} | wrong

    response = client.post("/profile/", typed)

    assert response.status_code == 400
    assert "Not saved." in words(response)
    assert "name" in wrong or 'value="Typed Name"' in response.content.decode()
    world.viewer.refresh_from_db()
    assert world.viewer.name == "Vera Viewer"


def test_empty_profile_form_is_refused(world: World, signed_in: Any) -> None:
    assert signed_in(world.viewer).post("/profile/", {}).status_code == 400


def test_theme_button_changes_the_theme_and_goes_back(world: World, signed_in: Any) -> None:
    client = signed_in(world.viewer)

    response = client.post("/profile/theme/", {"theme": "dark", "next": "/incidents/?tab=all"})

    assert response.headers["Location"] == "/incidents/?tab=all"
    assert 'data-bs-theme="dark"' in client.get("/profile/").content.decode()


def test_theme_that_is_none_is_refused(world: World, signed_in: Any) -> None:
    assert signed_in(world.viewer).post("/profile/theme/", {"theme": "pink"}).status_code == 400


def test_new_address_is_known_once_it_is_proven(world: World, signed_in: Any, mailoutbox: Any) -> None:
    client = signed_in(world.viewer)
    client.post("/accounts/login/", {})
    client.post(reverse("account_reauthenticate"), {"password": factories.PASSWORD})

    client.post(reverse("account_email"), {"action_add": "", "email": "Vera@New.example"})
    assert not KnownName.objects.filter(name="vera@new.example").exists()
    link = re.search(r"/accounts/confirm-email/[^/\s]+/", mailoutbox[-1].body)
    assert link
    client.post(link[0])

    assert KnownName.objects.get(name="vera@new.example").object_id == world.viewer.public_id


# --- A second factor --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_second_factor_ends_every_other_session(world: World) -> None:
    world.responder.set_password(SIGN_UP["password1"])
    world.responder.save()
    here, elsewhere = Client(), Client()
    for browser in (here, elsewhere):
        browser.post(reverse("account_login"), {"login": world.responder.email, "password": SIGN_UP["password1"]})
        assert browser.get(reverse("incident_list")).status_code == 200

    activate = reverse("mfa_activate_totp")
    here.post(reverse("account_reauthenticate"), {"password": SIGN_UP["password1"]})
    secret = here.get(activate).context["form"].secret
    code = totp.format_hotp_value(totp.hotp_value(secret, next(totp.yield_hotp_counters_from_time())))
    activated = here.post(activate, {"code": code})

    assert activated.status_code == 302, words(activated)
    assert here.get(reverse("incident_list")).status_code == 200
    turned_away = elsewhere.get(reverse("incident_list"))
    assert turned_away.headers["Location"].startswith(reverse("account_login"))
    elsewhere.post(reverse("mfa_deactivate_totp"))
    assert Authenticator.objects.filter(user=world.responder, type="totp").exists()
    assert AuditEvent.objects.filter(act="person.end_sessions").count() >= 1


def test_an_address_that_a_member_claimed_and_never_proved_keeps_nobody_out(world: World, signed_in: Any) -> None:
    link = invite(world)
    claimant = signed_in(world.outsider)
    claimant.post(reverse("account_email"), {"action_add": "", "email": SIGN_UP["email"]})
    client = Client()
    client.post(link)

    client.post(reverse("account_signup"), SIGN_UP)

    person = User.objects.get(email=SIGN_UP["email"])
    assert Membership.objects.get(user=person).team == world.team
    assert not world.outsider.emailaddress_set.filter(email=SIGN_UP["email"]).exists()


# --- The platform's record --------------------------------------------------------------------------------------------


def platform_acts() -> list[tuple[str, str]]:
    rows = AuditEvent.objects.filter(chain__name="platform").order_by("sequence")
    return [(row.act, row.object_id) for row in rows if row.act.startswith(("person.sign", "write."))]


def test_signing_in_and_out_and_wrong_passwords_stand_in_the_platforms_record(world: World, client: Client) -> None:
    user = world.responder
    user.set_password(SIGN_UP["password1"])
    user.save()

    client.post(reverse("account_login"), {"login": user.email, "password": "not the password"})
    client.post(reverse("account_login"), {"login": "nobody@example.org", "password": "not the password"})
    client.post(reverse("account_login"), {"login": user.email, "password": SIGN_UP["password1"]})
    client.post(reverse("account_logout"))

    whose = str(user.public_id)
    assert platform_acts() == [("person.sign_in_failed", whose), ("person.sign_in", whose), ("person.sign_out", whose)]
    assert "nobody@example.org" not in str(list(AuditEvent.objects.values()))


def test_a_refused_write_stands_in_the_platforms_record(world: World, client: Client) -> None:
    client.force_login(world.viewer)
    address = reverse("project_settings", args=[world.project.key])

    assert client.post(address, {"name": "Mine"}).status_code == 403
    assert client.get(reverse("incident_list")).status_code == 200
    stale = Client(enforce_csrf_checks=True)
    stale.force_login(world.responder)
    assert stale.post(address, {"name": "Mine"}).status_code == 403

    refused = list(AuditEvent.objects.filter(act="write.refused"))
    assert [row.actor_id for row in refused] == [world.viewer.public_id]
    assert refused[0].after == {"to": "projects/<str:key>/settings/"}


def test_who_is_signed_in_as_somebody_else_signs_out_and_is_back_at_the_invitation(world: World) -> None:
    address = invite(world)
    client = Client()
    client.force_login(world.viewer)

    page = client.get(address).content.decode()
    answer = client.post(reverse("account_logout"), {"next": address})

    assert f'<input type="hidden" name="next" value="{address}">' in page
    assert answer.headers["Location"] == address
    assert "Go on" in client.get(address).content.decode()
