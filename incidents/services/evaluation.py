"""Runs labelled queries through exactly the recall and the gate of investigations, on a bank that is thrown away.

Everything happens in a scratch database in a temporary folder: no row of the installation is read or written. On a
Hindsight server the bank is a new one, and removed at the end.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from incidents.memory import records, sync
from incidents.memory.banks import own_bank
from incidents.memory.evaluation import Memory, Query, Result
from incidents.memory.recall import RESOLUTIONS, BoundRecall, recalled_ids
from incidents.models import Delivery, Evidence, Incident, MemoryRecord
from incidents.models.investigation import MatchStrength
from incidents.reading.facts import read_facts
from incidents.reading.queries import recall_queries
from incidents.services import deliveries, diagnosing
from oncall.clients.memory import Memory as MemoryServer
from teams import audit, services

Progress = Callable[[str, int, int], None]


@contextmanager
def scratch_database() -> Iterator[None]:
    """Point the default connection of this thread to an empty database in a temporary folder, until the block ends."""
    kept_settings, kept_connection = connections.settings["default"], connections["default"]
    with tempfile.TemporaryDirectory(prefix="oncall-evaluation-") as folder:
        scratch = {**kept_settings, "ENGINE": "django.db.backends.sqlite3", "NAME": Path(folder) / "scratch.sqlite3"}
        scratch["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA synchronous=OFF;"}
        connections.settings["default"] = scratch
        connections["default"] = connections.create_connection("default")
        try:
            call_command("migrate", interactive=False, verbosity=0)
            call_command("createcachetable", verbosity=0)
            yield
        finally:
            connections["default"].close()
            connections.settings["default"] = kept_settings
            connections["default"] = kept_connection


class Evaluation:
    """A project of its own with the labelled memories in its bank. Use it inside ``scratch_database``."""

    def __init__(self, server: MemoryServer, progress: Progress) -> None:
        self._server = server
        self._progress = progress
        with audit.acting("command"):
            self._person = services.create_user(email="evaluation@example.com", name="Evaluation", by=None)
            team = services.create_team(name="Evaluation", by=None)
            services.add_member(team=team, user=self._person, role="responder", by=None)
            self._project = services.create_project(team=team, key="EVAL", name="Evaluation", by=None)
        self._bank = own_bank(self._project)
        self._ids: dict[str, str] = {}

    def load(self, memories: Sequence[Memory]) -> None:
        """Put the memories into the bank, as what engineers verified. Ids and sources stay outside.

        Raises:
            MemoryFailure: the memory did not take one.
        """
        self._server.ensure_bank(self._bank.bank_id)
        for number, memory in enumerate(memories, start=1):
            record = self._record(memory)
            self._ids[str(record.document_id)] = memory.id
            self._progress("memories", number, len(memories))

    def _record(self, memory: Memory) -> MemoryRecord:
        parts = records.written(
            title=memory.title, symptom=memory.symptom, cause=memory.cause, fix=memory.fix, service=memory.service
        )
        record = records.add(bank=self._bank, kind=MemoryRecord.Kind.VERIFIED_RESOLUTION, parts=parts, by=self._person)
        self._server.retain(self._bank.bank_id, sync.document(record, record.revisions.get()))
        MemoryRecord.objects.filter(pk=record.pk).update(
            state=MemoryRecord.State.RECALLABLE, confirmed_revision=1, recallable_at=timezone.now()
        )
        return record

    def run(self, queries: Sequence[Query], *, judge: bool = False) -> list[Result]:
        """Return what each query gives; with ``judge`` a whole investigation by the configured model decides.

        Raises:
            MemoryFailure: the memory did not answer.
        """
        if queries:
            self._ask(queries[0])  # what is loaded once, such as an index, is no part of an answer's time
        results = []
        for number, query in enumerate(queries, start=1):
            results.append(self._investigated(query) if judge else self._ask(query))
            self._progress("queries", number, len(queries))
        return results

    def _ask(self, query: Query) -> Result:
        facts = read_facts(query.text, services={})
        asked = recall_queries(query.text, facts)
        started = time.perf_counter()
        bound = BoundRecall(
            project=self._project, memory=self._server, alert_text=query.text, facts=facts, exclude_incident=None
        )
        recalled = bound.own(asked)
        seconds = time.perf_counter() - started
        accepted = [
            (self._ids[str(candidate.record.document_id)], candidate.strength)
            for candidate in recalled.candidates
            if candidate.strength != MatchStrength.WEAK
        ]
        return Result(query, self._ranking(asked), accepted, seconds * 1000)

    def _ranking(self, asked: Sequence[str]) -> list[str]:
        kinds = [kind for kind in RESOLUTIONS if kind == MemoryRecord.Kind.VERIFIED_RESOLUTION]
        found = recalled_ids(self._server, self._bank, kinds, asked)
        return [self._ids[document_id] for document_id in found if document_id in self._ids]

    def _investigated(self, query: Query) -> Result:
        delivery = deliveries.receive(
            project=self._project,
            body=query.text.encode(),
            content_type="text/plain; charset=utf-8",
            source=Delivery.Source.PASTE,
            by=self._person,
        )
        incident = delivery.incident
        if incident is None:
            return Result(query, [], [], 0.0)
        started = time.perf_counter()
        investigation = diagnosing.investigate_here(incident=incident)
        seconds = time.perf_counter() - started
        evidence = Evidence.objects.filter(diagnosis__investigation=investigation, accepted=True).order_by("position")
        accepted = [
            (self._ids[str(item.record.document_id)], item.match_strength) for item in evidence.select_related("record")
        ]
        # The next query may look the same and must open an incident of its own.
        Incident.objects.filter(pk=incident.pk).update(status=Incident.Status.RESOLVED, resolved_at=timezone.now())
        ranking = self._ranking(recall_queries(query.text, read_facts(query.text, services={})))
        return Result(query, ranking, accepted, seconds * 1000)

    def throw_away(self) -> None:
        """Remove the bank from the memory server. Raises MemoryFailure when it does not answer."""
        self._server.delete_bank(self._bank.bank_id)
