"""Quotes are found whatever their white space, and cuts say what they cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.reading.text import clean, cut, find_quote, signature


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("a  b\n c d", "b c", "b\n c"),
        ("Timeout expired.\nThe pool", "expired. The pool", "expired.\nThe pool"),
        ("one", "two", None),
        ("one", "   ", None),
        ("", "x", None),
        ("Fix: x", "fix: x", None),  # a quote is word for word
    ],
)
def test_find_quote(text: str, quote: str, found: str | None) -> None:
    span = find_quote(text, quote)

    assert (text[slice(*span)] if span else None) == found


@given(st.text(max_size=200), st.integers(0, 50), st.integers(1, 50))
def test_find_quote_finds_any_part_of_the_text(text: str, start: int, length: int) -> None:
    quote = text[start : start + length]

    span = find_quote(text, quote)

    if quote.split():
        assert span is None or text[slice(*span)].split() == quote.split()


def test_cut_keeps_head_and_tail_within_the_limit() -> None:
    text = "head " + "x" * 5000 + " tail"

    shorter = cut(text, 300)

    assert len(shorter) <= 300
    assert shorter.startswith("head")
    assert shorter.endswith("tail")
    assert "[cut: 300 of 5,010 characters]" in shorter
    assert cut("short", 300) == "short"


def test_clean_removes_what_databases_and_screens_choke_on() -> None:
    assert clean("a\x00b\r\nc\x1b[31m\ud800\t") == "ab\nc[31m\ufffd\t"


def test_signature_is_equal_for_two_occurrences_of_one_error() -> None:
    one = "2026-01-02T03:04:05Z pod api-7f9c2d1b4e at 10.0.0.1 timed out after 30000ms"
    other = "2026-05-06T07:08:09Z pod api-1a2b3c4d5e at 10.9.9.9 timed out after 15ms"

    assert signature(one) == signature(other)
    assert signature(one) != signature(one.replace("timed out", "refused"))
