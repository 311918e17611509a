"""How well recall and the gate work on labelled queries: what is found, and how often the wrong thing is accepted.

An *answerable* query has relevant memories in the bank, an *unanswerable* one has none. Ids in ``also_ok`` are neutral:
they are taken out of rankings and are no false match. Intervals are bootstrap intervals over the queries (Efron and
Tibshirani, "An introduction to the bootstrap", 1993): the percentiles of the measure over samples drawn with
replacement.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from incidents.models.investigation import MatchStrength

SAMPLES = 2000
SEED = 20261201
ACCEPTED_LOOKED_AT = 3


class BadFile(ValueError):
    """A file is not what it should be; the sentence names the line and the field."""


@dataclass(frozen=True)
class Memory:
    """One labelled memory. Its id and source are labels, never indexed."""

    id: str
    title: str
    symptom: str
    cause: str
    fix: str
    service: str


@dataclass(frozen=True)
class Query:
    """One labelled query."""

    id: str
    text: str
    relevant: frozenset[str]
    also_ok: frozenset[str]
    kind: str

    @property
    def is_answerable(self) -> bool:
        """Whether a memory answers it."""
        return bool(self.relevant)


@dataclass(frozen=True)
class Result:
    """What a query gave: the ranking before the gate, and what the gate accepted, best first, with its strength."""

    query: Query
    ranking: Sequence[str]
    accepted: Sequence[tuple[str, str]]
    milliseconds: float

    def place(self) -> int | None:
        """Return the place of the first relevant memory in the ranking, from 1."""
        ranked = [found for found in self.ranking if found not in self.query.also_ok]
        return next((place for place, found in enumerate(ranked, start=1) if found in self.query.relevant), None)

    def hits(self, strengths: Iterable[str]) -> bool:
        """Return whether a relevant memory is among the first three that were accepted, in one of these strengths."""
        seen = [one for one in self.accepted if one[0] not in self.query.also_ok][:ACCEPTED_LOOKED_AT]
        return any(found in self.query.relevant and strength in strengths for found, strength in seen)

    def is_false(self, strengths: Iterable[str]) -> bool:
        """Return whether something that is neither relevant nor neutral was accepted in one of these strengths."""
        neutral = self.query.also_ok | self.query.relevant
        return any(found not in neutral and strength in strengths for found, strength in self.accepted)


ACCEPTED = (MatchStrength.CLOSE.value, MatchStrength.PARTIAL.value)
CLOSE = (MatchStrength.CLOSE.value,)

# Name, of which queries, and what each of them contributes to the mean.
_MEASURES: tuple[tuple[str, bool, Callable[[Result], float]], ...] = (
    ("hit@1", True, lambda result: float(result.place() == 1)),
    ("hit@3", True, lambda result: float((result.place() or 99) <= 3)),
    ("mrr", True, lambda result: 1 / place if (place := result.place()) else 0.0),
    ("accepted_hit@3", True, lambda result: float(result.hits(ACCEPTED))),
    ("false_match", False, lambda result: float(result.is_false(ACCEPTED))),
    ("close_hit", True, lambda result: float(result.hits(CLOSE))),
    ("false_close", False, lambda result: float(result.is_false(CLOSE))),
)


def measure(results: Sequence[Result]) -> dict[str, Any]:
    """Return each measure as ``{"value", "low", "high"}``, None where no query counts for it, and the latencies."""
    measured: dict[str, Any] = {}
    for name, of_answerable, score in _MEASURES:
        scores = [score(result) for result in results if result.query.is_answerable == of_answerable]
        measured[name] = _interval(scores) if scores else None
    times = [result.milliseconds for result in results]
    for share in (50, 95):
        measured[f"latency_p{share}_ms"] = round(float(numpy.percentile(times, share)), 1) if times else None
    return measured


def by_kind(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Return the measures for each kind of query."""
    kinds = dict.fromkeys(result.query.kind for result in results)
    return {kind: measure([result for result in results if result.query.kind == kind]) for kind in kinds}


def _interval(scores: Sequence[float]) -> dict[str, float]:
    values = numpy.asarray(scores)
    drawn = numpy.random.default_rng(SEED).integers(0, len(values), (SAMPLES, len(values)))
    low, high = numpy.percentile(values[drawn].mean(axis=1), [2.5, 97.5])
    return {"value": round(float(values.mean()), 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def read_memories(path: Path) -> list[Memory]:
    """Return the memories of a file with one JSON object a line.

    Raises:
        BadFile: a line is no such object; says which, and which field.
    """
    return [
        Memory(
            id=_text(row, "id", where),
            title=_text(row, "title", where),
            **{name: str(row.get(name) or "") for name in ("symptom", "cause", "fix", "service")},
        )
        for where, row in _rows(path)
    ]


def read_queries(path: Path, known: Iterable[str]) -> list[Query]:
    """Return the queries of a file with one JSON object a line. ``known`` are the memories' ids.

    Raises:
        BadFile: a line is no such object, or names a memory that is not there.
    """
    ids = frozenset(known)
    queries = []
    for where, row in _rows(path):
        named = {name: frozenset(str(found) for found in row.get(name) or ()) for name in ("relevant", "also_ok")}
        for name, found in named.items():
            if not found <= ids:
                raise BadFile(f"{where}: {name} names {min(found - ids)}, which is no memory.")
        kind = str(row.get("kind") or "")
        queries.append(Query(_text(row, "id", where), _text(row, "text", where), kind=kind, **named))
    return queries


def _rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"{path} cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = json.loads(line)
        except ValueError:
            raise BadFile(f"{where}: this is no JSON.") from None
        if not isinstance(row, dict):
            raise BadFile(f"{where}: this is no JSON object.")
        rows.append((where, row))
    return rows


def _text(row: dict[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadFile(f"{where}: {name} is missing.")
    return value
