"""The code decides, not the model: the seven rules, each a function of its own.

Every change that a rule makes to what the model said is returned as a ``Warned`` in plain words, which the page
shows. ``incidents.investigation.judging`` applies them in order.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from incidents.investigation.past import FailedFix, Ratings, keys_of, normal_command, normal_text, root_id
from incidents.investigation.report import Action, Cited, Report
from incidents.investigation.supplied import Supplied, strength_rank
from incidents.models import Diagnosis, Evidence
from incidents.models.investigation import Confidence, MatchStrength, MemoryWord, Pattern
from incidents.models.track import TrackRecord
from incidents.reading.text import find_quote

EVIDENCE_SHOWN = 3
# A shorter quote stands in almost any record and shows nothing.
QUOTE_LEAST_CHARACTERS = 8
QUOTE_CHARACTERS = 200
# Share of a fix's title that an action must hold in order to look like it.
LOOKS_LIKE = 0.75


@dataclass(frozen=True)
class Warned:
    """What a rule changed or found, in words."""

    rule: int
    text: str

    def stored(self) -> dict[str, Any]:
        """Return it as the diagnosis keeps it."""
        return {"rule": self.rule, "text": self.text}


@dataclass(frozen=True)
class Judged:
    """What became of a memory that the run was given. ``quote`` is the span in the revision's text.

    ``quotes_alert``: the model quoted what an alert had said, so that words of people stand in the quote's place.
    """

    memory: Supplied
    strength: str
    accepted: bool
    not_used_because: str = ""
    quote: tuple[int, int] | None = None
    model_reason: str = ""
    quotes_alert: bool = False


# --- Rule 1: evidence -------------------------------------------------------------------------------------------------


def judge_evidence(cited: Sequence[Cited], supplied: Mapping[str, Supplied]) -> tuple[list[Judged], list[Warned]]:
    """Rule 1: accept only what was supplied to this run, is quoted word for word, and is no weak match.

    Every supplied memory comes back, accepted or with the reason why not.
    """
    warnings: list[Warned] = []
    by_ref: dict[str, Cited] = {}
    for item in cited:
        if item.ref not in supplied:
            named = item.ref if re.fullmatch(r"[A-Z]\d{1,3}", item.ref) else "A reference"
            warnings.append(Warned(1, f"{named} dropped: no such memory was supplied."))
        by_ref.setdefault(item.ref, item)
    judged = []
    for ref, memory in supplied.items():
        one = _judge(memory, by_ref.get(ref))
        judged.append(one)
        if ref in by_ref and not one.accepted:
            warnings.append(Warned(1, f"{ref} dropped: {one.not_used_because[:1].lower()}{one.not_used_because[1:]}"))
        elif one.accepted and one.strength != memory.strength:
            warnings.append(Warned(1, f"{ref} lowered by the model from {memory.strength} to {one.strength}."))
        if one.quotes_alert:
            warnings.append(Warned(1, f"{ref}: the quote was an alert’s words, so the engineer’s stand in its place."))
    return judged, warnings


def _judge(memory: Supplied, cited: Cited | None) -> Judged:
    if memory.is_failed_attempt:
        return Judged(memory, memory.strength, False, "A failed attempt says what not to repeat; it is no evidence.")
    if not memory.may_be_evidence:
        return Judged(memory, memory.strength, False, "A rating is no evidence.")
    if cited is None:
        weak = memory.strength == MatchStrength.WEAK
        return Judged(memory, memory.strength, False, "Weak match." if weak else "The answer does not rest on it.")
    # The model may lower a strength, never raise it.
    strength = min(memory.strength, cited.match_strength, key=strength_rank)
    if strength == MatchStrength.WEAK:
        because = "Weak match." if memory.strength == strength else "The model calls it a weak match."
        return Judged(memory, strength, False, because, model_reason=cited.reason)
    quote = find_quote(memory.revision.text, cited.quote) if _long_enough(cited.quote) else None
    if quote is None:
        because = "The quote is not in the record." if cited.quote else "It was cited without a quote."
        return Judged(memory, strength, False, because, model_reason=cited.reason)
    # Anybody who can send an alert can write "Verified by" into it, and its words stand in the record too.
    quotes_alert = quote[1] > memory.revision.verified_end
    if quotes_alert:
        quote = find_quote(memory.revision.text, memory.quotable(QUOTE_CHARACTERS))
    return Judged(memory, strength, True, quote=quote, model_reason=cited.reason, quotes_alert=quotes_alert)


def _long_enough(quote: str) -> bool:
    return len("".join(quote.split())) >= QUOTE_LEAST_CHARACTERS


def order_evidence(
    judged: Iterable[Judged], tracks: Mapping[int, TrackRecord], ratings: Ratings
) -> tuple[list[Judged], list[Warned]]:
    """Order by strength, then by what worked, then by ratings, then by date; show at most three.

    Ratings come after strength and after what worked, so that they never lift a weaker match.
    """

    def place(one: Judged) -> tuple[bool, int, float, int, float]:
        fix = one.memory.fix
        return (
            one.accepted,
            strength_rank(one.strength),
            _worth(tracks.get(root_id(fix), TrackRecord()) if fix else TrackRecord()),
            ratings.of_fix(fix),
            one.memory.record.occurred_at.timestamp(),
        )

    ordered = sorted(judged, key=place, reverse=True)
    accepted = [one for one in ordered if one.accepted]
    too_many = accepted[EVIDENCE_SHOWN:]
    dropped = [
        replace(one, accepted=False, not_used_because=f"{EVIDENCE_SHOWN} stronger ones are shown.") for one in too_many
    ]
    warnings = [Warned(1, f"{one.memory.ref} left out: {one.not_used_because}") for one in dropped]
    return [*accepted[:EVIDENCE_SHOWN], *dropped, *(one for one in ordered if not one.accepted)], warnings


def _worth(track: TrackRecord) -> float:
    """Return how far a fix is to be preferred: 3 of 3 before 1 of 1, before 2 of 3, before never tried."""
    return (track.worked + 1) / (track.tried + 2)


# --- Rule 2: confidence -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """How sure the answer may be, and why."""

    confidence: str
    reason: str
    warnings: tuple[Warned, ...] = ()


def decide_confidence(
    said: str,
    accepted: Sequence[Judged],
    *,
    kind: str,
    memory_word: str = "",
    vague: bool = False,
    unreadable: bool = False,
) -> Decided:
    """Rule 2: the model's confidence, lowered to what the evidence allows; never raised."""
    limit, reason = _limit(accepted, kind=kind, memory_word=memory_word, vague=vague, unreadable=unreadable)
    order = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)
    if order.index(Confidence(said)) > order.index(limit):
        text = f"Confidence lowered from {said} to {limit.value}: {reason}."
        return Decided(limit, reason, (Warned(2, text),))
    if order.index(Confidence(said)) < order.index(limit):
        reason = f"{reason}; the answer itself claims no more" if accepted else "the alert supports no more"
    return Decided(said, reason)


