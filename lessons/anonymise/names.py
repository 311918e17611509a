"""What the platform knows by name, and every way to spell it.

A name is compared as the row of its letters and digits, without what stands between them, so that case, hyphens, snakes,
camels and line breaks make no difference; where a match may begin and end is judged afterwards (``matching``).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any

import ahocorasick

from lessons.anonymise.layers import plain
from lessons.anonymise.wordlists import is_common, ordinary, technology

# Compiled vocabularies kept in one process, by what they hold: the platform's own, and one that is just replacing it.
CACHED = 4

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# What stands in a surname and is nobody's.
_PARTICLES = frozenset(
    "van von der den de del della di da do dos du la le el al bin ben ibn ter ten af av zu zum und y e o".split()
)
# What a name may lose without being another.
_SUFFIXES = frozenset(
    "team squad crew group guild tribe service services svc app api project v1 v2 v3 1 2 3 4 5".split()
)
_MAILBOXES = frozenset(
    """gmail googlemail outlook hotmail live yahoo icloud me proton protonmail gmx web aol posteo mailbox fastmail zoho
    yandex mail example""".split()
)
_CLOUDS = frozenset(
    """amazonaws compute internal local cluster azure windows cloudapp appspot googleusercontent herokuapp localhost
    localdomain svc""".split()
)
_SECOND_LEVEL = frozenset("co com org net ac gov edu or ne go gob".split())


class Commonness(Enum):
    """How much a name gives away where it stands."""

    RARE = auto()  # nobody else's word
    PHRASE = auto()  # several ordinary words
    ORDINARY = auto()  # one ordinary word
    TECHNOLOGY = auto()  # the name of a public technology


@dataclass(frozen=True, slots=True)
class Names:
    """The names to look for; each field in any order. Hashable, so that what was compiled from it can be kept."""

    teams: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    project_keys: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    # Name and e-mail address; either may be empty.
    members: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Any) -> "Names":
        """Return the names of a vocabulary file. Raises ``ValueError`` that names the field which is not as documented."""
        if not isinstance(data, Mapping):
            raise ValueError("A vocabulary is an object with teams, projects, services, members and hosts.")
        projects, members = _objects(data, "projects"), _objects(data, "members")
        return cls(
            teams=_strings(data, "teams"),
            projects=tuple(project["name"] for project in projects if project.get("name")),
            project_keys=tuple(project["key"] for project in projects if project.get("key")),
            services=_strings(data, "services"),
            members=tuple((member.get("name") or "", member.get("email") or "") for member in members),
            hosts=_strings(data, "hosts"),
        )


def _strings(data: Mapping[str, Any], field: str) -> tuple[str, ...]:
    values = data.get(field) or []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{field}: a list of strings is needed.")
    return tuple(values)


def _objects(data: Mapping[str, Any], field: str) -> list[dict[str, str]]:
    values = data.get(field) or []
    if not isinstance(values, list) or not all(
        isinstance(value, dict) and all(isinstance(inner, str | None) for inner in value.values()) for value in values
    ):
        raise ValueError(f"{field}: a list of objects of strings is needed.")
    return values


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a name."""

    kind: str
    identity: str
    commonness: Commonness
    # Where one word of it ends and the next begins, in letters from its beginning.
    breaks: frozenset[int]
    # Letters of a declined name that an ending must follow.
    stem: bool = False
    # One ordinary word of a longer name: a name only where "team" or the like says so.
    part: bool = False
    # A login, which is written in small letters and cannot be declined.
    login: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names, compiled."""

    automaton: Any
    # Whose initials these capitals are.
    initials: dict[str, str]


@lru_cache(CACHED)
def compile_names(names: Names) -> Vocabulary:
    """Return the names in all their spellings, ready to be looked for in one pass. Kept by content."""
    spellings: dict[str, dict[Spelling, None]] = defaultdict(dict)
    initials: dict[str, str] = {}
    for kind, values in (
        ("team", names.teams),
        ("project", names.projects),
        ("project", names.project_keys),
        ("service", names.services),
    ):
        for name in values:
            _put(spellings, _thing(kind, name))
    for name, email in names.members:
        _put(spellings, _person(name))
        if email:
            _put(spellings, _logins(name, email))
        letters = "".join(word[0] for word in plain(name).replace("\x02", " ").split() if word[0].isalpha()).upper()
        if 2 <= len(letters) <= 4:
            initials[letters] = _identity(name)
    # An address among the hosts is found by its shape.
    hosts = [host for host in names.hosts if re.search(r"[^\W\d]", host) and ":" not in host]
    for host in hosts:
        _put(spellings, _host(host))
    for domain in {email.rpartition("@")[2] for _, email in names.members} | set(hosts):
        _put(spellings, _company(domain))
    automaton = ahocorasick.Automaton()
    for letters, found in spellings.items():
        automaton.add_word(letters, (len(letters), tuple(found)))
    automaton.make_automaton()
    return Vocabulary(automaton if spellings else None, initials)


def _put(spellings: dict[str, dict[Spelling, None]], found: Iterable[tuple[str, Spelling]]) -> None:
    for letters, spelling in found:
        if letters:
            spellings[letters][spelling] = None


def words_of(name: str) -> list[str]:
    """Return the words of a name in plain letters: what separators, camels and numbers part."""
    return _WORD.findall(plain(name))


def _identity(name: str) -> str:
    return "".join(words_of(name)).lower()


def commonness(words: list[str]) -> Commonness:
    """Return how much these words give away together."""
    lower = [word.lower() for word in words]
    joined = "".join(lower)
    if joined in technology():
        return Commonness.TECHNOLOGY
    if joined in ordinary() or (len(lower) == 1 and is_common(joined)):
        return Commonness.ORDINARY
    if len(lower) > 1 and all(is_common(word) for word in lower):
        return Commonness.PHRASE
    return Commonness.RARE


def _spelling(kind: str, identity: str, words: list[str], **more: bool) -> tuple[str, Spelling]:
    breaks, place = set(), 0
    for word in words:
        breaks.add(place)
        place += len(word)
    letters = "".join(words).lower()
    return letters, Spelling(kind, identity, commonness(words), frozenset(breaks), **more)


def _german(name: str) -> Iterator[str]:
    """Yield the name as it is and as a keyboard without umlauts has it."""
    yield name
    spelled = name
    for letter, instead in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ø", "oe"), ("å", "aa"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue"), ("Ø", "Oe"), ("Å", "Aa")):  # fmt: skip
        spelled = spelled.replace(letter, instead)
    if spelled != name:
        yield spelled
    bare = re.sub(r"(?<=\w)([aou])e(?=[^aeiou\W])", r"\1", plain(name))
    if bare != name and name.isascii():
        yield bare


def _thing(kind: str, name: str) -> Iterator[tuple[str, Spelling]]:
    identity = _identity(name)
    for spelled in _german(name):
        words = words_of(spelled)
        if not words:
            continue
        yield _spelling(kind, identity, words)
        if len(words) > 1 and words[-1].endswith("s") and len(words[-1]) > 4:
            yield _spelling(kind, identity, [*words[:-1], words[-1][:-1]])
        shorter = words
        while len(shorter) > 1 and shorter[-1].lower() in _SUFFIXES:
            shorter = shorter[:-1]
            if commonness(shorter) in {Commonness.RARE, Commonness.PHRASE}:
                yield _spelling(kind, identity, shorter)
        if len(words) > 1:
            for word in words:
                if len(word) >= 5 and commonness([word]) is Commonness.RARE:
                    yield _spelling(kind, identity, [word])
                elif len(word) >= 4 and kind == "team" and commonness([word]) is Commonness.ORDINARY:
                    yield _spelling(kind, identity, [word], part=True)


def _person(name: str) -> Iterator[tuple[str, Spelling]]:
    identity = _identity(name)
    for spelled in _german(name):
        latin = plain(spelled)
        words = [word for word in re.split(r"[^A-Za-z]+", latin) if word]
        if not words:
            continue
        yield _spelling("person", identity, words)
        for part in re.split(r"[\s,]+", latin):
            pieces = [piece for piece in re.split(r"[^A-Za-z]+", part) if piece]
            if "\x02" in part:  # each sign is a word
                yield _spelling("person", identity, pieces)
                continue
            if len(pieces) > 1:
                yield _spelling("person", identity, pieces)
            for one in {"".join(pieces), *pieces}:
                if len(one) < 3 or one.lower() in _PARTICLES:
                    continue
                yield _spelling("person", identity, [one])
                for stem in _stems(one.lower()):
                    yield stem, Spelling("person", identity, Commonness.RARE, frozenset({0}), stem=True)


def _stems(word: str) -> set[str]:
    """Return what stays of a given name or surname when it is declined: Slavic, Baltic, Finnish, as far as letters go."""
    stems = set()
    vowels = "aeiouy"
    if word[-1] in vowels:
        stems.add(word[:-1])
        if word[-2:-1] in {"k", "g", "h", "r", "t", "d"} and len(word) > 3:
            changed = {"k": "c", "g": "z", "h": "s", "r": "rz", "t": "c", "d": "dz"}[word[-2]]
            stems.add(word[:-2] + changed)
    if re.search(r"[^aeiou]e[^aeiou]$", word):
        stems.add(word[:-2] + word[-1])  # Pavel, Pavla
    for ending, instead in (("ova", "ov"), ("ska", "sk"), ("ski", "sk"), ("cka", "ck"), ("cki", "ck"), ("sky", "sk"), ("nen", "s"), ("as", ""), ("is", ""), ("us", ""), ("ii", "i"), ("iy", ""), ("yy", ""), ("ek", "k"), ("ets", "ts"), ("ec", "c"), ("o", "")):  # fmt: skip
        if word.endswith(ending):
            stems.add(word[: -len(ending)] + instead)
    return {stem for stem in stems if len(stem) >= 3}


def _logins(name: str, email: str) -> Iterator[tuple[str, Spelling]]:
    identity = _identity(name) or email.lower()
    local = plain(email.partition("@")[0].partition("+")[0])
    for spelled in {name, *_german(name)}:
        parts = [part.lower() for part in re.split(r"[^A-Za-z]+", plain(spelled).replace("\x02", "")) if len(part) > 1]
        if len(parts) > 1:
            first, last = parts[0], parts[-1]
            for login in (first[0] + last, last + first[0], first + last[0], first[:3] + last[:3]):
                if len(login) >= 4 and not is_common(login):
                    yield _spelling("person", identity, [login], login=True)
    words = words_of(local)
    if len("".join(words)) >= 3:
        yield _spelling("person", identity, words, login=True)


def _host(host: str) -> Iterator[tuple[str, Spelling]]:
    identity = _identity(host)
    words = words_of(host)
    if words:
        yield _spelling("host", identity, words)
    label = words_of(host.partition(".")[0])
    if label and len(label) < len(words) and commonness(label) is not Commonness.ORDINARY and len("".join(label)) >= 3:
        yield _spelling("host", identity, label)


def _company(domain: str) -> Iterator[tuple[str, Spelling]]:
    labels = [label for label in plain(domain).lower().split(".") if label]
    if len(labels) < 2:
        return
    labels.pop()
    if len(labels) > 1 and labels[-1] in _SECOND_LEVEL:
        labels.pop()
    if labels[-1] not in _MAILBOXES | _CLOUDS and not set(labels) & {"amazonaws"}:
        yield _spelling("company", labels[-1], words_of(labels[-1]))
