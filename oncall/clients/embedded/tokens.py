"""Words of a text for lexical search: lower case, stemmed, with identifiers both whole and in their parts."""

import re
from functools import cache
from typing import Any

# Joints, camel humps, and letters that meet digits: "HikariPool502" has the parts "Hikari", "Pool", "502".
_JOINTS = re.compile(r"[_.-]|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
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
    for whole in _WORD.findall(text[:MAX_CHARACTERS]):
        if len(whole) > MAX_WORD:
            continue
        words.append(whole)
        if whole.isalpha() and whole[1:].islower():
            continue  # the common case has no joints, and asking takes most of an index's loading
        parts = [part for part in _JOINTS.split(whole) if part]
        if len(parts) > 1:
            words += parts
    return list(_analyzer().analyze(" ".join(words))) if words else []
