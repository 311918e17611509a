"""A worker process that is killed in the middle of an investigation: the run ends by itself, once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from incidents.models import Diagnosis, Evidence, Incident, Investigation, Step
from incidents.services import investigations
from tests import factories
from tests.conftest import World
from tests.oncall.clients import groq_server as wire
from tests.oncall.clients.groq_server import GroqServer

WORKER = """
import sys
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from incidents.services import investigations
investigations.run_diagnosis(int(sys.argv[2]))
"""


def wait_until(happened: Callable[[], Any], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_leaves_a_run_that_ends_once(world: World, groq: GroqServer) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)
    investigation = investigations.start(incident=incident, by=world.responder)
    diagnosis = investigation.diagnoses.get(kind=Diagnosis.Kind.WITH_MEMORY)
    groq.script([wire.hang(60)])
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "oncall.settings",
        "ONCALL_LLM": "groq",
        "GROQ_API_KEY": wire.KEY,
        "GROQ_BASE_URL": groq.url,
    }
    command = [sys.executable, "-c", WORKER, str(connection.settings_dict["NAME"]), str(diagnosis.pk)]
    with subprocess.Popen(command, env=environment) as worker:
        try:
            wait_until(lambda: groq.requests)
        finally:
            worker.kill()

    investigations.run_diagnosis(diagnosis.pk)
    assert Diagnosis.objects.get(pk=diagnosis.pk).state == Diagnosis.State.RUNNING  # the lease still holds
    Diagnosis.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    for one in investigation.diagnoses.all():
        investigations.run_diagnosis(one.pk)

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
