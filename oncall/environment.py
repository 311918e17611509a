"""Read settings from the environment, and name the variable that is wrong.

Every reader raises ``ImproperlyConfigured`` with the variable's name and what it accepts, so that a wrong
value stops the start instead of failing a request later.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def text(name: str, default: str | None = None) -> str:
    """Return the variable, stripped. Without a default it is required."""
    value = os.environ.get(name, "").strip()
    if value:
        return value
    if default is None:
        raise ImproperlyConfigured(f"{name} is not set. See docs/settings.md.")
    return default


def flag(name: str, default: bool) -> bool:
    """Return true or false."""
    value = text(name, str(default)).lower()
    if value in TRUE | FALSE:
        return value in TRUE
    raise ImproperlyConfigured(f"{name} must be one of true, false; it is {value!r}.")


def number(name: str, default: int, *, low: int = 0, high: int = 2**31) -> int:
    """Return a whole number within the bounds."""
    value = text(name, str(default))
    try:
        result = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {value!r}.") from None
    if not low <= result <= high:
        raise ImproperlyConfigured(f"{name} must be between {low} and {high}; it is {result}.")
    return result


def choice(name: str, choices: Sequence[str], default: str | None = None) -> str:
    """Return one of the choices."""
    value = text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}; it is {value!r}.")
    return value


def words(name: str, default: str = "") -> list[str]:
    """Return a list that is written with commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def url(name: str, schemes: Sequence[str], default: str | None = None) -> str:
    """Return an address with one of the schemes and a host; an empty default means that none is set."""
    value = text(name, default)
    if not value:
        return value
    try:
        parts = urlsplit(value)
        valid = parts.scheme in schemes and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        valid = False
    if not valid:
        raise ImproperlyConfigured(f"{name} must be an address that starts with {' or '.join(schemes)}://.")
    return value


def secret_file(path: Path, make: Callable[[], str]) -> str:
    """Return the secret kept in the file; make it, readable by its owner only, when there is none yet."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(make())
    except FileExistsError:
        pass
    return path.read_text().strip()
