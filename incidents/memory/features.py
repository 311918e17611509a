"""What speaks for a memory being the same failure as an alert, and what against, as numbers.

Each feature is a question that a person would ask. Those whose name begins with ``over_`` compare the memory with the
nearest of the others in its bank: a look-alike has rivals that say as much. No feature looks at who made the memory,
when, or which server found it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from incidents.memory.landscape import Landscape
from incidents.memory.texts import AlertText, MemoryText, Reading
from incidents.memory.words import opposites as opposite_stems
from oncall.clients.embedded.embedding import Vectors, embed_words

# Of a long alert only the rarest words count.
STEMS_COMPARED = 60
RAREST, TELLING = 5, 3
# Symptoms that go with every second failure say little and do not contradict one another.
VAGUE_SYMPTOMS = frozenset({"timeout", "server errors", "high latency"})
# MiniLM's nearness of two texts about one thing.
OF_ONE_KIND = 0.6

RELATIVE = (
    "words",
    "rarest_words",
    "whole",
    "whole_and_cause",
    "sentences",
    "best_sentence",
    "worst_sentence",
    "averages",
    "fused",
)


@dataclass(frozen=True)
class Placed:
    """A memory with its key and its score in the landscape."""

    key: int
    memory: MemoryText
    fused: float


@dataclass(frozen=True)
class Evidence:
    """The features of one memory, by name, and the words that they came of.

    ``shared`` are stems that both hold, ``only_here`` those that no other near memory holds, ``missing`` those of the
    alert that it lacks; each the rarest first.
    """

    features: Mapping[str, float]
    shared: tuple[str, ...] = ()
    only_here: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Asked:
    """What is the same for every memory: the alert's words with their rarity, and vectors of the rarest."""

    alert: Reading
    weights: dict[str, float]
    vectors: Vectors


def evidence(
    alert: AlertText,
    judged: Sequence[Placed],
    rivals: Sequence[Placed],
    landscape: Landscape[Any],
    strangers: Mapping[str, float],
) -> list[Evidence]:
    """Return the evidence for each memory, in order.

    ``rivals`` are the nearest of the bank, whichever memories are judged. A memory is no rival of its own kind.
    ``strangers`` has what an unrelated record of the same trade reaches, which is the rival where there is no better.
    """
    asked = _asked(alert.reading, landscape)
    pool = {placed.key: placed for placed in (*rivals, *judged)}
    alone = {key: _alone(asked, placed, landscape) for key, placed in pool.items()}
    return [_beside(asked, placed, rivals, alone, strangers) for placed in judged]


def _asked(alert: Reading, landscape: Landscape[Any]) -> _Asked:
    weights = {stem: landscape.rarity(stem) for stem in alert.stems}
    rarest = sorted(weights, key=lambda stem: -weights[stem])[:STEMS_COMPARED]
    written = sorted(alert.words, key=lambda stem: -landscape.rarity(stem))[:RAREST]
    return _Asked(
        alert=alert,
        weights={stem: weights[stem] for stem in rarest},
        vectors=embed_words([alert.words[stem] for stem in written]),
    )


