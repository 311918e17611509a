"""The memories that a run was given, by reference: stored without their text, and read under today's access."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incidents.investigation.case import CHARACTERS_PER_TOKEN, MEMORY_TOKENS, Candidate
from incidents.models import Evidence, Fix, MemoryRecord, MemoryRecordRevision, Step
from incidents.models.investigation import MatchStrength
from incidents.reading.text import cut, find_quote

FAILED = "F"
PREFIXES = {Evidence.Scope.OWN: "P", Evidence.Scope.SAME_TEAM: "T", Evidence.Scope.SHARED: "S"}
# Of one memory in a prompt: its keys and short words, and what its parts get at least.
KEYS_CHARACTERS = 150
PART_LEAST_CHARACTERS = 40
TEXT_LEAST_CHARACTERS = 80
STRENGTH_ORDER = (MatchStrength.WEAK, MatchStrength.PARTIAL, MatchStrength.CLOSE)


def strength_rank(strength: str) -> int:
    """Return 0 for weak, 1 for partial, 2 for close."""
    return STRENGTH_ORDER.index(MatchStrength(strength))


@dataclass(frozen=True)
class Supplied:
    """One memory as a run was given it: which revision of which record, and how strongly the gate says it matches."""

    ref: str
    record: MemoryRecord
    revision: MemoryRecordRevision
    scope: str
    strength: str
    reason: str

    @property
    def is_failed_attempt(self) -> bool:
        """Whether it says what did not work; then it is never evidence."""
        return self.record.kind == MemoryRecord.Kind.FAILED_ATTEMPT

    @property
    def may_be_evidence(self) -> bool:
        """Whether its kind is one that an answer may rest on."""
        return self.record.kind in (
            MemoryRecord.Kind.VERIFIED_RESOLUTION,
            MemoryRecord.Kind.IMPORTED_INCIDENT,
            MemoryRecord.Kind.LESSON,
        )

    @property
    def sets_pattern(self) -> bool:
        """Whether a person vouches for it: it was verified, imported and confirmed, or is a reviewed lesson."""
        return self.is_confirmed_import or self.record.kind in (
            MemoryRecord.Kind.VERIFIED_RESOLUTION,
            MemoryRecord.Kind.LESSON,
        )

    @property
    def is_verified_here(self) -> bool:
        """Whether a person vouches for it in this very project."""
        return self.sets_pattern and self.scope == Evidence.Scope.OWN

    @property
    def is_confirmed_import(self) -> bool:
        """Whether a person confirmed what was imported."""
        return self.record.kind == MemoryRecord.Kind.IMPORTED_INCIDENT and self.record.confirmed_by_id is not None

    @property
    def fix(self) -> Fix | None:
        """The fix that the record names; of merged ones, the one that is left."""
        fix = self.record.fix
        return (fix.merged_into or fix) if fix else None

    @property
    def kind_words(self) -> str:
        """What kind of memory it is, in the words of prompt and page."""
        if self.is_confirmed_import:
            return "imported and confirmed"
        return {
            MemoryRecord.Kind.VERIFIED_RESOLUTION: "verified here"
            if self.scope == Evidence.Scope.OWN
            else "verified there",
            MemoryRecord.Kind.IMPORTED_INCIDENT: "imported, not confirmed",
            MemoryRecord.Kind.FAILED_ATTEMPT: "failed attempt",
            MemoryRecord.Kind.FEEDBACK: "feedback",
            MemoryRecord.Kind.LESSON: "lesson",
        }[MemoryRecord.Kind(self.record.kind)]

    def for_prompt(self, tokens: int = MEMORY_TOKENS) -> dict[str, Any]:
        """Return what a model is shown of it, in about ``tokens`` tokens."""
        room = int(tokens * CHARACTERS_PER_TOKEN)
        fix = self.fix
        if self.is_failed_attempt:
            title = _begin(fix.title if fix else self.revision.title, room // 4)
            return {"ref": self.ref, "fix": title, "text": cut(self.revision.text, room // 2)}
        if self.strength == MatchStrength.WEAK:
            # It cannot be cited, so that its text would be room for nothing.
            nothing = dict.fromkeys(("text", "cause", "fix", "command", "quote"), "")
            return self._head(room // 10) | nothing
        room -= KEYS_CHARACTERS
        shown = self._head(room // 10) | {
            "cause": _begin(self.revision.cause, room // 6),
            "fix": _begin(self.revision.fix, room // 6),
            # Half a command is worse than none.
            "command": fix.command if fix and len(fix.command) <= room // 5 else "",
            "quote": self.quotable(room // 6),
        }
        left = room - sum(len(value) for value in shown.values())
        return shown | {"text": cut(self.revision.text, max(left, TEXT_LEAST_CHARACTERS))}

    def _head(self, limit: int) -> dict[str, str]:
        return {
            "ref": self.ref,
            "kind": self.kind_words,
            "title": _begin(self.revision.title, limit),
            "strength": self.strength,
            "reason": _begin(self.reason, limit),
        }

    def quotable(self, limit: int) -> str:
        """Return words of people that may serve as a quote: of the cause, the fix, or the record's first line."""
        text = self.revision.text[: self.revision.verified_end]
        for part in (self.revision.cause, self.revision.fix, text):
            line = next((line.strip() for line in part.splitlines() if line.strip()), "")
            if len(line) > limit:
                line = line[: limit + 1].rpartition(" ")[0] or line[:limit]
            if line and find_quote(text, line):
                return line
        return ""


