"""Every body that is not empty is kept and becomes an incident; the same problem is one open incident."""

import gzip
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from incidents.models import Alert, Delivery, Incident
from incidents.services import deliveries, incidents
from teams import services
from teams.models import Project, User
from tests import factories
from tests.conftest import World

NOON = datetime.fromisoformat("2026-11-30T12:00:00Z")
MINUTE = timedelta(minutes=1)


def send(project: Project, body: bytes | str | dict[str, Any], *, source: str = "api", **more: Any) -> Delivery:
    """Deliver a body as a machine does."""
    raw = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
    return deliveries.receive(project=project, body=raw, content_type="application/json", source=source, **more)


def paste(project: Project, text: str, by: User, **more: Any) -> Delivery:
    return send(project, text, source="paste", by=by, **more)


def incident_of(delivery: Delivery) -> Incident:
    assert delivery.incident is not None
    return Incident.objects.get(pk=delivery.incident.pk)


def firing(at: datetime, **fields: Any) -> dict[str, Any]:
    return {"title": "Disk full on db", "startsAt": at.isoformat(), **fields}


# --- What is kept -----------------------------------------------------------------------------------------------------

HOSTILE = {
    "binary": bytes(range(256)) * 40,
    "invalid utf-8": b"caf\xe9 latt\xe9 is down",
    "nul": b"search\x00-api is down",
    "only nul": b"\x00\x00\x00",
    "nul in json": b'{"title": "a\\u0000b", "deployment": "c\\u0000d"}',
    "lone surrogates": b'{"title": "a\\ud800b", "service": "c\\udfffd"}',
    "ten thousand lines": b"\n".join(b"ERROR line %d of many" % n for n in range(10_000)),
    "one word": b"x" * 900_000,
    "emoji": "🔥 search is down 👩‍🚒".encode(),
    "right to left": "שרת החיפוש נפל \u202eabc".encode(),
    "deep json": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "nested brackets": b"[" * 20_000 + b"]" * 20_000,
    "nan": b'{"title": "t", "value": NaN}',
    "infinite": b'{"title": "t", "value": 1e309}',
    "endless integer": b'{"title": "t", "value": ' + b"9" * 5000 + b"}",
    "wide json": json.dumps({str(n): n for n in range(5000)}).encode(),
    "long strings": json.dumps({"title": "t" * 70_000, "service": "s" * 70_000, "environment": "e" * 700}).encode(),
    "json null": b"null",
    "json string": b'"down"',
    "empty object": b"{}",
    "control characters": b"\x1b[31mred\x1b[0m \x07 alert",
    "markup": b"<script>alert(1)</script>",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("source", ["api", "paste"])
def test_receive_keeps_whatever_comes_and_opens_an_incident(world: World, body: bytes, source: str) -> None:
    delivery = send(world.project, body, source=source, by=world.responder if source == "paste" else None)

    incident = incident_of(delivery)
    assert bytes(delivery.body) == body
    assert delivery.state in (Delivery.State.READ, Delivery.State.UNPARSED)
    assert delivery.problem != deliveries.NOT_READ  # no reader broke
    assert incident.title
    assert len(incident.title) <= 200
    assert "\x00" not in incidents.alert_text(incident)
    incidents.facts(incident).as_dict()


@pytest.mark.parametrize("body", [b"", b" \n\t ", b"\xef\xbb\xbf", gzip.compress(b"  ", mtime=0)])
def test_receive_refuses_what_is_empty(world: World, body: bytes) -> None:
    with pytest.raises(deliveries.NotAccepted) as refused:
        send(world.project, body)

    assert refused.value.code == "empty"
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("body", [b"x" * 2_000_000, gzip.compress(b"0" * 50_000_000, mtime=0)], ids=["2 MB", "bomb"])
def test_receive_refuses_what_is_too_large_also_once_it_is_unpacked(world: World, body: bytes) -> None:
    with pytest.raises(deliveries.NotAccepted) as refused:
        send(world.project, body, encoding="gzip")

    assert refused.value.code == "too_large"
    assert not Delivery.objects.exists()


def test_receive_says_what_it_could_not_understand(world: World) -> None:
    delivery = send(world.project, b'{"title": "cut')

    assert (delivery.state, delivery.problem) == (Delivery.State.UNPARSED, "The body is not valid JSON.")
    assert Alert.objects.get().text == '{"title": "cut'


def test_receive_redacts_everything_but_the_body(world: World) -> None:
    body = {"title": "login failed password=hunter2", "labels": {"token": "correct horse battery"}, "service": "db"}

    delivery = send(world.project, body)

    alert, incident = Alert.objects.get(), incident_of(delivery)
    kept = f"{alert.text} {alert.title} {alert.facts} {incident.title} {incident.search_text}"
    assert "hunter2" not in kept
    assert "horse" not in kept
    assert b"hunter2" in bytes(delivery.body)


def test_receive_opens_an_incident_for_each_alert_of_a_body(world: World) -> None:
    body = {
        "alerts": [
            {"title": "disk full", "service": "a"},
            {"title": "cpu high"},
            {"title": "disk full", "service": "a"},
        ]
    }

    delivery = send(world.project, body)

    opened = list(Incident.objects.order_by("number").values_list("number", "title", "alert_count"))
    assert opened == [(1, "disk full", 2), (2, "cpu high", 1)]
    assert (incident_of(delivery).number, delivery.result) == (1, Delivery.Result.NEW)
    assert delivery.alerts.count() == 3


def test_receive_takes_title_service_and_severity_from_the_sender(world: World) -> None:
    service = services.create_service(project=world.project, name="search-api", aliases=["search"], by=world.admin)
    body = {
        "title": "Slow",
        "service": "Search",
        "severity": "P1",
        "environment": "prod-eu",
        "startsAt": NOON.isoformat(),
    }

    incident = incident_of(send(world.project, body))

    assert (incident.service, incident.severity, incident.environment) == (service, "critical", "prod-eu")
    assert incident.started_at == NOON


def test_an_incident_never_starts_in_the_future(world: World) -> None:
    incident = incident_of(send(world.project, firing(timezone.now() + timedelta(hours=2))))

    assert incident.started_at <= timezone.now()


# --- The same problem again -------------------------------------------------------------------------------------------


def test_a_repeat_joins_the_open_incident(world: World) -> None:
    first = send(world.project, firing(NOON))
    seen = incident_of(first).version
    second = send(world.project, firing(NOON + MINUTE))

    incident = incident_of(second)
    assert incident == first.incident
    assert (first.result, second.result) == (Delivery.Result.NEW, Delivery.Result.REPEAT)
    assert (incident.alert_count, Incident.objects.count()) == (2, 1)
    assert incident.version > seen


def test_the_senders_own_key_joins_alerts_that_read_differently(world: World) -> None:
    send(world.project, {"title": "disk 91%", "dedup_key": "disk-db"})
    send(world.project, {"title": "the disk is full", "dedup_key": "disk-db"})
    send(world.project, {"title": "the disk is full", "dedup_key": "other"})

    assert Incident.objects.count() == 2


def test_the_same_alert_in_two_projects_is_two_incidents(world: World) -> None:
    send(world.project, firing(NOON))
    send(world.other_project, firing(NOON))

    assert Incident.objects.count() == 2


def test_what_people_set_survives_every_repeat(world: World) -> None:
    service = services.create_service(project=world.project, name="orders", by=world.admin)
    incident = incident_of(send(world.project, firing(NOON, severity="low")))
    incidents.correct(incident=incident, by=world.responder, severity="critical", service=service, environment="qa")
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder)
    incidents.add_note(incident=incident, text="On it", by=world.responder)
    incidents.add_system_text(incident=incident, text="db: no space left", by=world.responder)
    incidents.acknowledge(incident=incident, by=world.admin)

    send(world.project, firing(NOON + MINUTE, severity="medium"))
    factories.resolve(incident=Incident.objects.get(), by=world.admin)

    now = Incident.objects.get()
    assert (now.severity, now.severity_by) == ("critical", world.responder)
    assert (now.service, now.service_by) == (service, world.responder)
    assert (now.environment, now.environment_by) == ("qa", world.responder)
    assert (now.assignee, now.acknowledged_by, now.resolved_by) == (world.admin, world.admin, world.admin)
    assert now.notes.get().text == "On it"
    assert "no space left" in incidents.alert_text(now)