def _alone(asked: _Asked, placed: Placed, landscape: Landscape[Any]) -> dict[str, float]:
    """Return the features that need no other memory."""
    alert, said, weights = asked.alert, placed.memory.reading, asked.weights
    total = sum(weights.values()) or 1.0
    amount = sum(weight for stem, weight in weights.items() if stem in said.stems)
    title = {stem: landscape.rarity(stem) for stem in said.title}
    telling = list(weights)[:TELLING]
    here, there = alert.symptoms - VAGUE_SYMPTOMS, said.symptoms - VAGUE_SYMPTOMS
    names = alert.names & said.names
    pairs = alert.pairs & said.pairs
    return {
        "words": amount / total,
        "words_of_title": sum(weights.get(stem, 0.0) for stem in said.title) / total,
        "words_of_cause": sum(weights.get(stem, 0.0) for stem in said.cause) / total,
        "title_said": sum(rarity for stem, rarity in title.items() if stem in alert.stems)
        / (sum(title.values()) or 1.0),
        "telling_missing": sum(stem not in said.stems for stem in telling) / (len(telling) or 1),
        "pairs": math.log1p(sum(weights.get(stem, 0.0) for pair in pairs for stem in pair.split())),
        "names": math.log1p(sum(landscape.rarity(name) for name in names)),
        "names_missing": len(alert.names - said.names) / (len(alert.names) or 1),
        "same_code": float(bool(alert.codes & said.codes)),
        "other_code": float(bool(alert.codes and said.codes and not alert.codes & said.codes)),
        "same_symptom": float(len(here & there)),
        "other_symptom": float(bool(here and there and not here & there)),
        "same_technology": float(bool(alert.technologies & said.technologies)),
        "other_technology": float(
            bool(alert.technologies and said.technologies and not alert.technologies & said.technologies)
        ),
        "opposites": float(len(opposites(alert, said))),
        "length": math.log1p(len(weights)),
        "fused": placed.fused,
        "rarest_words": _rarest_words(asked, said),
        **_near_sentences(alert, said),
    }


def opposites(alert: Reading, memory: Reading) -> list[tuple[str, str]]:
    """Return the pairs of opposite words of which the alert says one and the memory only the other."""
    return [
        (said, other)
        for said, other in opposite_stems()
        if said in alert.stems and other not in alert.stems and other in memory.stems and said not in memory.stems
    ]


def _rarest_words(asked: _Asked, said: Reading) -> float:
    """Return how near the rarest words of the alert are to their nearest of the memory."""
    if not len(asked.vectors) or not said.words:
        return 0.0
    return float((asked.vectors @ embed_words(list(said.words.values())).T).max(axis=1).mean())


def _near_sentences(alert: Reading, said: Reading) -> dict[str, float]:
    """Return how near each statement of the alert is to its nearest of the memory, and how near the wholes are."""
    best = (alert.sentences @ said.sentences.T).max(axis=1) if len(alert.sentences) else numpy.zeros(1)
    averages = (alert.averages @ said.averages.T).max(axis=1) if len(alert.averages) else numpy.zeros(1)
    return {
        "best_sentence": float(best.max()),
        "sentences": float(best.mean()),
        "worst_sentence": float(best.min()),
        "first_sentence": float(best[0]),
        "averages": float(averages.mean()),
        "worst_average": float(averages.min()),
        "whole": float(alert.whole @ said.whole),
        "whole_and_cause": float(alert.whole @ said.caused),
    }


def _beside(
    asked: _Asked,
    placed: Placed,
    rivals: Sequence[Placed],
    alone: Mapping[int, Mapping[str, float]],
    strangers: Mapping[str, float],
) -> Evidence:
    """Return the memory's features with those that compare it with the others."""
    others = [one for one in rivals if one.key != placed.key and not one.memory.is_like(placed.memory)]
    own, weights, said = alone[placed.key], asked.weights, placed.memory.reading
    total = sum(weights.values()) or 1.0
    shared = [stem for stem in weights if stem in said.stems]
    missing = [stem for stem in weights if stem not in said.stems]
    holding = {stem: sum(stem in other.memory.reading.stems for other in others) for stem in weights}
    only_here = [stem for stem in shared if not holding[stem]]
    relative = {
        f"over_{name}": own[name] - max([strangers.get(name, 0.0), *(alone[other.key][name] for other in others)])
        for name in RELATIVE
    }
    alike = [float(said.whole @ other.memory.reading.whole) for other in others]
    features = {
        **own,
        **relative,
        "specific": sum(weights[stem] * (1 - holding[stem] / (len(others) or 1)) for stem in shared) / total,
        "only_here": math.log1p(sum(weights[stem] for stem in only_here)),
        "said_elsewhere": sum(weights[stem] for stem in missing if holding[stem]) / total,
        "support": float(sum(nearness > OF_ONE_KIND for nearness in alike)),
    }
    return Evidence(features, tuple(shared), tuple(only_here), tuple(missing))
