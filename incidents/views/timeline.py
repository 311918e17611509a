"""The incident's timeline: alerts, people and the agent in one list."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.utils import timezone

from incidents.models import Alert, Incident, IncidentEvent
from teams.models import User

Kind = IncidentEvent.Kind
# What joins the act to its quiet words: "You assigned it to Jonas", "You brought in Jonas"; else a colon.
_BEFORE_QUIET: dict[str, str] = {
    Kind.ASSIGNED: " to",
    Kind.BROUGHT_IN: "",
    Kind.MOVED_HERE: " from",
    Kind.REOPENED: ",",
}


@dataclass(frozen=True)
class TimelineLine:
    """A line of the timeline: by is alert, person or agent."""

    by: str
    text: str
    quiet: str
    at: datetime
    # On the day that stands over the list, the time alone is enough.
    on_first_day: bool = False


def timeline(incident: Incident, events: list[IncidentEvent], alerts: list[Alert], *, user: User) -> list[TimelineLine]:
    """Return what happened, oldest first, as ``user`` reads it; a run of alerts is one line."""
    lines = [_event_line(event, user) for event in events] + _alert_lines(incident, alerts)
    day = timezone.localtime(incident.started_at).date()
    return [
        replace(line, on_first_day=timezone.localtime(line.at).date() == day)
        for line in sorted(lines, key=lambda line: line.at)
    ]


def _event_line(event: IncidentEvent, user: User) -> TimelineLine:
    agent = event.by is None
    who = "You" if event.by == user else str(event.by or "")
    quiet = ", ".join(str(value) for value in event.detail.values() if isinstance(value, str | int) and value != "")
    if event.note:
        return TimelineLine("person", f"{who}: {event.note.text}", "", event.at)
    if event.system_text:
        size = len(event.system_text.text)
        return TimelineLine("person", f"{who} added more from the system", f"{size:,} characters", event.at)
    text = event.get_kind_display() if agent else f"{who} {event.get_kind_display()}"
    text += _BEFORE_QUIET.get(event.kind, ":") if quiet else ""
    return TimelineLine("agent" if agent else "person", text[:1].upper() + text[1:], quiet, event.at)


def _alert_lines(incident: Incident, alerts: list[Alert]) -> list[TimelineLine]:
    if not alerts:
        return []
    first, more = alerts[0], incident.alert_count - 1
    named = ", ".join(word for word in (first.service_name, first.severity) if word)
    lines = [TimelineLine("alert", "First alert," if named else "First alert", named, first.received_at)]
    if more > 0:
        word = "1 more alert" if more == 1 else f"{more:,} more alerts"
        lines.append(TimelineLine("alert", f"{word},", "same fingerprint", incident.last_alert_at))
    return lines
