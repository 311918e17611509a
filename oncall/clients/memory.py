"""A memory server in our own words: one protocol, its dataclasses, its family of errors.

``oncall.clients.hindsight`` and ``oncall.clients.embedded`` implement it. Operations keep Hindsight's names: retain,
recall, reflect. A bank is the only wall between memories: tags rank and narrow, they protect nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from django.conf import settings

# Hindsight accepts more, but "/" breaks its URLs and capitals are easily mistyped.
BANK_ID_PATTERN = r"^[a-z0-9][a-z0-9-]{7,62}$"


@dataclass(frozen=True)
class Document:
    """What is retained. ``document_id`` is ours and stable: the same id again replaces the text.

    ``occurred_at`` is when the thing happened, not when it was written. ``tags`` must hold ``id:<document_id>``,
    by which recallability is asked; ``metadata`` values are strings.
    """

    document_id: str
    text: str
    tags: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)
    occurred_at: datetime | None = None


@dataclass(frozen=True)
class Recollection:
    """A candidate that recall gave: which document, not what to show.

    Rank starts at 1; scores compare within one recall only.
    """

    document_id: str
    rank: int
    score: float
    chunk: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    occurred_at: datetime | None = None


@dataclass(frozen=True)
class StoredDocument:
    """One line of a bank's own list of documents."""

    document_id: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reflection:
    """An answer that the memory wrote from its own documents, with the ids it rests on."""

    text: str
    document_ids: tuple[str, ...] = ()


class MemoryFailure(Exception):
    """The memory did not do it. ``str(error)`` is a sentence without ids, queries or texts."""


class MemoryUnavailable(MemoryFailure):
    """Not now: connection, timeout, 5xx, 429. Try again later."""


class MemoryRefused(MemoryFailure):
    """Not at all: a bad request, a bad key, an operation that this server cannot do. Trying again is of no use."""


class Memory(Protocol):
    """A memory. Every call may raise ``MemoryUnavailable`` or ``MemoryRefused``; ``bank_id`` must match the pattern."""

    name: str

    def ensure_bank(self, bank_id: str) -> None:
        """Make the bank, or leave it as it is."""
        ...

    def retain(self, bank_id: str, document: Document) -> None:
        """Store the document, replacing one with the same id. Afterwards it may take a moment to be recallable."""
        ...

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        """Return at most ``limit`` candidates, best first, one for each document.

        With tags, only documents that carry *all* of them. An unknown bank gives none.
        """
        ...

    def reflect(self, bank_id: str, question: str) -> Reflection:
        """Return an answer written by the memory; ``MemoryRefused`` where the server has no language model."""
        ...

    def forget(self, bank_id: str, document_id: str) -> None:
        """Remove the document; one that is not there is already forgotten."""
        ...

    def documents(self, bank_id: str) -> Iterator[StoredDocument]:
        """Yield every document of the bank, in no promised order; none for an unknown bank."""
        ...

    def delete_bank(self, bank_id: str) -> None:
        """Remove the bank with everything in it; an unknown bank is already removed."""
        ...

    def health(self) -> str:
        """Return "" when the memory answers, otherwise a sentence that says what is wrong. Never raises."""
        ...


def get_memory() -> Memory | None:
    """Return the memory that the settings name; None when memory is off."""
    # Imported here and not above: both import this module, and their libraries take long to load.
    from oncall.clients.embedded.memory import EmbeddedMemory  # noqa: PLC0415
    from oncall.clients.hindsight import HindsightMemory  # noqa: PLC0415

    if settings.MEMORY == "off":
        return None
    if settings.MEMORY == "hindsight":
        return HindsightMemory(settings.HINDSIGHT_URL, settings.HINDSIGHT_API_KEY)
    return EmbeddedMemory()
