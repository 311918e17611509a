"""GroqChat against the wire-protocol server: every failure that Groq is known to have, through the real SDK."""

import json
import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.cache import cache

from oncall.clients.groq import GroqChat
from oncall.clients.groq_limits import SharedLimits, seconds_from_header, wait_before_next
from oncall.clients.groq_messages import wire_messages
from oncall.clients.groq_models import capabilities
from oncall.clients.groq_transport import server_address
from oncall.clients.llm import LLMRefused, LLMUnavailable, Message, Reply, ToolCall, ToolCallRejected, ToolSpec
from tests.oncall.clients import groq_server as groq
from tests.oncall.clients.groq_server import GroqServer

BIG, SMALL = "openai/gpt-oss-120b", "openai/gpt-oss-20b"
SECRET_WORDS = "the-words-of-the-alert"
MESSAGES = (Message("system", "You help."), Message("user", SECRET_WORDS))
TOOLS = (
    ToolSpec("inspect_alert", "Facts.", {"type": "object", "properties": {}}),
    ToolSpec("recall", "Memories.", {"type": "object", "properties": {"query": {"type": "string"}}}),
)
SCHEMA = {
    "type": "object",
    "properties": {"cause": {"type": "string"}},
    "required": ["cause"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def own_cache(settings: Any) -> Iterator[None]:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "groq"}}
    yield
    cache.clear()


@pytest.fixture
def server(settings: Any) -> Iterator[GroqServer]:
    with GroqServer() as server:
        settings.GROQ_BASE_URL = server.url
        settings.GROQ_API_KEY = groq.KEY
        settings.GROQ_PLAIN_V1 = False
        settings.GROQ_MODELS = [BIG, SMALL]
        settings.GROQ_TPM_BUDGET = 8000
        yield server


def ask(*, seconds: float = 5.0, messages: Any = MESSAGES, tools: Any = TOOLS, call_seconds: float = 45.0) -> Reply:
    return GroqChat(call_seconds=call_seconds).reply(messages, tools=tools, deadline=time.monotonic() + seconds)


def parse_cause(text: str) -> str:
    value = json.loads(text)
    if not isinstance(value, dict) or "cause" not in value:
        raise ValueError("no cause")
    return str(value["cause"])


def ask_report(*, seconds: float = 5.0, messages: Any = MESSAGES) -> Reply:
    return GroqChat().report(
        messages, name="diagnosis", schema=SCHEMA, parse=parse_cause, deadline=time.monotonic() + seconds
    )


# --- What is sent -----------------------------------------------------------------------------------------------------


def test_reply_sends_what_the_api_takes(server: GroqServer) -> None:
    server.script([groq.call("recall", {"query": "pool"})])

    reply = ask()

    assert reply.tool_calls == (ToolCall("call_1", "recall", '{"query": "pool"}'),)
    assert (reply.model, reply.content, reply.finish_reason) == (BIG, "", "tool_calls")
    assert (reply.prompt_tokens, reply.completion_tokens) == (120, 30)
    sent = server.requests[0].body
    assert (sent["temperature"], sent["max_completion_tokens"], sent["reasoning_effort"]) == (0, 1500, "low")
    assert sent["tool_choice"] == "auto"
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["inspect_alert", "recall"]
    assert "response_format" not in sent


def test_report_sends_a_strict_schema_without_tools(server: GroqServer) -> None:
    server.script([groq.report({"cause": "pool"})])

    reply = ask_report()

    assert reply.parsed == "pool"
    sent = server.requests[0].body
    assert "tools" not in sent
    assert "tool_choice" not in sent
    assert sent["response_format"]["json_schema"] == {"name": "diagnosis", "schema": SCHEMA, "strict": True}
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (3000, "medium")


def test_unknown_model_gets_no_effort_and_no_strict_schema(server: GroqServer, settings: Any) -> None:
    settings.GROQ_MODELS = ["somebody/model-1"]
    server.models = ("somebody/model-1",)

    ask()
    ask_report()

    step, report = (received.body for received in server.requests)
    assert "reasoning_effort" not in step
    assert report["response_format"]["json_schema"]["strict"] is False