def test_what_nobody_set_follows_the_alert(world: World) -> None:
    send(world.project, firing(NOON, severity="low"))
    send(world.project, firing(NOON, severity="critical"))

    assert Incident.objects.get().severity == "critical"


def test_a_firing_that_goes_on_after_the_fix_opens_nothing(world: World) -> None:
    incident = incident_of(send(world.project, firing(NOON, severity="low")))
    factories.resolve(incident=incident, by=world.responder)

    for _ in range(3):
        again = send(world.project, firing(NOON, severity="critical"))
        assert (again.incident, again.result) == (incident, Delivery.Result.REPEAT)
    incident.refresh_from_db()
    assert (incident.status, incident.severity, incident.alert_count) == (Incident.Status.RESOLVED, "low", 4)

    later = incident_of(send(world.project, firing(NOON + timedelta(hours=2))))
    assert later != incident
    assert (later.previous, later.status) == (incident, Incident.Status.OPEN)


def test_a_firing_of_a_clock_that_is_ahead_opens_nothing_again(world: World) -> None:
    ahead = timezone.now() + timedelta(hours=1)
    incident = incident_of(send(world.project, firing(ahead)))
    factories.resolve(incident=incident, by=world.responder)

    assert send(world.project, firing(ahead)).incident == incident


def test_an_alert_without_a_start_after_the_fix_is_a_new_incident(world: World) -> None:
    incident = incident_of(send(world.project, {"title": "Disk full"}))
    factories.resolve(incident=incident, by=world.responder)

    assert incident_of(send(world.project, {"title": "Disk full"})).previous == incident


