"""Generic JSON becomes normal alerts; whatever is no alert says why."""

import json
import tracemalloc
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
        json.dumps([{"title": "t"}] * 201),
        "{}",
        '{"alerts": [{}, {}]}',
    ],
)
def test_read_says_why_it_cannot(text: str) -> None:
    with pytest.raises(Unreadable):
        generic.read(text)


@pytest.mark.parametrize("value", ["1e309", "-1e400", "9" * 5000])
def test_absurd_numbers_are_kept_as_text(value: str) -> None:
    (alert,) = generic.read(f'{{"title": "t", "value": {value}}}')

    assert f"value: {value}" in alert.text


@pytest.mark.parametrize(
    "started", ["0001-01-01T00:00:00Z", "soon", "2026-13-45", "99999999999999", "²²²²²²²²²²", "9999999999"]
)
def test_an_absurd_start_is_none(started: str) -> None:
    (alert,) = generic.read(json.dumps({"title": "t", "started_at": started}))

    assert alert.started_at is None


def test_read_takes_a_status_and_a_severity_that_stand_once_for_all() -> None:
    body = {"status": "resolved", "severity": "crit", "alerts": [{"title": "a"}, {"title": "b", "status": "firing"}]}

    assert [(alert.status, alert.severity) for alert in generic.read(json.dumps(body))] == [
        ("resolved", "critical"),
        ("firing", "critical"),
    ]


def test_an_alert_of_a_list_goes_by_its_own_name() -> None:
    body = {
        "title": "[FIRING:2]",
        "alerts": [{"labels": {"alertname": "a"}}, {"annotations": {"summary": "b"}}, {"x": 1}],
    }

    assert [alert.title for alert in generic.read(json.dumps(body))] == ["a", "b", "[FIRING:2]"]


def test_a_title_is_found_inside() -> None:
    (alert,) = generic.read('{"event": {"by": {"name": "Rosa"}, "issue": {"title": "Disk full"}, "title": "later"}}')

    assert alert.title == "Disk full"


def test_read_keeps_what_stands_in_lists_and_says_every_field_once() -> None:
    body = {"title": "t", "labels": {"rack": "r7", "title": "u"}, "fields": [{"name": "queue", "value": 212}, "x"]}

    (alert,) = generic.read(json.dumps(body))

    assert alert.text.split("\n") == [
        "t",
        "fields: x",
        "fields.0.name: queue",
        "fields.0.value: 212",
        "rack: r7",
        "label title: u",
    ]


def test_read_takes_credentials_out_by_the_name_of_their_field() -> None:
    (alert,) = generic.read('{"title": "t", "labels": {"db_password": "correct horse battery", "token": null}}')

    assert "horse" not in alert.text + str(alert.labels)


def test_read_cleans_what_a_database_would_refuse() -> None:
    (alert,) = generic.read('{"title": "a\\u0000b", "deployment": "c\\ud800", "k\\u0000": "v"}')

    assert "\x00" not in alert.text + str(alert.labels)
    (alert.text + str(alert.labels)).encode()  # no lone surrogates


def test_read_says_what_is_common_with_every_alert_within_bounds() -> None:
    body = {"team": "search", "dump": "x" * 50_000, "alerts": [{"title": str(n)} for n in range(200)]}

    alerts = generic.read(json.dumps(body))

    assert len(alerts) == 200
    assert all("team: search" in alert.text and len(alert.text) < 1000 for alert in alerts)


def test_read_of_endless_names_is_bounded() -> None:
    (alert,) = generic.read(json.dumps({"k" * 500_000: {str(n): n for n in range(1900)}}))

    assert len(alert.text) < 1_000_000


@pytest.mark.parametrize("started", ["1796083200", "1796083200000", "1796083200.25", "2026-12-01T00:00:00Z"])
def test_a_start_is_read_in_every_usual_form(started: str) -> None:
    (alert,) = generic.read(json.dumps({"title": "t", "started_at": started}))

    assert alert.started_at == datetime(2026, 12, 1, tzinfo=UTC)


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


def test_too_many_alerts_are_refused_before_what_they_share_is_copied_for_each() -> None:
    shared = {f"k{n}": "v" * 90 for n in range(100)}
    body = json.dumps({**shared, "alerts": [{}] * 100_000})
    tracemalloc.start()

    with pytest.raises(Unreadable):
        generic.read(body)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000


def test_what_many_alerts_share_does_not_make_a_large_text_of_a_small_body() -> None:
    shared = {f"k{n}": "v" * 90 for n in range(100)}
    body = json.dumps({**shared, "service": "api", "alerts": [{"title": str(n)} for n in range(200)]})

    alerts = generic.read(body)

    assert sum(len(alert.text) for alert in alerts) < 300_000
    assert {alert.service for alert in alerts} == {"api"}