def test_capabilities_of_an_unknown_name_are_the_least() -> None:
    known, unknown = capabilities(BIG), capabilities("somebody/model-1")

    assert known.strict_schema
    assert "none" not in known.efforts
    assert not unknown.strict_schema
    assert not unknown.efforts
    assert unknown.max_output < known.max_output


def test_history_is_sent_with_known_keys_and_no_nulls(server: GroqServer) -> None:
    history = (
        *MESSAGES,
        Message("assistant", "", tool_calls=(ToolCall("a", "recall", '{"query":"x'),)),
        Message("tool", '{"error": "not JSON"}', tool_call_id="a", name="recall"),
        Message("assistant", "", tool_calls=(ToolCall("b", "inspect_alert<|channel|>commentary", "null"),)),
        Message("tool", '{"error": "unknown"}', tool_call_id="b", name="inspect_alert<|channel|>commentary"),
        Message("assistant", "", tool_calls=(ToolCall("b", "inspect_alert", "{}"),)),
        Message("tool", "a lone \ud800 surrogate", tool_call_id="b", name="inspect_alert"),
    )
    server.script([groq.text("ready")])

    assert ask(messages=history).content == "ready"

    assert server.refused == []
    sent = server.requests[0].body["messages"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "recall", "arguments": "{}"}
    assert [message["role"] for message in sent[4:6]] == ["assistant", "user"]
    assert sent[7]["role"] == "tool"


def test_wire_messages_hold_only_what_was_said() -> None:
    assert wire_messages([Message("user", "")]) == [{"role": "user", "content": ""}]
    assert wire_messages([Message("assistant", "", tool_calls=(ToolCall("a", "t", "{}"),))]) == [
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
        }
    ]


@pytest.mark.parametrize(
    ("url", "plain", "address"),
    [
        ("https://api.groq.com", False, "https://api.groq.com"),
        ("https://api.groq.com/", False, "https://api.groq.com"),
        ("https://api.groq.com/openai/v1", False, "https://api.groq.com"),
        ("https://api.groq.com/openai/v1/", False, "https://api.groq.com"),
        ("https://proxy.example/groq/openai", False, "https://proxy.example/groq"),
        ("http://localhost:11434/v1", True, "http://localhost:11434"),
        ("http://localhost:11434", True, "http://localhost:11434"),
        ("https://proxy.example/v1", False, "https://proxy.example/v1"),
    ],
)
def test_server_address_is_what_the_sdk_can_add_to(url: str, plain: bool, address: str) -> None:
    assert server_address(url, plain_v1=plain) == address


def test_base_url_with_the_path_already_in_it_works(server: GroqServer, settings: Any) -> None:
    settings.GROQ_BASE_URL = f"{server.url}/openai/v1/"

    ask()

    assert server.requests[0].path == "/openai/v1/chat/completions"


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/"])
def test_plain_v1_server_is_asked_at_plain_v1(server: GroqServer, settings: Any, ending: str) -> None:
    server.plain_v1 = True
    settings.GROQ_PLAIN_V1 = True
    settings.GROQ_BASE_URL = f"{server.url}{ending}"

    ask()

    assert server.requests[0].path == "/v1/chat/completions"


# --- Rate limits ------------------------------------------------------------------------------------------------------

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30),
        ("2.5", 2.5),
        ("0", 0),
        ("7m12s", 432),
        ("59m1.5s", 3541.5),
        ("1d2h", 3600),
        ("450ms", 0.45),
        ("Tue, 01 Dec 2026 12:01:00 GMT", 60),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0),
        ("abc", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("", None),
        (None, None),
        ("Xyz, 99 Foo 2026", None),
        ("9" * 5000, 3600),
    ],
)
def test_seconds_from_header_reads_every_shape(value: str | None, seconds: float | None) -> None:
    read = seconds_from_header(value, now=NOON)

    assert read is None if seconds is None else read == pytest.approx(seconds)


