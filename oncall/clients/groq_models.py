"""What each model on Groq can do. A name that is not in the table gets the safe minimum."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Capabilities:
    """``efforts`` are the values of reasoning_effort that the model accepts; ``max_output`` is in tokens."""

    strict_schema: bool = False
    efforts: frozenset[str] = frozenset()
    max_output: int = 8192


_GPT_OSS = Capabilities(strict_schema=True, efforts=frozenset({"low", "medium", "high"}), max_output=65_536)

CAPABILITIES: Mapping[str, Capabilities] = MappingProxyType(
    {
        "openai/gpt-oss-120b": _GPT_OSS,
        "openai/gpt-oss-20b": _GPT_OSS,
        "qwen/qwen3.8-27b": Capabilities(
            efforts=frozenset({"none", "default", "low", "medium", "high"}), max_output=16_384
        ),
    }
)
UNKNOWN = Capabilities()


def capabilities(model: str) -> Capabilities:
    """Return what the model can do, as far as we know."""
    return CAPABILITIES.get(model, UNKNOWN)
