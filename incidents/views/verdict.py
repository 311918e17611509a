"""The one sentence that comes first on the incident's page, and the next thing to do.

Its words follow from the state, the computed pattern and memory's word. Counts, names and dates come from our rows.
"""

from dataclasses import dataclass

from django.utils import timezone
from django.utils.formats import date_format

from incidents.models import Diagnosis, Incident, Investigation
from incidents.views.cards import Card, left
from incidents.views.incident_page import IncidentPage


@dataclass(frozen=True)
class Verdict:
    """``attribute`` and ``value`` choose colour and icon in the stylesheet; the rest is words."""

    attribute: str
    value: str
    icon: str
    head: str
    sentence: str = ""
    paragraph: str = ""
    side: str = ""
    side_reason: str = ""
    next_label: str = ""
    next_href: str = ""


def verdict(page: IncidentPage) -> Verdict:
    """Return the verdict for what the page knows now."""
    if page.incident.status == Incident.Status.RESOLVED:
        return _resolved(page)
    investigation = page.investigation
    if investigation is None:
        return Verdict(
            "tone", "info", "i-route", "Not investigated yet.", "Start an investigation to see what memory knows."
        )
    if investigation.state == Investigation.State.RUNNING:
        return _running(page)
    if investigation.state == Investigation.State.WAITING:
        return _waiting(page)
    if investigation.state == Investigation.State.CANCELLED:
        return Verdict(
            "tone",
            "info",
            "i-x",
            "Cancelled.",
            "The investigation was stopped before it ended.",
            "What it found until then stands below. It can be started again.",
        )
    return _finished(page, investigation)


def _resolved(page: IncidentPage) -> Verdict:
    incident, outcome = page.incident, page.outcome
    word = incident.get_close_reason_display() or "Resolved"
    if outcome is None:
        later = "To be written down later: nothing is retained until then." if incident.write_down_later else ""
        return Verdict(
            "state",
            "resolved",
            "state-resolved",
            f"{word}.",
            later or "Closed without a fix. Nothing was retained.",
            f"Closed by {incident.resolved_by}." if incident.resolved_by else "",
            next_label="Write down the fix" if incident.write_down_later else "",
            next_href="#fixed" if incident.write_down_later else "",
        )
    track = page.tracks.get(outcome.fix.root_id)
    counted = f" It has worked {track.worked} of {track.tried} times here." if track and track.tried > 1 else ""
    return Verdict(
        "state",
        "resolved",
        "state-resolved",
        f"{word}.",
        f"{left(outcome.fix).title}.",
        f"Verified by {outcome.verified_by}.{counted}",
        f"{outcome.minutes} min",
        "to the fix",
    )


def _running(page: IncidentPage) -> Verdict:
    alone, memory = page.alone, page.memory
    if alone and alone.state in Diagnosis.ENDED:
        sentence = "The answer from the alert alone is ready, memory is being read."
    elif memory is None:
        sentence = "The alert is being read. Memory is off for this project."
    else:
        sentence = "The alert is being read."
    return Verdict(
        "state",
        "investigating",
        "state-investigating",
        "Investigating.",
        sentence,
        "You can acknowledge and act meanwhile. This page updates itself; nothing you type is lost.",
        f"Step {max(page.step_count, 1)}",
        f"{page.seconds:.1f} s so far",
    )


def _waiting(page: IncidentPage) -> Verdict:
    until = page.investigation.waits_until if page.investigation else None
    wait = f" The investigation waits until {_clock(until)}, then ends with the safe checks" if until else ""
    return Verdict(
        "pattern",
        "needs_more_info",
        "pattern-needs_more_info",
        "Needs info.",
        _why_vague(page),
        f"One answer is enough to go on.{wait}; it can be taken up later."
        if wait
        else "One answer is enough to go on.",
        "Low confidence",
        "nothing to match yet",
        "Answer",
        "#ask",
    )


def _why_vague(page: IncidentPage) -> str:
    if any(question.asked_by == "rules" for question in page.open_questions):
        return "The alert names no service, error or metric."
    return "The investigation has a question before it goes on."