@pytest.mark.parametrize(
    "retry_after",
    ["90", "Wed, 01 Dec 2027 00:00:00 GMT", "Tue, 01 Dec 2020 00:00:00 GMT", "2.5", "7m12s", "abc", "-1", None],
)
def test_rate_limit_never_sleeps_past_the_deadline(server: GroqServer, retry_after: str | None) -> None:
    server.script([], then=groq.rate_limited(retry_after))
    started = time.monotonic()

    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=1.4)

    assert time.monotonic() - started < 2.5
    assert failure.value.kind == "rate_limited"
    assert set(server.models_asked) == {BIG, SMALL}


def test_wait_that_fits_is_taken(server: GroqServer) -> None:
    server.script([groq.rate_limited("0.3"), groq.text("ready")])

    reply = ask()

    first, second = server.requests
    assert second.model == BIG
    assert second.at - first.at >= 0.3
    assert 0.3 <= reply.waited < 1
    assert reply.content == "ready"


def test_wait_that_does_not_fit_goes_to_the_next_model(server: GroqServer) -> None:
    server.script([groq.rate_limited("7m12s"), groq.text("ready")])

    reply = ask()

    assert server.models_asked == [BIG, SMALL]
    assert reply.model == SMALL
    assert reply.waited == 0
    assert "openai/gpt-oss-120b is at its rate limit for about 432 s." in reply.notes


def test_rate_limit_is_shared_with_the_next_call(server: GroqServer) -> None:
    server.script([groq.rate_limited("60")])
    ask()

    ask()

    assert server.models_asked == [BIG, SMALL, SMALL]


def test_hold_has_an_end_whatever_the_server_says(server: GroqServer) -> None:
    server.script([groq.rate_limited("Wed, 01 Dec 2100 00:00:00 GMT")])
    ask()

    held = SharedLimits(server.url).seconds_held(BIG)

    assert 3590 < held <= 3600


def test_headers_of_a_success_hold_back_the_next_call(server: GroqServer) -> None:
    used_up = {
        "x-ratelimit-limit-tokens": "8000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "600s",
    }
    server.script([groq.text("ready", headers=used_up)])
    ask()

    ask()

    assert server.models_asked == [BIG, SMALL]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, 0),
        ({"limit-tokens": "8000", "remaining-tokens": "5000", "reset-tokens": "22s"}, 0),
        ({"limit-tokens": "8000", "remaining-tokens": "0", "reset-tokens": "60s"}, 30),
        ({"limit-tokens": "8000", "remaining-tokens": "8000", "reset-tokens": "0s"}, 0),
        ({"limit-tokens": "junk", "remaining-tokens": "-5", "reset-tokens": "?"}, 0),
        ({"remaining-requests": "0", "reset-requests": "12s"}, 12),
        ({"remaining-requests": "0", "reset-requests": "?"}, 0),
    ],
)
def test_wait_before_next_follows_the_filling_bucket(headers: dict[str, str], wait: float) -> None:
    sent = {f"x-ratelimit-{name}": value for name, value in headers.items()}

    assert wait_before_next(sent, tokens=4000) == pytest.approx(wait)


def test_reset_header_speaks_where_retry_after_is_missing(server: GroqServer) -> None:
    server.script([groq.rate_limited(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="7m12s")])
    ask()

    assert SharedLimits(server.url).seconds_held(BIG) == pytest.approx(432, abs=2)


def test_cache_that_is_down_stops_nothing(server: GroqServer, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://x.invalid"}
    }
    server.script([groq.retired(BIG), groq.text("ready")])

    assert ask().content == "ready"

    assert "shared cache does not answer" in caplog.text
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


