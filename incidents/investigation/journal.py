"""Writes the steps of one diagnosis as they happen, each under the worker's lease."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from incidents.models import Diagnosis, Step

ASK = "ask_engineer_question"
INTERRUPTED = "Interrupted, and done again."


class LeaseLost(Exception):
    """Another worker holds the diagnosis now, or it was cancelled: this one must stop and write nothing."""


@dataclass
class Journal:
    """The steps of one diagnosis. ``on_change`` is called after each write, so that an open page asks again."""

    diagnosis: Diagnosis
    token: UUID
    on_change: Callable[[], None]
    steps: list[Step] = field(default_factory=list)
    _begun: dict[int, float] = field(default_factory=dict)

    @classmethod
    def take_up(cls, diagnosis: Diagnosis, token: UUID, on_change: Callable[[], None]) -> "Journal":
        """Return the journal of a diagnosis that was just claimed. What a killed worker left half done is closed.

        Raises:
            LeaseLost: the claim does not hold any more.
        """
        journal = cls(diagnosis, token, on_change)
        with transaction.atomic():
            journal._renew()
            diagnosis.steps.filter(status=Step.Status.RUNNING).exclude(name=ASK).update(
                status=Step.Status.ERROR, line=INTERRUPTED, result={"interrupted": True}
            )
        journal.steps = list(diagnosis.steps.order_by("sequence"))
        return journal

    @property
    def done(self) -> list[Step]:
        """Every step that was not interrupted."""
        return [step for step in self.steps if not step.result.get("interrupted")]

    @property
    def worked_seconds(self) -> float:
        """Working time of the steps so far, across restarts and waits."""
        return sum(step.seconds for step in self.steps if step.name != ASK)

    @property
    def tokens(self) -> int:
        """Tokens of the model calls so far."""
        return sum(step.prompt_tokens + step.completion_tokens for step in self.steps)

    @property
    def turn(self) -> int:
        """The latest turn of the run; 0 before the first. A run's *steps* are its turns."""
        return max((step.turn for step in self.done), default=0)

    def begin(self, kind: Step.Kind, name: str, *, turn: int, **values: Any) -> Step:
        """Save that a step has begun, and extend the lease.

        Raises:
            LeaseLost: see there.
        """
        with transaction.atomic():
            self._renew()
            step = Step.objects.create(
                diagnosis=self.diagnosis,
                sequence=len(self.steps) + 1,
                kind=kind,
                name=name[:80],
                turn=turn,
                started_at=timezone.now(),
                **values,
            )
        self._begun[step.pk] = time.monotonic()
        self.steps.append(step)
        self.on_change()
        return step

    def end(self, step: Step, *, status: Step.Status, line: str = "", **values: Any) -> Step:
        """Save how a step went; its working time is taken from when it began.

        Raises:
            LeaseLost: see there.
        """
        step.status, step.line = status, line[:300]
        step.seconds = round(time.monotonic() - self._begun[step.pk], 3)
        for name, value in values.items():
            setattr(step, name, value)
        with transaction.atomic():
            self._renew()
            Diagnosis.objects.filter(pk=self.diagnosis.pk).update(
                worked_seconds=F("worked_seconds") + step.seconds,
                prompt_tokens=F("prompt_tokens") + step.prompt_tokens,
                completion_tokens=F("completion_tokens") + step.completion_tokens,
            )
            step.save(update_fields=["status", "line", "seconds", *values])
        self.on_change()
        return step

    def note(
        self, kind: Step.Kind, name: str, *, turn: int, status: Step.Status, line: str = "", **values: Any
    ) -> Step:
        """Save a step that took no time worth showing."""
        return self.end(self.begin(kind, name, turn=turn, **values), status=status, line=line)

    def _renew(self) -> None:
        if not Diagnosis.objects.renew(self.diagnosis.pk, self.token):
            raise LeaseLost
