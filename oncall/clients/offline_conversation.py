"""What the offline reasoner reads out of a conversation: which tools were called, and what they said.

Contents are untrusted: any key may be missing, of another type, or text that wants to give orders. Nothing here
follows an order; texts are only carried on.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncall.clients.llm import Message

INSPECT, RECALL, SHARED, ASK = (
    "inspect_alert",
    "recall_project_memory",
    "recall_shared_lessons",
    "ask_engineer_question",
)
FACTS_MARK = "ALERT FACTS:"
QUERY_CHARACTERS = 300
STRENGTHS = ("weak", "partial", "close")


def text_of(value: object) -> str:
    """Return the value if it is text, on one line and fit to be stored; otherwise ""."""
    return " ".join(_storable(value).split())


def _storable(value: object) -> str:
    return value.replace("\0", "").encode("utf-8", "ignore").decode() if isinstance(value, str) else ""


def texts_of(value: object) -> list[str]:
    """Return the texts of a list, without the empty ones."""
    return [text for item in value if (text := text_of(item))] if isinstance(value, list) else []


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object that the text holds, also with words around it; an empty one if there is none."""
    for candidate in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


@dataclass(frozen=True)
class Metric:
    """A number of the alert, as text, with what it usually is; "" where the alert does not say."""

    name: str
    value: str
    baseline: str
    unit: str


@dataclass(frozen=True)
class Facts:
    """What ``inspect_alert`` says. ``text`` is the alert itself where the conversation holds it."""

    title: str = ""
    service: str = ""
    environment: str = ""
    severity: str = ""
    signatures: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    vague: bool = False
    text: str = ""

    @classmethod
    def from_object(cls, facts: dict[str, Any], text: str = "") -> "Facts":
        """Return the facts of a tool result."""
        return cls(
            title=text_of(facts.get("title")),
            service=text_of(facts.get("service")),
            environment=text_of(facts.get("environment")),
            severity=text_of(facts.get("severity")),
            signatures=tuple(texts_of(facts.get("error_signatures"))),
            symptoms=tuple(texts_of(facts.get("symptoms"))),
            technologies=tuple(texts_of(facts.get("technologies"))),
            metrics=tuple(
                Metric(*(_number_or_text(metric.get(key)) for key in ("name", "value", "baseline", "unit")))
                for metric in objects_of(facts.get("metrics"))
            ),
            vague=facts.get("vague") is True,
            text=text,
        )


def _number_or_text(value: object) -> str:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else text_of(value)


@dataclass(frozen=True)
class Memory:
    """A memory that a tool gave. ``place`` is own, team or shared; ``project`` names another project of the team."""

    ref: str
    kind: str
    title: str
    strength: str
    reason: str
    text: str
    cause: str
    fix: str
    command: str
    quote: str
    place: str
    project: str = ""

    @classmethod
    def from_object(cls, memory: dict[str, Any], place: str, project: str = "") -> "Memory":
        """Return one entry of a tool result. A strength that is none of the three counts as weak."""
        strength = text_of(memory.get("strength")).lower()
        keys = ("ref", "kind", "title", "reason", "text", "cause", "fix", "quote")
        return cls(
            **{key: text_of(memory.get(key)) for key in keys},
            # Its lines and spaces are part of what it does.
            command=_storable(memory.get("command")).strip(),
            strength=strength if strength in STRENGTHS else "weak",
            place=place,
            project=project,
        )

    @property
    def is_verified(self) -> bool:
        """Whether a person verified or confirmed it. Kinds come as words of the page or as their stored form."""
        kind = self.kind.lower().replace("_", " ")
        return kind.startswith("verified") or ("confirmed" in kind and "not confirmed" not in kind)

    @property
    def counts(self) -> bool:
        """Whether an answer may rest on it."""
        kind = self.kind.lower()
        return bool(self.ref) and self.strength != "weak" and not kind.startswith(("failed", "feedback"))


@dataclass(frozen=True)
class FailedAttempt:
    """Something that was tried and did not help."""

    ref: str
    fix: str
    text: str


@dataclass
class _Recalled:
    memories: dict[str, Memory] = field(default_factory=dict)

    def add(self, memory: Memory) -> None:
        known = self.memories.get(memory.ref)
        if known is None or STRENGTHS.index(memory.strength) > STRENGTHS.index(known.strength):
            self.memories[memory.ref] = memory


