"""The red-team set: nothing planted survives, and what says nothing about anybody stays."""

import re

import pytest

from lessons.anonymise.cleaning import Cleaned, anonymise
from tests.lessons.anonymise import redteam

NAMES = redteam.vocabulary()
PLANTED = [(case, redteam.vocabulary(suffix)) for suffix in ("", "_2") for case in redteam.planted(suffix)]
CLEAN = redteam.clean()


def _covered(cleaned: Cleaned) -> set[int]:
    return {place for finding in cleaned.findings for place in range(finding.start, finding.end)}


def test_the_set_is_as_large_as_it_should_be() -> None:
    assert sum(len(case.planted) for case, _ in PLANTED) >= 350
    assert len(CLEAN) == 100
    assert sum(len(case.stay) for case in CLEAN) >= 150


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_nothing_planted_survives(number: int) -> None:
    case, names = PLANTED[number]

    covered = _covered(anonymise(case.text, names))

    for kind, start, end in case.planted:
        left = [place for place in range(start, end) if case.text[place].isalnum() and place not in covered]
        assert not left, f"{kind}: {case.text[start:end]!r}"


@pytest.mark.parametrize("number", range(len(PLANTED)))
def test_the_clean_text_of_a_planted_one_has_no_finding(number: int) -> None:
    case, names = PLANTED[number]
    cleaned = anonymise(case.text, names)

    assert anonymise(cleaned.text, names) == Cleaned(cleaned.text, ())


def test_technical_phrases_stay() -> None:
    lost = []
    phrases = 0
    for case, names in [*PLANTED, *((case, NAMES) for case in CLEAN)]:
        covered = _covered(anonymise(case.text, names))
        phrases += len(case.stay)
        lost += [case.text[start:end] for start, end in case.stay if covered & set(range(start, end))]

    assert len(lost) <= 0.05 * phrases, lost


def test_clean_texts_are_hardly_touched() -> None:
    words = touched = 0
    for case in CLEAN:
        covered = _covered(anonymise(case.text, NAMES))
        for word in re.finditer(r"\S+", case.text):
            words += 1
            touched += bool(covered & set(range(*word.span())))

    assert touched < 0.02 * words