# --- Models that are gone ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gone",
    [
        groq.retired(BIG),
        groq.error(400, "The model has been decommissioned.", code="model_decommissioned"),
        groq.error(404, "model 'x' not found"),
    ],
    ids=["404", "400", "404 without a code"],
)
def test_retired_model_is_left_out_for_an_hour(
    server: GroqServer, gone: groq.Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.script([gone])

    first = ask()
    second = ask()

    assert server.models_asked == [BIG, SMALL, SMALL]
    assert first.model == second.model == SMALL
    warnings = [record for record in caplog.records if BIG in record.getMessage() and record.levelname == "WARNING"]
    assert len(warnings) == 1


def test_no_model_left_is_said_so(server: GroqServer) -> None:
    server.models = ()

    with pytest.raises(LLMUnavailable) as failure:
        ask()

    assert failure.value.kind == "no_model"


# --- Refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403])
def test_bad_key_ends_at_once(server: GroqServer, status: int) -> None:
    server.script([groq.error(status, f"Invalid API Key {groq.KEY}", code="invalid_api_key")])

    with pytest.raises(LLMRefused) as failure:
        ask()

    assert failure.value.kind == "not_authorised"
    assert len(server.requests) == 1
    assert groq.KEY not in str(failure.value)


@pytest.mark.parametrize(
    ("key", "kind"), [("", "not_configured"), ("gsk_ü", "not_authorised"), ("a\nb", "not_authorised")]
)
def test_key_that_cannot_be_one_is_refused_before_anything_is_sent(
    server: GroqServer, settings: Any, key: str, kind: str
) -> None:
    settings.GROQ_API_KEY = key

    with pytest.raises(LLMRefused) as failure:
        ask()

    assert failure.value.kind == kind
    assert server.requests == []


def test_address_without_the_service_is_a_refusal(server: GroqServer, settings: Any) -> None:
    settings.GROQ_BASE_URL = f"{server.url}/somewhere"

    with pytest.raises(LLMRefused) as failure:
        ask()

    assert failure.value.kind == "not_configured"


def test_request_that_no_model_takes_is_a_refusal(server: GroqServer) -> None:
    server.script([], then=groq.error(400, f"'messages' : {SECRET_WORDS} is unsupported"))

    with pytest.raises(LLMRefused) as failure:
        ask()

    assert failure.value.kind == "bad_request"
    assert server.models_asked == [BIG, SMALL]
    assert SECRET_WORDS not in str(failure.value)


@pytest.mark.parametrize(
    ("message", "failed_generation"),
    [
        ("Failed to call a function. See 'failed_generation' for more details.", "<tool-use>{"),
        ("tool call validation failed: parameters for tool recall did not match schema: errors: [...]", None),
        ("attempted to call tool 'query_runbooks' which was not in request.tools", '{"name": "query_runbooks"}'),
        ("Failed to call a function.", "The cause is the pool."),
    ],
    ids=["broken call", "wrong arguments", "unknown tool", "prose"],
)
def test_rejected_tool_call_is_told_to_the_loop(
    server: GroqServer, message: str, failed_generation: str | None
) -> None:
    server.script([groq.tool_use_failed(f"{message} {'x' * 1000}", failed_generation)])

    with pytest.raises(ToolCallRejected) as failure:
        ask()

    assert str(failure.value).startswith(message)
    assert len(str(failure.value)) <= 300
    assert len(server.requests) == 1


def test_rejected_tool_call_without_a_code_is_known_by_its_words(server: GroqServer) -> None:
    server.script(
        [groq.error(400, "Tool call validation failed: attempted to call tool 'x' which was not in request.tools")]
    )

    with pytest.raises(ToolCallRejected):
        ask()


CALLED = (
    *MESSAGES,
    Message("assistant", "", tool_calls=(ToolCall("a", "recall", "{}"),)),
    Message("tool", "what was found", tool_call_id="a", name="recall"),
)


@pytest.mark.parametrize("asking", ["reply", "report"])
def test_model_that_calls_tools_unasked_is_told_the_history_as_text(server: GroqServer, asking: str) -> None:
    server.script(
        [groq.tool_use_failed("Tool choice is none, but model called a tool"), groq.report({"cause": "pool"})]
    )

    reply = ask(messages=CALLED, tools=()) if asking == "reply" else ask_report(messages=CALLED)

    assert "pool" in reply.content
    sent = server.requests[1].body
    assert sent["tool_choice"] == "none"
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert "what was found" in sent["messages"][3]["content"]


def test_model_that_never_stops_calling_is_left(server: GroqServer) -> None:
    server.script([], then=groq.tool_use_failed("Tool choice is none, but model called a tool"))

    with pytest.raises(LLMUnavailable) as failure:
        ask(messages=CALLED, tools=())

    assert failure.value.kind == "bad_answer"
    assert server.models_asked == [BIG, BIG, SMALL, SMALL]


# --- Size -------------------------------------------------------------------------------------------------------------


def long_history(results: int, characters: int) -> tuple[Message, ...]:
    turns = []
    for number in range(results):
        turns.append(Message("assistant", "", tool_calls=(ToolCall(f"c{number}", "recall", "{}"),)))
        turns.append(Message("tool", f"result {number} " + "x" * characters, tool_call_id=f"c{number}", name="recall"))
    return (*MESSAGES, *turns)


def test_room_for_the_answer_shrinks_to_the_budget(server: GroqServer) -> None:
    server.tokens_a_minute = 8000

    ask(messages=long_history(1, 24_000))

    assert server.refused == []
    room = server.requests[0].body["max_completion_tokens"]
    assert 375 <= room < 1500


def test_oldest_results_are_cut_to_a_line_before_the_last(server: GroqServer) -> None:
    server.tokens_a_minute = 8000

    ask(messages=long_history(3, 11_000))

    assert server.refused == []
    results = [message["content"] for message in server.requests[0].body["messages"] if message["role"] == "tool"]
    assert len(results[0]) < 220
    assert "[cut: 160 of 11,009 characters]" in results[0]
    assert len(results[1]) == len(results[2]) == 11_009


def test_request_that_cannot_fit_is_not_sent(server: GroqServer) -> None:
    with pytest.raises(LLMRefused) as failure:
        ask(messages=(Message("user", "x" * 40_000),))

    assert failure.value.kind == "too_large"
    assert server.requests == []


def test_413_is_retried_once_and_smaller(server: GroqServer) -> None:
    server.script([groq.too_large(), groq.text("ready")])

    reply = ask(messages=long_history(2, 2000))

    assert reply.content == "ready"
    first, second = (received.body for received in server.requests)
    assert second["max_completion_tokens"] == first["max_completion_tokens"] // 2
    assert len(second["messages"][3]["content"]) < 220 < len(second["messages"][5]["content"])


def test_413_again_ends_as_too_large(server: GroqServer) -> None:
    server.script([], then=groq.too_large())

    with pytest.raises(LLMRefused) as failure:
        ask()

    assert failure.value.kind == "too_large"
    assert server.models_asked == [BIG, BIG, SMALL, SMALL]


# --- Outages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "kind"), [(498, "overloaded"), (500, "server_error"), (503, "overloaded")])
def test_outage_is_retried_then_left(server: GroqServer, status: int, kind: str) -> None:
    server.script([], then=groq.error(status, "down", headers={"retry-after": "0"}))

    with pytest.raises(LLMUnavailable) as failure:
        ask()

    assert failure.value.kind == kind
    assert server.models_asked == [BIG] * 4 + [SMALL] * 4


def test_outage_that_passes_is_not_seen(server: GroqServer) -> None:
    server.script([groq.error(502, "down", headers={"retry-after": "0"}), groq.text("ready")])

    assert ask().model == BIG


def test_hung_connection_goes_to_the_next_model(server: GroqServer) -> None:
    server.script([groq.hang(30), groq.text("ready")])
    started = time.monotonic()

    reply = ask(seconds=1.5, call_seconds=0.8)

    assert reply.model == SMALL
    assert time.monotonic() - started < 1.5


def test_hung_connection_is_tried_again_where_nothing_follows(server: GroqServer, settings: Any) -> None:
    settings.GROQ_MODELS = [BIG]
    server.script([groq.hang(30), groq.text("ready")])

    assert ask(seconds=3, call_seconds=0.6).content == "ready"


def test_answer_that_drips_ends_by_the_deadline(server: GroqServer) -> None:
    server.script([], then=groq.drip(0.05))
    started = time.monotonic()

    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=1.2, call_seconds=0.6)

    assert failure.value.kind == "timeout"
    assert time.monotonic() - started < 1.5


