"""The gate's constants: data beside this file, written by ``manage.py fit_gate`` and by nothing else."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

CONSTANTS = Path(__file__).with_name("gate_constants.json")


@dataclass(frozen=True)
class Weight:
    """How much a feature counts: ``weight`` for each ``scale`` that it lies above ``mean``."""

    mean: float
    scale: float
    weight: float


@dataclass(frozen=True)
class Constants:
    """A score is ``base`` and the sum of the weighted features, in log-odds; ``partial`` and ``close`` are thresholds.

    ``strangers`` has what an unrelated record usually reaches; ``figures`` what these constants reached when they were
    fitted.
    """

    weights: Mapping[str, Weight]
    base: float
    partial: float
    close: float
    strangers: Mapping[str, float]
    figures: Mapping[str, Any]

    def parts(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return what each feature adds to the score.

        Raises:
            KeyError: a feature that has a weight is not there.
        """
        return {
            name: weight.weight * (features[name] - weight.mean) / weight.scale for name, weight in self.weights.items()
        }

    def as_json(self) -> str:
        """Return the file's content."""
        return json.dumps(_rounded(asdict(self)), indent=1, sort_keys=True) + "\n"

    @classmethod
    def read(cls, text: str) -> "Constants":
        """Return what ``as_json`` gave."""
        stored = json.loads(text)
        weights = {name: Weight(**weight) for name, weight in stored.pop("weights").items()}
        return cls(weights=weights, **stored)


@cache
def constants() -> Constants:
    """Return the constants of this version."""
    return Constants.read(CONSTANTS.read_text(encoding="utf-8"))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return round(value, 6) if isinstance(value, float) else value
