"""The relevance gate: is a recalled memory the same failure, near to it, or only alike in its words?

Recall always returns something, so this decides what counts. It compares the alert with *our* rows, never with what a
memory server sent, and judges alike whatever server found the candidate. Retrieval scores are not used: they grow with
the length of the query and mean something else on each server.

First what a team's own history shows by itself: the same error line, or the same alert again. Everything else is
scored by four features, each a question that a person would ask:

- *coverage*: how much of what the alert says does the memory say, counting each word by its rarity in the bank?
- *amount*: how much is that in all? One shared word is little, also when it is the whole alert.
- *sentences*: is each sentence of the alert near some sentence of the memory?
- *margin*: is the memory nearer to the alert than the best candidate of another kind? A look-alike has rivals.

Service, technology and symptom move the score up where they are the same and down where they contradict, and what
contradicts is never close. The weights of the four features were fitted by logistic regression on public alerts and
incident reports, and rounded; the rest was set by hand, as public reports name no service. The score is in log-odds.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy

from incidents.memory.words import common_words, is_word, stems
from incidents.models.investigation import MatchStrength
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.text import clean, signature, without_labels
from oncall.clients.embedded.embedding import Vectors, embed

COVERAGE, AMOUNT, SENTENCES, MARGIN, BASE = 8.0, 1.7, 4.5, 6.0, -7.0
SAME_SERVICE, OTHER_SERVICE = 0.5, -0.7
OTHER_TECHNOLOGY, OTHER_SYMPTOM = -0.5, -0.4
# The same service with the same symptom is what a team's own history looks like, in whatever words.
SAME_SYMPTOM, SAME_SYMPTOM_OF_SERVICE = 0.3, 1.2
CLOSE_FROM, PARTIAL_FROM = 2.1, 0.8

# Nearness that a text of the same trade has to any alert: the rival in a bank that holds no other.
NEARNESS_OF_A_STRANGER = 0.36
# An error line is the same error only if it says enough: "Error: failed" is everybody's.
SIGNATURE_RARITY = 9.0
SIGNATURE_STEMS = 3
# Fewer shared signs than this prove nothing, however well they cover a short alert: words that are not common ones,
# symptoms that are not vague ones, the service.
TELLING_SIGNS = 3
# Symptoms that go with every second failure do not contradict one another.
VAGUE_SYMPTOMS = frozenset({"timeout", "server errors", "high latency"})
# A long alert is compared by its error lines, its head and its end; what a log says between belongs to other things.
ALERT_CHARACTERS = 1500
ALERT_STEMS = 60
MEMORY_CHARACTERS = 6000
SENTENCES_COMPARED = 12
# Two memories whose texts share this much of their words are of one kind, and no rivals.
ALIKE = 0.8
WORDS_NAMED = 3

_WORD = re.compile(r"\w+(?:[.-]\w+)*")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?;])\s+")


class Rarity(Protocol):
    """How much it says that a text holds a stem, in some bank."""

    def rarity(self, stem: str) -> float:
        """Return about 0 for a word of every document, some 8 at most."""
        ...


@dataclass(frozen=True)
class AlertText:
    """What is asked about. Hostile text: of any length, in any language, or of nothing but numbers."""

    text: str
    facts: AlertFacts
    fingerprint: str = ""

    @cached_property
    def compared(self) -> str:
        """The part that says what failed."""
        said = without_labels(clean(self.text))
        if len(said) > ALERT_CHARACTERS:
            third = ALERT_CHARACTERS // 3
            errors = "\n".join((self.facts.title, *self.facts.error_signatures))[:third]
            said = "\n".join((errors, said[:third], said[-third:]))
        return _without_names(said, self.facts.service, self.facts.environment)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Its distinct stems."""
        return tuple(dict.fromkeys(stems(self.compared)))

    @cached_property
    def signatures(self) -> dict[str, str]:
        """Its error lines, by what stays the same of them."""
        return {signature(line): line for line in self.facts.error_signatures}

    @cached_property
    def sentences(self) -> Vectors:
        """A vector for each of its sentences."""
        return embed(_sentences(self.compared))

    @cached_property
    def vector(self) -> Vectors:
        """The vector of the whole."""
        return embed([self.compared])[0]