def test_a_paste_joins_an_open_incident_and_never_reopens_a_resolved_one(world: World) -> None:
    text = json.dumps(firing(NOON))
    incident = incident_of(send(world.project, text))
    assert paste(world.project, text, world.responder).incident == incident
    factories.resolve(incident=incident, by=world.responder)

    later = incident_of(paste(world.project, text, world.responder))

    assert (later.previous, later.opened_by) == (incident, world.responder)
    assert Incident.objects.get(pk=incident.pk).status == Incident.Status.RESOLVED


def test_a_resolved_alert_opens_nothing_and_is_shown_where_it_belongs(world: World) -> None:
    unknown = send(world.project, firing(NOON, status="resolved"))
    assert (unknown.incident, unknown.result, unknown.state) == (None, "", Delivery.State.READ)

    incident = incident_of(send(world.project, firing(NOON)))
    send(world.project, firing(NOON, status="resolved"))

    now = Incident.objects.get()
    assert now.status == Incident.Status.OPEN  # a person resolves
    assert (now.alert_count, now.alerts.count()) == (1, 2)
    assert now.version > incident.version


@pytest.mark.django_db(transaction=True)
def test_parallel_deliveries_of_one_problem_open_one_incident(world: World) -> None:
    together = threading.Barrier(8)
    problems: list[Exception] = []

    def deliver(number: int) -> None:
        try:
            together.wait()
            # The same two problems, and in every other delivery in the other order.
            alerts = [{"title": "Disk full"}, {"title": "CPU high"}][:: 1 if number % 2 else -1]
            send(world.project, {"alerts": alerts})
        except Exception as problem:
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=deliver, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert sorted(Incident.objects.values_list("number", "alert_count")) == [(1, 8), (2, 8)]
    assert not Delivery.objects.exclude(state=Delivery.State.READ).exists()


