"""What the gate compares: an alert and a memory, each read once into words, names and vectors.

A memory's reading is stored beside its revision (``incidents.memory.readings``), an alert's lives as long as its
recall. Both are hostile text: of any length, in any language, or of nothing but numbers.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy

from incidents.memory.words import common_words, is_word, stems, words_by_stem
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.text import clean, signature, without_labels
from oncall.clients.embedded import embedding, minilm
from oncall.clients.embedded.embedding import Vectors, embed
from oncall.clients.embedded.minilm import embed_sentences

# Counts every change of what a reading holds; a stored one of another format is made anew.
FORMAT = 1
# A long alert is compared by its error lines, its head and its end; what a log says between belongs to other things.
ALERT_CHARACTERS = 1500
ALERT_SENTENCES = 6
MEMORY_CHARACTERS = 6000
SYMPTOM_SENTENCES, CAUSE_SENTENCES = 8, 6
LEAST_SENTENCE = 9
TELLING_STEMS = 2
NAMES_KEPT, PAIRS_KEPT = 60, 400
# Two memories whose texts share this much of their words are of one kind, and no rivals.
ALIKE = 0.8

_SENTENCE_END = re.compile(r"\n+|(?<=[.!?;])\s+")
# Names that somebody gave to a thing: CamelCase, snake_case or dotted, capitals, options.
_NAME = re.compile(r"\b(?:[A-Z][a-z0-9]+){2,}\b|\b\w+(?:[_.]\w+)+\b|\b[A-Z][A-Z0-9_]{3,}\b|--[a-z-]+")
# Status and error codes of three digits.
_CODE = re.compile(r"(?<![\w.])([1-5]\d\d)(?![\w.])")


@dataclass(frozen=True)
class Reading:
    """A text as it is compared.

    ``stems`` counts those of the whole, ``words`` has how the text writes each stem, ``pairs`` are stems that stand
    side by side. Of the vectors, each of length one, ``sentences`` and ``whole`` are MiniLM's (n x 384; 384), of which
    ``caused`` reads title and cause; ``averages`` and ``bags`` are WordLlama's (n x 256; 2 x 256: the text, its head).
    The first sentence of a memory is its title.
    """

    stems: dict[str, int]
    title: tuple[str, ...]
    cause: tuple[str, ...]
    words: dict[str, str]
    pairs: frozenset[str]
    names: frozenset[str]
    codes: frozenset[str]
    symptoms: frozenset[str]
    technologies: frozenset[str]
    signatures: frozenset[str]
    sentences: Vectors
    averages: Vectors
    whole: Vectors
    caused: Vectors
    bags: Vectors

    def said(self) -> dict[str, Any]:
        """Return all but the vectors, for JSON."""
        sets = ("pairs", "names", "codes", "symptoms", "technologies", "signatures")
        return {
            "stems": self.stems,
            "title": list(self.title),
            "cause": list(self.cause),
            "words": self.words,
            **{name: sorted(getattr(self, name)) for name in sets},
        }

    def packed(self) -> bytes:
        """Return the vectors as bytes of float16."""
        parts = (self.whole, self.caused, self.bags, self.sentences, self.averages)
        return b"".join(numpy.asarray(part, numpy.float16).tobytes() for part in parts)

    @classmethod
    def stored(cls, said: dict[str, Any], packed: bytes) -> "Reading":
        """Return what ``said`` and ``packed`` were given of."""
        long, short = minilm.DIMENSIONS, embedding.DIMENSIONS
        numbers = numpy.frombuffer(packed, numpy.float16).astype(numpy.float32)
        count = (len(numbers) - 2 * long - 2 * short) // (long + short)
        parts = numpy.split(numbers, numpy.cumsum([long, long, 2 * short, count * long]))
        return cls(
            stems=said["stems"],
            title=tuple(said["title"]),
            cause=tuple(said["cause"]),
            words=said["words"],
            pairs=frozenset(said["pairs"]),
            names=frozenset(said["names"]),
            codes=frozenset(said["codes"]),
            symptoms=frozenset(said["symptoms"]),
            technologies=frozenset(said["technologies"]),
            signatures=frozenset(said["signatures"]),
            whole=parts[0],
            caused=parts[1],
            bags=parts[2].reshape(2, short),
            sentences=parts[3].reshape(count, long),
            averages=parts[4].reshape(count, short),
        )

    def is_like(self, other: "Reading") -> bool:
        """Return whether both say nearly the same words."""
        union = self.stems.keys() | other.stems.keys()
        return bool(union) and len(self.stems.keys() & other.stems.keys()) / len(union) >= ALIKE


@dataclass(frozen=True)
class AlertText:
    """What is asked about."""

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
            # At the ends of words: half a word would be one that nobody wrote.
            head, tail = said[:third].rsplit(maxsplit=1)[:1], said[-third:].split(maxsplit=1)[1:]
            said = "\n".join((errors, *head, *tail))
        return _without_names(said, self.facts.service, self.facts.environment)

    @cached_property
    def reading(self) -> Reading:
        """What it says."""
        found = _sentences(self.compared, ALERT_CHARACTERS)
        sentences = ([one for one in found if _is_statement(one)] or found)[:ALERT_SENTENCES]
        return _read(title=sentences[0] if sentences else "", seen=self.compared, sentences=sentences, facts=self.facts)


@dataclass(frozen=True)
class MemoryText:
    """The parts of a memory's own revision, and of which incident and fix it speaks. What to do is not compared."""

    title: str
    symptom: str
    cause: str = ""
    service: str = ""
    fingerprint: str = ""
    fix_id: int | None = None
    # As it was stored; made anew where there is none.
    kept: Reading | None = None

    @cached_property
    def reading(self) -> Reading:
        """What it says."""
        return self.kept or read_memory(self)

    def is_like(self, other: "MemoryText") -> bool:
        """Return whether both are of one kind: the same fix, the same alert, or nearly the same words."""
        if self.fix_id is not None and self.fix_id == other.fix_id:
            return True
        if self.fingerprint and self.fingerprint == other.fingerprint:
            return True
        return self.reading.is_like(other.reading)


