"""What ``manage.py serve`` refuses before it starts anything."""

import fcntl
import socket
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize("port", [0, -1, 99999])
def test_a_port_that_there_is_not_is_named(port: int) -> None:
    with pytest.raises(CommandError, match=f"There is no port {port}"):
        call_command("serve", port=port)


def test_a_taken_port_is_named_with_another() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} cannot be used .* PORT={port + 1}"):
            call_command("serve", port=port)


def test_a_second_run_with_the_same_data_is_refused(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "serve.lock").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="runs already"):
            call_command("serve", port=port)
