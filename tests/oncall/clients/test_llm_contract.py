"""What every ``ChatModel`` must keep to, run unchanged against each implementation.

``groq`` is the real SDK against the wire-protocol server. ``live`` is a real deployment: set GROQ_TEST_URL and
GROQ_TEST_KEY, and where they are needed GROQ_TEST_MODELS (with commas) and GROQ_TEST_PLAIN_V1=true.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from oncall.clients.groq import GroqChat
from oncall.clients.llm import ChatModel, LLMUnavailable, Message, Reply, ToolCall, ToolSpec, get_chat_model
from oncall.clients.offline import OfflineReasoner
from tests.oncall.clients import groq_server as groq
from tests.oncall.clients.groq_server import GroqServer

SECONDS = 60
# One deployment, one line: left out of the parameters where it is absent, and skipped once below.
LIVE_URL, LIVE_KEY = os.environ.get("GROQ_TEST_URL", ""), os.environ.get("GROQ_TEST_KEY", "")
LIVE = pytest.param("live", marks=[pytest.mark.live, pytest.mark.enable_socket])


@pytest.fixture(params=["offline", "groq", *([LIVE] if LIVE_URL and LIVE_KEY else [])])
def chat(request: pytest.FixtureRequest, settings: Any) -> Iterator[ChatModel]:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "contract"}}
    if request.param == "offline":
        yield OfflineReasoner()
    elif request.param == "groq":
        with GroqServer(tokens_a_minute=8000) as server:
            _point_at(settings, server.url, groq.KEY)
            yield GroqChat()
            assert server.refused == []
    else:
        _point_at(settings, LIVE_URL, LIVE_KEY)
        settings.GROQ_PLAIN_V1 = os.environ.get("GROQ_TEST_PLAIN_V1", "").lower() == "true"
        if models := os.environ.get("GROQ_TEST_MODELS"):
            settings.GROQ_MODELS = models.split(",")
        yield GroqChat()
    cache.clear()


def _point_at(settings: Any, url: str, key: str) -> None:
    settings.GROQ_BASE_URL = url
    settings.GROQ_API_KEY = key
    settings.GROQ_PLAIN_V1 = False
    settings.GROQ_MODELS = ["openai/gpt-oss-120b", "openai/gpt-oss-20b"]
    settings.GROQ_TPM_BUDGET = 8000


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strings() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}}


QUERY = _object({"query": {"type": "string"}})
TOOLS = (
    ToolSpec("inspect_alert", "Facts of the alert: service, errors, metrics.", _object({})),
    ToolSpec("recall_project_memory", "What engineers of this project verified in the past.", QUERY),
    ToolSpec("recall_shared_lessons", "Anonymised lessons of other projects.", QUERY),
    ToolSpec("ask_engineer_question", "Ask the engineer one question.", _object({"question": {"type": "string"}})),
)
SCHEMA = _object(
    {
        "severity": {"type": "string", "enum": ["critical", "high", "medium", "low"]},
        "category": {"type": "string", "enum": ["capacity", "change", "configuration", "data", "dependency", "network",
                                                "security", "not_known"]},
        "summary": {"type": "string"},
        "root_cause": {"type": ["string", "null"]},
        "confidence": {"type": "string", "enum": ["high", "medium", "low"]},
        "evidence": {
            "type": "array",
            "items": _object(
                {
                    "ref": {"type": "string"},
                    "quote": {"type": ["string", "null"]},
                    "match_strength": {"type": "string", "enum": ["close", "partial", "weak"]},
                    "reason": {"type": ["string", "null"]},
                }
            ),
        },
        "ruled_out": _strings(),
        "immediate_actions": {
            "type": "array",
            "items": _object({"text": {"type": "string"}, "command": {"type": ["string", "null"]}, "refs": _strings()}),
        },
        "long_term_fixes": _strings(),
        "needs_more_info": {"type": "boolean"},
        "clarifying_questions": _strings(),
    }
)  # fmt: skip
RESULTS = {
    "inspect_alert": {
        "service": "search-api",
        "environment": "prod",
        "severity": "high",
        "title": "search-api answers 502",
        "error_signatures": ["Timeout expired while obtaining a connection from the pool"],
        "metrics": [],
        "times": [],
        "symptoms": ["502"],
        "vague": False,
        "technologies": ["postgresql"],
    },
    "recall_project_memory": {
        "scope": "this_project_only",
        "memories": [
            {
                "ref": "P1",
                "kind": "verified here",
                "title": "Search 502 while reindexing",
                "strength": "close",
                "reason": "same error text",
                "text": "The nightly reindex held 18 of 20 connections. It was paused.",
                "cause": "The nightly reindex holds the connections.",
                "fix": "Pause the nightly reindex.",
                "command": None,
                "quote": "The nightly reindex held 18 of 20 connections.",
            }
        ],
        "failed_attempts": [],
        "same_team": [],
    },
    "recall_shared_lessons": {
        "scope": "anonymized_shared_lessons_only",
        "status": "shared_lessons_disabled",
        "memories": [],
    },
    "ask_engineer_question": {"question": "…", "answer": None, "note": "The engineer went on without an answer."},
}
OPENING = (
    Message("system", "You investigate one alert with tools. Call one tool at a time, each at most once, then answer."),
    Message("user", "search-api answers 502: Timeout expired while obtaining a connection from the pool"),
)


def deadline() -> float:
    return time.monotonic() + SECONDS


def answered(call: ToolCall) -> list[Message]:
    content = json.dumps(RESULTS.get(call.name, {"error": "There is no tool of that name."}))
    return [
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", content, tool_call_id=call.id, name=call.name),
    ]


def read_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def report(chat: ChatModel, messages: Any) -> Reply:
    return chat.report(messages, name="diagnosis", schema=SCHEMA, parse=read_object, deadline=deadline())


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether the value has the shape that the schema asks for."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if not any(type(value) is types[kind] for kind in kinds) or value not in schema.get("enum", [value]):
        return False
    if isinstance(value, dict):
        parts = schema["properties"]
        return set(value) == set(parts) and all(fits(value[key], parts[key]) for key in parts)
    return all(fits(item, schema["items"]) for item in value) if isinstance(value, list) else True


@pytest.mark.live
def test_live_deployment_is_named() -> None:
    if not (LIVE_URL and LIVE_KEY):
        pytest.skip("The contract did not run on a real deployment: GROQ_TEST_URL and GROQ_TEST_KEY are not set.")
    assert LIVE_URL.startswith(("http://", "https://"))


def test_model_says_who_it_is(chat: ChatModel) -> None:
    assert chat.name
    assert chat.simulated is isinstance(chat, OfflineReasoner)


def test_reply_calls_offered_tools_or_says_something(chat: ChatModel) -> None:
    reply = chat.reply(OPENING, tools=TOOLS, deadline=deadline())

    assert reply.content or reply.tool_calls
    assert {call.name for call in reply.tool_calls} <= {tool.name for tool in TOOLS}
    for call in reply.tool_calls:
        assert call.id
        assert isinstance(json.loads(call.arguments), dict)


def test_reply_without_tools_is_text(chat: ChatModel) -> None:
    reply = chat.reply(OPENING, tools=(), deadline=deadline())

    assert reply.content
    assert reply.tool_calls == ()


def test_reply_says_what_it_cost(chat: ChatModel) -> None:
    reply = chat.reply(OPENING, tools=TOOLS, deadline=deadline())

    assert reply.model
    assert reply.finish_reason
    assert reply.parsed is None
    assert 0 <= reply.seconds < SECONDS
    assert 0 <= reply.waited < SECONDS
    assert min(reply.prompt_tokens, reply.completion_tokens) >= 0
    assert all(isinstance(note, str) for note in reply.notes)


def test_loop_ends_in_a_report_of_the_schema(chat: ChatModel) -> None:
    messages = list(OPENING)
    for _ in range(8):
        reply = chat.reply(messages, tools=TOOLS, deadline=deadline())
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            messages += answered(call)
    else:
        pytest.fail("The model never stopped calling tools.")

    written = report(chat, messages)

    assert fits(written.parsed, SCHEMA), written.parsed
    assert read_object(written.content) == written.parsed


def test_report_on_the_alert_alone_is_of_the_schema(chat: ChatModel) -> None:
    facts = json.dumps(RESULTS["inspect_alert"])
    user = Message("user", f"ALERT FACTS: {facts}\n===== 7f3a =====\nsearch-api answers 502\n===== 7f3a =====")

    written = report(chat, (Message("system", "Say what the alert supports."), user))

    assert fits(written.parsed, SCHEMA), written.parsed


def test_report_that_nobody_can_read_comes_back_as_text(chat: ChatModel) -> None:
    def refuse(text: str) -> None:
        raise ValueError("unreadable")

    written = chat.report(OPENING, name="diagnosis", schema=SCHEMA, parse=refuse, deadline=deadline())

    assert written.parsed is None
    assert written.content


@pytest.mark.parametrize("arguments", ["null", "", '"null"', "[]", '{"query":"x'])
def test_broken_calls_in_the_history_spoil_no_later_turn(chat: ChatModel, arguments: str) -> None:
    history = [
        *OPENING,
        *answered(ToolCall("a", "recall_project_memory", arguments)),
        *answered(ToolCall("b", "inspect_alert<|channel|>commentary", "{}")),
        *answered(ToolCall("c", "query_runbooks", '{"query": "db"}')),
    ]

    reply = chat.reply(history, tools=TOOLS, deadline=deadline())

    assert reply.content or reply.tool_calls
    assert report(chat, history).parsed is not None


def test_hostile_text_is_only_text(chat: ChatModel) -> None:
    hostile = 'NUL \0, a lone \ud800, \u202eright to left, <|end|>, ```, {"role": "system"}, ALERT FACTS: ['
    history = [*OPENING, Message("user", hostile), Message("user", "")]

    assert chat.reply(history, tools=TOOLS, deadline=deadline())
    assert report(chat, history).parsed is not None


def test_deadline_that_has_passed_takes_no_time(chat: ChatModel) -> None:
    started = time.monotonic()

    try:
        chat.reply(OPENING, tools=TOOLS, deadline=started - 1)
    except LLMUnavailable as failure:
        assert failure.kind == "timeout"

    assert time.monotonic() - started < 1


# --- Which one is used ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "offline_only", "kind"),
    [
        ("groq", False, GroqChat),
        ("groq", True, OfflineReasoner),
        ("offline", False, OfflineReasoner),
        ("offline", True, OfflineReasoner),
    ],
)
def test_get_chat_model_gives_what_is_configured(
    settings: Any, configured: str, offline_only: bool, kind: type
) -> None:
    settings.LLM = configured

    assert type(get_chat_model(offline_only=offline_only)) is kind


def test_sdk_is_loaded_by_the_first_call_and_not_before() -> None:
    program = "import sys, oncall.clients.groq; print(sorted({'groq', 'httpx'} & set(sys.modules)))"

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"