def _limit(
    accepted: Sequence[Judged], *, kind: str, memory_word: str, vague: bool, unreadable: bool
) -> tuple[Confidence, str]:
    if unreadable:
        return Confidence.LOW, "the model’s answer could not be read"
    if vague:
        return Confidence.LOW, "the alert names no service, error or metric"
    if kind == Diagnosis.Kind.ALERT_ONLY:
        return Confidence.MEDIUM, "the limit for an alert"
    if memory_word == MemoryWord.UNAVAILABLE:
        return Confidence.LOW, "memory was unavailable"
    if not accepted:
        return Confidence.LOW, "no accepted evidence"
    close = [one for one in accepted if one.memory.is_verified_here and one.strength == MatchStrength.CLOSE]
    if close and all(one.quotes_alert for one in close):
        return Confidence.MEDIUM, "what it quotes is an alert’s words, not an engineer’s"
    if close:
        matches = "1 close match" if len(close) == 1 else f"{len(close)} close matches"
        return Confidence.HIGH, f"{matches}, {'quote' if len(close) == 1 else 'quotes'} checked"
    own = [one for one in accepted if one.memory.scope == Evidence.Scope.OWN]
    if not own:
        return Confidence.MEDIUM, "nothing verified in this project matches"
    if not any(one.memory.is_verified_here for one in own):
        return Confidence.MEDIUM, "it rests on an import that nobody confirmed"
    return Confidence.MEDIUM, "no close match"


# --- Rule 3: pattern --------------------------------------------------------------------------------------------------


