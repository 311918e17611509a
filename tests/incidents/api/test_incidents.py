"""Incidents and their investigations by API: only one's own, each once, no primary keys and no banks."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from incidents.models import Diagnosis, Incident, Investigation, MemoryRecord
from incidents.services import deliveries, diagnosing, incidents, investigations, memory
from teams.models import Bank, BankAssignment, User
from tests import factories
from tests.conftest import World

URL = "/api/v1/incidents/"
SIMILAR = "search-api in prod-eu answers 502 again\n" + factories.POOL_ALERT.split("\n", 2)[2]


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    settings.LLM = "offline"


@pytest.fixture
def client(world: World) -> Client:
    return reader(world.project, world.admin)


def reader(project: Any, by: User) -> Client:
    key = factories.make_key(project=project, by=by, scopes=["incidents:read"])
    return Client(headers={"Authorization": f"Bearer {key}"})


def open_many(project: Any, count: int, start: int = 0) -> None:
    alerts = [{"title": f"Alert {chr(97 + n // 26)}{chr(97 + n % 26)}"} for n in range(start, start + count)]
    body = json.dumps({"alerts": alerts}).encode()
    deliveries.receive(project=project, body=body, content_type="application/json", source="api")


def investigated(incident: Incident, by: User) -> Investigation:
    investigation = investigations.start(incident=incident, by=by)
    for diagnosis in investigation.diagnoses.order_by("-kind"):
        diagnosing.run_diagnosis(diagnosis.pk)
    return investigation


@pytest.fixture
def known(world: World) -> Incident:
    """An incident whose investigation cites the outcome of an earlier one."""
    first = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=first, by=world.responder)
    for record in MemoryRecord.objects.all():
        memory.sync_record(record.pk)
    incident = factories.make_incident(project=world.project, by=world.responder, text=SIMILAR)
    investigated(incident, world.responder)
    return incident


# --- Lists ------------------------------------------------------------------------------------------------------------


def test_the_list_has_the_projects_incidents_newest_first(world: World, client: Client) -> None:
    open_many(world.project, 3)
    open_many(world.other_project, 2)

    said = client.get(URL).json()

    assert [row["ref"] for row in said["results"]] == ["SEARCH-3", "SEARCH-2", "SEARCH-1"]
    assert said["next"] is None
    assert [row["ref"] for row in reader(world.other_project, world.outsider).get(URL).json()["results"]] == [
        "PAY-2",
        "PAY-1",
    ]


def test_each_incident_comes_once_page_by_page_while_new_ones_arrive(world: World, client: Client) -> None:
    open_many(world.project, 60)
    moment = datetime(2026, 11, 30, tzinfo=UTC)
    Incident.objects.update(created_at=moment)  # the hardest case: all at the same time
    seen: list[str] = []
    url: str | None = f"{URL}?page_size=5"

    while url:
        page = client.get(url).json()
        seen += [row["ref"] for row in page["results"]]
        if len(seen) in (10, 25):
            open_many(world.project, 2, start=60 + len(seen))
        url = page["next"]

    assert sorted(seen) == sorted(f"SEARCH-{number}" for number in range(1, 61))


@pytest.mark.parametrize(("size", "rows"), [("2", 2), ("201", 3), ("1" + "0" * 20, 3), ("9" * 5000, 3), ("02", 2)])
def test_a_page_size_has_an_end(world: World, client: Client, size: str, rows: int) -> None:
    open_many(world.project, 3)

    assert len(client.get(f"{URL}?page_size={size}").json()["results"]) == rows


@pytest.mark.parametrize("size", ["-1", "0", "00", "x", "", "%00", "1.5", "²"])
def test_a_page_size_that_is_none_names_itself(client: Client, size: str) -> None:
    answer = client.get(URL, {"page_size": size} if size != "%00" else {"page_size": "\x00"})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "page_size")


@pytest.mark.parametrize("cursor", ["", "garbage", "\x00", "cD0x", "7d5c1d62-4b7e-4b4e-9d3e-0c2f7a7b9f10"])
def test_a_cursor_that_is_none_names_itself(world: World, client: Client, cursor: str) -> None:
    open_many(world.project, 3)

    answer = client.get(URL, {"cursor": cursor})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "cursor")


def test_a_cursor_holds_when_its_incident_leaves_the_filter(world: World, client: Client) -> None:
    open_many(world.project, 3)
    following = client.get(URL, {"status": "open", "page_size": 1}).json()["next"]
    last = Incident.objects.get(number=3)
    incidents.close(incident=last, reason="recovered", duplicate_of=None, by=world.responder)

    assert [row["ref"] for row in client.get(following).json()["results"]] == ["SEARCH-2"]


def test_a_cursor_of_another_project_is_none(world: World, client: Client) -> None:
    foreign = factories.make_incident(project=world.other_project, by=world.outsider)

    assert client.get(URL, {"cursor": str(foreign.public_id)}).status_code == 400


def test_filters_name_what_is_wrong(world: World, client: Client) -> None:
    open_many(world.project, 2)

    assert len(client.get(f"{URL}?status=open&project=SEARCH").json()["results"]) == 2
    assert client.get(f"{URL}?status=resolved").json()["results"] == []
    assert client.get(f"{URL}?project=PAY").json()["results"] == []
    assert client.get(f"{URL}?project=%00").json()["results"] == []
    answer = client.get(f"{URL}?status=lost")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "status")


def test_the_list_takes_as_many_queries_for_many_as_for_one(
    world: World, client: Client, django_assert_max_num_queries: Any
) -> None:
    open_many(world.project, 40)
    investigations.start(incident=Incident.objects.latest("number"), by=world.responder)
    client.get(URL)  # notes the key's use

    with django_assert_max_num_queries(4):
        client.get(URL)


# --- One incident -----------------------------------------------------------------------------------------------------


def test_an_incident_is_read_by_its_name(world: World, client: Client) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)

    said = client.get(f"{URL}SEARCH-1/").json()

    assert (said["id"], said["ref"], said["status"]) == (str(incident.public_id), "SEARCH-1", "open")
    assert (said["environment"], said["alert_count"], said["investigation"]) == ("prod-eu", 1, None)


@pytest.mark.parametrize(
    "name", ["SEARCH-2", "PAY-1", "search-1", "NONE-1", "SEARCH-0", "SEARCH-" + "9" * 40, "SEARCH%00-1", "-1"]
)
def test_what_is_not_there_or_not_yours_is_a_404(world: World, client: Client, name: str) -> None:
    factories.make_incident(project=world.project, by=world.responder)
    factories.make_incident(project=world.other_project, by=world.outsider)

    for path in (f"{URL}{name}/", f"{URL}{name}/investigations/"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_person_reads_by_session(world: World, signed_in: Any) -> None:
    factories.make_incident(project=world.project, by=world.responder)

    assert signed_in(world.viewer).get(f"{URL}SEARCH-1/").status_code == 200
    assert signed_in(world.outsider).get(f"{URL}SEARCH-1/").status_code == 404
    assert Client().get(f"{URL}SEARCH-1/").status_code == 401


# --- Investigations ---------------------------------------------------------------------------------------------------


def test_an_investigation_has_its_steps_and_both_answers_with_evidence(client: Client, known: Incident) -> None:
    (run,) = client.get(f"{URL}{known.ref}/investigations/").json()["results"]
    said = client.get(run["api_url"]).json()

    assert (said["state"], said["pattern"], said["memory"]) == ("finished", "known_here", "matched")
    assert [row["kind"] for row in said["diagnoses"]] == ["alert_only", "with_memory"]
    assert {step["diagnosis"] for step in said["steps"]} == {"alert_only", "with_memory"}
    assert "recall_project_memory" in [step["name"] for step in said["steps"]]
    alert_only, with_memory = said["diagnoses"]
    assert alert_only["evidence"] == []
    evidence = with_memory["evidence"][0]
    assert (evidence["ref"], evidence["scope"], evidence["incident"]) == ("P1", "own", "SEARCH-1")
    assert evidence["accepted"]
    assert evidence["quote"]
    assert with_memory["simulated"]


def test_no_bank_and_no_primary_key_leaves(client: Client, known: Incident) -> None:
    run = client.get(f"{URL}{known.ref}/investigations/").json()["results"][0]
    said = client.get(run["api_url"]).content.decode()

    for bank in Bank.objects.all():
        assert bank.bank_id not in said
    for record in MemoryRecord.objects.all():
        assert str(record.document_id) not in said
    assert '"pk"' not in said


def test_a_forgotten_memory_is_cited_without_its_text(client: Client, known: Incident, world: World) -> None:
    record = MemoryRecord.objects.get(kind=MemoryRecord.Kind.VERIFIED_RESOLUTION)
    memory.forget(record=record, by=world.admin)

    assert _cited(client, known)["quote"] is None


def test_a_memory_that_may_no_longer_be_read_is_cited_without_text_and_origin(
    client: Client, known: Incident, world: World
) -> None:
    record = MemoryRecord.objects.get(kind=MemoryRecord.Kind.VERIFIED_RESOLUTION)
    other = factories.make_project(team=world.team)
    bank = BankAssignment.objects.get(project=other, access=BankAssignment.Access.OWN).bank
    MemoryRecord.objects.filter(pk=record.pk).update(bank=bank)  # as if it had come from another project's bank
    assert (_cited(client, known)["quote"], _cited(client, known)["record"]) == (None, None)

    BankAssignment.objects.create(project=world.project, bank=bank, access=BankAssignment.Access.READ)
    assert _cited(client, known)["quote"]


def _cited(client: Client, incident: Incident) -> dict[str, Any]:
    run = client.get(f"{URL}{incident.ref}/investigations/").json()["results"][0]
    return client.get(run["api_url"]).json()["diagnoses"][1]["evidence"][0]  # type: ignore[no-any-return]


def test_an_investigation_of_another_incident_is_a_404(client: Client, known: Incident, world: World) -> None:
    run = Investigation.objects.get()

    assert client.get(f"{URL}SEARCH-1/investigations/{run.public_id}/").status_code == 404
    other = reader(world.other_project, world.outsider)
    assert other.get(f"{URL}{known.ref}/investigations/{run.public_id}/").status_code == 404


def test_an_investigation_takes_a_constant_number_of_queries(
    client: Client, known: Incident, django_assert_max_num_queries: Any
) -> None:
    url = client.get(f"{URL}{known.ref}/investigations/").json()["results"][0]["api_url"]
    assert Diagnosis.objects.count() == 2

    with django_assert_max_num_queries(9):
        client.get(url)
