"""The tools that a model may call. Their bank is bound before the run; no argument can name another."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from incidents.investigation.case import CANDIDATES_PER_SCOPE, WEAK_PER_RECALL, Case, Recall, Recalled
from incidents.investigation.journal import ASK, Journal
from incidents.investigation.supplied import References, kept
from incidents.models import Step
from incidents.models.investigation import MatchStrength, MemoryWord
from incidents.reading.text import clean
from oncall.clients.llm import ToolCall, ToolSpec

INSPECT = "inspect_alert"
RECALL = "recall_project_memory"
SHARED = "recall_shared_lessons"

OWN_SCOPE = "this_project_only"
SAME_TEAM_SCOPE = "same_team_project"
SHARED_SCOPE = "anonymized_shared_lessons_only"
FAILED_ATTEMPTS = "failed_attempts"

QUERY_CHARACTERS = 400
ARGUMENTS_CHARACTERS = 4000
_MARKUP_IN_NAME = re.compile(r"<\|.*", re.DOTALL)


class BadCall(Exception):
    """The call cannot be run; the sentence says why, for the model."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _NoArguments(_Arguments):
    pass


class _Query(_Arguments):
    query: str = Field(min_length=1, max_length=QUERY_CHARACTERS)


class _Question(_Arguments):
    question: str = Field(min_length=5, max_length=300)


_ARGUMENTS: dict[str, type[_Arguments]] = {INSPECT: _NoArguments, RECALL: _Query, SHARED: _Query, ASK: _Question}


def _parameters(**properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": words} for name, words in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


# The same list in every turn: a history that names a tool which is not offered is refused by some servers.
TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        INSPECT,
        "The alert's facts: service, environment, severity, error signatures, metrics with baselines, times.",
        _parameters(),
    ),
    ToolSpec(
        RECALL,
        "What engineers of this project verified in the past, and what they tried that failed.",
        _parameters(query="The failure in a few words: symptom, error text, component."),
    ),
    ToolSpec(
        SHARED,
        "Anonymised lessons of other projects, if this project uses them.",
        _parameters(query="The kind of failure in general words, without names."),
    ),
    ToolSpec(
        ASK,
        "Ask the engineer one specific question and wait. Only for what would change the answer.",
        _parameters(question="One question that an engineer can answer in a line."),
    ),
)


def tool_name(call: ToolCall) -> str:
    """Return the tool that a call means: some models append markup of their chat format to the name."""
    return _MARKUP_IN_NAME.sub("", call.name).strip()[:64]


def read_arguments(call: ToolCall) -> dict[str, str]:
    """Return the call's arguments, checked.

    Raises:
        BadCall: an unknown tool, or arguments that are no JSON object or not what the tool takes.
    """
    name = tool_name(call)
    if name not in _ARGUMENTS:
        raise BadCall(f"There is no tool of that name. There are: {', '.join(_ARGUMENTS)}.")
    if len(call.arguments or "") > ARGUMENTS_CHARACTERS:
        raise BadCall("The arguments are too long.")
    try:
        data = json.loads(call.arguments)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCall("The arguments are not JSON.") from error
    if not isinstance(data, dict):
        raise BadCall("The arguments are not a JSON object.")
    try:
        arguments = _ARGUMENTS[name].model_validate(data)
    except ValidationError as error:
        fields = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}))
        raise BadCall(f"The arguments are not what {name} takes: {fields or 'see its description'}.") from error
    return {key: clean(value).strip() for key, value in arguments.model_dump().items()}


def call_key(name: str, arguments: dict[str, Any]) -> str:
    """Return what makes two calls the same: the tool, and its arguments apart from case, space and punctuation."""
    words = {key: " ".join(re.findall(r"\w+", str(value).lower())) for key, value in arguments.items()}
    return f"{name} {json.dumps(words, sort_keys=True)}"


