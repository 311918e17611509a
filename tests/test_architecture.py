"""Rules about the code that no reader should have to remember."""

import re
import subprocess
import sys
from pathlib import Path

from django.apps import apps

from oncall.celery import app

ROOT = Path(__file__).parents[1]
CODE = [path for name in ("oncall", "teams", "incidents", "lessons") for path in (ROOT / name).rglob("*.py")]


def test_imports_go_one_way() -> None:
    command = Path(sys.executable).with_name("lint-imports")

    run = subprocess.run([command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout


def test_every_published_task_exists() -> None:
    app.loader.import_default_modules()
    published = set()
    for path in CODE:
        text = path.read_text()
        published |= set(re.findall(r"(?:TASK|_TASK) = \"([a-z_.]+)\"", text))
        published |= set(re.findall(r"publish\(\"([a-z_.]+)\"", text))
        published |= set(re.findall(r'"task": "([a-z_.]+)"', text))

    assert published
    assert published - set(app.tasks) == set()


def test_an_id_of_a_bank_is_made_in_one_place() -> None:
    made = [path.relative_to(ROOT) for path in CODE if re.search(r"uuid4\(\)\.hex", path.read_text())]

    assert Path("teams/models/bank.py") in made
    assert {str(path) for path in made} <= {"teams/models/bank.py", "oncall/transport.py"}


def test_models_stand_where_their_app_says() -> None:
    labels = {config.label for config in apps.get_app_configs()}

    assert {"teams", "incidents", "lessons", "embedded"} <= labels
