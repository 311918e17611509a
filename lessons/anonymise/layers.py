"""The layers of a text: the same characters as a detector should read them, each with the place it came from.

A name hides behind look-alike letters, zero-width characters, other alphabets, percent signs and base64. Every detector
reads every layer, and what it finds is mapped back to the text as it came.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from anyascii import anyascii
from confusable_homoglyphs.confusables import confusables_data

# How often a text is decoded again: percent in percent in percent, base64 in base64.
MAX_DEPTH = 4
# Encoded runs that are looked into, for each text.
MAX_RUNS = 4000


@dataclass(frozen=True, slots=True)
class Layer:
    """A reading of a text. ``starts`` and ``ends`` hold each character's source; None where they are the same."""

    text: str
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the source that these characters came from; ``start < end``."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def layers(text: Layer) -> Iterator[Layer]:
    """Yield the text as it looks, as it sounds where it holds other alphabets, and both decoded as often as it helps."""
    layer: Layer | None = text
    for _ in range(MAX_DEPTH):
        if layer is None:
            return
        looks = _mapped(layer, looks_like)
        yield looks
        if not looks.text.isascii():
            sounds = _mapped(layer, sounds_like)
            if sounds.text != looks.text:
                yield sounds
        layer = _unescaped(layer)


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
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for place, character in enumerate(layer.text):
        mapped = character if character.isascii() else letter(character)
        start, end = layer.source(place, place + 1)
        for one in mapped:
            characters.append(one)
            starts.append(start)
            ends.append(end)
    return Layer("".join(characters), starts, ends)


_ESCAPES = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|(?:\\u[0-9A-Fa-f]{4})+|(?:\\x[0-9A-Fa-f]{2})+|(?:=[89A-F][0-9A-F])+|"
    r"&(?:#x[0-9A-Fa-f]{1,6}|#[0-9]{1,7}|[A-Za-z]{2,8});"
)


def _unescaped(layer: Layer) -> Layer | None:
    """Return the layer with one level of escapes taken away, or None where there is none."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    last = 0

    def copy(to: int) -> None:
        pieces.append(layer.text[last:to])
        starts.extend(range(last, to) if layer.starts is None else layer.starts[last:to])
        ends.extend(range(last + 1, to + 1) if layer.ends is None else layer.ends[last:to])

    changed = False
    for match in _ESCAPES.finditer(layer.text):
        characters = _unescape(match.group())
        if characters is None:
            continue
        changed = True
        copy(match.start())
        last = match.start()
        for character, width in characters:
            start, end = layer.source(last, last + width)
            pieces.append(character)
            starts.append(start)
            ends.append(end)
            last += width
        last = match.end()
    if not changed:
        return None
    copy(len(layer.text))
    return Layer("".join(pieces), starts, ends)


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