class Toolbox:
    """Runs the tools of one case, and saves each as a step."""

    def __init__(self, case: Case, journal: Journal, recall: Recall) -> None:
        self._case = case
        self._journal = journal
        self._recall = recall

    def inspect(self, *, turn: int, call_id: str) -> None:
        """Save the alert's facts."""
        facts = self._case.facts
        step = self._journal.begin(Step.Kind.TOOL, INSPECT, turn=turn, call_id=call_id, scope="this_alert")
        named = [facts.service, facts.environment, facts.severity]
        count = sum(1 for value in named if value) + sum(
            len(values)
            for values in (facts.error_signatures, facts.metrics, facts.times, facts.symptoms, facts.technologies)
        )
        signatures = len(facts.error_signatures)
        line = f"{_counted(count, 'fact')}, {_counted(signatures, 'error signature')}"
        self._journal.end(step, status=Step.Status.SUCCESS, line=line, result=facts.as_dict())

    def recall_project_memory(self, queries: Sequence[str], *, turn: int, call_id: str) -> None:
        """Recall from the own bank and those of the same team, then the failed attempts: two steps."""
        self._recall_own(queries, turn, call_id)
        self._recall_failed_attempts(queries, turn, call_id)

    def _recall_own(self, queries: Sequence[str], turn: int, call_id: str) -> None:
        asked = {"queries": list(queries)}
        step = self._journal.begin(Step.Kind.TOOL, RECALL, turn=turn, call_id=call_id, scope=OWN_SCOPE, arguments=asked)
        references = References(self._journal.done)
        own = self._recall.own(queries)
        result = _kept(own, references)
        teams = self._recall.same_team(queries) if own.word != MemoryWord.UNAVAILABLE else []
        result["same_team"] = [
            {"project": project, **_kept(team, references)} for team in teams if (project := _project_name(team))
        ]
        found = len(result["memories"]) + sum(len(team["memories"]) for team in result["same_team"])
        line = own.problem or f"{_counted(len(queries), 'query', 'queries')}, {_counted(found, 'memory', 'memories')}"
        self._journal.end(step, status=_status(own.word, found), line=line, result=result)

    def _recall_failed_attempts(self, queries: Sequence[str], turn: int, call_id: str) -> None:
        asked = {"queries": list(queries), "for": FAILED_ATTEMPTS}
        step = self._journal.begin(Step.Kind.TOOL, RECALL, turn=turn, call_id=call_id, scope=OWN_SCOPE, arguments=asked)
        failed = self._recall.failed_attempts(queries)
        # What failed on an incident that is only alike says nothing about this one.
        result = _kept(failed, References(self._journal.done), weak=0)
        found = len(result["memories"])
        line = failed.problem or f"failed attempts, {_counted(found, 'memory', 'memories') if found else 'none'}"
        self._journal.end(step, status=_status(failed.word, found), line=line, result=result)

    def recall_shared_lessons(self, queries: Sequence[str], *, turn: int, call_id: str) -> None:
        """Recall from the shared lessons; where the project does not use them, the result says so."""
        asked = {"queries": list(queries)}
        step = self._journal.begin(
            Step.Kind.TOOL, SHARED, turn=turn, call_id=call_id, scope=SHARED_SCOPE, arguments=asked
        )
        shared = self._recall.shared(queries)
        result = _kept(shared, References(self._journal.done))
        found = len(result["memories"])
        line = shared.problem or ("switched off" if shared.word == MemoryWord.OFF else _counted(found, "lesson"))
        self._journal.end(step, status=_status(shared.word, found), line=line, result=result)


def _kept(recalled: Recalled, references: References, *, weak: int = WEAK_PER_RECALL) -> dict[str, Any]:
    """Return what a recall gave as the step keeps it. Of the weak ones a few stay, to show what came near."""
    strong = [candidate for candidate in recalled.candidates if candidate.strength != MatchStrength.WEAK]
    near = [candidate for candidate in recalled.candidates if candidate.strength == MatchStrength.WEAK][:weak]
    memories = []
    for candidate in (*strong, *near):
        ref = references.of(candidate, at_most=CANDIDATES_PER_SCOPE)
        if ref:
            memories.append(kept(ref, candidate))
    return {"word": str(recalled.word), "problem": recalled.problem[:200], "memories": memories}


def _project_name(recalled: Recalled) -> str:
    return next((candidate.project.name for candidate in recalled.candidates if candidate.project), "")


def _status(word: str, found: int) -> Step.Status:
    if word == MemoryWord.UNAVAILABLE:
        return Step.Status.ERROR
    return Step.Status.SUCCESS if found else Step.Status.NO_DATA


def _counted(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"


def recall_words(steps: Iterable[Step]) -> list[str]:
    """Return the words of every recall from the own bank, in order."""
    return [
        str(step.result.get("word", ""))
        for step in steps
        if step.name == RECALL and step.arguments.get("for") != FAILED_ATTEMPTS and "word" in step.result
    ]
