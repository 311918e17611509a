"""Alerts by API: any body is taken, and the answer says what became of it."""

import gzip
import io
import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from incidents.models import Delivery, Incident
from tests import factories
from tests.conftest import World

URL = "/api/v1/alerts"


@pytest.fixture
def key(world: World) -> str:
    return factories.make_key(project=world.project, by=world.admin)


def post(key: str | None, body: bytes | str | dict[str, Any], url: str = URL, **headers: Any) -> Any:
    raw = json.dumps(body) if isinstance(body, dict) else body
    more = {"headers": {"Authorization": f"Bearer {key}"}} if key else {}
    return Client().generic(
        "POST", url, raw, content_type=headers.pop("content_type", "application/json"), **more, **headers
    )


def problem(answer: HttpResponse) -> dict[str, Any]:
    assert answer["Content-Type"] == "application/problem+json"
    return json.loads(answer.content)  # type: ignore[no-any-return]


def test_an_alert_is_accepted_with_its_delivery_and_incident(world: World, key: str) -> None:
    answer = post(key, {"title": "Disk full", "service": "db"})

    delivery = Delivery.objects.get()
    said = answer.json()
    assert answer.status_code == 202
    assert (said["delivery"], said["state"], said["problem"]) == (str(delivery.public_id), "read", None)
    assert (said["result"], said["incident"]["ref"]) == ("new", "SEARCH-1")
    assert said["incident"]["url"] == "http://testserver/incidents/SEARCH-1/"
    assert [alert["title"] for alert in said["alerts"]] == ["Disk full"]
    assert (delivery.source, delivery.received_by) == ("api", None)
    assert delivery.received_with is not None
    assert delivery.received_with.project == world.project


def test_a_repeat_says_so_with_or_without_the_slash(key: str) -> None:
    assert post(key, {"title": "Disk full"}).json()["result"] == "new"
    assert post(key, {"title": "Disk full"}, url=f"{URL}/").json()["result"] == "repeat"


def test_every_alert_of_a_body_names_its_incident(key: str) -> None:
    said = post(key, {"alerts": [{"title": "Disk full"}, {"title": "CPU high"}]}).json()

    assert said["incident"]["ref"] == "SEARCH-1"
    assert [alert["incident"]["ref"] for alert in said["alerts"]] == ["SEARCH-1", "SEARCH-2"]


def test_a_resolved_alert_that_nobody_knows_opens_nothing(key: str) -> None:
    said = post(key, {"title": "Disk full", "status": "resolved"}).json()

    assert (said["state"], said["result"], said["incident"], said["alerts"]) == ("read", None, None, [])


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"search-api is down", {"content_type": "text/plain"}),
        (b"search-api is down", {"content_type": ""}),
        (b"payload=x", {"content_type": "application/x-www-form-urlencoded"}),
        (b"--x\r\nbroken multipart", {"content_type": "multipart/form-data; boundary=x"}),
        (b'{"title": "t"}', {"content_type": "application/json; charset=klingon"}),
        (b'{"title": "t"}', {"HTTP_ACCEPT": "text/html"}),
        (gzip.compress(b'{"title": "t"}', mtime=0), {"HTTP_CONTENT_ENCODING": "gzip"}),
        (b"\xef\xbb\xbf" + b'{"title": "t"}', {}),
    ],
)
def test_no_header_keeps_an_alert_out(key: str, body: bytes, headers: dict[str, str]) -> None:
    answer = post(key, body, **headers)

    assert answer.status_code == 202
    assert answer.json()["state"] == "read"


@pytest.mark.parametrize("body", [b"[" * 20_000 + b"]" * 20_000, b'{"title": NaN}', b"\xfa\xfd\x00" * 99, b"{"])
def test_what_cannot_be_parsed_is_kept_and_says_why(key: str, body: bytes) -> None:
    answer = post(key, body)

    assert answer.status_code == 202
    assert (answer.json()["state"], answer.json()["result"]) == ("unparsed", "new")
    assert answer.json()["problem"]
    assert bytes(Delivery.objects.get().body) == body


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_an_empty_body_is_a_400_that_names_the_body(key: str, body: bytes) -> None:
    answer = post(key, body)

    said = problem(answer)
    assert (answer.status_code, said["code"]) == (400, "empty")
    assert said["errors"] == [{"field": "body", "detail": "The alert is empty.", "code": "empty"}]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"x" * 2_000_000, {}),
        (b"x" * 5_000_000, {}),
        (gzip.compress(b"0" * 100_000_000, mtime=0), {"HTTP_CONTENT_ENCODING": "gzip"}),
    ],
    ids=["2 MB", "5 MB", "bomb"],
)
def test_a_body_that_is_too_large_is_a_413(key: str, body: bytes, headers: dict[str, str]) -> None:
    answer = post(key, body, **headers)

    said = problem(answer)
    assert (answer.status_code, said["code"], said["errors"][0]["field"]) == (413, "too_large", "body")
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(("size", "status"), [(10, 202), (1_000_001, 413)])
def test_a_body_that_comes_in_chunks_is_read_to_its_end(key: str, size: int, status: int) -> None:
    chunked = {
        "wsgi.input": io.BytesIO(b"x" * size),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
    }

    assert post(key, b"", **chunked).status_code == status


def test_a_key_comes_before_the_body(world: World, key: str) -> None:
    reader = factories.make_key(project=world.project, by=world.admin, scopes=["incidents:read"])

    for caller, status in [(None, 401), ("occ_abcdefgh_" + "k" * 32, 401), (f"{key[:-1]}!", 401), (reader, 403)]:
        answer = post(caller, b"x" * 2_000_000)
        assert (answer.status_code, problem(answer)["status"]) == (status, status)
    assert not Delivery.objects.exists()


def test_a_session_sends_no_alerts(world: World, signed_in: Any) -> None:
    answer = signed_in(world.admin).post(URL, b"{}", content_type="application/json")

    assert answer.status_code == 401


def test_headers_are_not_kept(key: str) -> None:
    post(key, {"title": "t"})

    assert key not in str(Delivery.objects.values())
    assert not Incident.objects.filter(search_text__contains=key).exists()
