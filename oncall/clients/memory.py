"""A memory server in our own words: one protocol, its dataclasses, its family of errors.

``oncall.clients.hindsight`` and ``oncall.clients.embedded`` implement it. Operations keep Hindsight's names: retain,
recall, reflect. A bank is the only wall between memories: tags rank and narrow, they protect nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from django.conf import settings

# Hindsight accepts more, but "/" breaks its URLs and capitals are easily mistyped.
_BANK_ID = re.compile(r"[a-z0-9][a-z0-9-]{7,62}")
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_WORD = re.compile(r"[^\W_]")
# Characters of a document's text that are kept. A Hindsight server on two cores takes half a minute for so many.
MAX_TEXT = 100_000


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
    """A memory. Every call may raise ``MemoryUnavailable`` or ``MemoryRefused``.

    A bank's id has 8 to 63 lower-case letters, digits and dashes, a document's 1 to 64 letters, digits, dashes and
    underscores; others are refused.
    """

    name: str

    def ensure_bank(self, bank_id: str) -> None:
        """Make the bank, or leave it as it is."""
        ...

    def retain(self, bank_id: str, document: Document) -> None:
        """Store the document, replacing one with the same id. Afterwards it may take a moment to be recallable.

        A bank that is not there may be made. A document without a text is refused.
        """
        ...

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        """Return at most ``limit`` candidates, best first, one for each document.

        With tags, only documents that carry *all* of them. An unknown bank gives none, and so does a query without a
        word. A memory may leave out what is too far from the query, even with tags: ask with the document's own words.
        """
        ...

    def reflect(self, bank_id: str, question: str) -> Reflection:
        """Return an answer written by the memory; ``MemoryRefused`` where the server has no language model."""
        ...

    def forget(self, bank_id: str, document_id: str) -> None:
        """Remove the document; one that is not there is already forgotten."""
        ...

    def documents(self, bank_id: str) -> Iterator[StoredDocument]:
        """Yield every document of the bank once, in no promised order; none for an unknown bank.

        Documents may be forgotten while this goes on.
        """
        ...

    def delete_bank(self, bank_id: str) -> None:
        """Remove the bank with everything in it; an unknown bank is already removed."""
        ...

    def health(self) -> str:
        """Return "" when the memory answers, otherwise a sentence that says what is wrong. Never raises."""
        ...


def check_bank_id(bank_id: str) -> None:
    """Raise ``MemoryRefused`` for what is no id of a bank."""
    if not _BANK_ID.fullmatch(bank_id):
        raise MemoryRefused("This is no id of a bank.")


def check_document_id(document_id: str) -> None:
    """Raise ``MemoryRefused`` for what is no id of a document."""
    if not _DOCUMENT_ID.fullmatch(document_id):
        raise MemoryRefused("This is no id of a document.")


def storable(document: Document) -> Document:
    """Return the document as every memory can store it; raise ``MemoryRefused`` for one without id or text."""
    check_document_id(document.document_id)
    text = _encodable(document.text)[:MAX_TEXT]
    if not text.strip():
        raise MemoryRefused("A document needs a text.")
    return replace(
        document,
        text=text,
        tags=tuple(dict.fromkeys(_encodable(tag) for tag in document.tags)),
        metadata={_encodable(key): _encodable(str(value)) for key, value in document.metadata.items()},
    )


def searchable(query: str) -> str:
    """Return the query as every memory can read it; "" for one without a word."""
    return _encodable(query) if _WORD.search(query) else ""


def _encodable(text: str) -> str:
    """Return the text without NUL, which PostgreSQL refuses, and lone surrogates, which UTF-8 cannot hold."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


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
