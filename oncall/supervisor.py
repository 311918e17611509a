"""Starts and ends the processes of the local profile together: web, two workers, scheduler."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

# Ctrl-C ends everything within five seconds: three to finish, then no more asking.
GRACE_SECONDS = 3.0
# A child that dies again and again is started again more and more slowly.
RESTART_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
STEADY_AFTER = 30.0


@dataclass
class Child:
    """One process, with its name before each line that it prints."""

    name: str
    command: Sequence[str]
    output: TextIO = field(default=sys.stderr, repr=False)
    process: subprocess.Popen[str] | None = None
    started_at: float = 0.0
    failures: int = 0
    not_before: float = 0.0

    def start(self) -> None:
        """Start it in a process group of its own, so that Ctrl-C reaches it through us alone."""
        self.process = subprocess.Popen(  # noqa: S603 (our own commands)
            list(self.command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.started_at = time.monotonic()
        threading.Thread(target=self._copy_output, args=(self.process,), daemon=True).start()

    def _copy_output(self, process: subprocess.Popen[str]) -> None:
        if process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                self.output.write(f"{self.name:>11} | {line}")

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def send(self, sent: signal.Signals) -> None:
        """Send a signal to the whole group."""
        if self.process is not None and self.is_alive:
            try:
                os.killpg(self.process.pid, sent)
            except ProcessLookupError:
                return

    def restart_if_due(self, now: float) -> None:
        """Start it again after it died, with a pause that grows while it keeps dying."""
        if self.is_alive:
            return
        if not self.not_before:
            self.failures = 0 if now - self.started_at > STEADY_AFTER else self.failures + 1
            pause = RESTART_SECONDS[min(self.failures, len(RESTART_SECONDS) - 1)]
            self.not_before = now + pause
            self.output.write(f"{self.name:>11} | ended; starts again in {pause:g} s\n")
        elif now >= self.not_before:
            self.not_before = 0.0
            self.start()


class Supervisor:
    """Holds the children until it is told to stop."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.children = children
        self._stop = threading.Event()

    def run(self) -> None:
        """Start all and keep them alive until INT or TERM, then end them."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stop.set())
        for child in self.children:
            child.start()
        try:
            while not self._stop.wait(0.3):
                for child in self.children:
                    child.restart_if_due(time.monotonic())
        finally:
            self.end()

    def end(self) -> None:
        """Ask every child to finish, then end what still runs."""
        for sent, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGQUIT, 1.0), (signal.SIGKILL, 1.0)):
            for child in self.children:
                child.send(sent)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and any(child.is_alive for child in self.children):
                time.sleep(0.05)
