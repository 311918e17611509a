"""The one way from a text to a clean text: find in every layer, replace by typed ordinals, and read the result again.

Ordinals are new for each call and say nothing outside it; which name stood behind which is not kept. Places in findings
are characters of the text that came in. What a person already cleaned may be cleaned again: placeholders stay.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lessons.anonymise.dates import find_dates
from lessons.anonymise.findings import KINDS, Found
from lessons.anonymise.layers import MAX_DEPTH, Layer, around, encoded, is_encoded, layers
from lessons.anonymise.matching import find_names
from lessons.anonymise.names import Names, Vocabulary, compile_names
from lessons.anonymise.network import find_addresses
from lessons.anonymise.prose import find_in_prose
from lessons.anonymise.shapes import find_shapes

# Placeholders of ours that stand in a text already. Three digits at most, so that none carries a number of its own.
PLACEHOLDER = re.compile("<(" + "|".join(sorted(kind.upper() for kind in KINDS)) + r")_([1-9]\d{0,2})>")
# What stands for a placeholder while the text is read: no detector takes it for a letter or a space.
_MARK = "\0\0"
# Readings of the result before it is given up as it is; each but the last took something more away.
MAX_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """What was replaced: characters ``start`` to before ``end`` of the text that came in."""

    kind: str
    start: int
    end: int
    replacement: str
    # Whether only a person can say that it names something. It is replaced all the same.
    uncertain: bool

    def as_json(self) -> dict[str, str | int]:
        """Return the four keys of the command line; an uncertain finding's kind says so: ``uncertain_service``."""
        kind = f"uncertain_{self.kind}" if self.uncertain else self.kind
        return {"kind": kind, "start": self.start, "end": self.end, "replacement": self.replacement}


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A clean text and what was taken out of it, in order."""

    text: str
    findings: tuple[Finding, ...]


def anonymise(text: str, names: Names, *, harmless: Collection[str] = ()) -> Cleaned:
    """Return the text without what tells where it came from. ``harmless``: uncertain words that a person let stay."""
    return anonymise_together({"": text}, names, harmless=harmless)[""]


def anonymise_together(texts: Mapping[str, str], names: Names, *, harmless: Collection[str] = ()) -> dict[str, Cleaned]:
    """Return the texts of one lesson cleaned: what stands in two of them has one ordinal."""
    vocabulary = compile_names(names)
    allowed = frozenset(" ".join(word.casefold().split()) for word in harmless)
    ordinals = _Ordinals(texts.values())
    found = {field: _find_all(text, vocabulary, allowed) for field, text in texts.items()}
    certain = {(one.kind, one.identity) for spans in found.values() for one in spans if not one.uncertain}
    return {field: _replaced(text, found[field], ordinals, certain) for field, text in texts.items()}


class _Ordinals:
    """Numbers for what is replaced, beginning behind those that stand in the texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._next: dict[str, int] = {}
        self._given: dict[tuple[str, str], int] = {}
        for text in texts:
            for match in PLACEHOLDER.finditer(text):
                self._next[match[1]] = max(self._next.get(match[1], 1), int(match[2]) + 1)

    def placeholder(self, found: Found) -> str:
        """Return what stands for this thing."""
        kind = found.kind.upper()
        key = (kind, found.identity)
        if key not in self._given:
            self._given[key] = self._next.get(kind, 1)
            self._next[kind] = self._given[key] + 1
        return f"<{kind}_{self._given[key]}>"


def _find_all(text: str, vocabulary: Vocabulary, allowed: frozenset[str]) -> list[Found]:
    """Return what must go, in order and apart; nothing more is found in what is left."""
    spans: list[Found] = []
    new: list[Found] | None = None
    for _ in range(MAX_ROUNDS):
        left, marks = _left(text, spans, new)
        parts = [left] if new is None else around(left, marks)
        new = [one for part in parts for one in _find(part, vocabulary) if not _is_allowed(text, one, allowed)]
        if not new:
            break
        spans = _apart(text, [*spans, *new])
    return spans


