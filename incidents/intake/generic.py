"""Generic JSON: an object, a list of them, or one with a list of ``alerts``. Unknown fields stay in the text."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime

from incidents.intake.normal import NormalAlert, Unreadable
from incidents.reading.facts import SEVERITIES
from incidents.reading.redaction import is_credential
from incidents.reading.text import clean

MAX_DEPTH, MAX_KEYS, MAX_STRING, MAX_ALERTS, MAX_ITEMS, MAX_NAME = 20, 2000, 64_000, 200, 50, 200
# What all alerts of a body have in common is said with each of them, within this many characters, and within so many
# in all: every copy is redacted and read, and a small body must stay little work.
MAX_SHARED, MAX_SHARED_IN_ALL = 10_000, 200_000
# A label is short; what is longer is text.
MAX_LABEL = 200
# A JSON text that opens more brackets than this in a row is deeper than allowed; Python's parser would recurse.
_OPENING = "[{"

_TITLE = ("title", "alertname", "alert_name", "alertName", "AlarmName", "name", "subject", "rule_name", "monitor_name")
_TEXT = ("summary", "description", "message", "text", "body", "details")
_SEVERITY = ("severity", "priority", "level", "urgency", "alert_severity")
_SERVICE = ("service", "service_name", "app", "application", "component", "job")
_ENVIRONMENT = ("environment", "env", "stage")
_DEDUP = ("dedup_key", "alias", "fingerprint", "groupKey", "group_key", "incident_key")
_STARTED = ("started_at", "startsAt", "starts_at", "timestamp", "date", "triggered_at", "created_at")
_STATUS = ("status", "state", "alert_state")
_RESOLVED = {"resolved", "ok", "closed", "close", "recovered", "recovery", "cleared", "normal", "up", "success"}


def read(text: str) -> list[NormalAlert]:
    """Return the alerts of a JSON text, in its order; at least one.

    Raises:
        Unreadable: it is no object or list of objects, says nothing, or is too deep, too wide, or has numbers that
            are none.
    """
    parsed = _parse(text)
    alerts: list[NormalAlert] = []
    for item in parsed if isinstance(parsed, list) else [parsed]:
        if not isinstance(item, dict):
            raise Unreadable("The JSON holds no alert: an object is needed.")
        alerts += _alerts_of(item)
        if len(alerts) > MAX_ALERTS:
            raise Unreadable(f"The JSON has more than {MAX_ALERTS} alerts.")
    if not any(alert.text for alert in alerts):
        raise Unreadable("The JSON says nothing.")
    return alerts


def _parse(text: str) -> Any:
    if _depth(text) > MAX_DEPTH:
        raise Unreadable(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Unreadable("The body is not valid JSON.") from None


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


def _alerts_of(item: dict[str, Any]) -> list[NormalAlert]:
    inner = item.get("alerts")
    if not (isinstance(inner, list) and inner and all(isinstance(alert, dict) for alert in inner)):
        return [_alert(item, {})]
    if len(inner) > MAX_ALERTS:  # before they are made: each carries what they have in common
        raise Unreadable(f"The JSON has more than {MAX_ALERTS} alerts.")
    shared = _short(
        _fields({key: value for key, value in item.items() if key not in ("alerts", *_DEDUP)}),
        min(MAX_SHARED, MAX_SHARED_IN_ALL // len(inner)),
    )
    return [_alert(alert, shared) for alert in inner]


def _short(fields: Mapping[str, str], left: int) -> dict[str, str]:
    """Return the fields within ``left`` characters, short ones first."""
    short: dict[str, str] = {}
    for name, value in sorted(fields.items(), key=lambda field: len(field[1])):
        left -= len(name) + len(value)
        if left < 0:
            break
        short[name] = value
    return {name: value for name, value in fields.items() if name in short}


def _alert(item: Mapping[str, Any], shared: Mapping[str, str]) -> NormalAlert:
    own = _fields(item)
    fields = {**shared, **own}
    title = _title(own) or _title(shared) or _title_inside(fields)
    said = [value for name in _TEXT if (value := _first(fields, (name,))) and value != title]
    used = {name for name in (*_TITLE, *_TEXT) if fields.get(name, "").strip() in (title, *said)}
    others = [f"{name}: {value}" for name, value in fields.items() if name not in used and value]
    status = (_first(own, _STATUS) or _first(shared, _STATUS)).casefold()
    return NormalAlert(
        text="\n".join(line for line in (title, *said, *others) if line),
        title=title,
        status="resolved" if status in _RESOLVED else "firing",
        severity=SEVERITIES.get(_first(fields, _SEVERITY).casefold(), ""),
        service=_first(fields, _SERVICE),
        environment=_first(fields, _ENVIRONMENT),
        dedup_key=next(
            (str(item[name]) for name in _DEDUP if item.get(name) and isinstance(item[name], str | int)), ""
        ),
        started_at=_time(_first(fields, _STARTED)),
        labels={name: value for name, value in fields.items() if len(value) <= MAX_LABEL},
    )


def _title(fields: Mapping[str, str]) -> str:
    return _first(fields, _TITLE) or _first(fields, ("summary", "message"))


def _title_inside(fields: dict[str, str]) -> str:
    """Return a title that stands in an object of the object; a name there is as likely a person's."""
    inside = {name.rpartition(".")[2]: value for name, value in reversed(fields.items()) if "." in name}
    return _first(inside, ("title", "alertname", "alert_name", "subject", "summary", "message"))


