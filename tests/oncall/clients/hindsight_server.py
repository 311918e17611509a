"""A server on loopback that speaks as Hindsight does when something is wrong: it answers what a test tells it."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class HindsightServer(ThreadingHTTPServer):
    """Answers every request alike; ``{request}`` in the body becomes what was sent, as Hindsight's refusals do.

    Requests to a path that holds ``slow`` wait for ``delay`` seconds before they are answered.
    """

    daemon_threads = True
    status = 200
    body: str = '{"detail": "You sent: {request}"}'
    content_type = "application/json"
    delay = 0.0
    slow = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, status: int, body: str | dict[str, Any] = body, content_type: str = "application/json") -> None:
        self.status, self.content_type = status, content_type
        self.body = body if isinstance(body, str) else json.dumps(body)


class _Handler(BaseHTTPRequestHandler):
    server: HindsightServer

    def _respond(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.seen.append((f"{self.command} {self.path}", self.headers.get("Authorization", ""), sent))
        if self.server.slow in self.path:
            time.sleep(self.server.delay)
        body = self.server.body.replace("{request}", json.dumps(f"{self.path} {sent}")[1:-1]).encode()
        try:
            self.send_response(self.server.status)
            self.send_header("Content-Type", self.server.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            pass  # the client gave up waiting

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond

    def log_message(self, format: str, *args: object) -> None:
        pass


def bank(bank_id: str) -> dict[str, Any]:
    """Return what Hindsight says of a bank that was just made."""
    disposition = {"skepticism": 3, "literalism": 3, "empathy": 3}
    return {"bank_id": bank_id, "name": bank_id, "disposition": disposition, "mission": "", "background": ""}


@contextmanager
def running() -> Iterator[HindsightServer]:
    """Run a server until the block ends."""
    with HindsightServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
