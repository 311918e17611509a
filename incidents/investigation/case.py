"""What a run is handed: the case, its limits, and the shape of the memory that it may ask. It looks up nothing else."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from django.conf import settings

from incidents.models import Diagnosis, Incident, MemoryRecord, MemoryRecordRevision
from incidents.reading.facts import AlertFacts, read_facts
from teams.models import Project

# Of a provider's tokens. Counted rather too high, as clients do.
CHARACTERS_PER_TOKEN = 3.5
ALERT_TOKENS = 1500
MEMORY_TOKENS = 250
CANDIDATES_PER_SCOPE = 5
WEAK_PER_RECALL = 2
TOOL_CALLS_PER_RUN = 12
QUESTIONS_BY_MODEL = 3


class Candidate(Protocol):
    """A memory that a recall gave and the gate judged. ``project`` is set for a memory of the same team."""

    @property
    def record(self) -> MemoryRecord: ...

    @property
    def revision(self) -> MemoryRecordRevision: ...

    @property
    def scope(self) -> str: ...

    @property
    def strength(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def project(self) -> Project | None: ...


class Recalled(Protocol):
    """What one recall gave, best first. ``word`` is a ``MemoryWord``; ``problem`` says why it was unavailable."""

    @property
    def word(self) -> str: ...

    @property
    def candidates(self) -> Sequence[Candidate]: ...

    @property
    def problem(self) -> str: ...


class Recall(Protocol):
    """The memory of one project, with its bank bound. No call raises when the memory server fails."""

    def own(self, queries: Sequence[str]) -> Recalled:
        """Ask the project's own bank for verified resolutions and imports."""
        ...

    def failed_attempts(self, queries: Sequence[str]) -> Recalled:
        """Ask the project's own bank for attempts that failed."""
        ...

    def same_team(self, queries: Sequence[str]) -> Sequence[Recalled]:
        """Ask each bank of the same team that the project may read."""
        ...

    def shared(self, queries: Sequence[str]) -> Recalled:
        """Ask the shared lessons; the word is off where the project does not use them."""
        ...


@dataclass(frozen=True)
class Limits:
    """The bounds of one run, from the settings. Seconds are working time: waiting for a person is not counted."""

    steps: int
    seconds: float
    tokens: int
    # The longest single call: the lease must outlast it.
    call_seconds: float

    @classmethod
    def from_settings(cls) -> "Limits":
        """Return the configured limits."""
        return cls(
            steps=settings.INVESTIGATION_MAX_STEPS,
            seconds=settings.INVESTIGATION_DEADLINE_SECONDS,
            tokens=settings.INVESTIGATION_MAX_TOKENS,
            call_seconds=settings.LEASE_SECONDS - 20,
        )


@dataclass(frozen=True)
class Case:
    """One diagnosis to be made. ``diagnosis`` has its investigation, incident and project loaded.

    ``alert_text`` is redacted and holds the alerts and *more from the system*, nothing that a person wrote.
    ``services`` maps lower-cased names and aliases to a service's name. ``banks`` says which banks the project may
    read; it is asked each time, so that access that was taken away ends with the next step.
    """

    diagnosis: Diagnosis
    alert_text: str
    facts: AlertFacts
    limits: Limits
    banks: Callable[[], Collection[int]] = frozenset
    services: Mapping[str, str] = field(default_factory=dict)

    @property
    def incident(self) -> Incident:
        """The incident under investigation."""
        return self.diagnosis.investigation.incident

    @property
    def project(self) -> Project:
        """The project that it belongs to."""
        return self.incident.project

    @property
    def sees_memory(self) -> bool:
        """Whether this run may recall; the other one sees the alert and nothing else."""
        return self.diagnosis.kind == Diagnosis.Kind.WITH_MEMORY

    def is_vague(self, answers: str = "") -> bool:
        """Return whether neither the alert nor the engineer's answers name a service, an error or a metric."""
        return self.facts.vague and (not answers.strip() or read_facts(answers, services=self.services).vague)
