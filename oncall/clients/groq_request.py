"""One request to one model: its size, its form, and the ways to make it smaller, wider or plainer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from django.conf import settings

from oncall.clients.groq_failures import ModelFailed
from oncall.clients.groq_messages import estimate_tokens, shortenings, wire_messages, wire_tools, without_calls
from oncall.clients.groq_models import capabilities
from oncall.clients.llm import Message, ToolSpec


@dataclass(frozen=True)
class Form:
    """One way to ask for a report. ``instruction`` is said to a model that is not given the schema otherwise."""

    words: str
    response_format: dict[str, Any] | None = None
    instruction: str = ""


def forms(name: str, schema: dict[str, Any], *, strict: bool) -> Iterator[Form]:
    """Yield the forms of a report, the strictest first."""
    if strict:
        yield Form("a strict JSON schema", _schema_format(name, schema, strict=True))
    yield Form("a JSON schema", _schema_format(name, schema, strict=False))
    instruction = f"Answer with one JSON object and nothing else. Its JSON schema is:\n{json.dumps(schema)}"
    yield Form("a JSON object", {"type": "json_object"}, instruction)
    yield Form("plain text", None, instruction)


def _schema_format(name: str, schema: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}}


@dataclass(frozen=True)
class Request:
    """What one model is asked. ``room`` is the most tokens that its answer may have, reasoning included."""

    messages: tuple[Message, ...]
    room: int
    effort: Literal["low", "medium"]
    tools: tuple[ToolSpec, ...] = ()
    form: Form | None = None
    shortened: bool = False
    widened: bool = False
    calls_told: bool = False

    def arguments(self, model: str) -> dict[str, Any]:
        """Return the keyword arguments of the SDK's ``create``. No key is null: the API refuses nulls."""
        arguments: dict[str, Any] = {
            "model": model,
            "messages": self._wire_messages(),
            "temperature": 0,
            "max_completion_tokens": self.room,
        }
        if self.tools:
            arguments |= {"tools": wire_tools(self.tools), "tool_choice": "auto"}
        elif self.calls_told:
            # Only after a model called a tool that nobody offered; otherwise some servers refuse it without tools.
            arguments["tool_choice"] = "none"
        if self.form and self.form.response_format:
            arguments["response_format"] = self.form.response_format
        if self.effort in capabilities(model).efforts:
            arguments["reasoning_effort"] = self.effort
        return arguments

    def _wire_messages(self) -> list[dict[str, Any]]:
        instruction = [Message("user", self.form.instruction)] if self.form and self.form.instruction else []
        return wire_messages([*self.messages, *instruction])

    def tokens(self) -> int:
        """Return about how many tokens the provider counts: the prompt and all the room for the answer."""
        response_format = self.form.response_format if self.form else None
        return estimate_tokens([self._wire_messages(), wire_tools(self.tools), response_format]) + self.room

    def fitted(self, model: str) -> "Request":
        """Return the request small enough for the plan's tokens a minute: less room first, then shorter results.

        Raises:
            ModelFailed: it does not fit even so.
        """
        most = min(self.room, capabilities(model).max_output)
        for messages in (list(self.messages), *shortenings(self.messages)):
            request = replace(self, messages=tuple(messages))
            room = min(most, settings.GROQ_TPM_BUDGET - request.tokens() + request.room)
            if room >= most // 4:
                return replace(request, room=room)
        raise ModelFailed("too_large", "was not asked, because the request is more than GROQ_TPM_BUDGET allows")

    def smaller(self, model: str) -> "Request":
        """Return the request after a refusal of its size: all old results cut to a line, half the room.

        Raises:
            ModelFailed: it was made smaller before.
        """
        if self.shortened:
            raise ModelFailed("too_large", "refused the request as too large, also when it was shortened")
        messages = [list(self.messages), *shortenings(self.messages)][-1]
        return replace(self, messages=tuple(messages), room=self.room // 2, shortened=True).fitted(model)

    def wider(self, model: str) -> "Request | None":
        """Return the request with twice the room, once; None when there is no more to give."""
        if self.widened:
            return None
        request = replace(self, room=self.room * 2, widened=True).fitted(model)
        return request if request.room > self.room else None

    def told_without_calls(self) -> "Request":
        """Return the request with the history of calls told as text, for a model that goes on calling.

        Raises:
            ModelFailed: it was told so before.
        """
        if self.calls_told:
            raise ModelFailed("bad_answer", "goes on calling tools that were not offered")
        return replace(self, messages=tuple(without_calls(self.messages)), calls_told=True)
