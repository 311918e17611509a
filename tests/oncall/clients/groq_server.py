"""A server that speaks Groq's wire protocol on loopback, for tests of whatever talks to Groq.

It first checks each request as Groq does (address, key, unknown keys, nulls, tools together with a response format,
strict schemas, the plan's tokens a minute) and then gives the next answer of its script::

    with GroqServer() as server:
        server.script([call("inspect_alert"), text("ready"), report({...})])
        settings.GROQ_BASE_URL = server.url
        ...
        assert server.requests[0].body["tool_choice"] == "auto"

An entry is an ``Answer``, or a function from the ``Received`` request to one. After the script comes ``then``: by
default ``obliging``, a well-behaved model without any knowledge.
"""

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

KEY = "gsk_test_key"
MODELS = ("openai/gpt-oss-120b", "openai/gpt-oss-20b", "qwen/qwen3.8-27b")


@dataclass(frozen=True)
class Received:
    """A request as it came: ``body`` is the JSON, ``at`` the ``time.monotonic()`` of its arrival."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: float

    @property
    def model(self) -> str:
        return str(self.body.get("model"))


@dataclass(frozen=True)
class Answer:
    """What goes back. ``delay`` seconds pass before it, ``drip`` seconds between its bytes, from its first header
    on where ``drip_head`` is set; ``cut`` ends it early."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    drip_head: bool = False
    cut: bool = False


Entry = Answer | Callable[[Received], Answer]


# --- Answers of a model -----------------------------------------------------------------------------------------------


def completion(
    message: Mapping[str, Any], *, finish_reason: str = "stop", headers: Mapping[str, str] | None = None, **extra: Any
) -> Answer:
    """A chat completion around any message, well-formed or not."""
    body = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "openai/gpt-oss-120b",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
        "x_groq": {"id": "req_test"},
        **extra,
    }
    return Answer(json.dumps(body).encode(), headers=headers or {})


def text(content: str | None, **options: Any) -> Answer:
    """A message of text."""
    return completion({"content": content}, **options)


def report(fields: Mapping[str, Any], **options: Any) -> Answer:
    """A message whose text is a JSON object."""
    return text(json.dumps(fields), **options)


def call(name: str, arguments: object = "{}", *, call_id: str = "call_1") -> Answer:
    """A message that calls one tool. ``arguments`` that are a dict are written as JSON; anything else goes as it is."""
    return calls((name, arguments, call_id))


def calls(*wanted: tuple[str, object, str]) -> Answer:
    """A message that calls several tools, each as name, arguments and id."""
    tool_calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given) if isinstance(given, dict) else given},
        }
        for name, given, call_id in wanted
    ]
    return completion({"content": None, "tool_calls": tool_calls}, finish_reason="tool_calls")


# --- Failures ---------------------------------------------------------------------------------------------------------


def error(
    status: int,
    message: str = "It failed.",
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    **extra: Any,
) -> Answer:
    """An error as Groq writes it."""
    details = {"message": message, "type": "invalid_request_error", **extra}
    if code is not None:
        details["code"] = code
    return Answer(json.dumps({"error": details}).encode(), status=status, headers=headers or {})


def rate_limited(retry_after: str | None = None, **headers: str) -> Answer:
    """A 429. Names of headers are written with underscores: ``x_ratelimit_reset_tokens="7m12s"``."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if retry_after is not None:
        sent["retry-after"] = retry_after
    return error(429, "Rate limit reached for model in organization org_x.", code="rate_limit_exceeded", headers=sent)


def too_large() -> Answer:
    """A 413: prompt and room for the answer are more than a minute's tokens."""
    return error(413, "Request too large: Limit 8000, Requested 32979.", code="rate_limit_exceeded")


def tool_use_failed(message: str, failed_generation: str | None = None) -> Answer:
    """A 400 for the model's own tool call; ``failed_generation`` may be missing."""
    extra = {} if failed_generation is None else {"failed_generation": failed_generation}
    return error(400, message, code="tool_use_failed", **extra)


def retired(model: str) -> Answer:
    """A 404 for a model that is gone."""
    return error(404, f"The model `{model}` does not exist or you do not have access to it.", code="model_not_found")