@dataclass(frozen=True)
class MemoryText:
    """What is compared of a memory: the parts of our own revision, and of which incident and fix it speaks."""

    title: str
    symptom: str
    cause: str = ""
    fix: str = ""
    service: str = ""
    fingerprint: str = ""
    fix_id: int | None = None

    @cached_property
    def seen(self) -> str:
        """What the incident looked like."""
        said = without_labels(f"{self.title}\n{self.symptom}")[:MEMORY_CHARACTERS]
        return _without_names(said, self.service, self.facts.environment)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of all that it says."""
        return frozenset(stems("\n".join((self.seen, self.cause, self.fix))[:MEMORY_CHARACTERS]))

    @cached_property
    def facts(self) -> AlertFacts:
        """What its symptom and cause say, read as an alert is."""
        return read_facts("\n".join((self.title, self.symptom, self.cause)))

    @cached_property
    def signatures(self) -> frozenset[str]:
        """What stays the same of its error lines."""
        return frozenset(signature(line) for line in self.facts.error_signatures)

    @cached_property
    def sentences(self) -> Vectors:
        """A vector for each of its sentences."""
        return embed(_sentences(self.seen) + _sentences(self.cause))

    @cached_property
    def vector(self) -> Vectors:
        """The vector of what the incident looked like."""
        return embed([self.seen])[0]

    def is_like(self, other: "MemoryText") -> bool:
        """Return whether both are of one kind: the same fix, the same alert, or nearly the same words."""
        if self.fix_id is not None and self.fix_id == other.fix_id:
            return True
        if self.fingerprint and self.fingerprint == other.fingerprint:
            return True
        union = self.stems | other.stems
        return bool(union) and len(self.stems & other.stems) / len(union) >= ALIKE


@dataclass(frozen=True)
class Judged:
    """The gate's word on one candidate. ``score`` orders candidates of equal strength and is never shown."""

    strength: MatchStrength
    reason: str
    score: float


@dataclass(frozen=True)
class _Features:
    coverage: float
    amount: float
    sentences: float
    margin: float
    telling: tuple[str, ...] = field(default=())

    @property
    def score(self) -> float:
        return (
            BASE + COVERAGE * self.coverage + AMOUNT * self.amount + SENTENCES * self.sentences + MARGIN * self.margin
        )


def judge(alert: AlertText, memories: Sequence[MemoryText], rarity: Rarity) -> list[Judged]:
    """Return the gate's word on each memory, in the order given. The memories are the candidates of one bank."""
    nearness = [float(memory.vector @ alert.vector) for memory in memories]
    spelled = _spelled(alert.compared)
    judged = []
    for memory, near in zip(memories, nearness, strict=True):
        rivals = [other for rival, other in zip(memories, nearness, strict=True) if not rival.is_like(memory)]
        margin = near - max([NEARNESS_OF_A_STRANGER, *rivals])
        judged.append(_judge(alert, memory, _features(alert, memory, margin, rarity), rarity, spelled))
    return judged


def _features(alert: AlertText, memory: MemoryText, margin: float, rarity: Rarity) -> _Features:
    weights = sorted(((rarity.rarity(stem), stem) for stem in alert.stems), reverse=True)[:ALERT_STEMS]
    total = sum(weight for weight, _ in weights)
    shared = [(weight, stem) for weight, stem in weights if stem in memory.stems]
    amount = sum(weight for weight, _ in shared)
    sentences = 0.0
    if len(alert.sentences) and len(memory.sentences):
        sentences = float(numpy.mean((alert.sentences @ memory.sentences.T).max(axis=1)))
    return _Features(
        coverage=amount / total if total else 0.0,
        amount=math.log1p(amount),
        sentences=sentences,
        margin=margin,
        telling=tuple(stem for _, stem in shared if is_word(stem) and stem not in common_words()),
    )