class Conversation:
    """The messages of a run, read once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._calls = [(call.name, read_object(call.arguments)) for message in messages for call in message.tool_calls]
        names = {call.id: call.name for message in messages for call in message.tool_calls}
        self._results = [
            (message.name or names.get(message.tool_call_id, ""), message.content)
            for message in messages
            if message.role == "tool"
        ]
        self.facts = self._read_facts(messages)
        self.answers = tuple(self._read_answers())
        self.memories = tuple(self._read_memories())
        self.failed_attempts = tuple(self._read_failed_attempts())

    def _objects(self, name: str) -> Iterable[dict[str, Any]]:
        return (read_object(content) for tool, content in self._results if tool == name)

    def _read_facts(self, messages: Sequence[Message]) -> Facts:
        for found in self._objects(INSPECT):
            if found:
                return Facts.from_object(found)
        for message in messages:
            _, mark, rest = message.content.partition(FACTS_MARK) if message.role == "user" else ("", "", "")
            line, _, text = rest.partition("\n")
            if mark and (found := read_object(line)):
                return Facts.from_object(found, text)
        return Facts()

    def _read_answers(self) -> Iterable[str]:
        for tool, content in self._results:
            if tool != ASK:
                continue
            result = read_object(content)
            given = objects_of(result.get("answers")) or [result]
            yield from (answer for item in given if (answer := text_of(item.get("answer"))))

    def _read_memories(self) -> Iterable[Memory]:
        recalled = _Recalled()
        for result in self._objects(RECALL):
            for memory in objects_of(result.get("memories")):
                recalled.add(Memory.from_object(memory, "own"))
            for project in objects_of(result.get("same_team")):
                for memory in objects_of(project.get("memories")):
                    recalled.add(Memory.from_object(memory, "team", text_of(project.get("project"))))
        for result in self._objects(SHARED):
            for memory in objects_of(result.get("memories")):
                recalled.add(Memory.from_object(memory, "shared"))
        return recalled.memories.values()

    def _read_failed_attempts(self) -> Iterable[FailedAttempt]:
        attempts = {}
        for result in self._objects(RECALL):
            for attempt in objects_of(result.get("failed_attempts")):
                ref = text_of(attempt.get("ref"))
                attempts[ref] = FailedAttempt(ref, text_of(attempt.get("fix")), text_of(attempt.get("text")))
        return attempts.values()

    @property
    def recalled(self) -> bool:
        """Whether the project's memory was asked at all."""
        return any(tool == RECALL for tool, _ in self._results)

    @property
    def memory_answered(self) -> bool:
        """Whether any of the recalls of the project's memory got an answer."""
        return any("memories" in result and _says(result) != "unavailable" for result in self._objects(RECALL))

    def next_step(self, offered: set[str]) -> tuple[str, dict[str, Any]] | None:
        """Return the next tool to call and its arguments, None when there is nothing left to ask."""
        called = [name for name, _ in self._calls]
        if INSPECT in offered and INSPECT not in called:
            return INSPECT, {}
        if RECALL in offered:
            asked = {text_of(arguments.get("query")).lower() for name, arguments in self._calls if name == RECALL}
            for query in self._queries():
                if query.lower() not in asked:
                    return RECALL, {"query": query}
        if SHARED in offered and SHARED not in called:
            return SHARED, {"query": self._queries()[0]}
        return None

    def _queries(self) -> list[str]:
        """Return at least one query: the alert's words, its error, and what the engineer answered."""
        facts = self.facts
        words = _joined(facts.service, facts.title, *facts.symptoms)
        error = _joined(*facts.signatures[:1]) or _joined(*facts.technologies, *facts.symptoms[:1])
        answers = _joined(*self.answers)
        queries = [query for query in (words or facts.text, error, answers) if query]
        return list({query.lower(): query for query in queries}.values()) or ["alert"]


def _says(result: dict[str, Any]) -> str:
    return text_of(result.get("status")).lower().removeprefix("memory_")


def _joined(*texts: str) -> str:
    """Return the texts as one query, each once; a part that another one holds is left out."""
    parts: list[str] = []
    for text in texts:
        if text and not any(text.lower() in part.lower() for part in parts):
            parts.append(text)
    return " ".join(parts)[:QUERY_CHARACTERS].strip()
