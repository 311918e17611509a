"""Who could help with an incident, and bringing them in. It writes this down and reaches nobody: no one is paged."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.utils import timezone

from incidents.models import Incident, IncidentEvent, Outcome
from incidents.services import acts, incidents, timeline
from incidents.services.incidents import Conflict
from teams import audit
from teams.models import Membership, User


@dataclass(frozen=True)
class Helper:
    """A member who could help, with the fixes that they verified for the service and that held so far."""

    user: User
    may_work: bool
    fixes: int
    last_at: datetime | None


def with_fixes(memberships: QuerySet[Membership], incident: Incident) -> QuerySet[Membership]:
    """Add ``verified`` and ``verified_at``: the fixes of each member for the incident's service. No further query.

    Where the service is not known, those of the whole project count.
    """
    verified = Outcome.objects.filter(
        verified_by=OuterRef("user"), superseded_by=None, incident__project=incident.project_id
    ).exclude(held=False)
    if incident.service_id:
        verified = verified.filter(incident__service=incident.service_id)
    counted = verified.order_by().values("verified_by").annotate(fixes=Count("pk"))
    return memberships.annotate(
        verified=Subquery(counted.values("fixes")),
        verified_at=Subquery(verified.order_by(F("verified_at").desc()).values("verified_at")[:1]),
    )


def helper(membership: Membership) -> Helper:
    """Return a member, read ``with_fixes``, as a helper."""
    return Helper(
        user=membership.user,
        may_work=membership.role != Membership.Role.VIEWER,
        fixes=membership.verified or 0,  # type: ignore[attr-defined]
        last_at=membership.verified_at,  # type: ignore[attr-defined]
    )


def bring_in(*, incident: Incident, who: User | None, by: User, assign: bool = False) -> None:
    """Write down that somebody is brought in; None is the project's escalation contact. Assign only where asked to.

    Raises:
        Conflict: it was resolved meanwhile, or that person is no member (any more), or may not be assigned.
        ValueError: the project has no escalation contact.
    """
    with transaction.atomic():
        held = acts.hold(incident, by)
        if held.status == Incident.Status.RESOLVED:
            incidents.refuse_resolved(held)
        if who is None and not held.project.escalation_contact:
            raise ValueError("The project has no escalation contact.")
        if who is not None and not _is_member(who, held):
            raise Conflict(f"{who} is no member of the team any more.")
        name = str(who) if who else f"{held.project.escalation_contact} (escalation contact)"
        audit.record(
            "incident.bring_in",
            by=by,
            on=held,
            team=held.project.team,
            after={"who": str(who.public_id) if who else "contact", "assign": assign and who is not None},
        )
        timeline.add(incident=held, kind=IncidentEvent.Kind.BROUGHT_IN, by=by, at=timezone.now(), who=name[:120])
        if assign and who is not None:
            incidents.assign(incident=held, assignee=who, by=by)


def _is_member(user: User, incident: Incident) -> bool:
    return user.is_active and Membership.objects.filter(team=incident.project.team_id, user=user, left_at=None).exists()
