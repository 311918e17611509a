"""Credentials out of text, before it is stored, searched, sent or shown.

Versions, commit hashes, build numbers and addresses are no credentials and stay: an incident is read by them. The shapes
stand in ``incidents.reading.credentials``.
"""

import re
from itertools import pairwise
from typing import Any

from incidents.reading.credentials import NAMES, SHAPES

# A word that only looks like a value: "password: required", "token = null".
_HARMLESS = re.compile(
    r"^(?:null|none|true|false|required|invalid|expired|missing|wrong|empty|yes|no|\*+|x+|\.+|<[^>]*>?)$", re.I
)
# Zero-width characters, joiners, marks of direction, soft hyphens.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# Something long after "=" or ":" that may be opaque; whether it is, its letters say.
_ASSIGNED = re.compile(r"(?P<keep>[=:]\s{0,2}[\"']?)(?P<value>[A-Za-z0-9+_=-]{32,200})(?![A-Za-z0-9+_=/.-])")


def redact(text: str) -> str:
    """Return the text with every credential-shaped string replaced by ``[redacted: kind]``. Linear in its length."""
    pieces, last = [], 0
    for start, end, kind in credentials(text):
        pieces += [text[last:start], f"[redacted: {kind}]"]
        last = end
    return "".join([*pieces, text[last:]])


def credentials(text: str) -> list[tuple[int, int, str]]:
    """Return where credential-shaped strings begin and end and their kinds, in order and apart. Linear in its length."""
    if _UNSEEN.search(text):
        return _among_unseen(text)
    lower = text.lower()
    found = [
        (match.start() + len(match["keep"] if keep else ""), match.end(), kind)
        for kind, pattern, keep, hints in SHAPES
        if not hints or any(hint in lower for hint in hints)
        for match in pattern.finditer(text)
        if not (keep and _HARMLESS.match(match.group()[len(match["keep"]) :].strip("\"'")))
    ]
    found += [(*match.span("value"), "token") for match in _ASSIGNED.finditer(text) if looks_random(match["value"])]
    # Two lines of the table may see one credential: the first in the table names it.
    apart: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found, key=lambda one: one[0]):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]), apart[-1][2])
        else:
            apart.append((start, end, kind))
    return apart


def _among_unseen(text: str) -> list[tuple[int, int, str]]:
    """Return the same for a text with characters that nobody sees, which would hide a name from the table."""
    places = [place for place, character in enumerate(text) if not _UNSEEN.match(character)]
    found = credentials("".join(text[place] for place in places))
    return [(places[start], places[end - 1] + 1, kind) for start, end, kind in found if start < end]


def looks_random(value: str) -> bool:
    """Return whether letters of both cases and digits change as often as chance has it.

    Words in CamelCase change less often; commit hashes, digests and UUIDs have one case.
    """
    kinds = ["upper" if c.isupper() else "lower" if c.islower() else "digit" if c.isdigit() else "" for c in value]
    changes = sum(one != other for one, other in pairwise(kinds))
    return min(kinds.count(kind) for kind in ("upper", "lower", "digit")) >= 3 and changes >= 0.45 * len(value)


def redact_tree(value: Any) -> Any:
    """Return nested lists and dictionaries with every string redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): _redact_named(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_tree(inner) for inner in value]
    return value


_SECRET_NAME = re.compile(NAMES + r"$", re.I)


def is_credential(name: str, value: str) -> bool:
    """Return whether the field's name says that its value is a credential, whatever the value looks like."""
    return _SECRET_NAME.search(name[-80:]) is not None and not _HARMLESS.match(value)


def _redact_named(name: str, value: Any) -> Any:
    if isinstance(value, str | int) and is_credential(name, str(value)):
        return "[redacted: password]"
    return redact_tree(value)
