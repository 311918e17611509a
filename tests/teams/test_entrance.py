from typing import Any

import pytest
from django.test import RequestFactory

from teams import entrance


@pytest.mark.parametrize(
    ("proxies", "header", "expected"),
    [
        (0, None, "127.0.0.1"),
        (0, "198.51.100.9", "127.0.0.1"),  # nobody is trusted, so the header may say anything
        (1, "198.51.100.9", "198.51.100.9"),
        (1, "10.0.0.1, 198.51.100.9", "198.51.100.9"),  # the first is what the client wrote itself
        (2, "198.51.100.9, 10.0.0.1", "198.51.100.9"),
        (2, "198.51.100.9", "127.0.0.1"),  # fewer entries than proxies: not their work
        (1, "", "127.0.0.1"),
        (1, " , ", "127.0.0.1"),
        (1, "x" * 200, "x" * 45),
    ],
)
def test_client_address_is_what_the_last_trusted_proxy_saw(
    settings: Any, rf: RequestFactory, proxies: int, header: str | None, expected: str
) -> None:
    settings.TRUSTED_PROXY_COUNT = proxies
    request = rf.get("/", headers={"X-Forwarded-For": header} if header is not None else {})

    assert entrance.client_address(request) == expected


@pytest.mark.django_db
def test_header_with_too_few_entries_does_not_break_sign_in(client: Any, settings: Any) -> None:
    settings.TRUSTED_PROXY_COUNT = settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2

    response = client.post(
        "/accounts/login/", {"login": "a@example.org", "password": "x"}, headers={"X-Forwarded-For": "198.51.100.9"}
    )

    assert response.status_code == 200