# --- When reading fails -----------------------------------------------------------------------------------------------


@contextmanager
def failing(statement: str, error: Exception) -> Iterator[None]:
    """Let the database fail over every statement that starts so."""

    def execute(run: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith(statement):
            raise error
        return run(sql, *arguments)

    with connection.execute_wrapper(execute):
        yield


def test_a_delivery_that_the_database_failed_is_read_by_the_sweep(world: World) -> None:
    with failing('INSERT INTO "incidents_incident"', OperationalError("gone")):
        delivery = send(world.project, firing(NOON))
    assert (delivery.state, delivery.incident) == (Delivery.State.RECEIVED, None)
    deliveries.sweep()
    assert not Incident.objects.exists()  # it has its time

    Delivery.objects.update(received_at=timezone.now() - timedelta(seconds=11))
    deliveries.sweep()
    deliveries.sweep()

    delivery.refresh_from_db()
    assert (delivery.state, Incident.objects.get()) == (Delivery.State.READ, delivery.incident)
    assert Alert.objects.count() == 1


def test_a_body_that_breaks_its_reader_is_kept_as_text(world: World) -> None:
    calls = iter([RuntimeError("broken")])

    def break_once(run: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith('INSERT INTO "incidents_alert"') and (error := next(calls, None)):
            raise error
        return run(sql, *arguments)

    with connection.execute_wrapper(break_once):
        delivery = send(world.project, firing(NOON))

    assert (delivery.state, delivery.problem) == (Delivery.State.UNPARSED, deliveries.NOT_READ)
    assert "Disk full on db" in Alert.objects.get().text


def test_a_body_that_ended_its_readers_is_left_alone(world: World) -> None:
    delivery = Delivery.objects.create(
        project=world.project,
        source="api",
        body=b'{"title": "poison"}',
        size=19,
        received_at=timezone.now() - MINUTE,
        attempts=deliveries.READ_ATTEMPTS,
    )

    deliveries.sweep()

    delivery.refresh_from_db()
    assert (delivery.state, incident_of(delivery).title) == (Delivery.State.UNPARSED, "An alert that could not be read")


def test_a_delivery_that_somebody_else_took_over_is_not_stored_twice(world: World) -> None:
    def take_over(run: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith('INSERT INTO "incidents_alert"'):
            Delivery.objects.update(lease_token="7d5c1d62-4b7e-4b4e-9d3e-0c2f7a7b9f10")
        return run(sql, *arguments)

    with connection.execute_wrapper(take_over):
        send(world.project, firing(NOON))

    assert not Alert.objects.exists()
    assert not Incident.objects.exists()


def test_reading_twice_is_reading_once(world: World) -> None:
    delivery = send(world.project, firing(NOON))

    deliveries.read(delivery.pk)

    assert Alert.objects.count() == 1


def test_the_sweep_removes_bodies_after_their_time(world: World, settings: Any) -> None:
    old, new = send(world.project, firing(NOON)), send(world.project, firing(NOON))
    Delivery.objects.filter(pk=old.pk).update(
        received_at=timezone.now() - timedelta(days=settings.DELIVERY_RETENTION_DAYS, minutes=1)
    )

    deliveries.sweep()

    old.refresh_from_db()
    new.refresh_from_db()
    assert (bytes(old.body), old.body_removed_at is None) == (b"", False)
    assert (bytes(new.body) != b"", new.body_removed_at) == (True, None)


# --- Real senders -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif("ONCALL_PAYLOADS" not in os.environ, reason="ONCALL_PAYLOADS names no folder of bodies to read")
def test_real_bodies_break_no_reader(world: World) -> None:
    for path in Path(os.environ["ONCALL_PAYLOADS"]).rglob("*.*"):
        delivery = send(world.project, path.read_bytes()[:1_000_000])
        assert delivery.problem != deliveries.NOT_READ, path.name
