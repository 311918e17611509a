"""Groq through its SDK: a chain of models, retries within the deadline, and every way in which it is known to fail.

The SDK itself retries nothing: its own retries ignore a long ``retry-after`` and spend three tries in a second.
"""

import functools
import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from django.conf import settings

from oncall.clients.groq_answer import json_within, read_reply
from oncall.clients.groq_failures import (
    CutShort,
    FormRefused,
    ModelFailed,
    ModelGone,
    Retryable,
    TooLarge,
    failure_of,
    rate_limited,
)
from oncall.clients.groq_limits import SharedLimits, wait_before_next
from oncall.clients.groq_messages import without_unknown_calls
from oncall.clients.groq_models import capabilities
from oncall.clients.groq_request import Request, forms
from oncall.clients.llm import LLMError, LLMRefused, LLMUnavailable, Message, Reply, ToolCallRejected, ToolSpec

STEP_TOKENS, REPORT_TOKENS = 1500, 3000
CALL_SECONDS = 45.0
# A request that is given less time than this is not worth sending, nor worth waiting for.
LEAST_SECONDS = 0.5
# Also for a server that says "now": four tries at once are no retries.
LEAST_WAIT_SECONDS = 0.1
# The caller's lease must outlast every call, waits included.
LEASE_MARGIN_SECONDS = 15
TRIES = 4


class GroqChat:
    """The models of GROQ_MODELS, in that order. ``call_seconds`` bounds one request; there may be several."""

    name = "Groq"
    simulated = False

    def __init__(self, *, call_seconds: float = CALL_SECONDS) -> None:
        self._call_seconds = call_seconds
        self._limits = SharedLimits(settings.GROQ_BASE_URL)

    def reply(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline: float) -> Reply:
        """Return the next message. See ``ChatModel.reply``."""
        told = tuple(without_unknown_calls(messages, tools))
        request = Request(messages=told, tools=tuple(tools), room=STEP_TOKENS, effort="low")
        run = _Run(deadline)
        return self._first_that_answers(lambda model: self._ask(model, request, run), run)

    def report(
        self,
        messages: Sequence[Message],
        *,
        name: str,
        schema: dict[str, Any],
        parse: Callable[[str], Any],
        deadline: float,
    ) -> Reply:
        """Return a report in the schema. See ``ChatModel.report``."""
        told = tuple(without_unknown_calls(messages, ()))
        run = _Run(deadline)

        def report_of(model: str) -> Reply:
            ladder = (
                Request(messages=told, room=REPORT_TOKENS, effort="medium", form=form)
                for form in forms(name, schema, strict=capabilities(model).strict_schema)
            )
            return self._first_readable(model, ladder, parse, run)

        return self._first_that_answers(report_of, run)

    def _first_that_answers(self, ask: Callable[[str], Reply], run: "_Run") -> Reply:
        """Go down the chain of models."""
        failures: list[ModelFailed] = []
        for model in settings.GROQ_MODELS:
            if run.seconds_left() < LEAST_SECONDS:
                break
            try:
                reply = ask(model)
            except ModelFailed as failure:
                failures.append(failure)
                run.note(f"{model} {failure.sentence}.")
            else:
                return replace(reply, waited=run.waited, notes=(*run.notes, *reply.notes))
        raise _all_failed(failures)

    def _first_readable(self, model: str, ladder: Iterator[Request], parse: Callable[[str], Any], run: "_Run") -> Reply:
        """Go down the ladder of forms until one is taken and can be read; otherwise keep the last text."""
        last: Reply | None = None
        for request in ladder:
            words = request.form.words if request.form else "text"
            try:
                reply = self._ask(model, request, run)
            except FormRefused:
                run.note(f"{model} does not take {words}.")
                continue
            except ModelFailed:
                if last is None:
                    raise
                break
            for text in (reply.content, json_within(reply.content)):
                try:
                    return replace(reply, parsed=parse(text))
                except (ValueError, RecursionError):
                    continue
            run.note(f"The report of {model} as {words} could not be read.")
            if last is None or reply.content:
                last = reply
        if last is None:
            raise ModelFailed("bad_request", "refused every form of report")
        return last

    def _ask(self, model: str, request: Request, run: "_Run") -> Reply:
        """Ask one model, as often as it is of use.

        Raises:
            ModelFailed: this model does not answer; another may.
            FormRefused: it does not take the request's form of report.
            LLMRefused, ToolCallRejected: the whole call is over.
        """
        if self._limits.is_dead(model):
            raise ModelGone
        request = request.fitted(model)
        tries = 0
        while True:
            held = self._limits.seconds_held(model)
            run.wait(held, otherwise=rate_limited(held))
            try:
                return self._send(model, request, run)
            except TooLarge:
                request = request.smaller(model)
                run.note(f"The request was too large for {model} and was shortened.")
            except CutShort as cut:
                wider = request.wider(model)
                if wider is None:
                    return _as_far_as_it_goes(cut)
                request = wider
            except ToolCallRejected:
                if request.tools:
                    raise
                request = request.told_without_calls()
            except Retryable as failure:
                tries += 1
                self._wait_before_next_try(model, failure, tries, run)

    def _wait_before_next_try(self, model: str, failure: Retryable, tries: int, run: "_Run") -> None:
        """Wait as long as the failure asks for; raise it when another try is of no use."""
        wait = max(LEAST_WAIT_SECONDS, failure.wait) if failure.wait is not None else 0.25 * 2.0**tries
        if failure.kind == "rate_limited":
            self._limits.hold(model, wait)
        # A hung server takes all the time of a try: a second one must leave as much to each model that follows.
        models_left = len(settings.GROQ_MODELS) - settings.GROQ_MODELS.index(model)
        late = failure.kind == "timeout" and run.seconds_left() < models_left * self._call_seconds
        if late or tries >= TRIES:
            raise failure
        run.wait(wait, otherwise=failure)

    def _send(self, model: str, request: Request, run: "_Run") -> Reply:
        """Send the request once.

        Raises:
            ModelFailed and its kin, TooLarge, CutShort, FormRefused, ToolCallRejected, LLMRefused.
        """
        # Imported here and not above, like the SDK: together they take half a second, and pages never need them.
        from oncall.clients import groq_transport  # noqa: PLC0415

        sdk, api_key = _sdk(), _api_key()
        seconds = min(self._call_seconds, run.seconds_left())
        if seconds < LEAST_SECONDS:
            raise ModelFailed("timeout", "was not asked, because no time was left")
        started = time.monotonic()
        address = groq_transport.server_address(settings.GROQ_BASE_URL, plain_v1=settings.GROQ_PLAIN_V1)
        http = groq_transport.http_client(plain_v1=settings.GROQ_PLAIN_V1, deadline=started + seconds)
        try:
            with sdk.Groq(api_key=api_key, base_url=address, max_retries=0, http_client=http) as client:
                raw = client.chat.completions.with_raw_response.create(
                    **request.arguments(model), timeout=groq_transport.timeouts(seconds)
                )
        # "from None": the SDK's errors carry the request, and a logged traceback would show the prompt.
        except sdk.APITimeoutError:
            raise Retryable("timeout", "did not answer in time") from None
        except sdk.APIConnectionError:
            raise Retryable("connection", "could not be reached") from None
        except sdk.APIStatusError as error:
            headers = error.response.headers
            failure = failure_of(error.status_code, error.body, headers, is_report=request.form is not None)
            if isinstance(failure, ModelGone):
                self._limits.mark_dead(model)
            raise failure from None
        except sdk.APIError:
            raise Retryable("bad_answer", "broke off its answer") from None
        # For the least call that anybody makes: a larger one will be told by its own refusal.
        held = wait_before_next(raw.headers, tokens=STEP_TOKENS)
        if held > 0:
            self._limits.hold(model, held)
        return read_reply(
            raw.read(),
            model=model,
            seconds=time.monotonic() - started,
            tools_offered=bool(request.tools),
            is_report=request.form is not None,
        )


