"""The red-team set: believable texts with planted identifiers, and clean technical texts."""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lessons.anonymise.names import Names

_FOLDER = Path(__file__).parent
_CODES = {
    "b64": lambda said: base64.b64encode(said.encode()).decode(),
    "hex": lambda said: said.encode().hex(),
    "url": lambda said: quote(said, safe="").replace("-", "%2D").replace("l", "%6C"),
    "jsu": lambda said: "".join(f"\\u{ord(c):04x}" for c in said),
}


@dataclass(frozen=True)
class Case:
    """A text; ``planted``: (kind, start, end) of what must go; ``stay``: (start, end) of what must not change."""

    text: str
    planted: tuple[tuple[str, int, int], ...]
    stay: tuple[tuple[int, int], ...]


def vocabulary(suffix: str = "") -> Names:
    return Names.from_json(json.loads((_FOLDER / f"vocabulary{suffix}.json").read_text(encoding="utf-8")))


def planted(suffix: str = "") -> list[Case]:
    raw = re.sub(r"(?m)\A(?:#.*\n)+", "", (_FOLDER / f"planted{suffix}.txt").read_text(encoding="utf-8"))
    return [_case(part.strip("\n")) for part in re.split(r"(?m)^---$\n?", raw) if part.strip()]


def clean() -> list[Case]:
    lines = (_FOLDER / "clean.txt").read_text(encoding="utf-8").splitlines()
    return [_case(line) for line in lines if not line.startswith("#")]


def _case(raw: str) -> Case:
    raw = re.sub(r"\{U\+([0-9A-F]{4,5})\}", lambda match: chr(int(match[1], 16)), raw)
    inner = re.compile(r"\{(b64|hex|url|jsu)\|((?:(?!\{(?:b64|hex|url|jsu)\|).)*?)\}(?=[^{}\"]|\}|$)", re.S)
    while (encoded := inner.sub(lambda match: _CODES[match[1]](match[2]), raw, count=1)) != raw:
        raw = encoded
    text, planted, stay, opened = "", [], [], []
    for piece in re.split(r"(⟦\w+\||⟧|⟪|⟫)", raw):
        if piece.startswith("⟦"):
            opened.append((piece[1:-1], len(text)))
        elif piece == "⟧":
            kind, start = opened.pop()
            planted.append((kind, start, len(text)))
        elif piece == "⟪":
            opened.append(("", len(text)))
        elif piece == "⟫":
            stay.append((opened.pop()[1], len(text)))
        else:
            text += piece
    assert not opened, raw
    return Case(text, tuple(planted), tuple(stay))
