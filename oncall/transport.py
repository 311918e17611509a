"""The local profile's queue: kombu's file transport, made safe against half-written files and killed workers.

kombu's own writes a message in place, and a worker that reads half of one dies; it moves read messages through the
system's temporary folder. Here a message appears by rename, is claimed by rename, and is unlinked when it was read. A
message that cannot be read is set aside. What a killed worker had claimed is lost: the sweep sends it again.
"""

import contextlib
import fcntl
import logging
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

SCHEME = "oncall-files"


class Channel(filesystem.Channel):
    """A channel whose files are whole or not there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A missing folder makes the first publish fail.
        for folder in (self._messages, self._claimed, self._unreadable, self.control_folder):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def _messages(self) -> Path:
        return Path(self.data_folder_in)

    @property
    def _claimed(self) -> Path:
        return self._messages.with_name("claimed")

    @property
    def _unreadable(self) -> Path:
        return self._messages.with_name("unreadable")

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write the message beside the folder, then let it appear whole."""
        name = f"{time.time_ns()}_{uuid.uuid4().hex}.{queue}.msg"
        _write(self._messages / name, dumps(payload), self._claimed)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """Return the oldest message of the queue; Empty when there is none."""
        for path in sorted(self._messages.glob(f"*.{queue}.msg")):
            claimed = self._claimed / path.name
            try:
                path.rename(claimed)
            except FileNotFoundError:
                continue  # another worker was quicker
            try:
                payload = _message(claimed.read_text())
            except (ValueError, RecursionError, OSError):
                claimed.rename(self._unreadable / path.name)
                logger.warning("A queue message could not be read and was set aside.")
                continue
            claimed.unlink()
            return payload
        raise Empty

    def _size(self, queue: str) -> int:
        return sum(1 for _ in self._messages.glob(f"*.{queue}.msg"))

    def _purge(self, queue: str) -> int:
        found = list(self._messages.glob(f"*.{queue}.msg"))
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)

    def get_table(self, exchange: str) -> list[exchange_queue_t]:  # type: ignore[override]
        """Return the queues that are bound to the exchange."""
        try:
            rows = loads(self._exchange_file(exchange).read_text())  # type: ignore[attr-defined]
        except FileNotFoundError:
            return []
        return [exchange_queue_t(*row) for row in rows]

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None) -> None:
        row = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._alone(exchange):
            rows = self.get_table(exchange)
            if row not in rows:
                _write(self._exchange_file(exchange), dumps([row, *rows]), self._claimed)  # type: ignore[attr-defined]

    @contextlib.contextmanager
    def _alone(self, exchange: str) -> Iterator[None]:
        """Keep two processes from changing one exchange's table at the same moment."""
        with (self.control_folder / f"{exchange}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class Transport(filesystem.Transport):
    """The transport of ``oncall-files://``."""

    Channel = Channel


def _message(text: str) -> Any:
    """Return the message; raises ValueError where it lacks what kombu reads of it, whose own error ends a worker."""
    payload = loads(text)
    try:
        _ = payload["body"], payload["properties"]["delivery_tag"], payload["properties"]["delivery_info"]
    except (TypeError, KeyError):
        raise ValueError("It is no message.") from None
    return payload


def _write(target: Path, text: str, temporary_folder: Path) -> None:
    temporary = temporary_folder / f"{uuid.uuid4().hex}.tmp"
    temporary.write_text(text)
    os.replace(temporary, target)


def register() -> None:
    """Make the scheme known to kombu."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
