"""The HTTP client under the SDK: it keeps the deadline, bounds the answer's size and knows servers with a plain /v1."""

import contextlib
import functools
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

CONNECT_SECONDS = 5.0
MAX_ANSWER_BYTES = 8_000_000


def server_address(url: str, *, plain_v1: bool) -> str:
    """Return the address that the SDK can add its ``/openai/v1`` to, whichever way the setting was written."""
    address = url.strip().rstrip("/")
    endings = ("/v1", "/openai") if plain_v1 or address.endswith("/openai/v1") else ("/openai",)
    for ending in endings:
        address = address.removesuffix(ending)
    return address


def timeouts(seconds: float) -> httpx.Timeout:
    """Return time limits for one request that together last no longer than ``seconds``."""
    connect = min(CONNECT_SECONDS, seconds / 4)
    return httpx.Timeout(seconds - connect, connect=connect)


def http_client(*, plain_v1: bool, deadline: float) -> httpx.Client:
    """Return a client for one request that ends by ``deadline`` (``time.monotonic()`` seconds)."""

    def use_plain_v1(request: httpx.Request) -> None:
        if plain_v1:
            path = request.url.raw_path.replace(b"/openai/v1/", b"/v1/", 1)
            request.url = request.url.copy_with(raw_path=path)

    def bound_head(request: httpx.Request) -> None:
        request.extensions = {**request.extensions, "trace": _Watch(deadline)}

    def bound_body(response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _BoundedStream(response.stream, deadline)

    # Hooks and not a transport of our own: with one, httpx ignores the proxies that the environment names.
    # Answers come uncompressed, so that the bound on their size is a bound on memory.
    return httpx.Client(
        verify=_ssl_context(),
        event_hooks={"request": [use_plain_v1, bound_head], "response": [bound_body]},
        headers={"Accept-Encoding": "identity"},
    )


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Shared, because reading the certificate store takes longer than the rest of the client."""
    return httpx.create_ssl_context()


class _Watch:
    """Shuts the connection at the deadline, unless the answer's headers were read by then.

    httpx's own limit is for each read alone, and before the body there is no stream to bound: a server that sends its
    headers a byte now and then would hold a worker for ever. Called by httpcore at each stage of a request.
    """

    def __init__(self, deadline: float) -> None:
        self._timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._shut)
        self._timer.daemon = True
        self._socket: socket.socket | None = None

    def __call__(self, stage: str, info: dict[str, Any]) -> None:
        made = info.get("return_value")
        if stage.endswith(("connect_tcp.complete", "start_tls.complete")) and made is not None:
            self._socket = made.get_extra_info("socket")  # TLS takes the place of the plain one
            if not self._timer.ident:
                self._timer.start()
        elif stage.endswith(("receive_response_headers.complete", "response_closed.complete")):
            self._timer.cancel()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed by now
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _BoundedStream(httpx.SyncByteStream):
    """A body that ends when it is too long, and fails when its time is over.

    httpx's own limit is for each read alone: a server that sends a byte now and then would never meet it.
    """

    def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        room = MAX_ANSWER_BYTES
        for chunk in self._stream:
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("The deadline has passed.")
            yield chunk[:room]
            room -= len(chunk)
            if room <= 0:
                return

    def close(self) -> None:
        self._stream.close()
