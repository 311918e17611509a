"""What stands in a bank beside a candidate: how rare each word is, and what else is near to an alert.

Made of our own rows, so that a candidate is judged alike whatever memory server found it. Three rankings are fused: by
words (BM25), by averaged word vectors (WordLlama) and by meaning in context (MiniLM). The memory's own order does not
count; its answer says which records may be used at all.
"""

import math
import threading
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy
import numpy.typing

from incidents.memory.texts import Reading
from incidents.memory.words import common_words
from oncall.clients.embedded import embedding, minilm
from oncall.clients.embedded.embedding import Vectors

# A small bank says little about how common a word is. It is counted as if so many documents of somebody else stood
# beside it, in which a common word is in every fourth and any other in one of three hundred.
ASSUMED_DOCUMENTS = 60
COMMON_SHARE = 1 / 4
OTHER_SHARE = 1 / 300
# Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009: the usual values.
SATURATION, LENGTH_WEIGHT = 1.2, 0.75
# Reciprocal rank fusion, as in oncall.clients.embedded.index: a small constant, as there are few rankings.
FUSION_K = 10
DROPPED = -1

Key = TypeVar("Key", bound=Hashable)
Numbers = numpy.typing.NDArray[Any]


class Landscape(Generic[Key]):
    """The readings of one bank, in the memory of one process. Threads may share it."""

    def __init__(self, readings: Mapping[Key, Reading] | None = None) -> None:
        self._lock = threading.RLock()
        self._slots: dict[Key, int] = {}
        self._keys: list[Key] = []
        # By slot: the number of its group among ``_groups``; none where the document was dropped.
        self._groups: list[str] = []
        self._group = numpy.zeros(0, numpy.int64)
        self._lengths = numpy.zeros(0, numpy.float32)
        # By stem: which slots hold it and how often, those of dropped documents included, and how many hold it now.
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._holding: Counter[str] = Counter()
        self._stems: list[tuple[str, ...]] = []
        self._meaning: Vectors = numpy.zeros((0, minilm.DIMENSIONS), numpy.float32)
        self._bags: Vectors = numpy.zeros((0, 2, embedding.DIMENSIONS), numpy.float32)
        for key, reading in (readings or {}).items():
            self.put(key, reading)

    def __len__(self) -> int:
        return len(self._slots)

    def keys(self) -> set[Key]:
        """Return the keys of all that it holds."""
        return set(self._slots)

    def groups(self) -> set[str]:
        """Return the groups of all that it holds."""
        with self._lock:
            return {
                self._groups[number] for number in numpy.unique(self._group[: len(self._keys)]) if number != DROPPED
            }

    def put(self, key: Key, reading: Reading, group: str = "") -> None:
        """Take in a document; ``group`` is what can be asked for by itself."""
        with self._lock:
            self._put(key, reading, group)

    def _put(self, key: Key, reading: Reading, group: str) -> None:
        self.drop(key)
        slot = self._grow(key)
        if group not in self._groups:
            self._groups.append(group)
        self._group[slot] = self._groups.index(group)
        self._stems[slot] = tuple(reading.stems)
        self._lengths[slot] = sum(reading.stems.values())
        self._meaning[slot] = reading.whole + reading.caused
        self._bags[slot] = reading.bags
        self._holding.update(reading.stems.keys())
        for stem, count in reading.stems.items():
            slots, counts = self._postings.setdefault(stem, (array("L"), array("L")))
            slots.append(slot)
            counts.append(count)

    def drop(self, key: Key) -> None:
        """Take a document out, if it is there. Its slot stays empty: few documents are ever corrected or forgotten."""
        with self._lock:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._holding.subtract(self._stems[slot])
                self._stems[slot], self._lengths[slot], self._group[slot] = (), 0, DROPPED

    def _grow(self, key: Key) -> int:
        slot = self._slots[key] = len(self._keys)
        self._keys.append(key)
        self._stems.append(())
        if slot >= len(self._lengths):
            size = max(256, 2 * slot)
            for name in ("_lengths", "_meaning", "_bags", "_group"):
                held = getattr(self, name)
                grown = numpy.zeros((size, *held.shape[1:]), held.dtype)
                grown[:slot] = held[:slot]
                setattr(self, name, grown)
        return slot

    def rarity(self, stem: str) -> float:
        """Return how much it says that a document holds the stem: about 0 where all do, some 8 at most."""
        share = COMMON_SHARE if stem in common_words() else OTHER_SHARE
        holding = self._holding[stem] + ASSUMED_DOCUMENTS * share
        return math.log((len(self) + ASSUMED_DOCUMENTS) / holding)

    def near(self, alert: Reading, *, groups: Collection[str] = (), without: Collection[Key] = ()) -> "Near[Key]":
        """Return how near each document of the groups is to the alert; no groups are all of them."""
        with self._lock:
            return self._near(alert, groups, without)

    def _near(self, alert: Reading, groups: Collection[str], without: Collection[Key]) -> "Near[Key]":
        held = len(self._keys)
        group = self._group[:held]
        allowed = numpy.array([not groups or name in groups for name in self._groups], bool)
        usable = group != DROPPED
        usable[usable] = allowed[group[usable]]
        usable[[self._slots[key] for key in without if key in self._slots]] = False
        used = numpy.flatnonzero(usable)
        fused = numpy.zeros(len(used))
        for scores in (
            self._by_words(alert),
            (self._bags[:held] @ alert.bags[0]).max(axis=1, initial=-1),
            self._meaning[:held] @ alert.whole,
        ):
            fused += 1 / (FUSION_K + _ranks(scores[used]))
        return Near([self._keys[slot] for slot in used], fused)

    def _by_words(self, alert: Reading) -> Numbers:
        scores = numpy.zeros(len(self._keys), numpy.float32)
        mean = float(self._lengths[: len(self._keys)].sum()) / max(len(self), 1)
        for stem in alert.stems:
            if stem not in self._postings:
                continue
            held_by, times = self._postings[stem]
            slots, counts = numpy.asarray(held_by), numpy.asarray(times, numpy.float32)
            length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * self._lengths[slots] / max(mean, 1.0)
            scores[slots] += self.rarity(stem) * counts * (SATURATION + 1) / (counts + SATURATION * length)
        return scores


@dataclass(frozen=True)
class Near(Generic[Key]):
    """How near the documents of a bank are to one alert: the fused score of each. Scores compare within one alert."""

    keys: list[Key]
    fused: Numbers

    def best(self, count: int) -> list[Key]:
        """Return the nearest, best first."""
        return [self.keys[place] for place in numpy.argsort(-self.fused, kind="stable")[:count]]

    def scores(self, keys: Iterable[Key]) -> dict[Key, float]:
        """Return the scores of those that are among them."""
        wanted = set(keys)
        return {key: float(score) for key, score in zip(self.keys, self.fused, strict=True) if key in wanted}


def _ranks(scores: Numbers) -> Numbers:
    """Return the rank of each, from 1; equal scores share one."""
    ordered = numpy.sort(-scores)
    return numpy.searchsorted(ordered, -scores) + 1.0
