"""Moving a paste that went to the wrong project, before anything was remembered from it.

What came in goes along: the delivery with its body, its alerts, *more from the system*, notes and what people did. It
gets a number of the other project, or joins the open incident there that has the same fingerprint. The old number
stays as a line that says that it was moved, and leads there for whoever may see it. Investigations stay behind: they
read the old project's memory, so they are no business of the other's.
"""

from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from incidents.intake.fingerprint import fingerprint
from incidents.intake.normal import NormalAlert
from incidents.models import Alert, Delivery, Incident, IncidentEvent, Investigation
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.text import cut
from incidents.services import acts, incidents, timeline
from incidents.services.incidents import Conflict, known_services
from teams import access, audit
from teams.models import Project, User
from teams.permissions import Permission

Kind = IncidentEvent.Kind

# What the agent did with the old project's memory, and what only the old number is about.
_STAY = (Kind.INVESTIGATED, Kind.ANSWERED, Kind.MOVED)
MOVED_TITLE = "Moved to another project"
_SEARCH_CHARACTERS = 20_000


def targets(user: User, incident: Incident) -> QuerySet[Project]:
    """Return the projects that the person could move it to: the others in which they may work."""
    return access.visible_projects(user, Permission.INCIDENT_WORK).exclude(pk=incident.project_id).order_by("name")


def why_not(incident: Incident) -> str:
    """Return in a sentence why the incident cannot be moved; "" when it can."""
    if incident.moved_to_id or incident.merged_into_id:
        return "It was moved or merged already."
    if incident.status == Incident.Status.RESOLVED:
        return "It is resolved. Reopen it first."
    if incident.memory_records.exists() or incident.outcomes.exists() or incident.attempts.exists():
        return "Something was remembered from it, so it stays in this project’s history."
    if incident.investigations.filter(state__in=Investigation.ACTIVE).exists():
        return "An investigation is running. Cancel it, or wait for its end."
    came = Delivery.objects.filter(alerts__incident=incident).distinct()
    if not came.exists() or came.exclude(source=Delivery.Source.PASTE).exists():
        return "It did not come by paste. A machine’s alerts belong to the project of its key."
    if Alert.objects.filter(delivery__in=came).exclude(incident=incident).exists():
        return "The same paste opened other incidents too. They would lose what came in."
    return ""


def move(*, incident: Incident, to: Project, by: User) -> Incident:
    """Move a paste into another project, and return the incident that it is there.

    Raises:
        Http404, PermissionDenied: the person may not work in one of the two projects.
        Conflict: it cannot be moved (any more); the sentence says why.
        ValueError: it is in that project already.
    """
    access.require(by, Permission.INCIDENT_WORK, to)
    with transaction.atomic():
        # Both projects' rows, in the order of their ids: an intake of either project waits, and two moves do not
        # wait for each other.
        ids = sorted({incident.project_id, to.pk})
        locked = Project.objects.select_for_update(no_key=True, of=("self",)).select_related("team").order_by("pk")
        projects = {project.pk: project for project in locked.filter(pk__in=ids)}
        old = acts.hold(incident, by)
        if old.project_id == to.pk:
            raise ValueError("It is in that project already.")
        problem = why_not(old)
        if problem:
            raise Conflict(problem)
        old.project = projects[old.project_id]
        new = _move(old, projects[to.pk], by)
        _say_so(old, new, by)
    return new