def test_headers_that_drip_end_by_the_deadline(server: GroqServer) -> None:
    server.script([], then=groq.Answer(b"{}", drip=0.05, drip_head=True))
    started = time.monotonic()

    with pytest.raises(LLMUnavailable):
        ask(seconds=1.2, call_seconds=0.6)

    assert time.monotonic() - started < 1.6


def test_unreachable_server_is_a_connection_failure(server: GroqServer, settings: Any) -> None:
    settings.GROQ_BASE_URL = "http://127.0.0.1:9"

    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=1.2)

    assert failure.value.kind == "connection"


def test_deadline_that_has_passed_sends_nothing(server: GroqServer) -> None:
    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=-1)

    assert failure.value.kind == "timeout"
    assert server.requests == []


def test_call_never_outlasts_the_callers_lease(server: GroqServer, settings: Any) -> None:
    settings.LEASE_SECONDS = 16
    server.script([], then=groq.rate_limited("5"))
    started = time.monotonic()

    with pytest.raises(LLMUnavailable):
        ask(seconds=600)

    assert time.monotonic() - started < 1


# --- Answers that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        groq.html(),
        groq.Answer(b'{"choices": null}'),
        groq.Answer(b'{"choices": []}'),
        groq.Answer(b'{"choices": [null]}'),
        groq.Answer(b'{"choices": [{"message": "hello"}]}'),
        groq.Answer(b"[]"),
        groq.Answer(b"[" * 100_000),
        groq.Answer(b"\xff\xfe"),
        groq.Answer(b""),
        groq.cut_off(),
    ],
    ids=["html", "null", "empty", "null choice", "no message", "list", "nested", "binary", "nothing", "cut"],
)
def test_answer_that_is_none_is_asked_for_again(server: GroqServer, answer: groq.Answer) -> None:
    server.script([answer, groq.text("ready")])

    reply = ask()

    assert reply.content == "ready"
    assert server.models_asked == [BIG, BIG]


