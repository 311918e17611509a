"""What a failed request means: try again, shorten, take another form, another model, or stop."""

import math
from collections.abc import Mapping

from oncall.clients.groq_limits import seconds_asked
from oncall.clients.llm import LLMRefused, Reply, ToolCallRejected

MAX_SENTENCE = 300

_GONE = {"model_not_found", "model_decommissioned"}
# 498 is Groq's own: the capacity is used up.
_OVERLOADED = {498, 503, 529}
_RETRYABLE = {408, 409, 425} | _OVERLOADED
# Some refusals of a tool call come without the code.
_TOOL_WORDS = (
    "tool call validation failed",
    "failed to call a function",
    "not in request.tools",
    "called a tool",
    "requested tool does not exist",
)


class ModelFailed(Exception):
    """This model does not answer; another may. ``sentence`` goes on from the model's name, without prompt text."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class ModelGone(ModelFailed):
    """The server no longer has the model."""

    def __init__(self) -> None:
        super().__init__("no_model", "is not available on the server")


class Retryable(ModelFailed):
    """The same request may work in a moment: after ``wait`` seconds where the server says so."""

    def __init__(self, kind: str, sentence: str, wait: float | None = None) -> None:
        super().__init__(kind, sentence)
        self.wait = wait


def rate_limited(seconds: float | None) -> Retryable:
    """Return the failure of a model that must be left alone, for so many seconds if that is known."""
    until = f" for about {math.ceil(seconds)} s" if seconds is not None else ""
    return Retryable("rate_limited", f"is at its rate limit{until}", seconds)


class TooLarge(Exception):
    """The request and the room for its answer are more than the plan or the model allows."""


class FormRefused(Exception):
    """The server or the model does not take this form of report."""


class CutShort(Exception):
    """The answer's room was used up before it was whole. ``reply`` is what there is, None when it is of no use."""

    def __init__(self, reply: Reply | None) -> None:
        super().__init__("the answer was cut off")
        self.reply = reply


def failure_of(status: int, body: object, headers: Mapping[str, str], *, is_report: bool) -> Exception:
    """Return what an answer that is no success means. The body is untrusted and may be anything."""
    code, message = _error_words(body)
    if status in {401, 403}:
        return LLMRefused("not_authorised", "The language model's server refuses GROQ_API_KEY.")
    if code in _GONE or (status == 404 and "model" in message.lower()):
        return ModelGone()
    if status == 404:
        return LLMRefused("not_configured", "There is no chat completions service at GROQ_BASE_URL.")
    if status == 413 or code == "context_length_exceeded":
        return TooLarge()
    if status == 429:
        return rate_limited(seconds_asked(headers))
    if status in _RETRYABLE or status >= 500:
        kind = "overloaded" if status in _OVERLOADED else "server_error"
        return Retryable(kind, f"failed with status {status}", seconds_asked(headers))
    if status in {400, 422}:
        return _failure_of_bad_request(code, message, is_report=is_report)
    return ModelFailed("bad_answer", f"answered with status {status}")


def _failure_of_bad_request(code: str, message: str, *, is_report: bool) -> Exception:
    if code == "tool_use_failed" or any(words in message.lower() for words in _TOOL_WORDS):
        sentence = " ".join(message.split())[:MAX_SENTENCE] or "The tool call was rejected."
        return ToolCallRejected("tool_use_failed", sentence)
    if is_report:
        return FormRefused()
    return ModelFailed("bad_request", "refused the request")


def _error_words(body: object) -> tuple[str, str]:
    """Return code and message, "" where there is none."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return "", error if isinstance(error, str) else ""
    code, message = error.get("code"), error.get("message")
    return code if isinstance(code, str) else "", message if isinstance(message, str) else ""
