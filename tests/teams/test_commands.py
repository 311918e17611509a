"""The first platform admin."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from teams.models import AuditEvent, KnownName, User
from tests.conftest import World


def make_admin(email: str, **options: str) -> str:
    out = StringIO()
    call_command("create_platform_admin", email, stdout=out, **options)
    return out.getvalue()


def link_in(text: str) -> str:
    found = re.search(r"/accounts/password/reset/key/\S+", text)
    assert found, text
    return found[0]


@pytest.mark.django_db
def test_first_platform_admin_sets_a_password_by_the_link_and_signs_in(client: Client) -> None:
    link = link_in(make_admin("Ada@Example.org", name="Ada"))

    form = client.get(link, follow=True)
    client.post(
        form.redirect_chain[-1][0], {"password1": "four plain words here", "password2": "four plain words here"}
    )

    user = User.objects.get(email="ada@example.org")
    assert user.is_platform_admin and user.name == "Ada" and user.check_password("four plain words here")
    client.post("/accounts/login/", {"login": "ada@example.org", "password": "four plain words here"})
    assert client.get("/admin/").status_code == 200


@pytest.mark.django_db
def test_link_works_once() -> None:
    link = link_in(make_admin("ada@example.org"))
    first = Client()
    form = first.get(link, follow=True)
    first.post(form.redirect_chain[-1][0], {"password1": "four plain words here", "password2": "four plain words here"})

    assert "This link does not work any more" in Client().get(link, follow=True).content.decode()


@pytest.mark.django_db
def test_making_a_platform_admin_is_audited_as_a_command() -> None:
    make_admin("ada@example.org", name="Ada")

    user = User.objects.get()
    event = AuditEvent.objects.get(act="person.create")
    assert (event.via, event.actor_id, event.object_id) == ("command", None, str(user.public_id))
    assert event.after == {"platform_admin": True, "lesson_reviewer": False}
    assert set(KnownName.objects.values_list("name", flat=True)) == {"Ada", "ada@example.org"}


def test_somebody_who_is_there_becomes_one_once(world: World) -> None:
    make_admin(world.viewer.email.upper())
    make_admin(world.viewer.email)

    world.viewer.refresh_from_db()
    assert world.viewer.is_platform_admin and world.viewer.name == "Vera Viewer"
    assert AuditEvent.objects.filter(act="person.make_platform_admin").count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("email", ["", "ada", "ada@", "@example.org", "a b@example.org"])
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(CommandError, match="e-mail address"):
        make_admin(email)

    assert not User.objects.exists()


def test_disabled_person_is_not_made_one_in_silence(world: World) -> None:
    User.objects.filter(pk=world.viewer.pk).update(is_active=False)

    with pytest.raises(CommandError, match="disabled"):
        make_admin(world.viewer.email)
