"""Reads an answer of the chat completions API. Everything in it is untrusted: types, sizes and texts."""

import json
import re
from typing import Any, TypeVar

from oncall.clients.groq_failures import CutShort, Retryable
from oncall.clients.llm import Reply, ToolCall

MAX_CONTENT_CHARACTERS = 100_000
MAX_TOOL_CALLS = 32

# gpt-oss speaks in channels; when the server fails to take them apart, their markers stand in the text.
_CHANNEL_MARKER = re.compile(r"<\|[a-z_]{1,20}\|>")
_FINAL_CHANNEL = "<|channel|>final<|message|>"

T = TypeVar("T")


def read_reply(body: bytes, *, model: str, seconds: float, tools_offered: bool, is_report: bool) -> Reply:
    """Return the reply that stands in the body.

    Raises:
        Retryable: it is no answer at all (a page of HTML with status 200, no choices).
        CutShort: the model ran out of room before it said anything, within a tool call, or within a report.
    """
    answer = _json(body)
    choice = next(iter(_get(answer, "choices", list) or []), None)
    message = _get(choice, "message", dict)
    if message is None:
        raise Retryable("bad_answer", "gave an answer that is no chat completion", 0.0)
    usage = _get(answer, "usage", dict)
    finish_reason = (_get(choice, "finish_reason", str) or "unknown")[:40]
    content, notes = _content(model, _get(message, "content", str) or "")
    calls = _tool_calls(_get(message, "tool_calls", list) or [])
    if calls and not tools_offered:
        calls, notes = (), (*notes, f"{model} called a tool that was not offered.")
    reply = Reply(
        content=content,
        model=model,
        tool_calls=calls,
        finish_reason=finish_reason,
        prompt_tokens=_get(usage, "prompt_tokens", int) or 0,
        completion_tokens=_get(usage, "completion_tokens", int) or 0,
        seconds=seconds,
        notes=notes,
    )
    if finish_reason == "length" and (calls or not content):
        raise CutShort(None)
    if finish_reason == "length" and is_report:
        raise CutShort(reply)
    return reply


def json_within(text: str) -> str:
    """Return what stands between the first and the last brace: models put fences and sentences around their JSON."""
    return text[text.find("{") : text.rfind("}") + 1]


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Retryable("bad_answer", "gave an answer that is no JSON", 0.0) from None


def _content(model: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without channel markup, and a note when something was left out."""
    if _FINAL_CHANNEL in text:
        text = text.rpartition(_FINAL_CHANNEL)[2]
        text = _CHANNEL_MARKER.split(text, maxsplit=1)[0]
    if _CHANNEL_MARKER.search(text):
        return "", (f"{model} answered in raw channel markup, which was left out.",)
    if len(text) > MAX_CONTENT_CHARACTERS:
        note = f"The answer of {model} was cut: {MAX_CONTENT_CHARACTERS:,} of {len(text):,} characters."
        return text[:MAX_CONTENT_CHARACTERS], (note,)
    return text.strip(), ()


def _tool_calls(values: list[Any]) -> tuple[ToolCall, ...]:
    calls: list[ToolCall] = []
    for value in values[:MAX_TOOL_CALLS]:
        function = _get(value, "function", dict) or {}
        arguments = function.get("arguments")
        call_id = (_get(value, "id", str) or "")[:100]
        # A result is found by its call's id: one that is missing or comes twice would mix them up.
        if not call_id or any(call.id == call_id for call in calls):
            call_id = f"call_{len(calls) + 1}"
        calls.append(
            ToolCall(
                id=call_id,
                name=(_get(function, "name", str) or "")[:200],
                arguments=(arguments if isinstance(arguments, str) else json.dumps(arguments))[:MAX_CONTENT_CHARACTERS],
            )
        )
    return tuple(calls)


def _get(value: object, key: str, kind: type[T]) -> T | None:
    """Return the value under the key if there is one of that type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
