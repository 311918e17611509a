"""Rebuilds the messages of a run from its steps, so that a run that waited or was killed goes on where it was.

A message that holds memories is stored by reference and put together under today's access; ``what_was_sent`` does
the same for the page. The run's own texts (what the model was told, the alert) are stored with the model call.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.crypto import salted_hmac

from incidents.investigation import prompts, tools
from incidents.investigation.case import ALERT_TOKENS, CHARACTERS_PER_TOKEN, MEMORY_TOKENS, Case
from incidents.investigation.journal import ASK
from incidents.investigation.supplied import Supplied, entries, load
from incidents.models import Question, Step
from incidents.models.investigation import MemoryWord
from incidents.reading.text import cut
from oncall.clients.llm import Message, ToolCall

# In a report's prompt each memory gets less room until everything fits.
# What a model sees of a long answer; the whole of it counts where memories are compared.
ANSWER_CHARACTERS = 1000
MEMORY_ROOMS = (MEMORY_TOKENS, 180, 120)
SHRUNK = "an earlier result, shown whole again before the answer"
NO_ANSWER = "The engineer went on without an answer."
SIMILARITY = "Similarity is not proof."
STATUS_WORDS = {
    MemoryWord.UNAVAILABLE: "memory_unavailable",
    MemoryWord.EMPTY: "empty",
    MemoryWord.OFF: "memory_off",
    MemoryWord.NO_MATCH: "no_match",
    MemoryWord.MATCHED: "matched",
}


@dataclass(frozen=True)
class Part:
    """A message, and how it is stored: its own text, or the step that it is put together from."""

    message: Message
    stored: dict[str, Any]


@dataclass(frozen=True)
class Sources:
    """What the messages are put together from. ``tokens`` is the room of each memory; None shrinks to a line."""

    steps: Sequence[Step]
    supplied: Mapping[str, Supplied]
    questions: Sequence[Question]


def fence_of(case: Case) -> str:
    """Return the run's fence: random, the same after a restart, and not to be guessed from anything on a page."""
    return salted_hmac("incidents.investigation.fence", str(case.diagnosis.public_id)).hexdigest()[:16]


def opening(case: Case, system: str) -> list[Part]:
    """Return the first messages: the rules, then the alert between two fences."""
    fence = fence_of(case)
    line = prompts.FENCE_LINE.format(fence=fence)
    text = cut(case.alert_text, int(ALERT_TOKENS * CHARACTERS_PER_TOKEN)).replace(fence, "")
    facts = "" if case.sees_memory else f"{_facts_line(case)}\n"
    return [own_text("system", system.format(fence=fence)), own_text("user", f"{facts}{line}\n{text}\n{line}")]


def _facts_line(case: Case) -> str:
    return prompts.FACTS_LINE.format(facts=json.dumps(case.facts.as_dict(), ensure_ascii=False))


def own_text(role: Any, text: str) -> Part:
    """Return a message that is the run's own text."""
    return Part(Message(role, text), {"role": role, "text": text})


def history(sources: Sources, *, whole: Callable[[Step], bool], room: int = MEMORY_TOKENS) -> list[Part]:
    """Return the messages of every turn so far: what was called, and what came back.

    A result for which ``whole`` is false is shrunk to a line.
    """
    parts: list[Part] = []
    for turn in sorted({step.turn for step in sources.steps}):
        steps = [step for step in sources.steps if step.turn == turn]
        parts.extend(_turn(steps, sources, whole, room))
    return parts


