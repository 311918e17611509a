"""What a detector says about a stretch of text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch that must not stay: from ``start`` to before ``end``, in characters of the text that was read.

    Two that share ``kind`` and ``identity`` are one thing and get one ordinal. ``uncertain`` means that only a person
    can say whether it tells anything.
    """

    start: int
    end: int
    kind: str
    identity: str
    uncertain: bool = False


# Each kind is the word of a placeholder: <HOST_1>. What a person is asked about keeps its kind.
KINDS = frozenset(
    {
        "account", "commit", "company", "credential", "customer", "date", "email", "encoded", "hash", "host", "ip", "mac",
        "name", "network", "path", "person", "phone", "place", "project", "resource", "service", "team", "ticket", "time",
        "url", "uuid",
    }
)  # fmt: skip
