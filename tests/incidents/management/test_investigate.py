"""The commands: an alert from standard input to two printed answers, and leases let go."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from incidents.models import Diagnosis, Incident, Investigation, MemoryRecord
from incidents.services import investigations, memory
from tests import factories
from tests.conftest import World


@pytest.fixture(autouse=True)
def offline(settings: Any) -> None:
    settings.LLM = "offline"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    def investigate(alert: str, *arguments: str) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(alert.encode())))
        out = io.StringIO()
        call_command("investigate", *arguments, stdout=out)
        return out.getvalue()

    return investigate


@pytest.fixture
def remembered(world: World) -> Incident:
    incident = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=incident, by=world.responder)
    for record in MemoryRecord.objects.all():
        memory.sync_record(record.pk)
    return incident


def test_investigate_prints_both_answers_with_evidence(world: World, remembered: Incident, run: Any) -> None:
    printed = run(factories.POOL_ALERT, "--project", "search")

    assert "stored like a pasted alert" in printed
    assert "Known here. Memory: matched." in printed
    assert "ALERT ALONE (offline reasoner, not a language model" in printed
    assert "WITH MEMORY" in printed
    assert f"P1 {remembered.ref}, close match" in printed
    assert not Investigation.objects.filter(state__in=Investigation.ACTIVE).exists()


@pytest.mark.parametrize("strategy", ["guided", "autonomous"])
def test_investigate_prints_json(world: World, remembered: Incident, run: Any, strategy: str) -> None:
    printed = json.loads(run(factories.POOL_ALERT, "--project", "SEARCH", "--json", "--strategy", strategy))

    assert printed["strategy"] == strategy
    assert printed["pattern"] == "known_here"
    assert [one["kind"] for one in printed["diagnoses"]] == ["alert_only", "with_memory"]
    [evidence] = [item for item in printed["diagnoses"][1]["evidence"] if item["accepted"]]
    assert evidence["source"] == remembered.ref
    assert evidence["quote"]


def test_investigate_never_waits(world: World, run: Any) -> None:
    printed = run("site feels slow", "--project", "SEARCH")

    assert "Needs more information" in printed
    assert printed.count("Question:") == 6  # three in each answer
    assert not Investigation.objects.filter(state__in=Investigation.ACTIVE).exists()


@pytest.mark.parametrize(
    ("alert", "key", "message"),
    [("x", "NOPE", "no project with the key NOPE"), ("  \n", "SEARCH", "The alert is empty")],
)
def test_investigate_says_what_is_wrong(world: World, run: Any, alert: str, key: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(alert, "--project", key)


def test_release_leases_lets_go_of_everything(world: World) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    investigation = investigations.start(incident=incident, by=world.responder)
    factories.resolve(incident=incident, by=world.responder)
    diagnosis, record = investigation.diagnoses.earliest("pk"), MemoryRecord.objects.get()
    assert Diagnosis.objects.claim(diagnosis.pk)
    assert MemoryRecord.objects.claim(record.pk)
    out = io.StringIO()

    call_command("release_leases", stdout=out)

    assert out.getvalue() == "2 leases released.\n"
    assert Diagnosis.objects.claim(diagnosis.pk)
    assert MemoryRecord.objects.claim(record.pk)