def _turn(steps: Sequence[Step], sources: Sources, whole: Callable[[Step], bool], room: int) -> list[Part]:
    parts: list[Part] = []
    said = next((step for step in steps if step.kind == Step.Kind.MODEL), None)
    if said and said.result.get("rejected"):
        names = ", ".join(tool.name for tool in tools.TOOLS)
        text = prompts.TOOL_REJECTED.format(reason=said.result["rejected"], tools=names)
        return [Part(Message("user", text), {"role": "user", "step": said.sequence, "is": "rejected"})]
    results = [step for step in steps if step.kind == Step.Kind.TOOL]
    calls = _calls(said, results)
    content = str(said.result.get("content", "")) if said else ""
    if calls or content:
        parts.append(
            Part(
                Message("assistant", content, tool_calls=tuple(calls)),
                {"role": "assistant", "steps": [step.sequence for step in steps]},
            )
        )
    for call in calls:
        about = [step for step in results if call.id in call_ids(step)]
        if not about:
            continue
        is_whole = all(whole(step) for step in about)
        body = tool_result(call.id, about, sources, room if is_whole else None)
        parts.append(
            Part(
                Message("tool", _json(body), tool_call_id=call.id, name=call.name),
                {
                    "role": "tool",
                    "name": call.name,
                    "call_id": call.id,
                    "steps": [step.sequence for step in about],
                    "room": room if is_whole else None,
                },
            )
        )
    return parts


def calls_of(step: Step) -> list[ToolCall]:
    """Return the calls that the model made in a step."""
    return [ToolCall(call["id"], call["name"], call["arguments"]) for call in step.result.get("tool_calls", [])]


def _calls(said: Step | None, results: Sequence[Step]) -> list[ToolCall]:
    """Return the calls of a turn: the model's own, and those that the code made in its place."""
    by_model = calls_of(said) if said else []
    known = {call.id for call in by_model}
    by_code: dict[str, ToolCall] = {}
    for step in results:
        for call_id, arguments in _code_arguments(step):
            if call_id and call_id not in known:
                by_code.setdefault(call_id, ToolCall(call_id, step.name, _json(arguments)))
    return [*by_model, *by_code.values()]


def _code_arguments(step: Step) -> list[tuple[str, dict[str, str]]]:
    if step.name == ASK:
        return [(asked["call_id"], {"question": asked["text"]}) for asked in step.arguments.get("questions", [])]
    queries = step.arguments.get("queries", [])
    return [(step.call_id, {"query": queries[0]} if queries else {})]


def call_ids(step: Step) -> list[str]:
    """Return the calls that a tool's step answers; none for other steps."""
    asked = [str(asked["call_id"]) for asked in step.arguments.get("questions", [])]
    return asked or ([step.call_id] if step.call_id else [])


def tool_result(call_id: str, steps: Sequence[Step], sources: Sources, room: int | None) -> dict[str, Any]:
    """Return what a tool gave back, as the model reads it; with no room, a line in its place."""
    step = steps[0]
    if "error" in step.result:
        return dict(step.result)
    if step.name == ASK:
        return _answer(call_id, sources.questions)
    if step.name == tools.INSPECT:
        return dict(step.result)
    if room is None:
        return {"scope": step.scope, "note": _shrunk(steps)}
    own = {
        "scope": step.scope,
        "status": _status(step),
        "note": SIMILARITY,
        "memories": _memories(step.result, sources, step, room),
    }
    if step.name == tools.SHARED:
        return own
    failed = next((other for other in steps if other.arguments.get("for") == tools.FAILED_ATTEMPTS), None)
    attempts = _memories(failed.result, sources, failed, room) if failed else []
    return own | {
        "failed_attempts": [attempt for attempt in attempts if "note" not in attempt],
        "same_team": [
            {
                "scope": tools.SAME_TEAM_SCOPE,
                "project": team["project"],
                "memories": _memories(team, sources, step, room),
            }
            for team in step.result.get("same_team", [])
        ],
    }


def _status(step: Step) -> str:
    word = step.result.get("word", "")
    if step.name == tools.SHARED and word == MemoryWord.OFF:
        return "shared_lessons_disabled"
    return STATUS_WORDS.get(word, "no_match")


