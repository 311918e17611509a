"""A wrong or half-set variable stops the start with a message that names it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCTION = {
    "ONCALL_PROFILE": "production",
    "ONCALL_SECRET_KEY": "x" * 60,
    "ONCALL_ALLOWED_HOSTS": "copilot.example.com",
    "DATABASE_URL": "postgres://u:p@localhost/oncall",
    "REDIS_URL": "redis://localhost",
    "ONCALL_LLM": "offline",
    "ONCALL_MEMORY": "embedded",
}


def _start(tmp_path: Path, **environment: str) -> str:
    """Return "" when settings load, otherwise the error's last line."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    run = subprocess.run(
        [sys.executable, "-c", "import oncall.settings"],
        env={**kept, "ONCALL_DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "oncall.settings", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stderr.strip().splitlines()[-1] if run.returncode else ""


def test_production_starts_when_everything_is_said(tmp_path: Path) -> None:
    assert _start(tmp_path, **PRODUCTION) == ""


def test_local_starts_with_nothing_and_keeps_its_secret_key_private(tmp_path: Path) -> None:
    assert _start(tmp_path, ONCALL_PROFILE="local") == ""
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("missing", [name for name in PRODUCTION if name != "ONCALL_PROFILE"])
def test_production_names_what_is_missing(missing: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in PRODUCTION.items() if name != missing}

    assert missing in _start(tmp_path, **environment)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ONCALL_PROFILE": "staging"}, "ONCALL_PROFILE"),
        ({"ONCALL_DEBUG": "true"}, "ONCALL_DEBUG"),
        ({"ONCALL_HTTPS": "maybe"}, "ONCALL_HTTPS"),
        ({"DATABASE_URL": "mysql://u:p@localhost/x"}, "DATABASE_URL"),
        ({"REDIS_URL": "localhost:6379"}, "REDIS_URL"),
        ({"ONCALL_LLM": "groq"}, "GROQ_API_KEY"),
        ({"ONCALL_LLM": "openai"}, "ONCALL_LLM"),
        ({"GROQ_BASE_URL": "api.groq.com"}, "GROQ_BASE_URL"),
        ({"GROQ_TPM_BUDGET": "many"}, "GROQ_TPM_BUDGET"),
        ({"ONCALL_MEMORY": "hindsight"}, "HINDSIGHT_URL"),
        # A memory server that is named but not used is a half-set pair, never a silent choice.
        ({"HINDSIGHT_URL": "http://hindsight:8888"}, "HINDSIGHT_URL"),
        ({"HINDSIGHT_API_KEY": "k"}, "HINDSIGHT_API_KEY"),
        ({"ONCALL_MEMORY": "hindsight", "HINDSIGHT_URL": "hindsight:8888"}, "HINDSIGHT_URL"),
        ({"ONCALL_MEMORY": "hindsight", "HINDSIGHT_URL": "http://h:port"}, "HINDSIGHT_URL"),
        ({"ONCALL_MAX_STEPS": "1"}, "ONCALL_MAX_STEPS"),
    ],
)
def test_a_wrong_value_is_named(change: dict[str, str], named: str, tmp_path: Path) -> None:
    assert named in _start(tmp_path, **{**PRODUCTION, **change})


def test_every_variable_is_documented() -> None:
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "oncall/settings.py").read_text()))
    documented = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs/settings.md").read_text(), re.M))
    exampled = set(re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M))

    assert read == documented
    assert read - exampled == set()
