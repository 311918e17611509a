"""What changed from one revision of a record to the next, line by line and within a line word by word."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from incidents.models import MemoryRecordRevision

# A record has at most a few thousand characters; a longer line or text is shown as replaced, not compared.
MAX_LINES, MAX_WORDS = 200, 400
_WORD = re.compile(r"\s+|\S+")

Piece = tuple[bool, str]


@dataclass(frozen=True)
class Line:
    """A line that went (``−``) or came (``+``), in pieces: whether a piece changed, and its text."""

    op: str
    pieces: list[Piece]


@dataclass(frozen=True)
class Revision:
    """A revision and what it changed; nothing for the first, and for one whose text is gone."""

    row: MemoryRecordRevision
    lines: list[Line]


def with_differences(revisions: list[MemoryRecordRevision]) -> list[Revision]:
    """Return the revisions as they come, newest first, each with its difference from the one before."""
    olders: list[MemoryRecordRevision | None] = [*revisions[1:], None]
    return [
        Revision(new, difference(old.text, new.text) if old else []) for new, old in zip(revisions, olders, strict=True)
    ]


def difference(old: str, new: str) -> list[Line]:
    """Return the lines that differ, each old one before what stands in its place; none when either text is gone."""
    before, after = old.splitlines()[:MAX_LINES], new.splitlines()[:MAX_LINES]
    if not before or not after:
        return []
    found: list[Line] = []
    for op, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if op == "equal":
            continue
        gone, came = before[i:j], after[k:m]
        pairs = [_within(one, other) for one, other in zip(gone, came, strict=False)]
        found += [Line("−", left) for left, _ in pairs] + [Line("−", [(True, line)]) for line in gone[len(came) :]]
        found += [Line("+", right) for _, right in pairs] + [Line("+", [(True, line)]) for line in came[len(gone) :]]
    return found


def _within(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Return two lines in pieces, the words marked that the other one lacks."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > MAX_WORDS:
        return [(True, old)], [(True, new)]
    left: list[Piece] = []
    right: list[Piece] = []
    for op, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        changed = op != "equal"
        left += [(changed, "".join(before[i:j]))] if i < j else []
        right += [(changed, "".join(after[k:m]))] if k < m else []
    return left, right
