"""Where a record was cited as evidence, and whether people followed it there."""

from dataclasses import dataclass

from incidents.models import Attempt, Evidence, Incident, MemoryRecord, Outcome
from incidents.models.fix import Act, Followed
from teams import access
from teams.models import User

# Citations that are looked at; an incident that was investigated several times is one line.
LOOKED_AT = 500
SHOWN = 20


@dataclass(frozen=True)
class Citation:
    """The newest citation in one incident, and what became of it, in words."""

    evidence: Evidence
    incident: Incident
    followed: str


def citations(record: MemoryRecord, user: User) -> list[Citation]:
    """Return where the person may see that it was cited, newest first, one for each incident. Three queries."""
    cited = (
        Evidence.objects.filter(
            record=record,
            accepted=True,
            diagnosis__investigation__incident__project__in=access.visible_projects(user),
        )
        .select_related("diagnosis__investigation__incident__project")
        .order_by("-pk")[:LOOKED_AT]
    )
    newest: dict[int, Evidence] = {}
    for item in cited:
        newest.setdefault(item.diagnosis.investigation.incident_id, item)
    acts: list[Outcome | Attempt] = [
        *Outcome.objects.filter(incident__in=newest, superseded_by=None).select_related("fix").order_by("-verified_at"),
        *Attempt.objects.filter(incident__in=newest, superseded_by=None).select_related("fix").order_by("-tried_at"),
    ]
    return [
        Citation(item, item.diagnosis.investigation.incident, _followed(record, item, acts)) for item in newest.values()
    ]


def _followed(record: MemoryRecord, item: Evidence, acts: list[Outcome | Attempt]) -> str:
    incident = item.diagnosis.investigation.incident
    here = [act for act in acts if act.incident_id == incident.pk]
    for act in here:
        if _is_followed(act, record, item):
            return f"yes, {_how_it_went(act)}"
    outcome = next((act for act in here if isinstance(act, Outcome)), None)
    if outcome and record.fix and outcome.fix.root_id == record.fix.root_id:
        return f"the same fix, {_how_it_went(outcome)}"
    if outcome:
        return "no, something else fixed it"
    if incident.status != Incident.Status.RESOLVED:
        return "not yet"
    if incident.write_down_later:
        return "not written down yet"
    return f"no, {incident.get_close_reason_display().lower()}"


def _is_followed(act: Act, record: MemoryRecord, item: Evidence) -> bool:
    """Return whether the person followed the record itself, or a suggestion that cites it."""
    if act.followed == Followed.RECORD:
        return act.followed_record_id == record.pk
    if act.followed != Followed.SUGGESTION or act.followed_diagnosis_id != item.diagnosis_id:
        return False
    actions, index = item.diagnosis.immediate_actions, act.followed_action
    return index is not None and index < len(actions) and item.ref in (actions[index].get("refs") or [])


def _how_it_went(act: Outcome | Attempt) -> str:
    if isinstance(act, Attempt):
        return "failed"
    return {None: "worked", True: "worked, held", False: "did not hold"}[act.held]
