"""The two answers side by side: what each says, and what memory changed."""

from dataclasses import dataclass
from typing import TypeGuard

from incidents.models import Diagnosis
from incidents.views.cards import Failed


@dataclass(frozen=True)
class Row:
    """A row of the two answers. ``delta`` is changed, added, same, or "" where nothing may be compared."""

    name: str
    alone: "Answer | None"
    memory: "Answer | None"
    delta: str = ""
    word: str = ""


@dataclass(frozen=True)
class Answer:
    """One cell: the text, what it cites, and the failed attempt that strikes it out."""

    text: str
    refs: tuple[str, ...] = ()
    struck: "Failed | None" = None


@dataclass(frozen=True)
class Side:
    """One of the two answers. ``refs`` are the memories that its cause rests on."""

    diagnosis: Diagnosis | None
    first_action: Answer | None
    refs: tuple[str, ...] = ()


def compare(alone: Side, memory: Side, *, matched: bool) -> list[Row]:
    """Return the answers row by row. What memory changed is said only where it matched."""
    pairs = [
        ("Cause", _cause(alone), _cause(memory)),
        ("First action", alone.first_action, memory.first_action),
        ("Confidence", _confidence(alone.diagnosis), _confidence(memory.diagnosis)),
        ("Ruled out", _ruled_out(alone.diagnosis), _ruled_out(memory.diagnosis)),
        ("Severity", _severity(alone.diagnosis), _severity(memory.diagnosis)),
    ]
    if not matched:
        return [Row(name, one, other) for name, one, other in pairs]
    return [_row(name, one, other, alone.diagnosis, memory.diagnosis) for name, one, other in pairs]


def changed(rows: list[Row]) -> str:
    """Return in one line what memory changed."""
    names = [row.name.lower() for row in rows if row.delta in ("changed", "added")]
    return f"Memory changed the {_list_words(names)}." if names else "Memory changed nothing."


def ready(diagnosis: Diagnosis | None) -> TypeGuard[Diagnosis]:
    """Return whether there is an answer to show."""
    return diagnosis is not None and diagnosis.state in Diagnosis.ENDED


def _row(name: str, one: Answer | None, other: Answer | None, alone: Diagnosis | None, memory: Diagnosis | None) -> Row:
    if one is None or other is None:
        return Row(name, one, other)
    if name == "Confidence" and alone and memory:
        order = ["low", "medium", "high"]
        was, now = alone.confidence, memory.confidence
        if was in order and now in order and was != now:
            return Row(name, one, other, "changed", "raised" if order.index(now) > order.index(was) else "lowered")
        return Row(name, one, other, "same", "same")
    if _same_words(one.text, other.text):
        return Row(name, one, other, "same", "same")
    if one.text in ("Nothing.", "") and other.text not in ("Nothing.", ""):
        return Row(name, one, other, "added", "added")
    return Row(name, one, other, "changed", "changed")


def _cause(side: Side) -> Answer | None:
    return Answer(side.diagnosis.root_cause or "Not known.", side.refs) if ready(side.diagnosis) else None


def _confidence(diagnosis: Diagnosis | None) -> Answer | None:
    if not ready(diagnosis):
        return None
    word, reason = diagnosis.get_confidence_display() or "None", diagnosis.confidence_reason.rstrip(".")
    return Answer(f"{word}. {reason[:1].upper()}{reason[1:]}." if reason else f"{word}.")


def _ruled_out(diagnosis: Diagnosis | None) -> Answer | None:
    if not ready(diagnosis):
        return None
    return Answer("; ".join(str(cause) for cause in diagnosis.ruled_out) or "Nothing.")


def _severity(diagnosis: Diagnosis | None) -> Answer | None:
    return Answer(diagnosis.get_severity_display() or "Not known.") if ready(diagnosis) else None


def _same_words(one: str, other: str) -> bool:
    return one.casefold().split() == other.casefold().split()


def _list_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
