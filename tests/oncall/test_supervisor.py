"""The supervisor keeps its children alive, and ends them all in time."""

import io
import signal
import socket
import sys
import threading
import time

import pytest
from django.core.management import CommandError, call_command

from oncall.supervisor import Child, Supervisor

STUBBORN = (
    "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGTERM, signal.SIGINT)]; time.sleep(60)"
)


def _child(code: str, output: io.StringIO) -> Child:
    return Child("child", [sys.executable, "-u", "-c", code], output)


def _until(condition: object, seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def test_output_carries_the_childs_name() -> None:
    output = io.StringIO()
    child = _child("print('hello')", output)

    child.start()

    assert _until(lambda: "child | hello\n" in output.getvalue())
    assert _until(lambda: not child.is_alive)


def test_a_dead_child_is_started_again() -> None:
    output = io.StringIO()
    child = _child("import os; print('up', os.getpid())", output)
    child.start()
    assert _until(lambda: not child.is_alive)

    assert _until(lambda: child.restart_if_due(time.monotonic()) or output.getvalue().count("up ") == 2)
    assert _until(lambda: not child.is_alive)


def test_everything_ends_within_five_seconds_even_what_will_not() -> None:
    output = io.StringIO()
    children = [_child("import time; time.sleep(60)", output), _child(STUBBORN, output)]
    for child in children:
        child.start()
    time.sleep(0.3)
    started = time.monotonic()

    Supervisor(children).end()

    assert time.monotonic() - started < 5.5
    assert [child.is_alive for child in children] == [False, False]


def test_a_signal_stops_it() -> None:
    output = io.StringIO()
    child = _child("import time; time.sleep(60)", output)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()

    try:
        Supervisor([child]).run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert not child.is_alive


def test_serve_says_which_port_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(CommandError, match=f"Port {port} cannot be used.*PORT={port + 1}"):
            call_command("serve", port=port)


def test_serve_refuses_production(settings: object) -> None:
    settings.LOCAL = False  # type: ignore[attr-defined]

    with pytest.raises(CommandError, match="local profile"):
        call_command("serve")
