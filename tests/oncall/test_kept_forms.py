"""Forms that are sent after their session or their token ended."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.models import Incident, Note
from tests import factories
from tests.conftest import World

WORDS = "the pool is too small\nfor the nightly <b>reindex</b>"


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


def note_address(incident: Incident) -> str:
    return reverse("note_add", args=[incident.project.key, incident.number])


def hidden_and_written(page: str) -> dict[str, str]:
    """Return what the page's form would send, as a browser reads it."""
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    written = re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.S)
    return fields | {name: value.replace("&lt;", "<").replace("&gt;", ">") for name, value in written}


def test_a_form_that_is_sent_after_the_session_ended_is_given_back_and_can_be_sent(
    world: World, incident: Incident
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(reverse("account_login"))
    token = client.cookies["csrftoken"].value

    lost = client.post(note_address(incident), {"note": WORDS, "csrfmiddlewaretoken": token})
    assert lost.status_code == 403
    assert "You were signed out before this was sent." in lost.content.decode()
    assert "<b>" not in lost.content.decode().split("<textarea", 1)[1]

    client.force_login(world.responder)  # in another tab
    sent = client.post(note_address(incident), hidden_and_written(lost.content.decode()))

    assert sent.status_code == 302
    assert Note.objects.get().text == WORDS


def test_a_form_whose_token_is_out_of_date_is_given_back_with_a_fresh_one(world: World, incident: Incident) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.responder)

    refused = client.post(note_address(incident), {"note": WORDS, "csrfmiddlewaretoken": "a" * 64})
    assert refused.status_code == 403
    sent = client.post(note_address(incident), hidden_and_written(refused.content.decode()))

    assert sent.status_code == 302
    assert Note.objects.get().text == WORDS


def test_signing_in_leads_back_to_the_page_and_not_to_the_form(world: World, incident: Incident) -> None:
    page = incident.get_absolute_url()

    answer = Client().post(note_address(incident), {"note": WORDS}, headers={"Referer": f"http://testserver{page}"})

    assert f'href="{reverse("account_login")}?next={page.replace("/", "%2F")}"' in answer.content.decode()


@pytest.mark.parametrize("csrf", [True, False], ids=["csrf", "signed out"])
def test_another_sites_form_is_not_given_back(world: World, incident: Incident, csrf: bool) -> None:
    client = Client(enforce_csrf_checks=csrf)
    if csrf:
        client.force_login(world.responder)

    answer = client.post(note_address(incident), {"note": WORDS}, headers={"Origin": "https://evil.example"})

    assert "the pool is too small" not in answer.content.decode()


def test_a_form_with_a_password_is_not_given_back(world: World) -> None:
    client: Any = Client()

    answer = client.post(reverse("account_change_password"), {"oldpassword": "correct horse battery"})

    assert "correct horse battery" not in answer.content.decode()
