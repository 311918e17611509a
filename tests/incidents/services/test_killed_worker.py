"""A worker process that is killed in the middle of its work: what it held ends by itself, once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from incidents import tasks
from incidents.models import Diagnosis, Evidence, Incident, Investigation, MemoryRecord, Step
from incidents.services import diagnosing, investigations
from oncall.clients.memory import get_memory
from tests import factories
from tests.conftest import World
from tests.oncall.clients import groq_server as wire
from tests.oncall.clients import hindsight_server
from tests.oncall.clients.groq_server import GroqServer

WORKER = """
import sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from incidents import tasks
getattr(tasks, sys.argv[2])(**{sys.argv[3]: int(sys.argv[4])})
"""


def wait_until(happened: Callable[[], Any], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def killed_in_the_middle(environment: dict[str, str], task: str, **ids: int) -> Iterator[None]:
    """Start a worker process on a task; it is killed where the block ends."""
    ((name, value),) = ids.items()
    database = str(connection.settings_dict["NAME"])
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, database, task, name, str(value)],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "oncall.settings", **environment},
    ) as worker:
        try:
            yield
        finally:
            worker.kill()


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_leaves_a_run_that_ends_once(world: World, groq: GroqServer) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    investigation = investigations.start(incident=incident, by=world.responder)
    diagnosis = investigation.diagnoses.get(kind=Diagnosis.Kind.WITH_MEMORY)
    groq.script([wire.hang(60)])
    environment = {"ONCALL_LLM": "groq", "GROQ_API_KEY": wire.KEY, "GROQ_BASE_URL": groq.url}
    with killed_in_the_middle(environment, "run_diagnosis", diagnosis_id=diagnosis.pk):
        wait_until(lambda: groq.requests)

    diagnosing.run_diagnosis(diagnosis.pk)
    assert Diagnosis.objects.get(pk=diagnosis.pk).state == Diagnosis.State.RUNNING  # the lease still holds
    Diagnosis.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    for one in investigation.diagnoses.all():
        diagnosing.run_diagnosis(one.pk)

    investigation.refresh_from_db()
    steps = [(step.name, step.status) for step in diagnosis.steps.order_by("sequence")]
    assert investigation.state == Investigation.State.FINISHED
    assert [name for name, status in steps if status != Step.Status.ERROR] == [
        "inspect_alert",
        "recall_project_memory",
        "recall_project_memory",
        "recall_shared_lessons",
        "answer",
        "rules",
    ]
    assert steps.count(("answer", Step.Status.ERROR)) == 1
    assert Incident.objects.get(pk=incident.pk).events.filter(kind="investigated").count() == 1
    assert not Evidence.objects.exists()


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_in_a_retain_leaves_a_record_that_is_retained_once(world: World) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=incident, by=world.responder)
    record = MemoryRecord.objects.get()
    with hindsight_server.running() as server:
        server.answer(200, hindsight_server.bank(record.bank.bank_id))
        server.slow, server.delay = "/memories", 2
        environment = {"ONCALL_MEMORY": "hindsight", "HINDSIGHT_URL": server.url}
        with killed_in_the_middle(environment, "sync_record", record_id=record.pk):
            wait_until(lambda: any("/memories" in path for path, _, _ in server.seen))

    tasks.sync_record(record_id=record.pk)
    record.refresh_from_db()
    assert (record.state, record.attempts) == (MemoryRecord.State.QUEUED, 1)  # the lease still holds
    MemoryRecord.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    tasks.sweep()
    for _ in range(2):  # a message that is delivered twice
        tasks.sync_record(record_id=record.pk)

    record.refresh_from_db()
    kept = [item.document_id for item in get_memory().documents(record.bank.bank_id)]
    assert (record.state, record.confirmed_revision) == (MemoryRecord.State.RECALLABLE, 1)
    assert kept == [str(record.document_id)]
