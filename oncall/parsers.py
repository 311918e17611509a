"""How the API reads a JSON body."""

import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class JSONBody(JSONParser):
    """Refuses what Python's reader lets through or fails over: nesting without end, and numbers without end."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the body's value; raises ParseError, which is a 400, when it cannot be read."""
        try:
            body = super().parse(stream, media_type, parser_context)
            finite = _is_finite(body)
        except RecursionError:
            raise ParseError("JSON parse error - nested too deeply") from None
        if not finite:
            raise ParseError("JSON parse error - a number is too large")
        return body


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_is_finite(inner) for inner in value.values())
    return all(_is_finite(inner) for inner in value) if isinstance(value, list) else True
