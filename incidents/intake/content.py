"""What a body holds: unpacked, decoded and read by its source. Whatever it is, something of it reaches a person."""

from dataclasses import dataclass

from incidents.intake import generic, paste
from incidents.intake.body import decode, unpack
from incidents.intake.normal import NormalAlert, Unreadable

# Text with more than this share of characters that could not be decoded is no text.
MOST_LOST = 0.2
NO_TEXT = "The body is no text."


@dataclass(frozen=True)
class Content:
    """The alerts of a body, at least one.

    ``problem`` is a sentence where something was lost or not understood. ``understood`` is False when the one alert is
    only the body's text.
    """

    alerts: tuple[NormalAlert, ...]
    problem: str = ""
    understood: bool = True


def read(body: bytes, *, encoding: str, pasted: bool, limit: int) -> Content:
    """Return what the body holds; ``encoding`` is its ``Content-Encoding``, ``limit`` its bytes once unpacked."""
    try:
        text, problem = decode(unpack(body, encoding, limit))
    except Unreadable as error:
        return as_text(body, str(error))
    if pasted:
        return Content(tuple(paste.read(text)), problem)
    if text.lstrip()[:1] not in ("{", "["):
        return size_only(body, NO_TEXT) if _is_lost(text) else Content((NormalAlert(text=text),), problem)
    try:
        return Content(tuple(generic.read(text)), problem)
    except Unreadable as error:
        return Content((NormalAlert(text=text),), str(error), understood=False)


def as_text(body: bytes, problem: str) -> Content:
    """Return one alert with the body as text, or with its size where it is no text."""
    text, _ = decode(body)
    if not _is_lost(text):
        return Content((NormalAlert(text=text),), problem, understood=False)
    return size_only(body, problem)


def size_only(body: bytes, problem: str) -> Content:
    """Return one alert that says how much came in, for a body that nothing else can be made of."""
    alert = NormalAlert(text=f"A body of {len(body):,} bytes. {problem}", title="An alert that could not be read")
    return Content((alert,), problem, understood=False)


def _is_lost(text: str) -> bool:
    shown = text[:4000]
    unreadable = sum(character == "\ufffd" or character == "\x00" for character in shown)
    return unreadable > MOST_LOST * len(shown)
