"""The forms of outcomes and attempts, filled for the page they stand on, and what their choices mean."""

from typing import Any

from incidents.forms import AttemptForm, OutcomeForm
from incidents.models import Attempt, MemoryRecord, Outcome
from incidents.models.fix import Followed
from incidents.services import outcomes
from incidents.views.incident_page import IncidentPage


def outcome_form(page: IncidentPage, data: Any = None) -> OutcomeForm:
    """Return the outcome form, filled with the minutes so far or with the outcome that is corrected."""
    outcome = page.outcome
    initial: dict[str, Any] = {"minutes": outcomes.suggested_minutes(page.incident)}
    if outcome:
        initial = {
            "root_cause": outcome.root_cause,
            "what_was_done": outcome.what_was_done,
            "minutes": outcome.minutes,
            "fix": str(outcome.fix.public_id),
            "followed": _followed_key(page, outcome),
            "runbook": outcome.fix.runbook_url or outcome.fix.runbook_title,
            "command": outcome.fix.command,
        }
    return OutcomeForm(data, project=page.incident.project, followable=page.followable, initial=initial)


def _followed_key(page: IncidentPage, act: Outcome | Attempt) -> str:
    """Return which choice of the form says what the act followed; "" when it stands on the page no longer."""
    if act.followed == Followed.RECORD:
        cited = (card for card in page.cards if card.record.pk == act.followed_record_id)
        return next((f"record:{card.evidence.ref}" for card in cited), "")
    if act.followed == Followed.SUGGESTION:
        kinds = {diagnosis.pk: kind for kind, diagnosis in page.diagnoses.items()}
        kind = kinds.get(act.followed_diagnosis_id or 0)
        return f"action:{kind}:{act.followed_action}" if kind else ""
    return str(Followed.SOMETHING_ELSE)


def attempt_form(page: IncidentPage, data: Any = None, *, corrects: Attempt | None = None) -> AttemptForm:
    """Return the form for an attempt that failed, filled with the one that is corrected."""
    initial = {}
    if corrects:
        initial = {
            "what_happened": corrects.what_happened,
            "fix": str(corrects.fix.public_id),
            "followed": _followed_key(page, corrects),
        }
    return AttemptForm(data, project=page.incident.project, followable=page.followable, initial=initial)


def followed(page: IncidentPage, choice: str) -> dict[str, Any]:
    """Return what was followed, as the services take it."""
    what, _, rest = choice.partition(":")
    if what == "record":
        record: MemoryRecord = next(card.record for card in page.cards if card.evidence.ref == rest)
        return {"followed": "record", "followed_record": record}
    if what == "action":
        kind, _, index = rest.partition(":")
        return {
            "followed": "suggestion",
            "followed_diagnosis": page.diagnoses[kind],
            "followed_action": int(index),
        }
    return {"followed": "something_else"}