def _move(old: Incident, to: Project, by: User) -> Incident:
    services = known_services(to)
    alerts = list(old.alerts.order_by("received_at", "pk"))
    for alert in alerts:
        _read_anew(alert, services)
    first = alerts[0]
    deliveries = list(Delivery.objects.filter(alerts__incident=old).distinct().values_list("pk", flat=True))
    open_there = Incident.objects.active().filter(project=to, fingerprint=first.fingerprint, merged_into=None).first()
    new = open_there or _open(old, to, first)
    Delivery.objects.filter(pk__in=deliveries).update(
        project=to,
        incident=new,
        result=Delivery.Result.REPEAT if open_there else Delivery.Result.NEW,
    )
    for alert in alerts:
        alert.incident = new
    Alert.objects.bulk_update(alerts, ["incident", "fingerprint", "facts", "service_name"])
    old.system_texts.update(incident=new)
    old.notes.update(incident=new)
    old.events.exclude(kind__in=_STAY).update(incident=new)
    if open_there:
        Incident.objects.filter(pk=new.pk).update(
            alert_count=F("alert_count") + old.alert_count,
            last_alert_at=max(new.last_alert_at, old.last_alert_at),
        )
        incidents.extend_search(new, f"{old.title}\n{first.text}")
    return new


def _read_anew(alert: Alert, services: dict[str, str]) -> None:
    """Read the alert as the other project would have: it knows other services by other names."""
    plain = NormalAlert(title=alert.title, text=alert.text)
    # A sender's own key, inside what was pasted, names the problem in every project.
    is_keyed = alert.fingerprint != fingerprint(plain, AlertFacts.from_dict(alert.facts))
    service = read_facts(alert.text, labels={"title": alert.title}, services=services).service
    alert.facts = alert.facts | {"service": service}
    alert.service_name = (service or "")[:120]
    if not is_keyed:
        alert.fingerprint = fingerprint(plain, AlertFacts.from_dict(alert.facts))


def _open(old: Incident, to: Project, first: Alert) -> Incident:
    """Open the incident in the other project, as the old one stands."""
    Project.objects.filter(pk=to.pk).update(next_incident_number=F("next_incident_number") + 1)
    number = Project.objects.values_list("next_incident_number", flat=True).get(pk=to.pk) - 1
    same = {
        name: getattr(old, name)
        for name in (
            "title",
            "status",
            "severity",
            "severity_by",
            "environment",
            "environment_by",
            "opened_by",
            "acknowledged_at",
            "acknowledged_by",
            "started_at",
            "last_alert_at",
            "alert_count",
        )
    }
    last = Incident.objects.filter(project=to, fingerprint=first.fingerprint, moved_to=None).order_by("-number").first()
    return Incident.objects.create(
        **same,
        project=to,
        number=number,
        fingerprint=first.fingerprint,
        service=to.services.filter(name=first.service_name).first() if first.service_name else None,
        assignee=old.assignee if old.assignee and incidents.may_work(old.assignee, to) else None,
        previous=last,
        search_text=cut(old.search_text, _SEARCH_CHARACTERS),
    )


def _say_so(old: Incident, new: Incident, by: User) -> None:
    """Leave the old number as a line without a word of the alert, and write the audit of both teams."""
    Incident.objects.filter(pk=old.pk).update(
        moved_to=new,
        status=Incident.Status.RESOLVED,
        close_reason=Incident.CloseReason.MOVED,
        resolved_at=timezone.now(),
        resolved_by=by,
        title=MOVED_TITLE,
        search_text="",
        environment="",
        service=None,
        assignee=None,
        alert_count=0,
        latest_investigation=None,
    )
    rows = [
        ("incident.move_out", old, {"after": {"to": str(new.public_id)}}),
        ("incident.move_in", new, {"before": {"from": str(old.public_id)}}),
    ]
    # The two chains in one order for all, so that moves in opposite directions do not wait for each other.
    for act, on, said in sorted(rows, key=lambda row: row[1].project.team_id):
        audit.record(act, by=by, on=on, team=on.project.team, **said)
    timeline.add(incident=old, kind=Kind.MOVED, by=by)
    # The old number is named only where everybody who reads this may read it too.
    named: dict[str, Any] = {"was": old.ref} if old.project.team_id == new.project.team_id else {}
    timeline.add(incident=new, kind=Kind.MOVED_HERE, by=by, **named)
