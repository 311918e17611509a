"""Sign-in and the account pages: all in our card and in our words."""

import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from teams.models import User

ENTRANCE = [
    "account_login",
    "account_signup",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key_done",
    "account_email_verification_sent",
    "account_inactive",
]
ACCOUNT = ["account_change_password", "account_email", "account_logout", "account_reauthenticate", "mfa_index"]
# What the program never says, whoever wrote the template.
_NOT_OUR_WORDS = re.compile(r"\bplease\b|\bwe\b|\boops\b|!", re.IGNORECASE)
# The one question that a person asks, over every card.
TAGLINE = "Have we seen this here before, and what fixed it?"


@pytest.fixture
def person(db: None) -> User:
    user = User.objects.create_user(email="rosa@example.com", password="correct horse battery", name="Rosa Responder")
    user.emailaddress_set.create(email=user.email, verified=True, primary=True)
    return user


def assert_is_our_card(content: bytes) -> None:
    page = content.decode()
    assert '<main id="main" class="oc-signin">' in page
    words = re.sub(r"<[^>]*>", " ", page).replace(TAGLINE, "")
    assert not _NOT_OUR_WORDS.findall(words)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ENTRANCE)
def test_entrance_is_drawn_as_a_card(client: Client, name: str) -> None:
    assert_is_our_card(client.get(reverse(name)).content)


@pytest.mark.parametrize("name", ACCOUNT)
def test_account_page_is_drawn_as_a_card(client: Client, person: User, name: str) -> None:
    client.force_login(person)
    assert_is_our_card(client.get(reverse(name)).content)


@pytest.mark.django_db
def test_reset_link_that_was_used_ends_on_a_readable_page(client: Client) -> None:
    response = client.get(reverse("account_reset_password_from_key", args=["0", "set-password"]))
    assert_is_our_card(response.content)
    assert "This link does not work any more" in response.content.decode()


def test_sign_in_that_fails_marks_both_fields_and_names_neither(client: Client, person: User) -> None:
    response = client.post(reverse("account_login"), {"login": person.email, "password": "wrong"})
    page = response.content.decode()
    assert page.count("is-invalid") == 2
    assert 'role="alert"' in page


def test_reset_mail_carries_the_link_in_our_words(client: Client, person: User) -> None:
    client.post(reverse("account_reset_password"), {"email": person.email})
    (message,) = mail.outbox
    assert message.subject == "On-Call Copilot: Set a new password"
    assert "/accounts/password/reset/key/" in message.body
    assert not _NOT_OUR_WORDS.findall(message.body)


@pytest.mark.django_db
def test_reset_of_an_unknown_address_says_the_same_on_the_page(client: Client) -> None:
    response = client.post(reverse("account_reset_password"), {"email": "nobody@example.com"})
    assert response.status_code == 302
    assert response["Location"] == reverse("account_reset_password_done")
