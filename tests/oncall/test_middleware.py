"""The headers of every answer."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from oncall.middleware import ContentSecurityPolicyMiddleware


@pytest.fixture
def answer(rf: RequestFactory) -> HttpResponse:
    return ContentSecurityPolicyMiddleware(lambda request: HttpResponse("ok"))(rf.get("/"))


def test_policy_allows_this_program_and_nothing_else(answer: HttpResponse) -> None:
    assert answer["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


@pytest.mark.parametrize("feature", ["camera", "microphone", "geolocation"])
def test_policy_switches_off_what_is_not_used(answer: HttpResponse, feature: str) -> None:
    assert f"{feature}=()" in answer["Permissions-Policy"]