def test_html_for_ever_ends_as_a_bad_answer(server: GroqServer) -> None:
    server.script([], then=groq.html())

    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=3)

    assert failure.value.kind == "bad_answer"


def test_html_with_a_5xx_is_an_outage(server: GroqServer) -> None:
    server.script([groq.html(502)], then=groq.html(502))

    with pytest.raises(LLMUnavailable) as failure:
        ask(seconds=3)

    assert failure.value.kind == "server_error"


def test_cut_answer_gets_more_room_once(server: GroqServer) -> None:
    server.script([groq.text("", finish_reason="length"), groq.text("ready")])

    assert ask().content == "ready"

    assert [received.body["max_completion_tokens"] for received in server.requests] == [1500, 3000]


def test_cut_tool_call_is_not_used(server: GroqServer) -> None:
    cut = groq.completion(
        {"content": None, "tool_calls": [{"id": "a", "function": {"name": "recall", "arguments": '{"que'}}]},
        finish_reason="length",
    )
    server.script([], then=cut)

    with pytest.raises(LLMUnavailable) as failure:
        ask()

    assert failure.value.kind == "bad_answer"
    assert server.models_asked == [BIG, BIG, SMALL, SMALL]


def test_unknown_finish_reason_and_odd_types_pass(server: GroqServer) -> None:
    odd = groq.completion(
        {"content": ["not", "text"], "tool_calls": [None, "x", {"function": {"name": None, "arguments": {"a": 1}}}]},
        finish_reason="hm",
        usage={"prompt_tokens": "many"},
    )
    server.script([odd])

    reply = ask()

    assert reply.finish_reason == "hm"
    assert (reply.content, reply.prompt_tokens) == ("", 0)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("", "null"), ("", "null"), ("", '{"a": 1}')]
    assert len({call.id for call in reply.tool_calls}) == 3


@pytest.mark.parametrize("arguments", [None, "", "null", [], '{"query":"x'])
def test_bad_arguments_reach_the_loop_as_text(server: GroqServer, arguments: object) -> None:
    server.script([groq.call("recall", arguments)])

    (wanted,) = ask().tool_calls

    assert isinstance(wanted.arguments, str)