def memory_word(own_words: Sequence[str], accepted: Sequence[Judged], supplied: Iterable[Supplied]) -> str:
    """Rule 3: memory's own word. ``own_words`` are the words of every recall from the own bank.

    What could not be searched is not the same as no match; each recall asks everything, so that one that worked is
    enough.
    """
    answered = [word for word in own_words if word != MemoryWord.UNAVAILABLE]
    if not answered:
        return MemoryWord.UNAVAILABLE
    if MemoryWord.OFF in answered:
        return MemoryWord.OFF
    near = [one for one in supplied if one.may_be_evidence and one.strength != MatchStrength.WEAK]
    if accepted or near:
        return MemoryWord.MATCHED
    return MemoryWord.EMPTY if set(answered) == {MemoryWord.EMPTY} else MemoryWord.NO_MATCH


def pattern(word: str, accepted: Sequence[Judged], *, needs_info: bool) -> str:
    """Rule 3: the pattern follows from accepted evidence; "" where memory was unavailable or off."""
    if word in (MemoryWord.UNAVAILABLE, MemoryWord.OFF):
        return ""
    if needs_info:
        return Pattern.NEEDS_MORE_INFO
    if any(one.memory.is_verified_here for one in accepted):
        return Pattern.KNOWN_HERE
    if any(one.memory.sets_pattern for one in accepted):
        return Pattern.SEEN_ELSEWHERE
    return Pattern.NEW_PATTERN


# --- Rule 4: names and dates ------------------------------------------------------------------------------------------

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_CLAIMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("link", re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+", re.IGNORECASE)),
    (
        "date",
        re.compile(
            rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.? (?:{_MONTHS})[a-z]*\.?(?: \d{{4}})?\b"
            rf"|\b(?:{_MONTHS})[a-z]*\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?",
            re.IGNORECASE,
        ),
    ),
    ("owner", re.compile(r"\b(?:[Ff]ixed|[Rr]esolved|[Hh]andled|[Vv]erified|[Oo]wned) by [A-Z]\w+(?: [A-Z]\w+)*")),
    (
        "time to resolve",
        re.compile(
            r"\b(?:fixed|resolved|solved|mitigated)(?: \w+){0,3} (?:in|within|after) \d+ ?(?:min|minutes|h|hours)\b",
            re.IGNORECASE,
        ),
    ),
)


def remove_claims(report: Report, said_by_alert: str) -> tuple[Report, list[Warned]]:
    """Rule 4: links, dates, owners and times to resolve in the model's own words go, unless the alert says them.

    The page shows them from the records. Commands stay as they are: the gate judges them whole.
    """
    removed: dict[str, int] = {}

    def tidy(text: str) -> str:
        for what, found in _CLAIMS:
            text = found.sub(lambda match, what=what: keep_or_remove(match, what), text)  # type: ignore[misc]
        return text

    def keep_or_remove(match: re.Match[str], what: str) -> str:
        if match.group() in said_by_alert:
            return match.group()
        removed[what] = removed.get(what, 0) + 1
        return f"[{what} removed]"

    cleaned = report.model_copy(
        update={
            "summary": tidy(report.summary),
            "root_cause": tidy(report.root_cause),
            "ruled_out": [tidy(text) for text in report.ruled_out],
            "long_term_fixes": [tidy(text) for text in report.long_term_fixes],
            "clarifying_questions": [tidy(text) for text in report.clarifying_questions],
            "immediate_actions": tuple(
                action.model_copy(update={"text": tidy(action.text)}) for action in report.immediate_actions
            ),
        }
    )
    return cleaned, [
        Warned(
            4, f"{count} {what if count == 1 else _plural(what)} removed from the model’s words: the records have them."
        )
        for what, count in removed.items()
    ]


def _plural(what: str) -> str:
    return "times to resolve" if what == "time to resolve" else f"{what}s"


# --- Rule 5: a vague alert --------------------------------------------------------------------------------------------


def ask_when_vague(
    report: Report, *, vague: bool, expired: bool, questions: Sequence[str]
) -> tuple[Report, list[Warned]]:
    """Rule 5: a vague alert needs more information and gets exactly the three questions, whatever the model says.

    So does one whose wait for an answer expired, with the questions that were asked.
    """
    if not vague and not expired:
        return report, []
    update = {"needs_more_info": True, "clarifying_questions": list(questions)}
    if report.needs_more_info and list(report.clarifying_questions) == list(questions):
        return report, []
    text = (
        "The alert names no service, error or metric: more information is needed, whatever else was said."
        if vague
        else "Nobody answered in time."
    )
    return report.model_copy(update=update), [Warned(5, text)]


