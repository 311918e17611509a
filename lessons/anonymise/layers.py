"""The layers of a text: the same characters as a detector should read them, each with the place it came from.

A name hides behind look-alike letters, zero-width characters, other alphabets, percent signs and base64. Every detector
reads every layer, and what it finds is mapped back to the text as it came.
"""

import base64
import binascii
import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from anyascii import anyascii
from confusable_homoglyphs.confusables import confusables_data

# How often a text is decoded again: percent in percent in percent, base64 in base64.
MAX_DEPTH = 4
# Characters around a change in which something may be found because of it, and those that are read with them: detectors
# look back as far.
NEAR = 48
CONTEXT = 120
# Encoded runs that are looked into, for each text.
MAX_RUNS = 4000


_SPACE = re.compile(r"\s")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Layer:
    """A reading of a text. ``starts`` and ``ends`` hold each character's source; None where they are the same."""

    text: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    # The stretches of the source, in order, that the layer was made for; None: all. The rest is there to be read with
    # them, and ends where no word does: what is found there alone is no finding.
    core: Sequence[tuple[int, int]] | None = None
    # Whether letters of other alphabets stand as they sound: good for names and dates, and for nothing else.
    sounds: bool = False

    def admits(self, start: int, end: int) -> bool:
        """Return whether a finding at these places of the source touches what the layer was made for."""
        if self.core is None:
            return True
        place = bisect_left(self.core, start, key=lambda stretch: stretch[1])
        return place < len(self.core) and self.core[place][0] <= end

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the source that these characters came from; ``start < end``."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]

    def part(self, start: int, end: int, core: Sequence[tuple[int, int]]) -> "Layer":
        """Return the layer of some of the characters, made for these stretches of it."""
        starts = range(start, end) if self.starts is None else self.starts[start:end]
        ends = range(start + 1, end + 1) if self.ends is None else self.ends[start:end]
        return Layer(self.text[start:end], starts, ends, [self.source(*stretch) for stretch in core])


def layers(base: Layer, depth: int = 0) -> Iterator[Layer]:
    """Yield the text as it looks; and, around what differs, as it sounds and with its escapes taken away, level by level."""
    yield _mapped(base, looks_like)
    for part in around(base, _foreign(base.text)):
        yield replace(_mapped(part, sounds_like), sounds=True)
    if depth < MAX_DEPTH:
        unescaped, changed = _unescaped(base)
        for part in around(unescaped, changed):
            yield from layers(part, depth + 1)


def around(layer: Layer, places: Iterable[tuple[int, int]]) -> Iterator[Layer]:
    """Yield the parts of a layer that hold these stretches (in order) and what must be read with them."""
    text = layer.text
    parts: list[tuple[int, int, list[tuple[int, int]]]] = []
    for start, end in places:
        core = (max(0, start - NEAR), min(len(text), end + NEAR))
        first = _word_start(text, max(0, start - CONTEXT))
        last = _word_end(text, min(len(text), end + CONTEXT))
        if parts and first <= parts[-1][1]:
            since, _, cores = parts.pop()
            cores.append(core)
            parts.append((since, last, cores))
        else:
            parts.append((first, last, [core]))
    for start, end, cores in parts:
        yield layer.part(start, end, cores)


def _word_start(text: str, place: int) -> int:
    found = _SPACE.search(text, place)
    return found.end() if place and found and found.end() - place < CONTEXT // 2 else place


def _word_end(text: str, place: int) -> int:
    found = _SPACE.search(text, place)
    return found.start() if found and found.start() - place < CONTEXT // 2 else place


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    for match in _NOT_ASCII.finditer(text):
        if any(looks_like(c) != sounds_like(c) for c in match.group()):
            yield match.span()


def plain(text: str) -> str:
    """Return the text in plain letters, case kept: other alphabets as they sound."""
    return text if text.isascii() else "".join(sounds_like(c) for c in text)


@lru_cache(4096)
def looks_like(character: str) -> str:
    """Return the ASCII character that this one looks like, nothing where it has no width, else itself."""
    plainer = _plainer(character)
    if plainer.isascii():
        return plainer
    if unicodedata.name(character, "").startswith("LATIN"):
        return anyascii(character)
    twins = [entry["c"] for entry in confusables_data.get(character, [])]
    letters = [twin for twin in twins if len(twin) == 1 and twin.isascii() and twin.isalpha()]
    cased = [letter for letter in letters if letter.isupper() == character.isupper()]
    return (cased or letters or [character])[0]


@lru_cache(4096)
def sounds_like(character: str) -> str:
    """Return the character in Latin letters; one that stands for a syllable is a word of its own."""
    plainer = _plainer(character)
    if plainer.isascii():
        return plainer
    latin = anyascii(character)
    return f"\x02{latin}" if ord(character) >= 0x2E80 and character.isalpha() else latin or character


def _plainer(character: str) -> str:
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category in {"Cf", "Mn", "Me", "Cc"}:
        return ""
    if category in {"Zl", "Zp"}:
        return "\n"
    for form, plainer in (("Zs", " "), ("Pd", "-")):
        if category == form:
            return plainer
    if character in "‘’‚‛ʼ´`′":
        return "'"
    if character in "“”„‟″«»‹›":
        return '"'
    decomposed = unicodedata.normalize("NFKD", character)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare if bare.isascii() and bare else character