def _left(text: str, spans: list[Found], new: list[Found] | None) -> tuple[Layer, list[tuple[int, int]]]:
    """Return what is left of the text, and where in it the new findings stood.

    Each placeholder, and each stretch that will be one, is one and the same mark: so the second round reads exactly what
    a second call would, given the clean text.
    """
    standing = [Found(*match.span(), "", "") for match in PLACEHOLDER.finditer(text)]
    fresh = {one.start for one in new or ()}
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    marks: list[tuple[int, int]] = []
    last = 0
    for one in _apart(text, [*spans, *standing]):
        pieces += [text[last : one.start], _MARK]
        starts += [*range(last, one.start), *[one.start] * len(_MARK)]
        ends += [*range(last + 1, one.start + 1), *[one.end] * len(_MARK)]
        last = one.end
        if one.start in fresh:
            marks.append((len(starts) - len(_MARK), len(starts)))
    pieces.append(text[last:])
    left = Layer("".join(pieces), [*starts, *range(last, len(text))], [*ends, *range(last + 1, len(text) + 1)])
    return left, marks


def _is_allowed(text: str, found: Found, allowed: frozenset[str]) -> bool:
    return found.uncertain and " ".join(text[found.start : found.end].casefold().split()) in allowed


def _find(left: Layer, vocabulary: Vocabulary, depth: int = 0) -> Iterator[Found]:
    for layer in layers(left):
        for one in _find_in(layer, vocabulary):
            first, last = _without_marks(layer.text, one.start, one.end)
            if any(c.isalnum() for c in layer.text[first:last]):
                start, end = layer.source(first, last)
                if layer.admits(start, end):
                    yield Found(start, end, one.kind, one.identity, one.uncertain)
        if depth < MAX_DEPTH and not layer.sounds:
            yield from _find_encoded(layer, vocabulary, depth)


def _without_marks(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the stretch without marks and spaces at its ends: what was taken already is no part of another finding."""
    found = text[start:end]
    return end - len(found.lstrip("\0 ")), start + len(found.rstrip("\0 "))


def _find_in(layer: Layer, vocabulary: Vocabulary) -> Iterator[Found]:
    yield from find_names(layer.text, vocabulary)
    yield from find_dates(layer.text)
    if not layer.sounds:
        yield from find_addresses(layer.text)
        yield from find_shapes(layer.text)
        yield from find_in_prose(layer.text)


def _find_encoded(layer: Layer, vocabulary: Vocabulary, depth: int) -> Iterator[Found]:
    for start, end, said in encoded(layer):
        # What is encoded more often than is looked into hides something.
        hidden = depth + 1 == MAX_DEPTH and is_encoded(said)
        if hidden or any(not one.uncertain for one in _find(Layer(said), vocabulary, depth + 1)):
            yield Found(*layer.source(start, end), "encoded", layer.text[start:end])


def _apart(text: str, found: list[Found]) -> list[Found]:
    """Return the findings in order, those that overlap as one: the longest says what it is."""
    apart: list[list[Found]] = []
    end = -1
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if apart and (one.start < end or _continues(text, apart[-1][-1], one, end)):
            apart[-1].append(one)
        else:
            apart.append([one])
        end = max(end if apart[-1][0] is not one else -1, one.end)
    return [_one(group) for group in apart]


def _continues(text: str, before: Found, one: Found, end: int) -> bool:
    """Return whether a finding goes on with the same thing: a given name and its surname."""
    if (before.kind, before.identity) != (one.kind, one.identity):
        return False
    between = r"[\s.,_'-]{0,3}" if one.kind == "person" else r"[\s_-]?"
    return re.fullmatch(between, text[end : one.start]) is not None


def _one(group: list[Found]) -> Found:
    start, end = min(one.start for one in group), max(one.end for one in group)
    longest = max(group, key=lambda one: (one.end - one.start, not one.uncertain))
    return Found(start, end, longest.kind, longest.identity, all(one.uncertain for one in group))


def _replaced(text: str, spans: list[Found], ordinals: _Ordinals, certain: set[tuple[str, str]]) -> Cleaned:
    pieces, findings, last = [], [], 0
    for one in spans:
        replacement = ordinals.placeholder(one)
        # A word that is a name in one place of a lesson is one in the others.
        uncertain = one.uncertain and (one.kind, one.identity) not in certain
        findings.append(Finding(one.kind, one.start, one.end, replacement, uncertain))
        pieces += [text[last : one.start], replacement]
        last = one.end
    return Cleaned("".join([*pieces, text[last:]]), tuple(findings))
