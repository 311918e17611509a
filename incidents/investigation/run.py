"""One diagnosis at work: what the strategies and the answer share."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from incidents.investigation import conversation, tools
from incidents.investigation.case import Case, Recall
from incidents.investigation.conversation import Part, Sources
from incidents.investigation.journal import Journal
from incidents.investigation.judging import Answer
from incidents.investigation.questions import Ask
from incidents.investigation.supplied import Supplied, load
from incidents.models import Question, Step
from incidents.reading.queries import recall_queries
from oncall.clients.llm import ChatModel, LLMError, Reply, ToolCallRejected

# The names of steps that are no tools.
THINK = "next step"
ANSWER = "answer"
RULES = "rules"
# Kept free of the deadline, so that a slow loop still leaves time for the answer.
ANSWER_SHARE = 0.3


@dataclass(frozen=True)
class Waits:
    """The run needs the engineer: these questions, asked in this turn. The worker is free meanwhile."""

    turn: int
    asked_by: str
    questions: tuple[tuple[str, Ask], ...]  # call id and question


@dataclass(frozen=True)
class Ended:
    """The run has its answer. ``stopped`` says at which cap it ended, in words."""

    answer: Answer
    model: str
    simulated: bool
    stopped: str = ""


@dataclass
class Run:
    """The state of one run in this worker; everything that must outlive it stands in the journal's steps.

    ``fallback`` takes over when the model fails; it never fails itself. ``recall`` is None only for the run that sees
    the alert alone.
    """

    case: Case
    journal: Journal
    model: ChatModel
    fallback: ChatModel
    recall: Recall | None = None
    now: Callable[[], float] = time.monotonic
    stopped: str = ""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seconds = self.case.limits.seconds
        self._deadline = self.now() + max(seconds - self.journal.worked_seconds, 0.0)
        self._loop_deadline = self._deadline - seconds * ANSWER_SHARE

    @property
    def toolbox(self) -> tools.Toolbox:
        """The tools, with their bank bound.

        Raises:
            LookupError: this run sees the alert alone.
        """
        if self.recall is None:
            raise LookupError("A run that sees the alert alone has no tools.")
        return tools.Toolbox(self.case, self.journal, self.recall)

    # --- The model --------------------------------------------------------------------------------------------------

    def ask_model(self, ask: Callable[[ChatModel], Reply]) -> Reply:
        """Ask the model; when it fails for good, the fallback from here on, labelled.

        Raises:
            ToolCallRejected: the provider refused the model's own tool call.
        """
        try:
            return ask(self.model)
        except ToolCallRejected:
            raise
        except LLMError as error:
            why = error.kind.replace("_", " ")
            self.fall_back(f"The language model did not answer ({why}). The offline reasoner wrote this answer.")
            return ask(self.fallback)

    def fall_back(self, note: str) -> None:
        """Go on with the fallback, and say so."""
        self.notes.append(note)
        self.model = self.fallback

    def deadline(self, *, for_answer: bool) -> float:
        """Return by when a call must end: within the run's time, and well within the lease."""
        end = self._deadline if for_answer else self._loop_deadline
        return min(end, self.now() + self.case.limits.call_seconds)

    @property
    def loop_is_late(self) -> bool:
        """Whether only the time for the answer is left."""
        return self.now() >= self._loop_deadline

    def begin_model_call(self, name: str, turn: int, parts: Sequence[Part]) -> Step:
        """Save that a model call begins, with what is sent."""
        return self.journal.begin(
            Step.Kind.MODEL,
            name,
            turn=turn,
            model=self.model.name,
            sent={"parts": [part.stored for part in parts]},
            sent_hash=conversation.sent_hash(part.message for part in parts),
        )

    # --- What was done so far ---------------------------------------------------------------------------------------

    def did(self, name: str) -> bool:
        """Whether the tool was run, by the model or by the code."""
        return any(step.name == name and "error" not in step.result for step in self.journal.done)

    @property
    def recalled(self) -> bool:
        """Whether memory was asked, failed attempts included: a kill between the two repeats both."""
        return any(
            step.name == tools.RECALL and step.arguments.get("for") == tools.FAILED_ATTEMPTS and "word" in step.result
            for step in self.journal.done
        )

    def inspect(self, *, turn: int) -> None:
        """Inspect the alert, unless that was done."""
        if not self.did(tools.INSPECT):
            self.toolbox.inspect(turn=turn, call_id="call_inspect")

    def recall_memory(self, *, turn: int) -> None:
        """Ask the project's memory, unless that was done."""
        if not self.recalled:
            self.toolbox.recall_project_memory(self.queries(), turn=turn, call_id="call_recall")

    def questions(self) -> list[Question]:
        """Return what the engineer was asked; nothing for the run that sees the alert alone."""
        if not self.case.sees_memory:
            return []
        return list(self.case.diagnosis.investigation.questions.all())

    def answers(self) -> str:
        """Return what the engineer answered, a line each."""
        return "\n".join(question.answer for question in self.questions() if question.answer)

    def queries(self) -> list[str]:
        """Return the queries that every recall makes."""
        return recall_queries(self.case.alert_text, self.case.facts, self.answers())

    def supplied(self) -> dict[str, Supplied]:
        """Return the memories that this run was given, as far as the project may still read them."""
        return dict(load(self.journal.done, self.case.banks())) if self.case.sees_memory else {}

    def sources(self, supplied: dict[str, Supplied]) -> Sources:
        """Return what the conversation is rebuilt from."""
        steps = [step for step in self.journal.done if step.name != ANSWER and step.kind != Step.Kind.RULES]
        return Sources(steps, supplied, self.questions())

    def opening(self, system: str) -> list[Part]:
        """Return the first messages."""
        return conversation.opening(self.case, system)


def result_fields(reply: Reply) -> dict[str, Any]:
    """Return what a step keeps of who answered and at what cost."""
    return {
        "model": reply.model,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
    }