def read_memory(memory: MemoryText) -> Reading:
    """Return what the memory says. Takes some 50 ms: every sentence goes through MiniLM."""
    facts = read_facts("\n".join((memory.title, memory.symptom, memory.cause)))
    where = (memory.service, facts.environment)
    title = _without_names(memory.title[:MEMORY_CHARACTERS], *where).strip()
    symptom = _without_names(without_labels(memory.symptom[:MEMORY_CHARACTERS]), *where)
    cause = memory.cause[:MEMORY_CHARACTERS]
    sentences = [title, *_sentences(symptom, SYMPTOM_SENTENCES), *_sentences(cause, CAUSE_SENTENCES)]
    return _read(title=title, seen=f"{title}\n{symptom}", cause=cause, sentences=sentences, facts=facts)


def _read(*, title: str, seen: str, sentences: Sequence[str], facts: AlertFacts, cause: str = "") -> Reading:
    text = f"{seen}\n{cause}".strip()
    in_order = stems(text)
    pairs = list(dict.fromkeys(f"{one} {other}" for one, other in pairwise(in_order)))
    whole = embed_sentences([seen])[0]
    return Reading(
        stems=dict(Counter(in_order)),
        title=tuple(dict.fromkeys(stems(title))),
        cause=tuple(dict.fromkeys(stems(cause))),
        words=words_by_stem(text),
        pairs=frozenset(pairs[:PAIRS_KEPT]),
        names=frozenset(list(dict.fromkeys(name.casefold() for name in _NAME.findall(text)))[:NAMES_KEPT]),
        codes=frozenset(_CODE.findall(text)),
        symptoms=frozenset(facts.symptoms),
        technologies=frozenset(facts.technologies),
        signatures=frozenset(signature(line) for line in facts.error_signatures),
        sentences=embed_sentences(sentences),
        averages=embed(list(sentences)),
        whole=whole,
        caused=embed_sentences([f"{title}. {cause}"])[0] if cause else whole,
        bags=embed([text, text[: embedding.HEAD_CHARACTERS]]),
    )


def _sentences(text: str, at_most: int) -> list[str]:
    found = [part.strip() for part in _SENTENCE_END.split(text[:MEMORY_CHARACTERS])]
    return [part for part in found if len(part) >= LEAST_SENTENCE][:at_most] or [part for part in found if part][:1]


def _is_statement(sentence: str) -> bool:
    """Return whether it says more than how its sender sorts it, such as "severity: warning"."""
    return sum(is_word(stem) and stem not in common_words() for stem in set(stems(sentence))) >= TELLING_STEMS


def _without_names(text: str, *names: str | None) -> str:
    """Return the text without names of services and environments, which say where; they are compared by themselves."""
    for name in names:
        if name:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", " ", text, flags=re.IGNORECASE)
    return text
