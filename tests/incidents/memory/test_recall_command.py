import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from incidents.models import MemoryRecord
from incidents.services.memory import sync_record
from tests import factories
from tests.conftest import World


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("recall", *arguments, stdout=output)
    return output.getvalue()


@pytest.fixture
def record(world: World) -> MemoryRecord:
    factories.resolve(incident=factories.make_incident(project=world.project, by=world.responder), by=world.responder)
    record = MemoryRecord.objects.get()
    sync_record(record.pk)
    return record


def test_recall_prints_what_memory_gives_and_why(record: MemoryRecord) -> None:
    output = run("--project", "search", "search-api: Timeout expired obtaining a connection from the pool, 502s")

    assert "This project: matched." in output
    assert "close   SEARCH-1  SearchApiHighErrorRate" in output
    assert "same symptom (connection pool exhausted)" in output
    assert "Failed attempts: no match." in output
    assert "Shared lessons: off." in output


def test_recall_as_json_names_the_record(record: MemoryRecord) -> None:
    answer = json.loads(run("--project", "SEARCH", "--json", factories.POOL_ALERT))

    own = answer["scopes"][0]
    assert (own["scope"], own["memory"]) == ("this project", "matched")
    [found] = own["memories"]
    assert (found["record"], found["strength"]) == (str(record.public_id), "close")


def test_recall_of_another_project_finds_nothing(record: MemoryRecord) -> None:
    assert "This project: empty." in run("--project", "PAY", factories.POOL_ALERT)


def test_recall_refuses_an_unknown_project(world: World) -> None:
    with pytest.raises(CommandError, match="no project with the key NOPE"):
        run("--project", "NOPE", "anything")
