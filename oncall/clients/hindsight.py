"""A Hindsight server, spoken to through ``hindsight-client``: the only file that imports it.

The client keeps one session bound to one event loop, which breaks in threads, in a second ``asyncio.run`` and after
a fork (there it hangs). So every call makes a client inside ``asyncio.run`` and closes it. Errors come from five
unrelated families and may hold what was sent, so only their kind is passed on.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings

from oncall.clients.memory import (
    Document,
    MemoryFailure,
    MemoryRefused,
    MemoryUnavailable,
    Recollection,
    Reflection,
    StoredDocument,
    check_bank_id,
    check_document_id,
    searchable,
    storable,
)

T = TypeVar("T")

# Client and server must share these two numbers: a server of another one answers in forms the client cannot read.
VERSION = "1.1"
# Seconds. The client's own default is 300 for everything.
RECALL_TIMEOUT, RETAIN_TIMEOUT, REFLECT_TIMEOUT, OTHER_TIMEOUT, HEALTH_TIMEOUT = 10.0, 60.0, 120.0, 30.0, 5.0
# The server cuts a query at 500 tokens; this leaves room for text of few characters a token.
MAX_QUERY_CHARACTERS = 1600
# The server cuts its results by their tokens, not by their number: 20 documents of a full chunk each need 20,000,
# and one long document brings several chunks.
MAX_RESULT_TOKENS = 40_000
PAGE = 100
# Statuses that another try may mend.
_TEMPORARY = {408, 425, 429}


class HindsightMemory:
    """The memory on a Hindsight server. Not for use inside an event loop: each call runs its own."""

    name = "hindsight"

    def __init__(self, url: str, api_key: str = "") -> None:
        self._url = url.rstrip("/")
        self._api_key = api_key

    def ensure_bank(self, bank_id: str) -> None:
        """Make the bank, or bring its settings to ours.

        Chunks mode keeps the text as it is; without observations a forgotten document is really gone. Graph and
        temporal retrieval bury the true match unless a reranker sorts their results.
        """
        check_bank_id(bank_id)
        reranker = settings.HINDSIGHT_RERANKER
        self._call(
            OTHER_TIMEOUT,
            lambda client: client.acreate_bank(
                bank_id,
                retain_extraction_mode="chunks",
                enable_observations=False,
                enable_graph_retrieval=reranker,
                enable_temporal_retrieval=reranker,
            ),
        )

    def retain(self, bank_id: str, document: Document) -> None:
        """Store the document, replacing one with the same id."""
        check_bank_id(bank_id)
        document = storable(document)
        self._call(
            RETAIN_TIMEOUT,
            lambda client: client.aretain(
                bank_id,
                document.text,
                # Without this word the server would take the moment of writing for the time of the event.
                timestamp=document.occurred_at or "unset",
                document_id=document.document_id,
                metadata=dict(document.metadata),
                tags=list(document.tags) or None,
                update_mode="replace",
            ),
        )

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        """Return at most ``limit`` candidates, one for each document, the nearest first.

        The score is the reranker's, or else the cosine: the server's own final score compares with nothing, and its
        order without a reranker puts the true match lower.
        """
        check_bank_id(bank_id)
        query = searchable(query[:MAX_QUERY_CHARACTERS])
        if not query:
            return []
        narrowed: dict[str, Any] = {}
        if tags:
            # An empty list means "no filter", and "any" lets untagged memories through: never send either.
            narrowed = {"tags": list(tags), "tags_match": "all_strict"}

        async def ask(client: Any) -> list[Recollection]:
            answer = await client.arecall(bank_id, query, max_tokens=MAX_RESULT_TOKENS, **narrowed)
            return _collapse(answer.results, limit)

        try:
            return self._call(RECALL_TIMEOUT, ask)
        except _Missing:
            return []

    def reflect(self, bank_id: str, question: str) -> Reflection:
        """Return the server's own answer; refused where it has no language model."""
        check_bank_id(bank_id)
        answer = self._call(
            REFLECT_TIMEOUT, lambda client: client.areflect(bank_id, question, budget="low", include_facts=True)
        )
        facts = (answer.based_on and answer.based_on.memories) or []
        return Reflection(answer.text, tuple(dict.fromkeys(fact.document_id for fact in facts if fact.document_id)))

    def forget(self, bank_id: str, document_id: str) -> None:
        """Remove the document; one that is not there is already forgotten."""
        check_bank_id(bank_id)
        check_document_id(document_id)
        with suppress(_Missing):
            self._call(
                OTHER_TIMEOUT,
                lambda client: client.documents.delete_document(bank_id, document_id, _request_timeout=OTHER_TIMEOUT),
            )

    def documents(self, bank_id: str) -> Iterator[StoredDocument]:
        """Yield every document of the bank, after reading all pages.

        Pages are counted by offset: one that is forgotten between two of them would hide another.
        """
        check_bank_id(bank_id)
        found: dict[str, StoredDocument] = {}
        offset, more = 0, True
        while more:
            items = self._page(bank_id, offset)
            found.update((item.id, _stored(item)) for item in items)
            offset += PAGE
            more = len(items) == PAGE
        yield from found.values()

    def _page(self, bank_id: str, offset: int) -> list[Any]:
        try:
            page = self._call(
                OTHER_TIMEOUT,
                lambda client: client.documents.list_documents(
                    bank_id, limit=PAGE, offset=offset, _request_timeout=OTHER_TIMEOUT
                ),
            )
        except _Missing:
            return []
        return list(page.items)

    def delete_bank(self, bank_id: str) -> None:
        """Remove the bank with everything in it."""
        check_bank_id(bank_id)
        with suppress(_Missing):
            self._call(OTHER_TIMEOUT, lambda client: client.adelete_bank(bank_id))

    def health(self) -> str:
        """Return "" when the server answers, takes the key and has the version that this client speaks."""

        async def ask(client: Any) -> str:
            version = await client.aget_version()
            # The version is told to everybody; the list of banks only to who has the key.
            await client.banks.list_banks(limit=1, _request_timeout=HEALTH_TIMEOUT)
            return str(version.api_version)

        try:
            version = self._call(HEALTH_TIMEOUT, ask)
        except MemoryFailure as failure:
            return str(failure)
        if version.split(".")[:2] != VERSION.split("."):
            return f"The memory server has another version than its client, which speaks {VERSION}."
        return ""

    def _call(self, timeout: float, ask: Callable[[Any], Awaitable[T]]) -> T:
        try:
            answer = asyncio.run(self._ask(timeout, ask))
        except Exception as error:  # five unrelated families, and any kind where an answer has another form
            raise _translated(error) from None
        if getattr(answer, "success", True) is False:
            raise MemoryUnavailable("The memory server says that it failed.")
        return answer

    async def _ask(self, timeout: float, ask: Callable[[Any], Awaitable[T]]) -> T:
        # Imported here: it takes half a second, and only workers and commands talk to the server.
        import aiohttp  # noqa: PLC0415
        from hindsight_client import Hindsight  # noqa: PLC0415

        client = Hindsight(self._url, api_key=self._api_key or None, timeout=timeout, max_attempts=1)
        # Its own session would read the machine's certificates anew, 40 ms for each call; aiohttp's reads them once.
        client._api_client.rest_client._pool_manager = aiohttp.ClientSession(trust_env=True)
        try:
            # A server that sends a byte now and then never meets the client's timeout for a read.
            return await asyncio.wait_for(ask(client), timeout)
        finally:
            await client.aclose()


