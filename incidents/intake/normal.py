"""What every source is brought to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


class Unreadable(Exception):
    """The body is not what it says it is. The sentence says why; the body is kept as text all the same."""


@dataclass(frozen=True)
class NormalAlert:
    """One notification: ``text`` is everything that people and models may read of it, not yet redacted.

    ``dedup_key`` is the sender's own name for the problem, "" where it has none. ``labels`` are the sender's fields,
    from which facts may be read. ``started_at`` is None where the sender does not say.
    """

    text: str
    title: str = ""
    status: str = "firing"
    severity: str = ""
    service: str = ""
    environment: str = ""
    dedup_key: str = ""
    started_at: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
