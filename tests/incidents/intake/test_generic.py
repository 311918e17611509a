"""Generic JSON becomes normal alerts; whatever is no alert says why."""

import json
from datetime import UTC, datetime

import pytest

from incidents.intake import generic, paste
from incidents.intake.body import decode, unpack
from incidents.intake.fingerprint import fingerprint
from incidents.intake.normal import Unreadable
from incidents.reading.facts import read_facts


def test_read_takes_the_known_fields_and_keeps_the_others_in_the_text() -> None:
    body = {
        "title": "Disk 91% on db-3",
        "severity": "P2",
        "service": "db",
        "environment": "prod",
        "startsAt": "2026-11-30T23:00:00Z",
        "dedup_key": "disk-db-3",
        "labels": {"rack": "r7"},
        "unknown": {"deep": [1, "two"]},
    }

    (alert,) = generic.read(json.dumps(body))

    assert (alert.title, alert.severity, alert.service, alert.environment) == ("Disk 91% on db-3", "high", "db", "prod")
    assert alert.dedup_key == "disk-db-3"
    assert alert.started_at == datetime(2026, 11, 30, 23, tzinfo=UTC)
    assert "rack: r7" in alert.text
    assert "unknown.deep: 1, two" in alert.text


def test_read_gives_each_alert_of_a_list_its_own_status() -> None:
    alerts = generic.read(
        json.dumps(
            {
                "status": "firing",
                "commonLabels": {"service": "api"},
                "alerts": [{"title": "a", "status": "firing"}, {"title": "b", "status": "resolved"}],
            }
        )
    )

    assert [(alert.title, alert.status, alert.service) for alert in alerts] == [
        ("a", "firing", "api"),
        ("b", "resolved", "api"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000 + "]" * 20_000,
        '{"a":' * 30 + "1" + "}" * 30,
        "[]",
        "[1, 2]",
        "{",
        '{"title": NaN}',
        json.dumps({str(n): n for n in range(3000)}),
    ],
)
def test_read_says_why_it_cannot(text: str) -> None:
    with pytest.raises(Unreadable):
        generic.read(text)


@pytest.mark.parametrize("value", ["1e309", "-1e400", "9" * 5000])
def test_absurd_numbers_are_kept_as_text(value: str) -> None:
    (alert,) = generic.read(f'{{"title": "t", "value": {value}}}')

    assert f"value: {value}" in alert.text


@pytest.mark.parametrize("started", ["0001-01-01T00:00:00Z", "soon", "2026-13-45", "99999999999999"])
def test_an_absurd_start_is_none(started: str) -> None:
    (alert,) = generic.read(json.dumps({"title": "t", "started_at": started}))

    assert alert.started_at is None


def test_a_paste_of_cut_json_is_text() -> None:
    (alert,) = paste.read('{"title": "cut')

    assert alert.text == '{"title": "cut'


def test_decode_takes_byte_order_marks_and_says_what_it_lost() -> None:
    assert decode(b"\xef\xbb\xbf{}") == ("{}", "")
    assert decode("é".encode("utf-16"))[0] == "é"
    text, problem = decode(b"caf\xe9 \xff")
    assert "�" in text
    assert problem


def test_unpack_stops_at_the_limit() -> None:
    import gzip

    assert unpack(gzip.compress(b"hello"), "gzip", 100) == b"hello"
    with pytest.raises(Unreadable, match="larger"):
        unpack(gzip.compress(b"0" * 50_000_000), "gzip", 1_000_000)
    with pytest.raises(Unreadable, match="not"):
        unpack(b"hello", "gzip", 100)
    with pytest.raises(Unreadable, match="understood"):
        unpack(b"hello", "br", 100)


def test_fingerprint_ignores_what_varies_and_honours_the_senders_key() -> None:
    def of(text: str, **body: str) -> str:
        (alert,) = generic.read(json.dumps({"title": text, **body}))
        return fingerprint(alert, read_facts(alert.text, labels=alert.labels))

    assert of("Disk 91% on db-3") == of("Disk 94% on db-3".replace("94", "91"))
    assert of("Disk 91 percent") == of("Disk 94 percent")
    assert of("Disk 91 percent") != of("Memory 91 percent")
    assert of("anything", dedup_key="k") == of("something else", dedup_key="k")
