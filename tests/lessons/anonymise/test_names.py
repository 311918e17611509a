"""Every name in every spelling."""

import base64
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lessons.anonymise.cleaning import anonymise
from lessons.anonymise.names import Names
from lessons.anonymise.wordlists import is_common

_SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "tar",
    "ven",
    "dor",
    "shi",
    "pra",
    "nek",
    "zul",
    "bor",
    "fen",
    "gri",
    "hal",
    "jov",
    "kel",
    "lum",
    "mar",
    "nos",
    "pel",
    "qui",
    "ras",
    "sol",
    "tem",
    "vir",
    "wex",
    "yar",
    "zan",
]
_WORD = st.lists(st.sampled_from(_SYLLABLES), min_size=2, max_size=3).map("".join)
_LOOK_ALIKE = {"a": "а", "e": "е", "o": "о", "p": "р", "c": "с", "i": "і", "s": "ѕ", "x": "х"}


def _apart(mark: str) -> Callable[[list[str]], str]:
    return lambda words: mark.join(words)


def _between(mark: str) -> Callable[[list[str]], str]:
    return lambda words: "-".join(mark.join(word) for word in words)


def _broken(words: list[str]) -> str:
    name = "-".join(words)
    return name[:3] + "-\n    " + name[3:]


_SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "hyphens": _apart("-"),
    "snake": _apart("_"),
    "spaces": _apart(" "),
    "joined": _apart(""),
    "dots": _apart("."),
    "upper case": lambda words: "_".join(words).upper(),
    "title case": lambda words: " ".join(words).title(),
    "camel case": lambda words: "".join(word.title() for word in words),
    "small camel case": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "plural": lambda words: "-".join(words) + "s",
    "genitive": lambda words: "-".join(words) + "'s",
    "in an identifier": lambda words: "get_" + "_".join(words) + "_count",
    "in a class": lambda words: "Abstract" + "".join(word.title() for word in words) + "Factory",
    "in a URL": lambda words: "https://x.example/" + "-".join(words) + "/health?verbose=1",
    "in a topic": lambda words: "prod." + "-".join(words) + ".events.v1",
    "look-alikes": lambda words: "".join(_LOOK_ALIKE.get(c, c) for c in "-".join(words)),
    "full width": lambda words: "".join(chr(ord(c) + 0xFEE0) for c in "-".join(words)),
    "mathematical": lambda words: "".join(chr(ord(c) - 97 + 0x1D41A) for c in "".join(words)),
    "accents": lambda words: "".join(c + "\u0301" if c in "aeiou" else c for c in "-".join(words)),
    "zero width": _between("\u200b"),
    "soft hyphens": _between("\u00ad"),
    "joiners": _between("\u2060"),
    "line break": lambda words: "\n".join(words),
    "line break within": _broken,
    "percent": lambda words: "".join(f"%{ord(c):02X}" for c in "-".join(words)),
    "percent twice": lambda words: quote("".join(f"%{ord(c):02x}" for c in "-".join(words)), safe=""),
    "base64": lambda words: base64.b64encode("-".join(words).encode()).decode(),
    "base64 for URLs, in a sentence": lambda words: base64.urlsafe_b64encode(
        f"the {'-'.join(words)} pods".encode()
    ).decode().rstrip("="),
    "base64 twice": lambda words: base64.b64encode(base64.b64encode("-".join(words).encode())).decode(),
    "percent in base64": lambda words: base64.b64encode(
        "".join(f"%{ord(c):02x}" for c in "-".join(words)).encode()
    ).decode(),
    "UTF-16 in base64": lambda words: base64.b64encode("-".join(words).encode("utf-16-le")).decode(),
    "hexadecimal": lambda words: "-".join(words).encode().hex(),
    "JSON escapes": lambda words: "".join(f"\\u{ord(c):04x}" for c in "-".join(words)),
    "entities": lambda words: "".join(f"&#{ord(c)};" for c in "-".join(words)),
}  # fmt: skip


