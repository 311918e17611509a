"""Our messages in the form that Groq's API takes, and what can be done to make them smaller."""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from oncall.clients.llm import Message, ToolCall, ToolSpec

CHARACTERS_PER_TOKEN = 3.5
_DIGEST_CHARACTERS = 160
_VALID_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def wire_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages with only the keys that the API knows, and no nulls: it refuses both."""
    return [_wire_message(message) for message in messages]


def _wire_message(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role}
    if message.content or not message.tool_calls:
        wire["content"] = _sendable(message.content)
    if message.tool_calls:
        wire["tool_calls"] = [_wire_call(call) for call in message.tool_calls]
    if message.tool_call_id:
        wire["tool_call_id"] = _sendable(message.tool_call_id)
    if _VALID_NAME.fullmatch(message.name):
        wire["name"] = message.name
    return wire


def _wire_call(call: ToolCall) -> dict[str, Any]:
    # A server that renders history parses the arguments again: one bad call would spoil every later turn.
    arguments = call.arguments if _is_json_object(call.arguments) else "{}"
    return {
        "id": _sendable(call.id),
        "type": "function",
        "function": {"name": call.name, "arguments": _sendable(arguments)},
    }


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _sendable(text: str) -> str:
    """Lone surrogates cannot be encoded, and one of them would fail the whole request."""
    return text.encode("utf-8", "replace").decode()


def wire_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools as the API takes them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def estimate_tokens(payload: object) -> int:
    """Return about how many tokens the payload is; rather too many than too few."""
    return math.ceil(len(json.dumps(payload, ensure_ascii=False)) / CHARACTERS_PER_TOKEN)


def without_unknown_calls(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[Message]:
    """Tell calls of tools that are not offered as text: a server refuses a history that names them.

    Where no tools are offered at all, only names that no tool can have are told.
    """
    offered = {tool.name for tool in tools}
    return _told_as_text(messages, stays=lambda name: name in offered if offered else bool(_VALID_NAME.fullmatch(name)))


def without_calls(messages: Sequence[Message]) -> list[Message]:
    """Tell every call and result as text: a model that sees calls goes on calling, tools offered or not."""
    return _told_as_text(messages, stays=lambda name: False)


def _told_as_text(messages: Sequence[Message], *, stays: Callable[[str], bool]) -> list[Message]:
    told: list[Message] = []
    names: dict[str, str] = {}  # of the calls that are told, by id
    for message in messages:
        if message.role == "tool" and message.tool_call_id in names:
            told.append(Message("user", f"Result of {names[message.tool_call_id]}:\n{message.content}"))
        elif all(stays(call.name) for call in message.tool_calls):
            for call in message.tool_calls:
                names.pop(call.id, None)  # ids are the model's: one may come again
            told.append(message)
        else:
            # All calls of the message: a told result must not stand between a call and the result of another.
            names.update((call.id, call.name[:64]) for call in message.tool_calls)
            calls = ", ".join(call.name[:64] for call in message.tool_calls)
            told.append(replace(message, content=f"{message.content}\nI called {calls}.".strip(), tool_calls=()))
    return told


def shortenings(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield the messages with one more of their tool results cut to a line each time, the oldest first.

    The last result stays whole.
    """
    shorter = list(messages)
    results = [index for index, message in enumerate(messages) if message.role == "tool"]
    for index in results[:-1]:
        shorter[index] = replace(shorter[index], content=_digest(shorter[index].content))
        yield list(shorter)


def _digest(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _DIGEST_CHARACTERS:
        return line
    return f"{line[:_DIGEST_CHARACTERS]} [cut: {_DIGEST_CHARACTERS} of {len(line):,} characters]"
