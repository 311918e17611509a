"""The command line runs the code that lessons go through."""

import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.conftest import World
from tests.lessons.anonymise import redteam

VOCABULARY = Path(redteam.__file__).with_name("vocabulary.json")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch):
    def type_in(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return type_in


def test_json_holds_the_text_and_four_keys_for_each_finding(typed, capsys: pytest.CaptureFixture[str]) -> None:
    typed("mailbird on owl7 hung; restart payments")

    call_command("anonymise", "--json", "--vocabulary", str(VOCABULARY))

    assert json.loads(capsys.readouterr().out) == {
        "text": "<SERVICE_1> on <HOST_1> hung; restart <SERVICE_2>",
        "findings": [
            {"kind": "service", "start": 0, "end": 8, "replacement": "<SERVICE_1>"},
            {"kind": "host", "start": 12, "end": 16, "replacement": "<HOST_1>"},
            {"kind": "uncertain_service", "start": 31, "end": 39, "replacement": "<SERVICE_2>"},
        ],
    }


def test_without_json_the_clean_text_alone_is_printed(typed, capsys: pytest.CaptureFixture[str]) -> None:
    typed("mailbird hung\n")

    call_command("anonymise", "--vocabulary", str(VOCABULARY))

    assert capsys.readouterr().out == "<SERVICE_1> hung\n"


def test_without_a_vocabulary_the_platforms_names_are_taken(
    world: World, typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(f"asked {world.responder.name} of {world.project.team.name} about {world.project.key}-12")

    call_command("anonymise")

    left = capsys.readouterr().out
    assert world.responder.name not in left
    assert world.project.team.name not in left
    assert world.project.key not in left


def test_a_vocabulary_that_cannot_be_read_is_refused(tmp_path: Path, typed) -> None:
    file = tmp_path / "names.json"
    file.write_text('{"teams": "Nightjar"}')
    typed("text")

    with pytest.raises(CommandError, match="teams"):
        call_command("anonymise", "--vocabulary", str(file))
