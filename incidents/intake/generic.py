"""Generic JSON: an object, or one with a list of ``alerts``. Fields that are not known stay in the text."""

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from incidents.intake.normal import NormalAlert, Unreadable
from incidents.reading.facts import SEVERITIES

MAX_DEPTH, MAX_KEYS, MAX_STRING, MAX_ALERTS = 20, 2000, 64_000, 200
# A JSON text that opens more brackets than this in a row is deeper than allowed; Python's parser would recurse.
_OPENING = "[{"

_TITLE = ("title", "alertname", "alert_name", "name", "subject", "rule_name", "monitor_name")
_TEXT = ("summary", "description", "message", "text", "body", "details")
_SEVERITY = ("severity", "priority", "level", "urgency", "alert_severity")
_SERVICE = ("service", "service_name", "app", "application", "component", "job")
_ENVIRONMENT = ("environment", "env", "stage")
_DEDUP = ("dedup_key", "alias", "fingerprint", "groupKey", "group_key", "incident_key")
_STARTED = ("started_at", "startsAt", "starts_at", "timestamp", "date", "triggered_at", "created_at")
_STATUS = ("status", "state", "alert_state")
_RESOLVED = {"resolved", "ok", "closed", "close", "recovered", "recovery", "cleared", "normal", "up", "success"}


def read(text: str) -> list[NormalAlert]:
    """Return the alerts of a JSON text.

    Raises:
        Unreadable: it is no JSON object or list of them, or is too deep, too wide or has numbers that are none.
    """
    parsed = _parse(text)
    objects = parsed if isinstance(parsed, list) else [parsed]
    alerts: list[NormalAlert] = []
    for item in objects:
        if not isinstance(item, dict):
            raise Unreadable("The JSON holds no alert: an object is needed.")
        alerts += _alerts_of(item)
    if not alerts:
        raise Unreadable("The JSON holds no alert.")
    return alerts[:MAX_ALERTS]


def _parse(text: str) -> Any:
    if _depth(text) > MAX_DEPTH:
        raise Unreadable(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, parse_float=_finite)
    except Unreadable:
        raise
    except (ValueError, RecursionError):
        raise Unreadable("The body is not valid JSON.") from None
    if _count_keys(parsed) > MAX_KEYS:
        raise Unreadable(f"The JSON has more than {MAX_KEYS} values.")
    return parsed


def _depth(text: str) -> int:
    """Return how deep brackets nest, strings aside. Linear."""
    depth = deepest = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> Any:
    raise Unreadable(f"{name} is no JSON number.")


def _whole(digits: str) -> int | str:
    # Python refuses to parse integers of more than 4,300 digits; a database refuses far shorter ones.
    return int(digits) if len(digits) <= 18 else digits[:MAX_STRING]


def _finite(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits[:MAX_STRING]


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(inner) for inner in value.values())
    if isinstance(value, list):
        return len(value) + sum(_count_keys(inner) for inner in value)
    return 0


def _alerts_of(item: dict[str, Any]) -> Iterator[NormalAlert]:
    inner = item.get("alerts")
    if isinstance(inner, list) and inner and all(isinstance(alert, dict) for alert in inner):
        shared = {key: value for key, value in item.items() if key not in ("alerts", *_DEDUP)}
        for alert in inner[:MAX_ALERTS]:
            yield _alert(alert, shared)
    else:
        yield _alert(item, {})


def _alert(item: Mapping[str, Any], shared: Mapping[str, Any]) -> NormalAlert:
    labels = _flat(shared.get("commonLabels")) | _flat(item.get("labels")) | _flat(item.get("annotations"))
    fields = _flat(shared) | labels | _flat(item)
    title = _first(fields, _TITLE) or _first(fields, ("summary", "message"))
    said = [value for name in _TEXT if (value := _first(fields, (name,)))]
    lines = [title, *(line for line in said if line != title)]
    used = {name for name in (*_TITLE, *_TEXT) if fields.get(name)}
    lines += [f"{key}: {value}" for key, value in fields.items() if key not in used and value]
    status = (_first(item_status, _STATUS) if (item_status := _flat(item)) else "").casefold()
    severity = _first(fields, _SEVERITY).casefold()
    return NormalAlert(
        text="\n".join(line for line in lines if line),
        title=title,
        status="resolved" if status in _RESOLVED else "firing",
        severity=SEVERITIES.get(severity, ""),
        service=_first(fields, _SERVICE),
        environment=_first(fields, _ENVIRONMENT),
        dedup_key=_first(_flat(item), _DEDUP),
        started_at=_time(_first(fields, _STARTED)),
        labels={key: value for key, value in fields.items() if len(value) <= 200},
    )


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Return nested fields by their dotted names, each as text."""
    if not isinstance(value, Mapping):
        return {}
    flat: dict[str, str] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            flat |= _flat(inner, f"{name}.")
        elif isinstance(inner, list):
            flat[name] = ", ".join(str(part)[:500] for part in inner[:50] if not isinstance(part, dict | list))
        elif inner is not None:
            flat[name] = str(inner)[:MAX_STRING]
    return flat


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name].strip() for name in names if fields.get(name, "").strip()), "")


def _time(text: str) -> datetime | None:
    """Return the time with its zone; None for one that is unset (year 1), absurd or no time."""
    if text.isdigit() and len(text) in (10, 13):
        return datetime.fromtimestamp(int(text[:10]), UTC)
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    if moment is None or not 2000 < moment.year < 2200:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
