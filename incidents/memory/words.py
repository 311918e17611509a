"""The words of a text as the gate compares them: stems, without those that say nothing."""

import re
from functools import cache, lru_cache

from oncall.clients.embedded.tokens import tokens

_STOP = """
    a about above after again against all also an and any are as at be because been before being below between both but
    by can could did do does doing down during each few for from further had has have having he her here him his how i
    if in into is it its just may me might more most must my near no nor not now of off on once only or other our out
    over own per please same she should since so some such than that the their them then there these they this those
    through to too under until up us very via was we were what when where which while who whom why will with would you
    your
"""

# Words that stand in every other alert, whatever failed: shared by chance, also in a bank too small to show it.
_COMMON = """
    " active alert api app application available average baseline bytes call cannot cause check client cluster code
    com connect connection container count cpu critical current data database db default deploy deployment
    description disk due environment error eu event exceeded exception expected fail failed failing failure file
    firing found group high host hour http https info instance internal job label latency limit line list load local
    log low main max medium memory message metric min minute missing monitor name namespace network new node org
    percent period pod port prod production query queue rate reached ready region replica report request resolved
    response restart restarted retry root running runtime second server service severity size slow source staging
    start started state status stopped summary system target task test thread threshold time timed timeout total
    trace traffic type unavailable unit url usage used user utc value version waiting warning west worker
"""

# What an alert and a memory may say of one thing in opposite senses: its state, direction, place, and what runs out.
_OPPOSITES = """
    full/empty up/down high/low add/remove missing/duplicate many/missing slow/down refused/timeout expired/revoked
    increase/decrease start/stop read/write create/delete connect/disconnect enable/disable lost/found leader/follower
    source/target client/server upgrade/downgrade before/after inbound/outbound request/response push/pull
    producer/consumer publish/consume memory/disk cpu/memory cpu/disk backup/restore insert/select sender/receiver
    primary/replica 401/403 404/503 500/502 502/503 502/504 503/504
"""

# A word or a part of an identifier, as a text writes it.
_PART = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+|[^\W_]+")
PARTS_READ = 1500


@cache
def stop_words() -> frozenset[str]:
    """Return the stems that never count."""
    return frozenset(tokens(_STOP))


@cache
def common_words() -> frozenset[str]:
    """Return the stems that count little."""
    return frozenset(tokens(_COMMON))


@cache
def opposites() -> tuple[tuple[str, str], ...]:
    """Return pairs of stems of opposite sense, each in both orders."""
    pairs = [tuple(tokens(word)[0] for word in pair.split("/")) for pair in _OPPOSITES.split()]
    return tuple((one, other) for pair in pairs for one, other in (pair, pair[::-1]))


def stems(text: str) -> list[str]:
    """Return the text's stems in order, repeats included; identifiers stand whole and in their parts."""
    return [stem for stem in tokens(text) if len(stem) > 1 and stem not in stop_words()]


def is_word(stem: str) -> bool:
    """Return whether it is more than a number."""
    return any(character.isalpha() for character in stem)


def words_by_stem(text: str) -> dict[str, str]:
    """Return each stem of a text's words and parts of identifiers with how it is first written, in lower case."""
    parts = [part.lower() for part in _PART.findall(text)[:PARTS_READ]]
    written = {part: stem for part in dict.fromkeys(parts) if (stem := _stem(part))}
    found: dict[str, str] = {}
    for part, stem in written.items():
        found.setdefault(stem, part)
    return found


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return next(iter(stems(word)), "")