def html(status: int = 200) -> Answer:
    """A page of a proxy in between."""
    return Answer(b"<html><body>Please sign in</body></html>", status=status, content_type="text/html")


def hang(seconds: float) -> Answer:
    """An answer that comes after everybody has stopped waiting."""
    return Answer(text("too late").body, delay=seconds)


def drip(seconds: float) -> Answer:
    """An answer that comes byte by byte: no single read takes long, all of them take for ever."""
    return Answer(text("x" * 500).body, drip=seconds)


def cut_off() -> Answer:
    """A body that ends in the middle."""
    whole = text("never read to the end").body
    return Answer(whole[: len(whole) // 2], cut=True)


# --- A model that does what it is asked -------------------------------------------------------------------------------


def obliging(received: Received) -> Answer:
    """Call each offered tool that takes no or one text argument once, then answer; fill a report with what fits."""
    body = received.body
    schema = _asked_schema(body)
    if schema is not None:
        return report(_filled(schema))
    called = {call["function"]["name"] for message in body["messages"] for call in message.get("tool_calls", [])}
    for tool in body.get("tools", []):
        function = tool["function"]
        if function["name"] not in called and not function["name"].startswith("ask_"):
            return call(function["name"], _filled(function["parameters"]), call_id=f"call_{len(called) + 1}")
    return text("I am ready to answer.")


def _asked_schema(body: Mapping[str, Any]) -> dict[str, Any] | None:
    response_format = body.get("response_format")
    if response_format and response_format["type"] == "json_schema":
        return dict(response_format["json_schema"]["schema"])
    _, mark, schema = body["messages"][-1].get("content", "").partition("JSON schema is:\n")
    return dict(json.loads(schema)) if mark else None


def _filled(schema: Mapping[str, Any]) -> Any:
    """Return the plainest value that the schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        return {name: _filled(part) for name, part in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "string": "Not known.", "number": 0, "integer": 0, "null": None}[kind]


# --- The server -------------------------------------------------------------------------------------------------------


class GroqServer:
    """The server; start and stop it with ``with``. ``requests`` are those that passed the checks, in order.

    ``refused`` are the sentences of those that did not: a test of a well-behaved client asserts that it is empty.
    ``tokens_a_minute`` None checks no size; ``plain_v1`` serves ``/v1`` instead of ``/openai/v1``.
    """

    def __init__(
        self, *, plain_v1: bool = False, tokens_a_minute: int | None = None, models: Sequence[str] = MODELS
    ) -> None:
        self.requests: list[Received] = []
        self.refused: list[str] = []
        self.plain_v1 = plain_v1
        self.tokens_a_minute = tokens_a_minute
        self.models = models
        self._script: deque[Entry] = deque()
        self._then: Entry = obliging
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> "GroqServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The value for GROQ_BASE_URL."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def models_asked(self) -> list[str]:
        """The models of the requests, in order."""
        return [received.model for received in self.requests]

    def script(self, entries: Iterable[Entry], *, then: Entry = obliging) -> None:
        """Give these answers in turn, and ``then`` for ever after. Replaces what is left of an earlier script."""
        with self._lock:
            self._script = deque(entries)
            self._then = then

    def answer_to(self, received: Received) -> Answer:
        """Check the request, and return what goes back."""
        refusal = _refusal(self, received)
        with self._lock:
            if refusal is not None:
                self.refused.append(json.loads(refusal.body)["error"]["message"])
                return refusal
            self.requests.append(received)
            entry = self._script.popleft() if self._script else self._then
        return entry if isinstance(entry, Answer) else entry(received)

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end of the test."""
        self._stopped.wait(seconds)


def _handler(server: GroqServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            raw = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                body = json.loads(raw)
            except ValueError:
                body = None
            received = Received(self.path, headers, body if isinstance(body, dict) else {}, time.monotonic())
            self._send(server.answer_to(received))

        def _send(self, answer: Answer) -> None:
            try:
                server.pause(answer.delay)
                if answer.drip_head:
                    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 500:
                        server.pause(answer.drip)
                        self.wfile.write(bytes([byte]))
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body) * (2 if answer.cut else 1)))
                self.send_header("Connection", "close")
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in self._pieces(answer):
                    self.wfile.write(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client has stopped waiting
            self.close_connection = True

        def _pieces(self, answer: Answer) -> Iterable[bytes]:
            if not answer.drip:
                yield answer.body
                return
            for byte in answer.body:
                server.pause(answer.drip)
                yield bytes([byte])

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    return Handler


# --- What Groq refuses ------------------------------------------------------------------------------------------------

_BODY_KEYS = {
    "model", "messages", "temperature", "max_completion_tokens", "tools", "tool_choice", "response_format",
    "reasoning_effort",
}  # fmt: skip
_MESSAGE_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id"}


def _refusal(server: GroqServer, received: Received) -> Answer | None:
    path = "/v1/chat/completions" if server.plain_v1 else "/openai/v1/chat/completions"
    if received.path != path:
        return error(404, f"Unknown request URL: POST {received.path}.", code="unknown_url")
    if received.headers.get("authorization") != f"Bearer {KEY}":
        return error(401, "Invalid API Key", code="invalid_api_key")
    if received.model not in server.models:
        return retired(received.model)
    sentence = _fault(received.body)
    if sentence:
        return error(400, sentence)
    size = math.ceil(len(json.dumps(received.body, ensure_ascii=False)) / 4) + received.body["max_completion_tokens"]
    if server.tokens_a_minute is not None and size > server.tokens_a_minute:
        message = f"Request too large on tokens per minute (TPM): Limit {server.tokens_a_minute}, Requested {size}."
        return error(413, message, code="rate_limit_exceeded")
    return None


def _fault(body: Mapping[str, Any]) -> str:
    """Return the sentence of the first fault, "" for none."""
    faults = [
        *(f"property '{key}' is unsupported" for key in body.keys() - _BODY_KEYS),
        *(f"'{key}' is null" for key, value in body.items() if value is None),
        *_message_faults(body.get("messages"), body.get("tools")),
    ]
    if body.get("tools") and body.get("response_format"):
        faults.append("json mode cannot be combined with tool/function calling")
    if "gpt-oss" in body["model"] and body.get("reasoning_effort") not in {None, "low", "medium", "high"}:
        faults.append("reasoning_effort must be one of low, medium, high")
    if not isinstance(body.get("max_completion_tokens"), int) or not 0 < body["max_completion_tokens"] <= 65_536:
        faults.append("max_completion_tokens must be between 1 and 65536")
    faults.extend(_format_faults(body))
    return faults[0] if faults else ""


def _message_faults(messages: object, tools: object) -> Iterable[str]:
    if not isinstance(messages, list) or not messages:
        yield "'messages' must hold at least one message"
        return
    offered = {tool["function"]["name"] for tool in tools} if isinstance(tools, list) else None
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        for key in message.keys() - _MESSAGE_KEYS:
            yield f"'messages.{place}': property '{key}' is unsupported"
        for key, value in message.items():
            if value is None:
                yield f"'messages.{place}.{key}' : value must be a string"
        if open_calls and message["role"] != "tool":
            yield f"'messages.{place}': a tool call has no result"
        for call in message.get("tool_calls", []):
            open_calls.add(call["id"])
            if offered is not None and call["function"]["name"] not in offered:
                yield "requested tool does not exist"
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                yield f"'messages.{place}': arguments are no JSON"
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield f"'messages.{place}': result of no call"
            open_calls.discard(message.get("tool_call_id"))


def _format_faults(body: Mapping[str, Any]) -> Iterable[str]:
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        yield "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'"
    schema = response_format.get("json_schema") or {}
    if schema.get("strict"):
        if "gpt-oss" not in body["model"]:
            yield "This model does not support response format `json_schema` with strict"
        yield from _strict_faults(schema["schema"], schema["name"])


def _strict_faults(schema: Mapping[str, Any], where: str) -> Iterable[str]:
    if "properties" in schema:
        if set(schema.get("required", [])) != set(schema["properties"]):
            yield f"invalid JSON schema for response_format: '{where}': all properties must be required"
        if schema.get("additionalProperties") is not False:
            yield f"invalid JSON schema for response_format: '{where}': additionalProperties must be false"
        for name, part in schema["properties"].items():
            yield from _strict_faults(part, f"{where}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from _strict_faults(schema["items"], f"{where}[]")
