"""What is done to memory records outside the acts that write them: synchronise, sweep, forget."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from incidents.memory import records, sync
from incidents.memory.recall import BoundRecall, Recalled
from incidents.models import MemoryRecord
from incidents.reading.facts import read_facts
from incidents.reading.queries import recall_queries
from incidents.reading.redaction import redact
from incidents.services import incidents, timeline
from oncall.clients.memory import get_memory
from oncall.clients.queue import publish
from teams import access, audit
from teams.models import Project, User
from teams.permissions import Permission

SYNC_TASK = "incidents.sync_record"
SWEPT_AT_ONCE = 200
# How long a record that was swept up is left to the queue before it is swept again.
SWEEP_AGAIN_AFTER = timedelta(seconds=30)


@dataclass(frozen=True)
class Forgotten:
    """What forgetting did."""

    record: MemoryRecord
    already_saved: bool


@dataclass(frozen=True)
class Answer:
    """What memory gives for a text, bank by bank."""

    own: Recalled
    failed_attempts: Recalled
    same_team: list[Recalled]
    shared: Recalled


def recall(*, project: Project, text: str) -> Answer:
    """Return what an alert of this text would recall, and how the gate judges it. Writes nothing."""
    text = redact(text)
    facts = read_facts(text, services=incidents.known_services(project))
    bound = BoundRecall(project=project, memory=get_memory(), alert_text=text, facts=facts, exclude_incident=None)
    queries = recall_queries(text, facts)
    return Answer(
        own=bound.own(queries),
        failed_attempts=bound.failed_attempts(queries),
        same_team=bound.same_team(queries),
        shared=bound.shared(queries),
    )


def sync_record(record_id: int) -> None:
    """Bring the record's bank to what the row wants. Talks to the memory server; never inside a transaction."""
    sync.sync(record_id, get_memory())


def sweep() -> None:
    """Publish the sync of every record that a lost message, a killed worker or a failure left behind."""
    for pk in sync.due().values_list("pk", flat=True)[:SWEPT_AT_ONCE]:
        put_off = timezone.now() + SWEEP_AGAIN_AFTER
        if sync.due().filter(pk=pk).update(next_try_at=put_off):
            publish(SYNC_TASK, record_id=pk)


def forget(*, record: MemoryRecord, by: User) -> Forgotten:
    """Take the record's text away, here at once and in the bank by the next sync; a tombstone stays.

    Raises:
        PermissionDenied: the person is no admin of the record's team.
    """
    access.require(by, Permission.MEMORY_MANAGE, record)
    with transaction.atomic():
        if record.incident_id:
            timeline.hold(record.incident_id)
        record = (
            MemoryRecord.objects.select_for_update(of=("self",), no_key=True)
            .select_related("incident__project__team")
            .get(pk=record.pk)
        )
        if record.state in (MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN):
            return Forgotten(record, already_saved=True)
        before = {"state": record.state, "revision": record.latest_revision}
        records.blank(record, by=by)
        team = record.incident.project.team if record.incident else None
        audit.record("memory.forget", by=by, on=record, team=team, before=before)
        if record.incident:
            timeline.touch(record.incident.pk)
        publish(SYNC_TASK, record_id=record.pk)
    return Forgotten(record, already_saved=False)