def test_calls_without_tools_are_dropped(server: GroqServer) -> None:
    server.script([groq.call("recall", {"query": "x"})])

    reply = ask(tools=())

    assert reply.tool_calls == ()
    assert any("not offered" in note for note in reply.notes)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('<|channel|>commentary<|message|>{"query":"db"}<|end|>', ""),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>The pool.<|return|>",
            "The pool.",
        ),
        ("a < b and b <| c", "a < b and b <| c"),
    ],
    ids=["commentary", "final", "no markup"],
)
def test_channel_markup_is_never_content(server: GroqServer, said: str, shown: str) -> None:
    server.script([groq.text(said)])

    assert ask().content == shown


def test_answer_of_megabytes_is_cut(server: GroqServer) -> None:
    server.script([groq.text("y" * 2_000_000)])

    reply = ask()

    assert len(reply.content) == 100_000
    assert any("was cut" in note for note in reply.notes)


def test_answer_beyond_all_bounds_is_none(server: GroqServer, settings: Any) -> None:
    settings.GROQ_MODELS = [BIG]
    server.script([groq.text("y" * 9_000_000), groq.text("ready")])

    assert ask().content == "ready"


# --- Reports ----------------------------------------------------------------------------------------------------------


def test_report_climbs_down_while_forms_are_refused(server: GroqServer) -> None:
    refusal = groq.error(400, "response_format is not supported")
    server.script([refusal, refusal, refusal, groq.text('Here it is:\n```json\n{"cause": "pool"}\n```')])

    reply = ask_report()

    assert reply.parsed == "pool"
    forms = [received.body.get("response_format") for received in server.requests]
    assert [form and form["type"] for form in forms] == ["json_schema", "json_schema", "json_object", None]
    assert [form["json_schema"]["strict"] for form in forms[:2]] == [True, False]
    for received in server.requests[2:]:
        assert '"cause"' in received.body["messages"][-1]["content"]
    assert "openai/gpt-oss-120b does not take a strict JSON schema." in reply.notes


def test_report_that_cannot_be_read_is_asked_in_a_weaker_form(server: GroqServer) -> None:
    server.script([groq.report({"other": 1}), groq.report({"cause": "pool"})])

    assert ask_report().parsed == "pool"

    assert len(server.requests) == 2


def test_report_in_no_readable_form_keeps_the_text(server: GroqServer) -> None:
    server.script([groq.text(f"prose {number}") for number in range(4)])

    reply = ask_report()

    assert reply.parsed is None
    assert reply.content == "prose 3"


def test_report_keeps_an_earlier_text_when_the_server_goes_away(server: GroqServer) -> None:
    server.script([groq.text("prose")], then=groq.error(500, "down", headers={"retry-after": "0"}))

    reply = ask_report()

    assert (reply.content, reply.parsed) == ("prose", None)


def test_report_that_was_cut_gets_more_room(server: GroqServer, settings: Any) -> None:
    settings.GROQ_TPM_BUDGET = 30_000
    server.script([groq.text('{"cause": "po', finish_reason="length"), groq.report({"cause": "pool"})])

    assert ask_report().parsed == "pool"

    assert [received.body["max_completion_tokens"] for received in server.requests] == [3000, 6000]
    assert all(received.body["response_format"]["json_schema"]["strict"] for received in server.requests)


def test_report_refused_in_every_form_is_a_refusal(server: GroqServer) -> None:
    server.script([], then=groq.error(400, "no"))

    with pytest.raises(LLMRefused) as failure:
        ask_report()

    assert failure.value.kind == "bad_request"
    assert server.models_asked == [BIG] * 4 + [SMALL] * 4


# --- Logs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [groq.text("ready"), groq.error(400, "no"), groq.html(), groq.error(500, "down")])
def test_logs_and_errors_hold_neither_prompt_nor_key(
    server: GroqServer, caplog: pytest.LogCaptureFixture, answer: groq.Answer
) -> None:
    server.script([], then=answer)

    with caplog.at_level(logging.DEBUG):
        try:
            ask(seconds=3)
        except (LLMRefused, LLMUnavailable) as failure:
            logging.getLogger("test").exception("It failed: %s", failure)

    assert "chat/completions" in caplog.text
    assert SECRET_WORDS not in caplog.text
    assert groq.KEY not in caplog.text