@pytest.mark.parametrize("spelling", _SPELLINGS)
@settings(max_examples=25, deadline=None)
@given(
    words=st.lists(_WORD, min_size=2, max_size=2, unique=True), kind=st.sampled_from(["teams", "projects", "services"])
)
def test_a_name_of_two_words_survives_in_no_spelling(spelling: str, words: list[str], kind: str) -> None:
    assume(not any(is_common(word) for word in [*words, "".join(words)]))
    spelled = _SPELLINGS[spelling](words)
    text = f"We saw {spelled} in the log."

    cleaned = anonymise(text, Names(**{kind: ("-".join(words),)}))

    covered = {place for finding in cleaned.findings for place in range(finding.start, finding.end)}
    start = text.index(spelled)
    kept = ("get_", "_count", "Abstract", "Factory", "prod.", ".events.v1", "'s")
    bare = spelled
    for piece in kept:
        if bare.startswith(piece):
            start, bare = start + len(piece), bare[len(piece) :]
        if bare.endswith(piece):
            bare = bare[: -len(piece)]
    left = [text[p] for p in range(start, start + len(bare)) if text[p].isalnum() and p not in covered]
    assert not left, (text, cleaned.text)


@pytest.mark.parametrize(
    "text",
    [
        "Jana Nováková-Dvořák", "Nováková-Dvořák, Jana", "J. Nováková", "Novakova", "Dvorak", "Dvořákem", "Dvořákové",
        "Novákové", "s Janou", "jana.novakova", "jnovakova", "JANA NOVAKOVA", "J. N.", "janin Nováková", "Nováková's",
    ],
)  # fmt: skip
def test_a_person_is_found_in_half_declined_and_without_marks(text: str) -> None:
    names = Names(members=(("Jana Nováková-Dvořák", "jana.novakova@brightfjord.io"),))

    cleaned = anonymise(f"Then {text} wrote that.", names)

    left = cleaned.text.lower()
    assert "<PERSON_1>" in cleaned.text
    assert not any(part in left for part in ("nov", "dvo", "jana", "janou"))


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("Jürgen Großmann", "Juergen Grossmann"),
        ("Jürgen Großmann", "Grossmanns"),
        ("Joerg Mueller-Lüd", "Jörg"),
        ("Søren Kjærgaard", "Soren Kjaergaard"),
        ("Олена Шевченко", "Olena Shevchenko"),
        ("Иван Петров", "Петрову"),
        ("Ivan Petrov", "Петров"),
        ("Pavel Čermák", "Pavlovi"),
        ("Tomasz Wiśniewski", "Wiśniewskiego"),
        ("Katarzyna Zielińska", "Zielińskiej"),
        ("Siobhán O'Brien", "O’Brien"),
        ("Pieter van den Heuvel", "P. v.d. Heuvel"),
        ("田中 美咲", "田中さん"),
        ("Mikko Virtanen", "Virtaselle"),
    ],
)
def test_people_of_many_languages(member: str, text: str) -> None:
    cleaned = anonymise(f"Ask {text} about it", Names(members=((member, ""),)))

    assert cleaned.text.replace("さん", "") == "Ask <PERSON_1> about it"


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Mark the node as drained.", True),
        ("the kubelet will mark it", True),
        ("after the grace period", True),
        ("Mark restarted it.", False),
        ("we asked Mark", False),
        ("then Grace and Will left", False),
        ("May 2026 was quiet", True),
    ],
)
def test_a_persons_name_that_is_a_word_is_told_by_its_use(text: str, stays: bool) -> None:
    names = Names(members=(("Mark Abelson", ""), ("Grace Torvund", ""), ("Will Pakston", ""), ("May Ostrik", "")))

    assert (anonymise(text, names).text == text) is stays


def test_the_company_follows_from_addresses_and_hosts() -> None:
    names = Names(
        members=(("A B", "a.b@mail.harbourline.co.uk"), ("C D", "c.d@gmail.com")),
        hosts=("db1.fjordnett.no", "10.1.1.1"),
    )

    cleaned = anonymise("Harbourline and FjordNett use gmail; com.harbourline.Main 1.1", names)

    assert cleaned.text == "<COMPANY_1> and <COMPANY_2> use gmail; com.<COMPANY_1>.Main 1.1"


@pytest.mark.parametrize(
    "data", [[], {"teams": "Nightjar"}, {"projects": ["Lumen"]}, {"members": [{"name": 3}]}, {"hosts": [1]}]
)
def test_from_json_says_which_field_is_wrong(data: object) -> None:
    with pytest.raises(ValueError, match=next(iter(data), "object") if isinstance(data, dict) else "object"):
        Names.from_json(data)
