"""One act on several incidents: each goes through the service of the single act, in a transaction of its own.

Partial success is no failure: what could not be done is told in words. What can be undone comes back with what undoes
it, and undoing leaves alone whatever somebody changed since.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from incidents.models import Incident
from incidents.services import incidents, investigations, outcomes
from incidents.services.incidents import Conflict
from teams import access
from teams.models import User
from teams.permissions import Permission

Status = Incident.Status


@dataclass
class Done:
    """How an act on several incidents went.

    ``undo`` has the public id of each changed incident, with the assignee's that it had before ("" for nobody).
    """

    did: str
    changed: list[Incident] = field(default_factory=list)
    unchanged: Counter[str] = field(default_factory=Counter)
    undo: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Say it in one sentence: "3 acknowledged, 1 was resolved already."."""
        parts = [f"{len(self.changed)} {self.did}"] if self.changed else []
        parts += [f"{count} {'was' if count == 1 else 'were'} {why}" for why, count in self.unchanged.items()]
        return f"{', '.join(parts)}." if parts else f"Nothing was {self.did}."


def acknowledge(*, chosen: Iterable[Incident], by: User) -> Done:
    """Say of each that somebody is on it."""

    def act(incident: Incident) -> str:
        incidents.acknowledge(incident=incident, by=by)
        return "" if incident.status == Status.OPEN else "acknowledged already"

    return _each(chosen, by, "acknowledged", act, refused="acknowledged already")


def assign(*, chosen: Iterable[Incident], assignee: User | None, by: User) -> Done:
    """Hand each over, or to nobody."""

    def act(incident: Incident) -> str:
        incidents.assign(incident=incident, assignee=assignee, by=by)
        return "" if incident.assignee != assignee else "assigned so already"

    done = _each(chosen, by, "assigned", act, refused="not theirs to work")
    done.undo = {str(each.public_id): str(each.assignee.public_id) if each.assignee else "" for each in done.changed}
    return done


def close(*, chosen: Iterable[Incident], reason: str, by: User) -> Done:
    """Close each without a fix; nothing is retained. A duplicate is closed on its own page, which asks of what.

    Raises:
        ValueError: the reason is none to close several for.
    """

    def act(incident: Incident) -> str:
        incidents.close(incident=incident, reason=reason, duplicate_of=None, by=by)
        return ""

    done = _each(chosen, by, "closed", act)
    done.undo = {str(each.public_id): "" for each in done.changed}
    return done


def investigate(*, chosen: Iterable[Incident], by: User) -> Done:
    """Start an investigation of each that has none running."""

    def act(incident: Incident) -> str:
        latest = incident.latest_investigation
        run = investigations.start(incident=incident, by=by)
        return "being investigated already" if latest and run.pk == latest.pk else ""

    return _each(chosen, by, "being investigated", act)


def undo_assign(*, chosen: Iterable[Incident], before: dict[str, User | None], given_to: User | None, by: User) -> Done:
    """Give each back to whoever had it; one that was handed on since stays. ``before`` is by public id."""

    def act(incident: Incident) -> str:
        if incident.assignee != given_to:
            return "handed on since"
        incidents.assign(incident=incident, assignee=before[str(incident.public_id)], by=by)
        return ""

    return _each(chosen, by, "given back", act)


def undo_close(*, chosen: Iterable[Incident], by: User) -> Done:
    """Open each again that the person closed without a fix; anything else stays."""

    def act(incident: Incident) -> str:
        if incident.status != Status.RESOLVED or incident.close_reason == Incident.CloseReason.FIXED:
            return "changed since"
        if incident.resolved_by_id != by.pk:
            return "closed by somebody else since"
        outcomes.reopen(incident=incident, by=by, held=None)
        return ""

    return _each(chosen, by, "open again", act, refused="opened anew by the same alert")


def _each(
    chosen: Iterable[Incident], by: User, did: str, act: Callable[[Incident], str], *, refused: str = "changed since"
) -> Done:
    """Do it to each. ``act`` returns why nothing changed, or ``""``; ``refused`` is why the service would not.

    Raises:
        Http404, PermissionDenied: the person may not work one of them; then nothing is done to any.
    """
    chosen = list(chosen)
    for incident in chosen:
        access.require(by, Permission.INCIDENT_WORK, incident)
    done = Done(did)
    for incident in chosen:
        try:
            why = act(incident)
        except Conflict:
            is_resolved = Incident.objects.filter(pk=incident.pk, status=Status.RESOLVED).exists()
            why = "resolved already" if is_resolved else refused
        if why:
            done.unchanged[why] += 1
        else:
            done.changed.append(incident)
    return done
