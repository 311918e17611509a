"""Plain work on text that somebody else wrote: clean, cut, find a quote, compare lines. Linear in the text's length."""

import re
import unicodedata

# NUL breaks PostgreSQL; other control characters say nothing. Line ends and tabs stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*")
_LABEL = re.compile(
    r"\[(?:FIRING|RESOLVED)(?::\d+)?\]"
    r"|(?<![\w.-])(?:severity|priority|env|environment|stage|service|app|job|team|region|cluster)=[\w./-]+",
    re.I,
)
_SPACE = re.compile(r"\s+")

# What changes from one occurrence of an error to the next, most particular first.
_VARIABLE = [
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?=[a-f0-9]*\d)(?=[a-f0-9]*[a-f])[a-f0-9]{7,64}\b"), "<hex>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
]


def clean(text: str) -> str:
    """Return the text without control characters and lone surrogates, with ``\\n`` as line end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def cut(text: str, limit: int) -> str:
    """Return the text within the limit of characters: head and tail, and a mark that says what is missing."""
    if len(text) <= limit:
        return text
    mark = f"\n[cut: {limit:,} of {len(text):,} characters]\n"
    keep = max(0, limit - len(mark))
    tail = keep // 3
    return text[: keep - tail] + mark + (text[-tail:] if tail else "")


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Return where the quote stands in the text, white space aside; None when it does not.

    Spans are offsets into the text as given, so that the text's own words can be marked.
    """
    words = quote.split()
    if not words:
        return None
    squeezed, places = _squeeze(text)
    start = squeezed.find(" ".join(words))
    if start < 0:
        return None
    end = start + len(" ".join(words))
    return places[start], places[end - 1] + 1


def _squeeze(text: str) -> tuple[str, list[int]]:
    """Return the text with single blanks, and for each of its characters the place in the original."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if not characters or characters[-1] == " ":
                continue
            character = " "
        characters.append(character)
        places.append(place)
    return "".join(characters), places


def signature(line: str) -> str:
    """Return the line with everything that varies replaced, so that two occurrences of one error are equal."""
    line = unicodedata.normalize("NFKC", line[:2000])
    for pattern, name in _VARIABLE:
        line = pattern.sub(name, line)
    return _SPACE.sub(" ", line).strip().casefold()


def without_labels(text: str) -> str:
    """Return what an alert says without how its sender sorts it: severity, environment and service as ``key=value``.

    Every alert of a team carries these, so they make any two of its texts look alike.
    """
    return _LABEL.sub(" ", text).strip()


def words(text: str) -> list[str]:
    """Return the words in lower case, in order; identifiers with dots, dashes and underscores stay whole."""
    return [match.group().casefold() for match in _WORD.finditer(text)]