class _Missing(MemoryRefused):
    """The server says that it has no such bank or document."""


def _translated(error: Exception) -> MemoryFailure:
    """Return our word for the error. Never its text: it may hold what was sent."""
    status = getattr(error, "status", None)
    if not status:
        # Connections fail with OSError and its kin, timeouts with TimeoutError, which is one.
        if isinstance(error, OSError) or type(error).__module__.startswith("aiohttp."):
            return MemoryUnavailable("The memory server cannot be reached, or did not answer in time.")
        return MemoryRefused(f"The memory server answers in another form than its client, which speaks {VERSION}.")
    if status >= 500 or status in _TEMPORARY:
        return MemoryUnavailable(f"The memory server answered with status {status}.")
    if status in (401, 403):
        return MemoryRefused("The memory server refuses the key.")
    if status == 404 and _says_missing(error):
        return _Missing("The memory server has no such bank or document.")
    return MemoryRefused(f"The memory server refused the request with status {status}.")


def _says_missing(error: Exception) -> bool:
    """Return whether Hindsight itself misses the thing.

    A wrong address answers 404 too. Taken for "no such document", it would make everything look forgotten.
    """
    try:
        detail = json.loads(getattr(error, "body", None) or "")["detail"]
    except (ValueError, TypeError, KeyError):
        return False
    # A path that the server does not have is "Not Found", with capitals.
    return isinstance(detail, str) and detail.endswith(" not found")


def _collapse(results: list[Any], limit: int) -> list[Recollection]:
    """Return the nearest result of each document; the server splits a document into several memories."""
    best: dict[str, Any] = {}
    for result in sorted(results, key=_score, reverse=True):
        if result.document_id:
            best.setdefault(result.document_id, result)
    return [_recollection(result, rank) for rank, result in enumerate(list(best.values())[:limit], start=1)]


def _score(result: Any) -> float:
    """Return the reranker's score, or the cosine; 0 for what was found by words alone."""
    scores = result.scores
    if scores is None:
        return 0.0
    return float(scores.semantic or 0.0) if scores.reranker is None else float(scores.reranker)


def _recollection(result: Any, rank: int) -> Recollection:
    # What the server calls the time of mention is the time that the document was given.
    occurred_at = datetime.fromisoformat(result.mentioned_at) if result.mentioned_at else None
    return Recollection(
        document_id=result.document_id,
        rank=rank,
        score=_score(result),
        chunk=result.text,
        tags=tuple(result.tags or ()),
        metadata=dict(result.metadata or {}),
        occurred_at=occurred_at,
    )


def _stored(item: Any) -> StoredDocument:
    metadata = {key: str(value) for key, value in (item.document_metadata or {}).items()}
    return StoredDocument(item.id, tuple(item.tags or ()), metadata)
