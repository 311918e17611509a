"""When a model may be asked again: rate limits and retired models, shared by all processes through the cache.

Limits are Groq's per organisation, so a worker that was told to wait speaks for all of them.
"""

import hashlib
import logging
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from django.core.cache import cache

logger = logging.getLogger(__name__)

DEAD_SECONDS = 3600
# No answer of a server may keep a model away for longer than this; a date in a far year would otherwise.
LONGEST_HOLD_SECONDS = 3600.0

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNIT_SECONDS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)


def seconds_from_header(value: str | None, *, now: float) -> float | None:
    """Return the seconds that a header names, an hour at most, or None when it names none that make sense.

    Seconds (``30``, ``2.5``), durations (``7m12s``, ``450ms``) and HTTP dates occur; ``now`` is in epoch seconds.
    A date that has passed means 0.
    """
    text = (value or "").strip()[:64]
    if not text:
        return None
    seconds = _plain_seconds(text)
    if seconds is None:
        seconds = _seconds_of_duration(text)
    if seconds is None:
        seconds = _seconds_until_date(text, now)
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, LONGEST_HOLD_SECONDS)


def _plain_seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _seconds_of_duration(text: str) -> float | None:
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return sum(float(part) * unit for part, unit in zip(match.groups(), _UNIT_SECONDS, strict=True) if part)


def _seconds_until_date(text: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a refusal asks to wait, or None when it does not say."""
    now = time.time()
    asked = seconds_from_header(headers.get("retry-after"), now=now)
    if asked is not None:
        return asked
    resets = [
        seconds_from_header(headers.get(f"x-ratelimit-reset-{kind}"), now=now)
        for kind in ("tokens", "requests")
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
    ]
    return max((seconds for seconds in resets if seconds is not None), default=None)


def wait_before_next(headers: Mapping[str, str], *, tokens: int) -> float:
    """Return the seconds until another call of ``tokens`` fits, by the headers of a call that succeeded.

    ``x-ratelimit-reset-tokens`` is when the bucket is full again; it fills evenly until then.
    """
    now = time.time()
    reset = seconds_from_header(headers.get("x-ratelimit-reset-tokens"), now=now)
    remaining = _whole_number(headers.get("x-ratelimit-remaining-tokens"))
    limit = _whole_number(headers.get("x-ratelimit-limit-tokens"))
    wait = 0.0
    if reset is not None and remaining is not None and limit is not None and remaining < min(tokens, limit):
        wait = reset * (min(tokens, limit) - remaining) / (limit - remaining)
    if headers.get("x-ratelimit-remaining-requests") == "0":
        wait = max(wait, seconds_from_header(headers.get("x-ratelimit-reset-requests"), now=now) or 0.0)
    return wait


def _whole_number(value: str | None) -> int | None:
    text = (value or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None


class SharedLimits:
    """What is known about each model of one server. A cache that is down counts as one that knows nothing."""

    def __init__(self, server: str) -> None:
        self._server = server

    def is_dead(self, model: str) -> bool:
        """Return whether the server said within the last hour that it no longer has the model."""
        return bool(self._read(self._key("dead", model)))

    def mark_dead(self, model: str) -> None:
        """Leave the model out for an hour, and tell the admin once."""
        try:
            first = cache.add(self._key("dead", model), True, DEAD_SECONDS)
        except Exception as error:  # any cache's any error
            _log_cache_down(error)
            first = True
        if first:
            logger.warning("The model %s is not available on the server. Take it out of GROQ_MODELS.", model)

    def seconds_held(self, model: str) -> float:
        """Return for how many more seconds the model must not be asked."""
        until = self._read(self._key("not-before", model))
        return max(0.0, until - time.time()) if isinstance(until, float) else 0.0

    def hold(self, model: str, seconds: float) -> None:
        """Ask every process to leave the model alone for so many seconds."""
        try:
            cache.set(self._key("not-before", model), time.time() + seconds, math.ceil(seconds) + 1)
        except Exception as error:  # any cache's any error
            _log_cache_down(error)

    def _read(self, key: str) -> object:
        try:
            return cache.get(key)
        except Exception as error:  # any cache's any error
            _log_cache_down(error)
            return None

    def _key(self, what: str, model: str) -> str:
        # Hashed: a model's name comes from the environment and may hold what a cache refuses in a key.
        digest = hashlib.sha256(f"{self._server}\n{model}".encode()).hexdigest()[:32]
        return f"groq:{what}:{digest}"


def _log_cache_down(error: Exception) -> None:
    logger.warning("The shared cache does not answer (%s); rate limits are not shared now.", type(error).__name__)
