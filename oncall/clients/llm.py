"""A language model in our own words: one protocol, its dataclasses, its family of errors.

``oncall.clients.groq`` and ``oncall.clients.offline`` implement it. No object of an SDK leaves ``oncall.clients``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from django.conf import settings

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class ToolCall:
    """A call that the model wants. ``arguments`` is the model's raw text: it may not be JSON at all."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One message of a conversation, as it is sent."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""


@dataclass(frozen=True)
class ToolSpec:
    """A tool that is offered; ``parameters`` is a flat JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back. Everything in it is untrusted text.

    ``content`` is "" when the model only called tools. ``parsed`` is what ``report``'s parser returned, or None when
    no form of the report could be read (``content`` then holds the raw text). ``seconds`` is the time of the call that
    answered; ``waited`` the seconds spent waiting for a rate limit before it. ``notes`` are plain sentences about what
    the client had to do (a model that was skipped, a weaker form that was used).
    """

    content: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    parsed: Any = None
    notes: tuple[str, ...] = field(default=())


class LLMError(Exception):
    """The model did not answer. ``kind`` is a short stable word, ``str(error)`` a sentence without any prompt text."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class LLMUnavailable(LLMError):
    """Every model of the chain failed for now; another time may work.

    Kinds: rate_limited, timeout, connection, server_error, overloaded, no_model, bad_answer.
    """


class LLMRefused(LLMError):
    """Another try is of no use: kinds not_authorised, too_large, bad_request, not_configured."""


class ToolCallRejected(LLMError):
    """The provider rejected the model's own tool call (``tool_use_failed``). The sentence says why, for the model.

    The loop charges it to the step budget, tells the model once or twice, then withdraws the tools.
    """


class ChatModel(Protocol):
    """A language model.

    ``name`` is the word that the trace shows. ``simulated`` is True when no language model is behind it.
    Both calls end by ``deadline`` (``time.monotonic()`` seconds) and raise ``LLMUnavailable``, ``LLMRefused`` or, for
    ``reply`` only, ``ToolCallRejected``.
    """

    name: str
    simulated: bool

    def reply(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline: float) -> Reply:
        """Return the next message: text or tool calls. Without tools the model must answer in text."""
        ...

    def report(
        self,
        messages: Sequence[Message],
        *,
        name: str,
        schema: dict[str, Any],
        parse: Callable[[str], Any],
        deadline: float,
    ) -> Reply:
        """Return a report in the schema, in a call without tools.

        Weaker forms are tried while the provider refuses the form or ``parse`` raises ``ValueError``. When no form
        can be read, the last text comes back with ``parsed=None``.
        """
        ...


def get_chat_model(*, offline_only: bool = False) -> ChatModel:
    """Return the model that the settings name; the offline reasoner where a project asks for it."""
    # Imported here and not above: both import this module, and the SDK takes half a second to load.
    from oncall.clients.groq import GroqChat  # noqa: PLC0415
    from oncall.clients.offline import OfflineReasoner  # noqa: PLC0415

    if offline_only or settings.LLM == "offline":
        return OfflineReasoner()
    return GroqChat()
