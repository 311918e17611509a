"""The embedded memory with troubles that a test chooses: what it does beside them is the real thing."""

from collections.abc import Callable, Sequence

from oncall.clients.embedded.memory import EmbeddedMemory
from oncall.clients.memory import Document, MemoryFailure, Recollection


class TroubledMemory(EmbeddedMemory):
    """``failure`` is raised by every call; ``after_retain`` runs once a document was stored; the first ``slow`` recalls
    find nothing; ``invented`` ids stand before every answer.
    """

    def __init__(self) -> None:
        self.failure: MemoryFailure | None = None
        self.after_retain: Callable[[], None] | None = None
        self.slow = 0
        self.invented: list[str] = []
        self.calls: list[str] = []

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.failure:
            raise self.failure

    def ensure_bank(self, bank_id: str) -> None:
        self._called("ensure_bank")
        super().ensure_bank(bank_id)

    def retain(self, bank_id: str, document: Document) -> None:
        self._called("retain")
        super().retain(bank_id, document)
        if self.after_retain:
            self.after_retain()

    def recall(self, bank_id: str, query: str, *, tags: Sequence[str] = (), limit: int = 20) -> list[Recollection]:
        self._called("recall")
        if self.slow:
            self.slow -= 1
            return []
        invented = [Recollection(document_id, rank, 1.0) for rank, document_id in enumerate(self.invented, start=1)]
        return invented + super().recall(bank_id, query, tags=tags, limit=limit)

    def forget(self, bank_id: str, document_id: str) -> None:
        self._called("forget")
        super().forget(bank_id, document_id)
