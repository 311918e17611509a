"""Words of a text for lexical search: lower case, stemmed, with identifiers both whole and in their parts."""

import re
from functools import cache
from typing import Any

# Camel humps, and letters that meet digits: "HikariPool502" has the parts "Hikari", "Pool", "502".
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_WORD = re.compile(r"[^\W_]+(?:[_.-][^\W_]+)*")
MAX_CHARACTERS = 20_000
MAX_WORD = 60


@cache
def _analyzer() -> Any:
    # Imported when first used, as the other heavy library is.
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer  # noqa: PLC0415

    return (
        TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.lowercase()).filter(Filter.stemmer("english")).build()
    )


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in order; what is beyond the first 20,000 characters does not count."""
    words: list[str] = []
    for match in _WORD.finditer(text[:MAX_CHARACTERS]):
        whole = match.group()
        if len(whole) > MAX_WORD:
            continue
        parts = [part for piece in re.split(r"[_.-]", whole) for part in _HUMPS.split(piece) if part]
        words.append(whole)
        if len(parts) > 1:
            words += parts
    return list(_analyzer().analyze(" ".join(words))) if words else []
