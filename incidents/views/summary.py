"""The summary of an incident as plain text, to be pasted into a chat: number, verdict, next action, who, link."""

import re
import unicodedata

from django.utils import timezone
from django.utils.formats import date_format

from incidents.views.incident_page import IncidentPage
from incidents.views.verdict import Verdict

LINE = 300
# A chat would call everybody for an alert that has one of these in its title.
_CALLS_EVERYBODY = re.compile(r"@(?=(?:here|channel|everyone|all|team)\b)", re.I)


def summary(page: IncidentPage, verdict: Verdict, url: str) -> str:
    """Return a few lines without markup. ``url`` is the incident's whole address."""
    incident = page.incident
    where = ", ".join(str(word) for word in (incident.service, incident.environment) if word)
    state = "Investigating" if page.is_active and not page.is_waiting else incident.get_status_display()
    actions = [action for action in page.actions if not action.struck]
    failed = [one.attempt.fix.title for one in page.do_not_repeat if not one.doubtful]
    confidence = f" {verdict.side}." if verdict.side and verdict.attribute == "pattern" else ""
    lines = [
        f"{incident.ref} {incident.title}",
        f"{incident.get_severity_display()}, {state.lower()}, since {_clock(incident.started_at)}"
        + (f", {where}" if where else ""),
        f"{verdict.head} {verdict.sentence}{confidence}",
        f"Next: {actions[0].text}" if actions and incident.status != incident.Status.RESOLVED else "",
        f"Failed before, do not repeat: {'; '.join(failed[:3])}" if failed else "",
        f"Who: {incident.assignee or 'nobody yet'}",
        url,
    ]
    return "\n".join(_plain(line) for line in lines if line)


def _plain(text: str) -> str:
    """Return one line without what cannot be seen and without a call to everybody in a chat."""
    seen = "".join(character for character in text if unicodedata.category(character) not in ("Cf", "Cs", "Co"))
    line = " ".join(seen.split())
    line = line if len(line) <= LINE else f"{line[: LINE - 1]}…"
    return _CALLS_EVERYBODY.sub("＠", line)


def _clock(moment: object) -> str:
    """Return day, time and zone: who reads it in a chat may be in another one."""
    return date_format(timezone.localtime(moment), "j F, H:i T")  # type: ignore[arg-type]