def _judge(
    alert: AlertText, memory: MemoryText, features: _Features, rarity: Rarity, spelled: dict[str, str]
) -> Judged:
    score = features.score
    said: list[str] = []
    same_service = _same(alert.facts.service, memory.service)
    if same_service is not None:
        score += SAME_SERVICE if same_service else OTHER_SERVICE
        said.append("same service" if same_service else f"another service ({memory.service})")
    symptoms = _common_symptoms(alert, memory)
    if symptoms:
        score += SAME_SYMPTOM_OF_SERVICE if same_service else SAME_SYMPTOM
        said.append(f"same symptom ({symptoms[0]})")
    against = _contradictions(alert, memory)
    score += sum(weight for weight, _ in against)
    said += [words for _, words in against]
    named = _quoted([spelled.get(stem, stem) for stem in features.telling])

    if _shares_an_error(alert, memory, rarity):
        strength = MatchStrength.PARTIAL if same_service is False else MatchStrength.CLOSE
        return Judged(strength, _line("same error text", *said), score)
    is_same_alert = bool(alert.fingerprint) and alert.fingerprint == memory.fingerprint
    if is_same_alert and not _names_another_error(alert, memory):
        strength = MatchStrength.CLOSE if score >= PARTIAL_FROM else MatchStrength.PARTIAL
        return Judged(strength, _line("same alert", *said), score)
    if len(features.telling) + len(symptoms) + (same_service is True) < TELLING_SIGNS:
        return Judged(MatchStrength.WEAK, _line("hardly anything telling in common", *said), score)
    if score >= CLOSE_FROM and not against and same_service is not False:
        return Judged(MatchStrength.CLOSE, _line(f"says nearly the same: {named}", *said), score)
    if score >= PARTIAL_FROM:
        return Judged(MatchStrength.PARTIAL, _line(f"says much the same: {named}", *said), score)
    return Judged(MatchStrength.WEAK, _line(f"alike in words only: {named}", *said), score)


def _shares_an_error(alert: AlertText, memory: MemoryText, rarity: Rarity) -> bool:
    for shared in alert.signatures.keys() & memory.signatures:
        telling = {stem for stem in stems(shared) if is_word(stem)}
        if len(telling) >= SIGNATURE_STEMS and sum(map(rarity.rarity, telling)) >= SIGNATURE_RARITY:
            return True
    return False


def _names_another_error(alert: AlertText, memory: MemoryText) -> bool:
    return bool(alert.signatures and memory.signatures and not alert.signatures.keys() & memory.signatures)


def _contradictions(alert: AlertText, memory: MemoryText) -> list[tuple[float, str]]:
    found = []
    technologies = set(memory.facts.technologies)
    if alert.facts.technologies and technologies and not technologies & set(alert.facts.technologies):
        found.append((OTHER_TECHNOLOGY, f"another technology ({', '.join(sorted(technologies)[:2])})"))
    here, there = _symptoms(alert.facts), _symptoms(memory.facts)
    if here and there and not here & there:
        found.append((OTHER_SYMPTOM, f"another symptom ({min(there)})"))
    return found


def _common_symptoms(alert: AlertText, memory: MemoryText) -> list[str]:
    return sorted(_symptoms(alert.facts) & _symptoms(memory.facts))


def _symptoms(facts: AlertFacts) -> set[str]:
    return set(facts.symptoms) - VAGUE_SYMPTOMS


def _without_names(text: str, *names: str | None) -> str:
    """Return the text without names of services and environments, which say where; they are compared by themselves."""
    for name in names:
        if name:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", " ", text, flags=re.IGNORECASE)
    return text


def _same(one: str | None, other: str) -> bool | None:
    """Return whether both name the same service; None where one of them names none."""
    return one.casefold() == other.casefold() if one and other else None


def _sentences(text: str) -> list[str]:
    found = [part.strip() for part in _SENTENCE_END.split(text[:MEMORY_CHARACTERS])]
    return [part for part in found if len(part) > 8][:SENTENCES_COMPARED] or [part for part in found if part][:1]


def _spelled(text: str) -> dict[str, str]:
    """Return how the alert writes each of its stems."""
    spelled: dict[str, str] = {}
    for pattern in (_WORD, _PIECE):
        for word in pattern.findall(text):
            for stem in stems(word)[:1]:
                spelled.setdefault(stem, word)
    return spelled


def _quoted(words: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(words))[:WORDS_NAMED]
    return ", ".join(f"“{word}”" for word in distinct) if distinct else "nothing telling"


def _line(*parts: str) -> str:
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."[:300]
