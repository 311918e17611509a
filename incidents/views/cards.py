"""The parts of the incident's page that rest on a record: evidence, what failed before, what to do now."""

from dataclasses import dataclass
from datetime import datetime

from incidents.models import Attempt, Evidence, Fix, MemoryRecord, Outcome
from incidents.models.track import TrackRecord
from teams.models import User

QUOTE_CONTEXT = 120


@dataclass(frozen=True)
class Failed:
    """A fix that failed, with the record that says so."""

    attempt: Attempt | Outcome
    record: MemoryRecord | None
    doubtful: bool = False

    @property
    def what_happened(self) -> str:
        """What the person wrote, if they did."""
        return self.attempt.what_happened if isinstance(self.attempt, Attempt) else "It did not hold."

    @property
    def by(self) -> User:
        """Who tried it."""
        return self.attempt.tried_by if isinstance(self.attempt, Attempt) else self.attempt.verified_by

    @property
    def at(self) -> datetime:
        """When it was tried."""
        return self.attempt.tried_at if isinstance(self.attempt, Attempt) else self.attempt.verified_at


@dataclass(frozen=True)
class Action:
    """An immediate action of an answer."""

    number: int
    text: str
    command: str
    refs: tuple[str, ...]
    struck: Failed | None
    rated_not_helpful: bool
    followed_key: str


@dataclass(frozen=True)
class Card:
    """A piece of evidence, or a memory that was recalled and not used."""

    evidence: Evidence
    title: str
    before: str
    quote: str
    after: str
    track: TrackRecord
    by: User | None
    has_left: bool
    minutes: int | None
    kind: str
    kind_word: str

    @property
    def record(self) -> MemoryRecord:
        """The record that is cited."""
        return self.evidence.record

    @property
    def fix(self) -> Fix | None:
        """The fix that it tells of, or what is left of it after merging."""
        return left(self.record.fix) if self.record.fix else None

    @property
    def forgotten(self) -> bool:
        """Whether its text is gone."""
        return self.record.state in (MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN)

    @property
    def dots(self) -> "Dots":
        """Its track record as dots."""
        return dots(self.track)


@dataclass(frozen=True)
class Dots:
    """Applications of a fix as dots: where each stands and whether it worked, and how wide they are together."""

    places: list[tuple[int, bool]]

    @property
    def width(self) -> int:
        """The width of all."""
        return max(10 * len(self.places) - 2, 0)


def left(fix: Fix) -> Fix:
    """Return the fix, or the one that it was merged into, which is loaded with it."""
    return fix.merged_into or fix


def dots(track: TrackRecord) -> Dots:
    """Return the last few applications as dots, worked ones first."""
    marks = [True] * min(track.worked, 5) + [False] * min(track.failed, 3)
    return Dots([(4 + 10 * place, worked) for place, worked in enumerate(marks)])


def quoted(text: str, start: int | None, end: int | None) -> tuple[str, str, str]:
    """Return a quote with what stands before and after it in the record, as a person would cut it."""
    quote = text[start:end] if start is not None and end is not None else ""
    before = text[max(0, start - 40) : start] if quote and start else ""
    after = text[end : end + QUOTE_CONTEXT] if quote and end else ""
    return _from_sentence(before), quote, _to_sentence(after)


def kind(item: Evidence) -> tuple[str, str]:
    """Return what sort of memory it is, as the stylesheet names it and in words."""
    if item.scope == Evidence.Scope.SAME_TEAM and item.record.incident:
        return "same_team", f"Same team: {item.record.incident.project.name}"
    if item.scope == Evidence.Scope.SHARED:
        return "lesson", "Lesson"
    if item.record.kind == MemoryRecord.Kind.IMPORTED_INCIDENT and item.record.confirmed_by_id:
        return "imported_incident", "Imported, confirmed"
    return item.record.kind, item.record.get_kind_display()


def _from_sentence(text: str) -> str:
    """Return what follows the last end of a sentence, so that a quote starts where a person would start it."""
    for end in (". ", "\n"):
        if end in text:
            text = text.rsplit(end, 1)[1]
    return text.lstrip()


def _to_sentence(text: str) -> str:
    """Return what precedes the first end of a line."""
    return text.split("\n", 1)[0]
