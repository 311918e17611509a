"""A memory that gives what a test says, and a run over real rows and a real model client."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from incidents.investigation import loop
from incidents.investigation.case import Case, Limits
from incidents.investigation.journal import Journal
from incidents.investigation.run import Ended, Run, Waits
from incidents.models import Diagnosis, Evidence, Fix, Incident, MemoryRecord, MemoryRecordRevision
from incidents.services import incidents, investigations
from oncall.clients.groq import GroqChat
from oncall.clients.llm import ChatModel
from oncall.clients.offline import OfflineReasoner
from teams.models import Bank, Project, User
from tests.oncall.clients import groq_server as wire

TEXT = (
    "Root cause: the nightly reindex held every connection of the pool.\n"
    "What fixed it: paused the reindex job; errors were gone in three minutes.\n"
    "Verified by Rosa Responder on 3 March 2026, after 18 minutes."
)
CAUSE = "the nightly reindex held every connection of the pool"


def report(**fields: Any) -> wire.Answer:
    """Return a model's whole report about an exhausted pool; ``fields`` replace its own."""
    return wire.report(
        {
            "severity": "critical",
            "category": "capacity",
            "summary": "The pool is exhausted.",
            "root_cause": "The reindex job holds the pool.",
            "confidence": "high",
            "evidence": [],
            "ruled_out": [],
            "immediate_actions": [],
            "long_term_fixes": [],
            "needs_more_info": False,
            "clarifying_questions": [],
            **fields,
        }
    )


@dataclass(frozen=True)
class Found:
    """A candidate as a recall gives it."""

    record: MemoryRecord
    revision: MemoryRecordRevision
    scope: str = Evidence.Scope.OWN
    strength: str = "close"
    reason: str = "same error text, same service"
    project: Project | None = None


@dataclass(frozen=True)
class Gave:
    """What one recall gave."""

    word: str = "no_match"
    candidates: tuple[Found, ...] = ()
    problem: str = ""


@dataclass
class SaidMemory:
    """A recall that gives what the test says, and keeps its queries."""

    own_gave: Gave = field(default_factory=Gave)
    failed_gave: Gave = field(default_factory=Gave)
    team_gave: Sequence[Gave] = ()
    shared_gave: Gave = field(default_factory=lambda: Gave("off"))
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def own(self, queries: Sequence[str]) -> Gave:
        self.asked.append(("own", list(queries)))
        return self.own_gave

    def failed_attempts(self, queries: Sequence[str]) -> Gave:
        self.asked.append(("failed", list(queries)))
        return self.failed_gave

    def same_team(self, queries: Sequence[str]) -> Sequence[Gave]:
        self.asked.append(("same_team", list(queries)))
        return self.team_gave

    def shared(self, queries: Sequence[str]) -> Gave:
        self.asked.append(("shared", list(queries)))
        return self.shared_gave


def make_memory(
    *,
    of: Project,
    kind: str = MemoryRecord.Kind.VERIFIED_RESOLUTION,
    text: str = TEXT,
    cause: str = CAUSE,
    fix: Fix | None = None,
    **found: Any,
) -> Found:
    """Return a candidate with a real record of that project's own bank."""
    bank = Bank.objects.get(assignments__project=of, assignments__access="own")
    now = timezone.now()
    number = MemoryRecord.objects.count() + 1
    record = MemoryRecord.objects.create(
        bank=bank,
        kind=kind,
        document_id=f"00000000-0000-0000-0000-{number:012}",
        occurred_at=now,
        queued_at=now,
        fix=fix,
    )
    revision = MemoryRecordRevision.objects.create(
        record=record, number=1, title="Search 5xx while reindexing", text=text, cause=cause, content_hash="0" * 64
    )
    return Found(record, revision, **found)


def matched(*found: Found) -> Gave:
    """Return a recall that matched."""
    return Gave("matched", found)


@dataclass
class Bench:
    """One incident's runs, without a worker: ``go`` runs a diagnosis in this process, again and again if asked."""

    incident: Incident
    by: User
    strategy: str = Project.Strategy.GUIDED
    may_ask: bool = True
    recall: SaidMemory = field(default_factory=SaidMemory)
    limits: Limits = field(default_factory=lambda: Limits(steps=6, seconds=60, tokens=60_000, call_seconds=30))

    def __post_init__(self) -> None:
        Project.objects.filter(pk=self.incident.project_id).update(strategy=self.strategy)
        self.investigation = investigations.start(incident=self.incident, by=self.by, may_ask=self.may_ask)

    def diagnosis(self, kind: str = Diagnosis.Kind.WITH_MEMORY) -> Diagnosis:
        """Return the diagnosis as it stands."""
        return Diagnosis.objects.select_related("investigation__incident__project").get(
            investigation=self.investigation, kind=kind
        )

    def go(
        self, kind: str = Diagnosis.Kind.WITH_MEMORY, *, model: ChatModel | None = None, **run: Any
    ) -> Waits | Ended:
        """Claim the diagnosis, run it, and let it go without writing the end."""
        diagnosis = self.diagnosis(kind)
        token = Diagnosis.objects.claim(diagnosis.pk)
        assert token is not None
        case = Case(
            diagnosis=diagnosis,
            alert_text=incidents.alert_text(self.incident),
            facts=incidents.facts(self.incident),
            limits=self.limits,
            banks=lambda: set(Bank.objects.values_list("pk", flat=True)),
        )
        journal = Journal.take_up(diagnosis, token, lambda: None)
        sees_memory = kind == Diagnosis.Kind.WITH_MEMORY
        try:
            return loop.go(
                Run(
                    case=case,
                    journal=journal,
                    model=model or GroqChat(),
                    fallback=OfflineReasoner(),
                    recall=self.recall if sees_memory else None,
                    **run,
                )
            )
        finally:
            Diagnosis.objects.release(diagnosis.pk, token)

    def steps(self, kind: str = Diagnosis.Kind.WITH_MEMORY) -> list[Any]:
        """Return the saved steps."""
        return list(self.diagnosis(kind).steps.order_by("sequence"))
