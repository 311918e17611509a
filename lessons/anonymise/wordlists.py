"""Words that everybody uses: ordinary English, public technology, and the world's places."""

from functools import cache
from pathlib import Path

_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
_FOLDER = Path(__file__).parent / "words"


@cache
def ordinary() -> frozenset[str]:
    """Return English words and the field's jargon, which say nothing about anybody, in lower case."""
    return frozenset(word for name in ("ordinary", "jargon") for line in _lines(name) for word in line.split())


@cache
def technology() -> frozenset[str]:
    """Return names of public technology, in lower case."""
    return frozenset(word for line in _lines("technology") for word in line.split())


@cache
def given_names() -> frozenset[str]:
    """Return people's given names that are nothing else, in lower case."""
    return frozenset(word for line in _lines("given_names") for word in line.split())


@cache
def places() -> frozenset[str]:
    """Return cities and countries in lower case and plain letters."""
    return frozenset(line.lower() for line in _lines("places"))


@cache
def months() -> dict[str, int]:
    """Return each name of a month, in lower case and plain letters, with its number."""
    return {name: number for number, line in enumerate(_lines("months"), 1) for name in line.split()}


@cache
def is_common(word: str) -> bool:
    """Return whether the word, in lower case, is ordinary English or technology, itself or without its ending."""
    if word in ordinary() or word in technology() or word.isdigit() or word in _WEEKDAYS:
        return True
    return any(
        word.endswith(ending) and (word[: -len(ending)] + instead) in ordinary() | technology()
        for ending, instead in (("s", ""), ("es", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", ""))
        if len(word) - len(ending) >= 3
    )


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