class _Run:
    """One call of ``reply`` or ``report``: what is left of its time, how long it waited, what it had to do."""

    def __init__(self, deadline: float) -> None:
        self._deadline = min(deadline, time.monotonic() + settings.LEASE_SECONDS - LEASE_MARGIN_SECONDS)
        self.waited = 0.0
        self.notes: list[str] = []

    def seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def wait(self, seconds: float, *, otherwise: ModelFailed) -> None:
        """Sleep if that leaves time for a request; raise ``otherwise`` if it does not."""
        if seconds <= 0:
            return
        # Workers that were told the same moment must not all come back in it.
        seconds += random.uniform(0, min(1.0, seconds / 10))  # noqa: S311 (no secret depends on it)
        if seconds + LEAST_SECONDS > self.seconds_left():
            raise otherwise
        time.sleep(seconds)
        self.waited += seconds


@functools.cache
def _sdk() -> ModuleType:
    """Return the SDK, loaded at the first call: it takes half a second, and most processes never need it."""
    import groq  # noqa: PLC0415

    # At DEBUG it logs whole requests, prompts included.
    logging.getLogger("groq").setLevel(logging.INFO)
    return groq


def _api_key() -> str:
    key: str = settings.GROQ_API_KEY
    if not key:
        raise LLMRefused("not_configured", "GROQ_API_KEY is not set.")
    if not (key.isascii() and key.isprintable()):
        raise LLMRefused("not_authorised", "GROQ_API_KEY holds characters that no key has.")
    return key


def _as_far_as_it_goes(cut: CutShort) -> Reply:
    if cut.reply is None:
        raise ModelFailed("bad_answer", "had too little room for its answer")
    return cut.reply


def _all_failed(failures: Sequence[ModelFailed]) -> LLMError:
    """Return the error for the whole chain: what may pass weighs more than what will not, and that more than a gap."""
    refused = {"too_large", "bad_request"}
    passing = [failure for failure in failures if failure.kind not in {"no_model", *refused}]
    telling = passing or [failure for failure in failures if failure.kind in refused] or failures
    if not telling:
        return LLMUnavailable("timeout", "No time was left to ask a language model.")
    last = telling[-1]
    error = LLMRefused if last.kind in refused else LLMUnavailable
    return error(last.kind, f"No language model answered; the last one {last.sentence}.")
