"""Everything of the local profile in one command: database, example data, web server, workers, scheduler."""

import fcntl
import shutil
import socket
import sys
import tempfile
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from oncall.supervisor import Child, Supervisor

BACKUPS_KEPT = 5


class Command(BaseCommand):
    """Refuses any profile but the local one: elsewhere each process has a container of its own."""

    help = "Run web server, workers and scheduler of the local profile together."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen; loopback unless told."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        """Prepare, say where it is, and stay until Ctrl-C."""
        if not settings.LOCAL:
            raise CommandError("serve is for the local profile (ONCALL_PROFILE=local). See docker-compose.yml.")
        _require_free(host, port)
        # Kept open, and so held, until this process ends.
        lock = _only_one()
        self._prepare_database()
        shown = "localhost" if host in ("127.0.0.1", "::1") else host
        self.stdout.write(self.style.SUCCESS(f"\n  On-Call Copilot: http://{shown}:{port}\n"))
        self.stdout.write("  Sign in with one press as:")
        self._command("load_demo", list_people=True)
        self.stdout.write("\n  Ctrl-C stops everything.\n")
        self.stdout.flush()
        connection.close()
        try:
            Supervisor(_children(host, port)).run()
        finally:
            self._command("release_leases")
            lock.close()
            self.stdout.write("Stopped.")

    def _prepare_database(self) -> None:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            _back_up_database()
            call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable")
        self._command("load_demo")

    def _command(self, name: str, **options: Any) -> None:
        if name in get_commands():
            call_command(name, stdout=self.stdout, **options)


def _only_one() -> IO[str]:
    """Return the held lock of the data: a second run on it would end the first one's work when it stops."""
    lock = (settings.DATA_DIR / "serve.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise CommandError(
            f"It runs already with the data in {settings.DATA_DIR}. Stop that one, or name another folder: "
            "ONCALL_DATA_DIR=… make run"
        ) from None
    return lock


def _require_free(host: str, port: int) -> None:
    if not 1 <= port <= 65535:
        raise CommandError(f"There is no port {port}. Name one from 1 to 65535: make run PORT=8001")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used ({error.strerror}). Name another: make run PORT={port + 1}"
            ) from None


def _back_up_database() -> None:
    """Copy the database file before it is migrated; the newest few copies are kept."""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor != "sqlite" or not path.exists() or not path.stat().st_size:
        return
    folder = settings.DATA_DIR / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy2(path, folder / f"{path.stem}-{datetime.now():%Y%m%d-%H%M%S}{path.suffix}")
    for old in sorted(folder.glob(f"{path.stem}-*"))[:-BACKUPS_KEPT]:
        old.unlink()


def _children(host: str, port: int) -> list[Child]:
    python = sys.executable
    # The queue of files knows no process of a pool; with Redis it is the pool that a company runs.
    pool = "--pool=prefork" if settings.REDIS_URL else "--pool=threads"
    worker = [python, "-m", "celery", "--quiet", "-A", "oncall", "worker", pool, "--loglevel=WARNING"]
    calm = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return [
        Child(
            "web",
            [
                python, "-m", "gunicorn", "oncall.wsgi", "--bind", address, "--threads", "8",
                "--graceful-timeout", "2", "--worker-tmp-dir", tempfile.gettempdir(), "--log-level", "warning",
            ],
        ),
        # A queue for each kind of work, and a worker for each queue: a slow model never delays a retain.
        Child("investigate", [*worker, *calm, "-Q", "investigate", "-n", "investigate@%h", "--concurrency=4"]),
        Child("quick", [*worker, *calm, "-Q", "quick", "-n", "quick@%h", "--concurrency=2"]),
        Child(
            "scheduler",
            [python, "-m", "celery", "--quiet", "-A", "oncall", "beat", "-S", "celery.beat.Scheduler", "--pidfile=",
             "--loglevel=WARNING"],
        ),
    ]  # fmt: skip
