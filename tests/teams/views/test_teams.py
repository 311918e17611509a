import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from teams import services
from teams.models import Invitation, Membership, Project
from tests import factories
from tests.conftest import World

TEAM = "/teams/discovery/"


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


def test_viewer_sees_the_team_without_a_form_to_change_it(world: World, signed_in: Any) -> None:
    services.invite(team=world.team, email="new@example.org", role="viewer", by=world.admin)

    page = signed_in(world.viewer).get(TEAM)

    assert "Rosa Responder" in words(page) and "SEARCH" in words(page)
    assert "new@example.org" not in words(page)
    main = page.content.decode().split("<main")[1].split("</main>")[0]
    assert "<form" not in main


def test_admin_sees_a_form_for_each_member_but_the_last_admin(world: World, signed_in: Any) -> None:
    page = signed_in(world.admin).get(TEAM).content.decode()

    assert f"/members/{world.viewer.public_id}/" in page
    assert f"/members/{world.admin.public_id}/" not in page
    assert "last admin, can’t leave" in page


def test_role_is_changed(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)

    response = client.post(f"{TEAM}members/{world.viewer.public_id}/", {"role": "responder"})

    assert response.status_code == 302
    assert Membership.objects.get(team=world.team, user=world.viewer).role == "responder"
    assert "Vera Viewer has the role responder now." in words(client.get(TEAM))


def test_role_that_is_none_is_refused(world: World, signed_in: Any) -> None:
    response = signed_in(world.admin).post(f"{TEAM}members/{world.viewer.public_id}/", {"role": "owner"})

    assert response.status_code == 400
    assert "Choose one of the roles." in words(response)


def test_last_admin_is_told_why(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)

    for response in (
        client.post(f"{TEAM}members/{world.admin.public_id}/", {"role": "viewer"}),
        client.post(f"{TEAM}members/{world.admin.public_id}/remove/"),
    ):
        assert response.status_code == 409
        assert "A team keeps at least one admin." in words(response)


def test_removing_asks_once_and_names_the_person(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)

    question = client.get(f"{TEAM}members/{world.viewer.public_id}/remove/")
    assert "Remove Vera Viewer from Discovery?" in words(question)
    assert Membership.objects.get(team=world.team, user=world.viewer).left_at is None
    client.post(f"{TEAM}members/{world.viewer.public_id}/remove/")

    assert Membership.objects.get(team=world.team, user=world.viewer).left_at is not None


def test_removed_member_is_out_at_the_next_request(world: World, signed_in: Any) -> None:
    client = signed_in(world.viewer)
    assert client.get(TEAM).status_code == 200

    services.remove_member(team=world.team, user=world.viewer, by=world.admin)

    assert client.get(TEAM).status_code == 404


def test_admin_who_leaves_lands_at_home(world: World, signed_in: Any) -> None:
    factories.make_member(team=world.team, role="admin")

    response = signed_in(world.admin).post(f"{TEAM}members/{world.admin.public_id}/remove/")

    assert response.headers["Location"] == "/"


def test_invitation_link_is_shown_once(world: World, signed_in: Any) -> None:
    client = signed_in(world.admin)

    page = client.post(f"{TEAM}invitations/", {"email": "New@Example.org", "role": "viewer"})

    link = re.search(r"http://testserver(/invitations/[\w-]+/)", page.content.decode())
    assert link and "new@example.org is invited." in words(page)
    assert client.get(link[1]).status_code == 200
    again = client.get(TEAM)
    assert "new@example.org" in words(again) and "/invitations/" + link[1].split("/")[2] not in again.content.decode()
    assert page.headers["Cache-Control"].startswith("max-age=0, no-cache, no-store")


@pytest.mark.parametrize("email", ["", "nobody", "a\x00@example.org", "x" * 300 + "@example.org"])
def test_invitation_of_no_address_comes_back_with_what_was_typed(world: World, signed_in: Any, email: str) -> None:
    response = signed_in(world.admin).post(f"{TEAM}invitations/", {"email": email, "role": "viewer"})

    assert response.status_code == 400
    assert 'option value="viewer" selected' in response.content.decode()
    assert not Invitation.objects.exists()


def test_invitation_of_a_member_is_refused_at_the_field(world: World, signed_in: Any) -> None:
    response = signed_in(world.admin).post(f"{TEAM}invitations/", {"email": world.viewer.email, "role": "viewer"})

    assert response.status_code == 400
    assert "This address belongs to a member of the team already." in words(response)


def test_invitation_is_taken_back(world: World, signed_in: Any) -> None:
    invitation, secret = services.invite(team=world.team, email="new@example.org", role="viewer", by=world.admin)
    client = signed_in(world.admin)

    client.post(f"{TEAM}invitations/{invitation.public_id}/revoke/")

    assert client.get(f"/invitations/{secret}/").status_code == 410
    assert "Nobody is invited right now." in words(client.get(TEAM))


def test_invitation_that_is_too_old_is_not_listed(world: World, signed_in: Any) -> None:
    services.invite(team=world.team, email="new@example.org", role="viewer", by=world.admin)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))

    assert "new@example.org" not in words(signed_in(world.admin).get(TEAM))


def test_project_is_made_and_its_settings_open(world: World, signed_in: Any) -> None:
    response = signed_in(world.admin).post(f"{TEAM}projects/", {"key": "cat", "name": "Catalogue"})

    assert response.headers["Location"] == "/projects/CAT/settings/"
    assert Project.objects.get(key="CAT").team == world.team


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("SEARCH", "This key was given before."),
        ("PAY", "This key was given before."),  # of another team: keys are global
        ("1", "Two to ten capitals and digits, a capital first."),
        ("A-B", "Two to ten capitals and digits, a capital first."),
        ("", "This field is required."),
    ],
)
def test_project_with_a_wrong_key_comes_back_with_what_was_typed(
    world: World, signed_in: Any, key: str, sentence: str
) -> None:
    response = signed_in(world.admin).post(f"{TEAM}projects/", {"key": key, "name": "Catalogue"})

    assert response.status_code == 400
    assert sentence in words(response)
    assert 'value="Catalogue"' in response.content.decode()


def test_names_are_shown_as_text(world: World, signed_in: Any) -> None:
    world.viewer.name = "<b>x</b> {{ y }}"
    world.viewer.save()

    assert "&lt;b&gt;x&lt;/b&gt; {{ y }}" in signed_in(world.admin).get(TEAM).content.decode()


def test_team_page_has_each_id_once(world: World, signed_in: Any) -> None:
    ids = re.findall(r'\sid="([^"]+)"', signed_in(world.admin).get(TEAM).content.decode())

    assert len(ids) == len(set(ids))