# Groups of fields that go by their own names, where the object itself has none of that name.
_GROUPS = ("commonLabels", "commonAnnotations", "labels", "annotations")


def _fields(item: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that the object says by dotted names, as text, without credentials that a name gives away.

    A pattern over the text would see the first word only of such a credential. Raises Unreadable when they are too
    many.
    """
    groups = [group for group in _GROUPS if isinstance(item.get(group), Mapping)]
    fields = dict(_flat({key: value for key, value in item.items() if key not in groups}))
    labels = {name: value for group in groups for name, value in _flat(item[group])}
    for name, value in labels.items():
        if fields.setdefault(name, value) != value:
            fields[f"label {name}"] = value
    if len(fields) > MAX_KEYS:
        raise Unreadable(f"An alert of the JSON has more than {MAX_KEYS} values.")
    return {name: "[redacted: password]" if is_credential(name, value) else value for name, value in fields.items()}


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value with its dotted name; short lists of plain values stay together."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{clean(key[:100])}"[-MAX_NAME:].lstrip("."))
    elif isinstance(value, list):
        plain = [clean(str(part)[:500]) for part in value[:MAX_ITEMS] if not isinstance(part, dict | list)]
        if plain:
            yield name, ", ".join(plain)
        for place, part in enumerate(value[:MAX_ITEMS]):
            if isinstance(part, dict | list):
                yield from _flat(part, f"{name}.{place}")
        if len(value) > MAX_ITEMS:
            yield f"{name}.more", f"{len(value) - MAX_ITEMS} more"
    elif value is not None:
        yield name, clean(str(value)[:MAX_STRING])


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name].strip() for name in names if fields.get(name, "").strip()), "")


def _time(text: str) -> datetime | None:
    """Return the time with its zone; None for one that is unset (year 1), absurd or no time."""
    try:
        moment = _epoch(text) if _EPOCH.fullmatch(text) else parse_datetime(text)
    except ValueError:
        return None
    if moment is None or not 2000 < moment.year < 2200:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# Seconds or milliseconds since 1970, perhaps with a fraction.
_EPOCH = re.compile(r"([0-9]{10})([0-9]{3})?(?:\.[0-9]{1,9})?")


def _epoch(text: str) -> datetime:
    return datetime.fromtimestamp(int(text[:10]), UTC)
