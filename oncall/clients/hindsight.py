"""A Hindsight server, spoken to through ``hindsight-client``: the only file that imports it.

The client keeps one session bound to one event loop, which breaks in threads, in a second ``asyncio.run`` and after
a fork (there it hangs). So every call makes a client inside ``asyncio.run`` and closes it. Errors come from five
unrelated families and may hold what was sent, so only their kind is passed on.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

from django.conf import settings

from oncall.clients.memory import (
    BANK_ID_PATTERN,
    Document,
    MemoryRefused,
    MemoryUnavailable,
    Recollection,
    Reflection,
    StoredDocument,
)

T = TypeVar("T")

# Seconds. The client's own default is 300 for everything.
RECALL_TIMEOUT, RETAIN_TIMEOUT, REFLECT_TIMEOUT, OTHER_TIMEOUT = 10.0, 60.0, 120.0, 30.0
# The server cuts a query at 500 tokens; four characters a token leaves room.
MAX_QUERY_CHARACTERS = 1600
PAGE = 100
_HAS_WORD = re.compile(r"\w")
# Statuses that another try may mend.
_TEMPORARY = {408, 425, 429}


class HindsightMemory:
    """The memory on a Hindsight server."""

    name = "hindsight"

    def __init__(self, url: str, api_key: str = "") -> None:
        self._url = url.rstrip("/")
        self._api_key = api_key

    def ensure_bank(self, bank_id: str) -> None:
        """Make the bank, or bring its settings to ours.

        Chunks mode keeps the text as it is; without observations a forgotten document is really gone. Graph and
        temporal retrieval bury the true match unless a reranker sorts their results.
        """
        _check(bank_id)
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
        _check(bank_id)
        self._call(
            RETAIN_TIMEOUT,
            lambda client: client.aretain(
                bank_id,
                document.text.replace("\x00", " "),
                timestamp=document.occurred_at,
                document_id=document.document_id,
                metadata={key: str(value) for key, value in document.metadata.items()},
                tags=list(document.tags) or None,
                update_mode="replace",
            ),
        )

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        """Return at most ``limit`` candidates, one for each document, in the server's order.

        The score is the cosine that the server reports, where it does: its own final score compares with nothing.
        """
        _check(bank_id)
        if not _HAS_WORD.search(query):
            return []
        narrowed: dict[str, Any] = {}
        if tags:
            # An empty list means "no filter", and "any" lets untagged memories through: never send either.
            narrowed = {"tags": list(tags), "tags_match": "all_strict"}
        response = self._call(
            RECALL_TIMEOUT,
            lambda client: client.arecall(bank_id, query[:MAX_QUERY_CHARACTERS], max_tokens=8192, **narrowed),
            missing=None,
        )
        return _collapse(getattr(response, "results", None) or [], limit)

    def reflect(self, bank_id: str, question: str) -> Reflection:
        """Return the server's own answer; refused where it has no language model."""
        _check(bank_id)
        answer = self._call(
            REFLECT_TIMEOUT, lambda client: client.areflect(bank_id, question, budget="low", include_facts=True)
        )
        memories = getattr(getattr(answer, "based_on", None), "memories", None) or []
        ids = dict.fromkeys(str(memory.document_id) for memory in memories if getattr(memory, "document_id", None))
        return Reflection(str(getattr(answer, "text", "") or ""), tuple(ids))

    def forget(self, bank_id: str, document_id: str) -> None:
        """Remove the document; one that is not there is already forgotten."""
        _check(bank_id)
        self._call(
            OTHER_TIMEOUT,
            lambda client: client.documents.delete_document(bank_id, document_id, _request_timeout=OTHER_TIMEOUT),
            missing=None,
        )

    def documents(self, bank_id: str) -> Iterator[StoredDocument]:
        """Yield every document of the bank, page by page."""
        _check(bank_id)
        offset = 0
        while True:
            page = self._page(bank_id, offset)
            items = list(getattr(page, "items", None) or [])
            for item in items:
                yield _stored(item)
            if len(items) < PAGE:
                return
            offset += PAGE

    def _page(self, bank_id: str, offset: int) -> Any:
        return self._call(
            OTHER_TIMEOUT,
            lambda client: client.documents.list_documents(
                bank_id, limit=PAGE, offset=offset, _request_timeout=OTHER_TIMEOUT
            ),
            missing=None,
        )

    def delete_bank(self, bank_id: str) -> None:
        """Remove the bank with everything in it."""
        _check(bank_id)
        self._call(OTHER_TIMEOUT, lambda client: client.adelete_bank(bank_id), missing=None)

    def health(self) -> str:
        """Return "" when the server answers in the version that this client speaks."""
        try:
            version = self._call(OTHER_TIMEOUT, lambda client: client.aget_version())
        except MemoryUnavailable:
            return "The memory server does not answer."
        except MemoryRefused:
            return "The memory server refuses the key, or is of another version than its client (1.1)."
        known = str(getattr(version, "api_version", None) or getattr(version, "version", "") or "")
        if known and not known.startswith("1.1"):
            return f"The memory server is of version {known}, its client of 1.1."
        return ""

    def _call(self, timeout: float, ask: Callable[[Any], Awaitable[T]], **fallback: Any) -> T:
        """Run one call; ``missing=`` is what a 404 gives instead of an error."""

        async def go() -> T:
            # Imported here: it takes half a second, and only workers and commands talk to the server.
            from hindsight_client import Hindsight  # noqa: PLC0415

            client = Hindsight(self._url, api_key=self._api_key or None, timeout=timeout, max_attempts=1)
            try:
                # The client's own timeout is for each read; this one is for the whole call.
                return await asyncio.wait_for(ask(client), timeout)
            finally:
                await client.aclose()

        try:
            return asyncio.run(go())
        except Exception as error:  # five unrelated families: sorted by status and kind just below
            if _status(error) == 404 and "missing" in fallback:
                return fallback["missing"]
            raise _translate(error) from None


