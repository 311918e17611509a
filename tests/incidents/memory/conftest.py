import pytest

from incidents.memory import sync
from tests.incidents.memory.memories import TroubledMemory


@pytest.fixture
def memory() -> TroubledMemory:
    return TroubledMemory()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask as often as in life, without the pauses."""
    monkeypatch.setattr(sync, "POLL_PAUSES", (0.0,) * len(sync.POLL_PAUSES))