def _memories(group: Mapping[str, Any], sources: Sources, step: Step, room: int) -> list[dict[str, Any]]:
    """Return the memories of a result; one that an earlier result holds is only named."""
    named = {
        entry["ref"] for earlier in sources.steps if earlier.sequence < step.sequence for entry in entries(earlier)
    }
    supplied = [
        sources.supplied[entry["ref"]] for entry in group.get("memories", []) if entry["ref"] in sources.supplied
    ]
    return [
        {"ref": memory.ref, "strength": memory.strength, "note": "as above"}
        if memory.ref in named
        else memory.for_prompt(room)
        for memory in supplied
    ]


def _shrunk(steps: Iterable[Step]) -> str:
    found = ", ".join(f"{entry['ref']} {entry['strength']}" for step in steps for entry in entries(step))
    return f"{found or 'nothing'}: {SHRUNK}"


def _answer(call_id: str, questions: Sequence[Question]) -> dict[str, Any]:
    question = next((question for question in questions if question.call_id == call_id), None)
    if question is None:
        return {"answer": None, "note": NO_ANSWER}
    if not question.answer:
        return {"question": question.text, "answer": None, "note": NO_ANSWER}
    return {"question": question.text, "answer": cut(question.answer, ANSWER_CHARACTERS)}


def tokens_of(parts: Iterable[Part]) -> int:
    """Return about how many tokens the messages are."""
    size = sum(
        len(part.message.content) + sum(len(call.arguments) + len(call.name) for call in part.message.tool_calls) + 16
        for part in parts
    )
    return int(size / CHARACTERS_PER_TOKEN)


def _json(value: Any) -> str:
    """Return the value as it is sent, keys in a fixed order: PostgreSQL keeps those of a stored value in its own."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def sent_hash(messages: Iterable[Message]) -> str:
    """Return the SHA-256 of what went out."""
    canonical = json.dumps([asdict(message) for message in messages], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Sent:
    """What one model call was sent and what came back before the rules, put together now.

    ``changed``: something in it was forgotten since, or may not be read any more, so that it is not what went out.
    """

    messages: tuple[Message, ...]
    received: str
    changed: bool


def what_was_sent(step: Step, banks: Collection[int]) -> Sent:
    """Return one model call; memories only from ``banks``, those that may be read now."""
    diagnosis = step.diagnosis
    steps = list(diagnosis.steps.filter(sequence__lt=step.sequence).order_by("sequence"))
    sources = Sources(steps, load(steps, banks), list(diagnosis.investigation.questions.all()))
    messages = tuple(_restored(stored, sources) for stored in step.sent.get("parts", []))
    return Sent(messages, _received(step, sources.supplied), changed=sent_hash(messages) != step.sent_hash)


def _received(step: Step, supplied: Mapping[str, Supplied]) -> str:
    """Return what came back, with the quotes put in again from the records."""
    result = step.result
    if "report" not in result:
        return json.dumps(result, ensure_ascii=False, indent=2) if result else ""
    report = dict(result["report"])
    report["evidence"] = [{**cited, "quote": _quoted(cited, supplied)} for cited in report["evidence"]]
    return json.dumps(report, ensure_ascii=False, indent=2)


def _quoted(cited: Mapping[str, Any], supplied: Mapping[str, Supplied]) -> str:
    memory, span = supplied.get(cited["ref"]), cited["quote"]
    if not span:
        return "(not in the record)"
    return memory.revision.text[span[0] : span[1]] if memory else "(may not be read any more)"


def _restored(stored: Mapping[str, Any], sources: Sources) -> Message:
    if "text" in stored:
        return Message(stored["role"], stored["text"])
    by_place = {step.sequence: step for step in sources.steps}
    if stored.get("is") == "rejected":
        return _turn([by_place[stored["step"]]], sources, lambda _: True, MEMORY_TOKENS)[0].message
    steps = [by_place[place] for place in stored["steps"] if place in by_place]
    if stored["role"] == "assistant":
        return _turn(steps, sources, lambda _: True, MEMORY_TOKENS)[0].message
    body = tool_result(stored["call_id"], steps, sources, stored["room"])
    return Message("tool", _json(body), tool_call_id=stored["call_id"], name=stored["name"])
