"""A row of the inbox: an incident, the chip that says how far it is, and what memory says about it in one line."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from incidents.models import Diagnosis, Evidence, Incident, Investigation, MemoryRecord, Outcome
from incidents.models.investigation import MemoryWord, Pattern
from incidents.models.track import Application, TrackRecord, applications, sum_up
from incidents.views.inbox_address import NEEDS_INFO
from teams import access
from teams.models import User
from teams.permissions import Permission

GONE = (MemoryRecord.State.FORGETTING, MemoryRecord.State.FORGOTTEN, MemoryRecord.State.QUARANTINED)


@dataclass(frozen=True)
class Row:
    """``line`` is what is thought of it, ``fix`` how often the cited fix worked; a narrow row cuts the first only.

    ``chip`` is a vocabulary, a stored value and its word. ``may_work`` is whether the person may change it.
    """

    incident: Incident
    line: str
    fix: str
    chip: tuple[str, str, str] | None
    may_work: bool

    @property
    def may_tick(self) -> bool:
        """Whether an act on several can name it; nothing that is done to several is left to do once it is resolved."""
        return self.may_work and self.incident.status != Incident.Status.RESOLVED

    @property
    def at(self) -> datetime:
        """What the row's age counts from: the latest alert, or when it was resolved."""
        return self.incident.resolved_at or self.incident.last_alert_at


def rows(incidents: list[Incident], user: User) -> list[Row]:
    """Return the rows of a page. Four queries, whatever there is; ``project`` and the newest run must be loaded."""
    runs = {incident.latest_investigation_id for incident in incidents if incident.latest_investigation_id}
    diagnoses = _main_diagnoses(runs)
    cited = _cited_fixes(diagnoses.values())
    fixes = {item.record.fix_id for item in cited.values() if item.record.fix_id}
    applied = applications(fixes, also=Q(incident__in=incidents))
    tracks, outcomes = sum_up(applied), _outcomes(applied)
    can = {
        membership.team_id: Permission.INCIDENT_WORK in access.permissions_for(user, membership.team)
        for membership in access.memberships(user)
    }
    result = []
    for incident in incidents:
        diagnosis = diagnoses.get(incident.latest_investigation_id or 0)
        item = cited.get(diagnosis.pk) if diagnosis else None
        track = tracks.get(item.record.fix_id or 0) if item else None
        if incident.status == Incident.Status.RESOLVED:
            line, fix = _how_it_ended(incident, outcomes.get(incident.pk)), ""
        else:
            line, fix = _memory_line(incident, diagnosis), _worked(item, track)
        result.append(Row(incident, line, fix, _chip(incident), can.get(incident.project.team_id, False)))
    return result


def _main_diagnoses(runs: set[int]) -> dict[int, Diagnosis]:
    """Return each run's answer with memory, or else from the alert alone."""
    best: dict[int, Diagnosis] = {}
    found = Diagnosis.objects.filter(investigation__in=runs, state=Diagnosis.State.FINISHED)
    for diagnosis in found.only("investigation_id", "kind", "root_cause"):
        if diagnosis.kind == Diagnosis.Kind.WITH_MEMORY or diagnosis.investigation_id not in best:
            best[diagnosis.investigation_id] = diagnosis
    return best


def _cited_fixes(diagnoses: Iterable[Diagnosis]) -> dict[int, Evidence]:
    """Return the first piece of own evidence that stands for a fix, by diagnosis, as it may be read today."""
    found = (
        Evidence.objects.filter(diagnosis__in=list(diagnoses), accepted=True, scope=Evidence.Scope.OWN)
        .exclude(Q(record__fix=None) | Q(record__state__in=GONE))
        .select_related("record__fix")
        .order_by("diagnosis", "position", "pk")
    )
    first: dict[int, Evidence] = {}
    for item in found:
        first.setdefault(item.diagnosis_id, item)
    return first


def _outcomes(applied: list[Application]) -> dict[int, Outcome]:
    """Return the outcome that stands, by incident; one that did not hold stands no more."""
    return {act.incident_id: act.act for act in applied if isinstance(act.act, Outcome) and act.worked}


def _chip(incident: Incident) -> tuple[str, str, str] | None:
    run = incident.latest_investigation
    if incident.status == Incident.Status.RESOLVED:
        return "state", "resolved", incident.get_close_reason_display() or "Resolved"
    if run is None:
        return None
    if run.state == Investigation.State.RUNNING:
        return "state", "investigating", "Investigating"
    if run.state == Investigation.State.WAITING:
        return "pattern", Pattern.NEEDS_MORE_INFO.value, NEEDS_INFO
    if run.memory_word in (MemoryWord.UNAVAILABLE, MemoryWord.OFF):
        word = "Memory off" if run.memory_word == MemoryWord.OFF else run.get_memory_word_display()
        return "memory", run.memory_word, word
    if run.pattern == Pattern.NEEDS_MORE_INFO:
        return "pattern", run.pattern, NEEDS_INFO
    return ("pattern", run.pattern, run.get_pattern_display()) if run.pattern else None


def _how_it_ended(incident: Incident, outcome: Outcome | None) -> str:
    if outcome:
        return f"{outcome.fix.title}, {outcome.minutes} min."
    if incident.write_down_later:
        return "To be written down: nothing is retained until then."
    if incident.duplicate_of:
        return f"Duplicate of {incident.project.key}-{incident.duplicate_of.number}."
    return "Closed without a fix."


def _memory_line(incident: Incident, diagnosis: Diagnosis | None) -> str:
    run = incident.latest_investigation
    if run is None:
        return "Not investigated yet."
    if run.state == Investigation.State.WAITING:
        return "Questions are waiting for an answer."
    if run.is_active:
        return "Being investigated."
    if run.state == Investigation.State.CANCELLED:
        return "The investigation was cancelled."
    if run.memory_word == MemoryWord.UNAVAILABLE:
        return "Memory was unavailable. Alert-only answer."
    if run.memory_word == MemoryWord.EMPTY:
        return "No verified fix here yet."
    if run.pattern == Pattern.NEW_PATTERN:
        return "I don’t know. Nothing verified matches."
    if run.pattern == Pattern.NEEDS_MORE_INFO:
        return "The alert names no service, error or metric."
    return _sentence(diagnosis.root_cause) if diagnosis else ""


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "?", "!", "…")) else f"{text}."


def _worked(item: Evidence | None, track: TrackRecord | None) -> str:
    """Return how often the cited fix worked, and its name: counted over our rows, not told by a model."""
    if item is None or item.record.fix is None:
        return ""
    title = _sentence(item.record.fix.title)
    if track is None or not track.tried:
        return f"Known fix: {title}"
    if not track.worked:
        return f"Failed {track.tried} of {track.tried} {_times(track.tried)}: {title}"
    return f"Fixed {track.worked} of {track.tried} {_times(track.tried)}: {title}"


def _times(count: int) -> str:
    return "time" if count == 1 else "times"