def _begin(text: str, limit: int) -> str:
    """Return the beginning of a short text, with a mark where it was cut."""
    limit = max(limit, PART_LEAST_CHARACTERS)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def kept(ref: str, candidate: Candidate) -> dict[str, Any]:
    """Return how a step stores a memory: never its text."""
    return {
        "ref": ref,
        "record": str(candidate.record.public_id),
        "revision": candidate.revision.number,
        "scope": candidate.scope,
        "strength": candidate.strength,
        "reason": candidate.reason[:300],
    }


class References:
    """Gives each memory of a run one short reference: P1, P2 for this project, T, S, and F for failed attempts."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._refs = {entry["record"]: entry["ref"] for step in steps for entry in entries(step)}

    def of(self, candidate: Candidate, *, at_most: int) -> str | None:
        """Return the memory's reference, a new one if need be; None when the scope is full."""
        key = str(candidate.record.public_id)
        if key not in self._refs:
            failed = candidate.record.kind == MemoryRecord.Kind.FAILED_ATTEMPT
            prefix = FAILED if failed else PREFIXES[Evidence.Scope(candidate.scope)]
            taken = sum(1 for ref in self._refs.values() if ref.startswith(prefix))
            if taken >= at_most:
                return None
            self._refs[key] = f"{prefix}{taken + 1}"
        return self._refs[key]


def entries(step: Step) -> list[dict[str, Any]]:
    """Return every memory that a step recalled, as it is stored."""
    if not isinstance(step.result, dict):
        return []
    groups = [step.result, *step.result.get("same_team", [])]
    return [entry for group in groups for entry in group.get("memories", [])]


def load(steps: Sequence[Step], banks: Collection[int]) -> Mapping[str, Supplied]:
    """Return what the steps were given, by reference, in order of reference. Two queries.

    ``banks`` are the ids of those that may be read now. What stands in another one, and what was forgotten or put
    into quarantine since, is left out.
    """
    wanted = {entry["record"]: entry for step in steps for entry in entries(step)}
    if not wanted:
        return {}
    records = (
        MemoryRecord.objects.filter(public_id__in=wanted, bank__in=banks, wanted_revision__isnull=False)
        .exclude(state=MemoryRecord.State.QUARANTINED)
        .select_related("bank", "fix__merged_into", "outcome", "attempt", "incident")
    )
    by_id = {str(record.public_id): record for record in records}
    revisions = {
        (revision.record_id, revision.number): revision
        for revision in MemoryRecordRevision.objects.filter(record__in=list(by_id.values()))
    }
    found = {}
    for key, entry in wanted.items():
        record = by_id.get(key)
        revision = revisions.get((record.pk, entry["revision"])) if record else None
        if record and revision and revision.text:
            found[entry["ref"]] = Supplied(
                ref=entry["ref"],
                record=record,
                revision=revision,
                scope=entry["scope"],
                strength=entry["strength"],
                reason=entry["reason"],
            )
    return dict(sorted(found.items(), key=lambda item: ("PTSF".index(item[0][0]), int(item[0][1:]))))