def _mapped(layer: Layer, letter: Callable[[str], str]) -> Layer:
    if layer.text.isascii():
        return layer
    building = _Building(layer)
    for match in _NOT_ASCII.finditer(layer.text):
        building.put(match.start(), [(letter(character), 1) for character in match.group()])
    return building.layer()


class _Building:
    """A layer in the making: copies its base and puts other characters in some places."""

    def __init__(self, base: Layer) -> None:
        self._base = base
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._copied = 0
        self._length = 0

    def put(self, place: int, characters: list[tuple[str, int]]) -> tuple[int, int]:
        """Put each text instead of so many characters of the base; return the stretch that they have now."""
        self._copy(place)
        first = self._length
        for text, width in characters:
            start, end = self._base.source(self._copied, self._copied + width)
            self._pieces.append(text)
            self._starts.extend([start] * len(text))
            self._ends.extend([end] * len(text))
            self._length += len(text)
            self._copied += width
        return first, self._length

    def layer(self) -> Layer:
        """Return the finished layer."""
        self._copy(len(self._base.text))
        return Layer("".join(self._pieces), self._starts, self._ends, self._base.core)

    def _copy(self, to: int) -> None:
        since, base = self._copied, self._base
        self._pieces.append(base.text[since:to])
        self._starts.extend(range(since, to) if base.starts is None else base.starts[since:to])
        self._ends.extend(range(since + 1, to + 1) if base.ends is None else base.ends[since:to])
        self._length += to - since
        self._copied = to


_ESCAPES = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|(?:\\x[0-9A-Fa-f]{2})+|(?:=[89A-F][0-9A-F])+|"
    r"&(?:#x[0-9A-Fa-f]{1,6}|#[0-9]{1,7}|[A-Za-z]{2,8});"
)


def _unescaped(layer: Layer) -> tuple[Layer, list[tuple[int, int]]]:
    """Return the layer with one level of escapes taken away, and where that changed it."""
    building = _Building(layer)
    changed = []
    for match in _ESCAPES.finditer(layer.text):
        characters = _unescape(match.group())
        if characters is not None:
            changed.append(building.put(match.start(), characters))
    return building.layer(), changed


def _unescape(run: str) -> list[tuple[str, int]] | None:
    """Return the characters that a run of escapes stands for, each with the width of its escape."""
    if run[0] == "&":
        decoded = html.unescape(run)
        return [(decoded[0], len(run))] if decoded != run else None
    if run[1] == "u":
        units = bytes.fromhex("".join(run[place + 2 : place + 6] for place in range(0, len(run), 6)))
        text = units.decode("utf-16-be", errors="replace")
        return [(c, 12 if ord(c) > 0xFFFF else 6) for c in text]
    width = 4 if run[0] == "\\" else 3
    data = bytes.fromhex("".join(run[place + width - 2 : place + width] for place in range(0, len(run), width)))
    try:
        return [(c, width * len(c.encode())) for c in data.decode()]
    except UnicodeDecodeError:
        return [(chr(byte), width) for byte in data]


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}(?:\r?\n[A-Za-z0-9+/_-]{8,})*={0,2}")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){5,}(?![0-9A-Fa-f])")
_RUN = re.compile(r"\s*[A-Za-z0-9+/_=-]{12,}\s*")
_INNER = re.compile(r"[A-Za-z0-9+]{8,}={0,2}")


def encoded(layer: Layer) -> Iterator[tuple[int, int, str]]:
    """Yield each run of base64 or hexadecimal digits that is readable text, with what it says."""
    runs = 0
    for pattern, decode in ((_BASE64, _from_base64), (_HEX, _from_hex)):
        for match in pattern.finditer(layer.text):
            runs += 1
            if runs > MAX_RUNS:
                return
            said = decode(match.group())
            if said is not None:
                yield match.start(), match.end(), said
            elif pattern is _BASE64 and re.search(r"[/_\n-]", match.group()):
                # A path or an identifier, one part of which is encoded.
                for part in _INNER.finditer(match.group()):
                    said = decode(part.group())
                    if said is not None:
                        yield match.start() + part.start(), match.start() + part.end(), said


def is_encoded(text: str) -> bool:
    """Return whether all of the text is one more encoded run."""
    return _RUN.fullmatch(text) is not None and _from_base64(text.strip()) is not None


def _from_base64(run: str) -> str | None:
    if run.islower() or run.isdigit():
        return None
    digits = re.sub(r"[\s=]", "", run).replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + "=" * (-len(digits) % 4))
    except (binascii.Error, ValueError):
        return None
    return _readable(data)


def _from_hex(run: str) -> str | None:
    return _readable(bytes.fromhex(run))


def _readable(data: bytes) -> str | None:
    if len(data) > 3 and not any(data[1::2]):
        data = data[0::2]  # UTF-16, as PowerShell encodes its commands
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if text and all(c.isprintable() or c in "\r\n\t" for c in text) else None