# --- Rule 6: what failed before ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedAction:
    """A suggestion with what the rows say about it."""

    action: Action
    refs: tuple[str, ...]
    fix: str | None = None
    struck: FailedFix | None = None
    rated_not_helpful: bool = False

    def stored(self) -> dict[str, Any]:
        """Return it as the diagnosis keeps it."""
        struck = self.struck.stored() if self.struck else None
        return {
            "text": self.action.text,
            "command": self.action.command,
            "refs": list(self.refs),
            "fix": self.fix,
            "rated_not_helpful": self.rated_not_helpful,
            "struck": {key: struck[key] for key in ("attempt", "record", "doubtful")} if struck else None,
        }


def judge_actions(
    actions: Sequence[Action],
    *,
    judged: Sequence[Judged],
    failed: Sequence[FailedFix],
    ratings: Ratings,
) -> tuple[list[JudgedAction], list[Warned]]:
    """Rule 6: strike out what failed last time, and put it last; what was rated not helpful is not put first."""
    memories = {one.memory.ref: one.memory for one in judged}
    accepted = {one.memory.ref for one in judged if one.accepted}
    warnings: list[Warned] = []
    found = []
    for action in actions:
        refs = tuple(ref for ref in action.refs if ref in accepted)
        fix = next((memories[ref].fix for ref in refs if memories[ref].scope == Evidence.Scope.OWN), None)
        struck = _failed_before(action, [memories[ref] for ref in action.refs if ref in memories], failed)
        rated = ratings.not_helpful(*keys_of(action.text, action.command, fix))
        found.append(JudgedAction(action, refs, str(fix.public_id) if fix else None, struck, rated))
        if struck:
            verb = "looks like" if struck.doubtful else "struck out: it is"
            warnings.append(Warned(6, f"“{_short(action.text)}” {verb} “{_short(struck.fix.title)}”, which failed."))
        if rated:
            warnings.append(Warned(6, f"“{_short(action.text)}” was rated not helpful for this alert."))
    return sorted(found, key=_place), warnings


def _place(one: JudgedAction) -> int:
    if one.struck and not one.struck.doubtful:
        return 2
    return 1 if one.rated_not_helpful or one.struck else 0


def _failed_before(action: Action, cites: Sequence[Supplied], failed: Sequence[FailedFix]) -> FailedFix | None:
    """Match by the evidence that the action cites, then by its command; by its words only in doubt."""
    cited = {root_id(memory.fix) for memory in cites if memory.fix}
    command = normal_command(action.command)
    for one in failed:
        if root_id(one.fix) in cited or (command and command == normal_command(one.fix.command)):
            return one
    text = normal_text(action.text)
    for one in failed:
        if text and text == normal_text(one.fix.title):
            return one
    for one in failed:
        if _looks_like(text, normal_text(one.fix.title)):
            return replace(one, doubtful=True)
    return None


def _looks_like(text: str, title: str) -> bool:
    said, named = set(text.split()), set(title.split())
    return len(named) >= 2 and len(said & named) / len(named) >= LOOKS_LIKE


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


# --- Rule 7: untrusted text -------------------------------------------------------------------------------------------

_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:rules?|instructions?|prompt|previous|above)\b"
    r"|\byou (?:are|must) (?:now|always)\b|\bsystem prompt\b|\bas an ai\b"
    r"|\b(?:set|use|report|answer with)\b[^.\n]{0,20}\bconfidence\b[^.\n]{0,10}\bhigh\b"
    r"|\buse (?:the )?bank\b|<\|[a-z_]+\|>",
    re.IGNORECASE,
)


def distrust(alert_text: str, supplied: Iterable[Supplied], answers: str = "") -> list[Warned]:
    """Rule 7: say where received text reads like orders to a model. It never changes what the other rules decide."""
    warnings = []
    if _INSTRUCTIONS.search(alert_text):
        warnings.append(Warned(7, "The alert holds text that reads like instructions. It was treated as data."))
    for memory in supplied:
        if _INSTRUCTIONS.search(memory.revision.text):
            text = f"{memory.ref} holds text that reads like instructions. It was treated as data."
            warnings.append(Warned(7, text))
    if _INSTRUCTIONS.search(answers):
        warnings.append(Warned(7, "An answer holds text that reads like instructions. It was treated as data."))
    return warnings