def _finished(page: IncidentPage, investigation: Investigation) -> Verdict:
    main = page.main
    confidence = f"{main.get_confidence_display()} confidence" if main and main.confidence else ""
    reason = main.confidence_reason if main else ""
    if investigation.memory_word == Investigation.MemoryWord.UNAVAILABLE:
        return Verdict(
            "tone",
            "warn",
            "memory-unavailable",
            "Memory was unavailable.",
            "This is not the same as no match.",
            "Below is what the alert alone can say. Investigate again when memory is back; nothing is lost.",
            confidence,
            "memory was not read",
        )
    if investigation.memory_word == Investigation.MemoryWord.OFF:
        return Verdict(
            "tone",
            "info",
            "memory-off",
            "Memory is off for this project.",
            (main.root_cause if main else ""),
            "This is the answer from the alert alone. A team admin can switch memory on.",
            confidence,
            reason,
        )
    if investigation.pattern == Investigation.Pattern.NEEDS_MORE_INFO:
        return Verdict(
            "pattern",
            "needs_more_info",
            "pattern-needs_more_info",
            "Needs info.",
            "The alert names no service, error or metric.",
            "Nobody answered in time, or the answers were not enough. Safe first checks stand below; "
            "an answer takes the investigation up again.",
            confidence or "Low confidence",
            "nothing to match yet",
            "Answer",
            "#ask",
        )
    if investigation.pattern == Investigation.Pattern.KNOWN_HERE:
        card = page.cards[0] if page.cards else None
        return Verdict(
            "pattern",
            "known_here",
            "pattern-known_here",
            "Known here.",
            main.root_cause if main else "",
            _history(card),
            confidence,
            reason,
            _next(page),
            "#act",
        )
    if investigation.pattern == Investigation.Pattern.SEEN_ELSEWHERE:
        where = (
            "another project of this team" if page.cards and page.cards[0].kind == "same_team" else "another project"
        )
        return Verdict(
            "pattern",
            "seen_elsewhere",
            "pattern-seen_elsewhere",
            "Seen elsewhere.",
            main.root_cause if main else "",
            f"It happened in {where}. Nothing verified in this project matches.",
            confidence,
            reason,
            _next(page),
            "#act",
        )
    return _unknown(page, investigation, confidence or "Low confidence")


def _unknown(page: IncidentPage, investigation: Investigation, confidence: str) -> Verdict:
    if investigation.memory_word == Investigation.MemoryWord.EMPTY:
        return Verdict(
            "pattern",
            "new_pattern",
            "pattern-new_pattern",
            "No verified fix here yet.",
            f"The memory of {page.incident.project.name} is empty.",
            "There was nothing to search, so nothing speaks for or against a cause. "
            "Below is what the alert alone can say.",
            confidence,
            "no accepted evidence",
            "Ways to get one",
            "#ways",
        )
    near = len(page.not_used)
    came_near = "1 came near and was not good enough" if near == 1 else f"{near} came near and were not good enough"
    return Verdict(
        "pattern",
        "new_pattern",
        "pattern-new_pattern",
        "I don’t know.",
        "Nothing verified in this project matches.",
        f"New pattern. {came_near if near else 'Nothing came near'}.",
        confidence,
        "no accepted evidence",
        "Next: escalate to a person",
        "#act",
    )


def _history(card: Card | None) -> str:
    if card is None:
        return ""
    track = card.track
    if not track.tried:
        return f"Verified in {card.record.incident.ref}." if card.record.incident else ""
    times = "once" if track.worked == 1 else f"{track.worked} times"
    sentence = f"Fixed {times} in this project"
    if track.failed:
        sentence += f" ({track.worked} of {track.tried} tries worked)"
    if track.last_by and track.last_at:
        sentence += f", last by {track.last_by} on {date_format(timezone.localtime(track.last_at), 'j F')}"
        sentence += f" in {track.last_minutes} min" if track.last_minutes is not None else ""
    return f"{sentence}: {card.fix.title}." if card.fix else f"{sentence}."


def _next(page: IncidentPage) -> str:
    first = next((action for action in page.actions if not action.struck), None)
    return (
        f"Next: {first.text[:1].lower()}{first.text[1:60].rstrip('.')}"
        if first and len(first.text) <= 60
        else "Next steps"
    )


def _clock(moment: object) -> str:
    return date_format(timezone.localtime(moment), "H:i")  # type: ignore[arg-type]
