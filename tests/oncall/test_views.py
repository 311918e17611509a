"""Error answers and health checks."""

import re

import pytest
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError
from django.test import RequestFactory
from django.urls import resolve

from oncall import views


def test_server_error_gives_the_reference_that_stands_in_the_log(
    rf: RequestFactory, caplog: pytest.LogCaptureFixture
) -> None:
    request = rf.get("/invitations/a-secret%0aERROR%20forged/")
    request.resolver_match = resolve("/invitations/a-secret/")
    response = views.server_error(request)
    assert response.status_code == 500
    assert "This did not work. Nothing was lost." in response.content.decode()
    (reference,) = re.findall(r"reference <code>(\w+)</code>", response.content.decode())
    assert f"Reference {reference}: GET invitations/<str:secret>/ failed" in caplog.text
    assert "a-secret" not in caplog.text


@pytest.mark.parametrize(
    ("exception", "status", "words"),
    [
        (RequestDataTooBig(), 413, "This is too large."),
        (SuspiciousOperation(), 400, "This request could not be read."),
    ],
)
def test_bad_request_says_what_is_wrong(rf: RequestFactory, exception: Exception, status: int, words: str) -> None:
    response = views.bad_request(rf.get("/"), exception)
    assert response.status_code == status
    assert words in response.content.decode()


def test_healthz_does_not_ask_the_database(rf: RequestFactory) -> None:
    assert views.healthz(rf.get("/healthz")).content == b"ok"


@pytest.mark.django_db
def test_readyz_is_ready_with_a_database(rf: RequestFactory) -> None:
    assert views.readyz(rf.get("/readyz")).status_code == 200


def test_readyz_says_that_the_database_is_away(rf: RequestFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def cursor(self) -> None:
            raise DatabaseError

    monkeypatch.setattr(views, "connection", Away())
    assert views.readyz(rf.get("/readyz")).status_code == 503