def _check(bank_id: str) -> None:
    if not re.match(BANK_ID_PATTERN, bank_id or ""):
        raise MemoryRefused("This is no id of a bank.")


def _status(error: Exception) -> int | None:
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else None


def _translate(error: Exception) -> MemoryUnavailable | MemoryRefused:
    """Return our word for the error. Never its text: it may hold what was sent."""
    status = _status(error)
    if status is None:
        if isinstance(error, ValueError | TypeError):
            return MemoryRefused(
                "The memory server's answer, or what was asked, has another form than its client knows."
            )
        return MemoryUnavailable("The memory server cannot be reached, or did not answer in time.")
    if status >= 500 or status in _TEMPORARY:
        return MemoryUnavailable(f"The memory server answered with status {status}.")
    if status in (401, 403):
        return MemoryRefused("The memory server refuses the key.")
    return MemoryRefused(f"The memory server refused the request with status {status}.")


def _collapse(results: list[Any], limit: int) -> list[Recollection]:
    """Return the first result of each document; the server splits a document into several memories."""
    best: dict[str, Recollection] = {}
    for result in results:
        document_id = getattr(result, "document_id", None)
        if not document_id or document_id in best:
            continue
        scores = getattr(result, "scores", None)
        best[document_id] = Recollection(
            document_id=str(document_id),
            rank=len(best) + 1,
            score=float(getattr(scores, "semantic", None) or 0.0),
            chunk=str(getattr(result, "text", "") or ""),
            tags=tuple(getattr(result, "tags", None) or ()),
            metadata=dict(getattr(result, "metadata", None) or {}),
        )
    return list(best.values())[:limit]


def _stored(item: Any) -> StoredDocument:
    read = item.get if isinstance(item, dict) else lambda name: getattr(item, name, None)
    return StoredDocument(str(read("id")), tuple(read("tags") or ()), dict(read("metadata") or {}))
