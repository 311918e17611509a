"""What people do with an incident, and what it says.

Each act is a conditional update: of two people in two tabs one wins, and the other is told what stands now.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, TextField, Value
from django.db.models.functions import Concat, Left
from django.utils import timezone
from django.utils.formats import date_format

from incidents.models import Alert, Incident, IncidentEvent, Note, SystemText
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.redaction import redact
from incidents.reading.text import clean, cut, signature
from incidents.services import timeline
from teams import audit
from teams.models import Membership, Project, Service, User

Kind = IncidentEvent.Kind
Status = Incident.Status

MAX_SYSTEM_TEXT, MAX_NOTE, MAX_ENVIRONMENT = 20_000, 10_000, 60
# What an investigation is given of one incident; the prompt's own budget is smaller still.
MAX_ALERT_TEXT = 60_000
# Later alerts that say something else, and among how many of the latest they are looked for.
LATER_ALERTS, LATEST = 2, 30
# PostgreSQL refuses to index a text of more than a million bytes.
MAX_SEARCH_TEXT = 200_000


class Conflict(Exception):
    """Somebody was quicker, or what was meant is gone. The sentence says who, what and when, for the page."""


# --- What it says -----------------------------------------------------------------------------------------------------


def alert_text(incident: Incident) -> str:
    """Return what came in: the first alert, the latest that say something else, and *more from the system*.

    Redacted. Notes of people are not part of it.
    """
    firing = incident.alerts.filter(status=Alert.Status.FIRING).order_by("received_at", "pk")
    first = list(firing.values_list("text", flat=True)[:1])
    latest = firing.reverse().values_list("text", flat=True)[:LATEST]
    seen = {signature(text) for text in first}
    later: list[str] = []
    for text in latest:
        if (said := signature(text)) not in seen and len(later) < LATER_ALERTS:
            seen.add(said)
            later.insert(0, text)
    added = [f"More from the system:\n{added.text}" for added in incident.system_texts.all()]
    return cut("\n\n".join(first + later + added), MAX_ALERT_TEXT)


def facts(incident: Incident) -> AlertFacts:
    """Return the facts of what came in; what a person corrected wins."""
    first = incident.alerts.order_by("received_at", "pk").values_list("facts", flat=True).first() or {}
    read = read_facts(alert_text(incident), services=known_services(incident.project))
    stored = AlertFacts.from_dict(first)
    return AlertFacts(
        title=incident.title,
        service=_corrected(
            incident.service_by_id, incident.service.name if incident.service else None, stored.service or read.service
        ),
        environment=_corrected(
            incident.environment_by_id, incident.environment or None, stored.environment or read.environment
        ),
        severity=_corrected(incident.severity_by_id, incident.severity, stored.severity or read.severity),
        error_signatures=read.error_signatures,
        metrics=read.metrics,
        times=read.times,
        symptoms=read.symptoms,
        technologies=read.technologies,
    )


def _corrected(by: int | None, corrected: str | None, read: str | None) -> str | None:
    return corrected if by else (read or corrected)


def known_services(project: Project) -> dict[str, str]:
    """Return each service's name by every name that it goes by, in lower case."""
    known: dict[str, str] = {}
    for service in project.services.all():
        for name in (*service.aliases, service.name):
            known[str(name).casefold()] = service.name
    return known


# --- What people do ---------------------------------------------------------------------------------------------------


def acknowledge(*, incident: Incident, by: User, at: datetime | None = None) -> None:
    """Say that somebody is on it; whoever does and finds nobody assigned takes it. Doing it twice is one act.

    Raises:
        Conflict: it was resolved meanwhile, or somebody else acknowledged it.
    """
    at = at or timezone.now()
    with transaction.atomic():
        changed = Incident.objects.filter(pk=incident.pk, status=Status.OPEN).update(
            status=Status.ACKNOWLEDGED, acknowledged_at=at, acknowledged_by=by
        )
        if not changed:
            now = refuse_resolved(incident)
            if now.acknowledged_by_id != by.pk:
                raise Conflict(_who_did_it(now.acknowledged_by, "acknowledged", now.acknowledged_at))
            return
        taken = Incident.objects.filter(pk=incident.pk, assignee=None).update(assignee=by)
        audit.record(
            "incident.acknowledge",
            by=by,
            on=incident,
            team=incident.project.team,
            before={"status": Status.OPEN.value},
            after={"status": Status.ACKNOWLEDGED.value, "assigned": bool(taken)},
        )
        timeline.add(incident=incident, kind=Kind.ACKNOWLEDGED, by=by, at=at)


def assign(*, incident: Incident, assignee: User | None, by: User, word: str = "") -> None:
    """Hand the incident to somebody who may work it, or to nobody; ``word`` becomes a note.

    Raises:
        Conflict: it was resolved meanwhile, or that person may not work it (any more).
    """
    if assignee is not None and not may_work(assignee, incident.project):
        raise Conflict(f"{assignee} may not work this incident.")
    with transaction.atomic():
        before = _locked(incident).assignee
        changed = Incident.objects.filter(pk=incident.pk).exclude(status=Status.RESOLVED).update(assignee=assignee)
        if not changed:
            refuse_resolved(incident)
        if assignee != before:
            audit.record(
                "incident.assign",
                by=by,
                on=incident,
                team=incident.project.team,
                before={"assignee": _id(before)},
                after={"assignee": _id(assignee)},
            )
            timeline.add(incident=incident, kind=Kind.ASSIGNED, by=by, to=str(assignee or "nobody"))
        if word.strip():
            add_note(incident=incident, text=word, by=by)


def may_work(user: User, project: Project) -> bool:
    """Return whether the person may be given incidents of the project: a member who does more than look."""
    membership = Membership.objects.filter(team=project.team_id, user=user, left_at=None)
    return user.is_active and membership.exclude(role=Membership.Role.VIEWER).exists()


@transaction.atomic
def add_note(*, incident: Incident, text: str, by: User) -> Note:
    """Write a note into the timeline. No model is sent it, and it is never remembered as fact.

    Raises:
        Conflict: the incident was moved.
    """
    refuse_moved(_locked(incident))
    note = Note.objects.create(incident=incident, text=cut(redact(clean(text)), MAX_NOTE), by=by)
    audit.record("incident.note", by=by, on=incident, team=incident.project.team, after={"note": str(note.public_id)})
    timeline.add(incident=incident, kind=Kind.NOTED, by=by, note=note)
    extend_search(incident, note.text)
    return note


@transaction.atomic
def add_system_text(*, incident: Incident, text: str, by: User) -> SystemText:
    """Add *more from the system*: log lines, a deploy note. It counts as alert text for both answers.

    Raises:
        Conflict: the incident was moved.
    """
    refuse_moved(_locked(incident))
    cleaned = cut(redact(clean(text)), MAX_SYSTEM_TEXT)
    added = SystemText.objects.create(incident=incident, text=cleaned, by=by)
    after = {"system_text": str(added.public_id)}
    audit.record("incident.system_text", by=by, on=incident, team=incident.project.team, after=after)
    timeline.add(incident=incident, kind=Kind.SYSTEM_TEXT, by=by, system_text=added)
    extend_search(incident, cleaned)
    return added


@transaction.atomic
def correct(*, incident: Incident, by: User, **changes: Any) -> None:
    """Set severity, service or environment as the person knows them; what is not named stays.

    A correction carries the person's name and survives every repeat of the alert.

    Raises:
        Conflict: the incident was moved.
        ValueError: something else is named, there is no such severity, or the service is another project's.
    """
    changes = _checked(incident, changes)
    now = _locked(incident)
    refuse_moved(now)
    changed = {name: value for name, value in changes.items() if getattr(now, name) != value}
    if not changed:
        return
    before = {name: _auditable(getattr(now, name)) for name in changed}
    after = {name: _auditable(value) for name, value in changed.items()}
    marks = {f"{name}_by": by for name in changed}
    Incident.objects.filter(pk=incident.pk).update(**changed, **marks)
    audit.record("incident.correct", by=by, on=incident, team=incident.project.team, before=before, after=after)
    words: dict[str, Any] = {name: str(value or "not known") for name, value in changed.items()}
    timeline.add(incident=incident, kind=Kind.CORRECTED, by=by, **words)


def _checked(incident: Incident, changes: dict[str, Any]) -> dict[str, Any]:
    unknown = set(changes) - {"severity", "service", "environment"}
    if unknown:
        raise ValueError(f"Not to be corrected: {', '.join(sorted(unknown))}.")
    if changes.get("severity", Incident.Severity.LOW) not in Incident.Severity.values:
        raise ValueError(f"No severity: {changes['severity']}.")
    service = changes.get("service")
    if service is not None and service.project_id != incident.project_id:
        raise ValueError("The service is another project's.")
    if "environment" in changes:
        changes |= {"environment": redact(clean(changes["environment"])).strip()[:MAX_ENVIRONMENT]}
    return changes


def _auditable(value: Any) -> str:
    """An environment is text of an alert, so the audit says only that there is one."""
    if isinstance(value, Service):
        return str(value.public_id)
    return str(value) if value in Incident.Severity.values else ("set" if value else "")


def close(*, incident: Incident, reason: str, duplicate_of: Incident | None, by: User) -> None:
    """Close without a fix: recovered by itself, false alarm, not actionable, duplicate. Nothing is retained.

    Raises:
        Conflict: it was resolved meanwhile, or would be a duplicate of itself or of its own duplicate.
        ValueError: the reason is none of these, or a duplicate does not name another incident of the project.
    """
    if reason not in Incident.CLOSED_WITHOUT_A_FIX:
        raise ValueError(f"No reason to close without a fix: {reason}.")
    if (reason == Incident.CloseReason.DUPLICATE) != (duplicate_of is not None):
        raise ValueError("A duplicate, and nothing else, names the incident that it is one of.")
    if duplicate_of is not None:
        _refuse_circle(incident, duplicate_of)
    at = timezone.now()
    with transaction.atomic():
        changed = (
            Incident.objects.filter(pk=incident.pk)
            .exclude(status=Status.RESOLVED)
            .update(
                status=Status.RESOLVED,
                close_reason=reason,
                duplicate_of=duplicate_of,
                resolved_at=at,
                resolved_by=by,
                write_down_later=False,
            )
        )
        if not changed:
            refuse_resolved(incident)
        after = {"reason": reason, "duplicate_of": str(duplicate_of.public_id) if duplicate_of else None}
        audit.record("incident.close", by=by, on=incident, team=incident.project.team, after=after)
        word = Incident.CloseReason(reason).label.lower()
        timeline.add(incident=incident, kind=Kind.RESOLVED, by=by, at=at, reason=word)


def _refuse_circle(incident: Incident, duplicate_of: Incident) -> None:
    if duplicate_of.project_id != incident.project_id:
        raise ValueError("A duplicate is one of another incident of its own project.")
    other: Incident | None = duplicate_of
    seen: set[int] = set()
    while other is not None and other.pk not in seen:
        if other.pk == incident.pk:
            raise Conflict("An incident is no duplicate of itself.")
        seen.add(other.pk)
        other = other.duplicate_of


def _locked(incident: Incident) -> Incident:
    """Return the incident as it stands, so that nobody changes it before the transaction ends."""
    # Only the incident's own row: PostgreSQL refuses to lock what an outer join may lack.
    rows = Incident.objects.select_for_update(of=("self",), no_key=True).select_related("service", "assignee")
    return rows.get(pk=incident.pk)


def refuse_resolved(incident: Incident) -> Incident:
    """Return the incident as it stands; raises Conflict when it is resolved or moved by now."""
    now = Incident.objects.select_related("resolved_by", "acknowledged_by").get(pk=incident.pk)
    refuse_moved(now)
    if now.status == Status.RESOLVED:
        raise Conflict(_who_did_it(now.resolved_by, "resolved", now.resolved_at))
    return now


def refuse_moved(incident: Incident) -> None:
    """Raise Conflict when the incident is only the line that a move left under the old number."""
    if incident.moved_to_id:
        raise Conflict("It was moved to another project. Work on it there.")


def _who_did_it(who: User | None, did: str, at: datetime | None) -> str:
    when = f" at {date_format(timezone.localtime(at), 'H:i')}" if at else ""
    return f"{who or 'Somebody'} {did} this{when}."


def extend_search(incident: Incident, text: str) -> None:
    """Append the text to what a search looks through, in one statement; the oldest stays when there is too much."""
    appended = Concat(F("search_text"), Value(f"\n{cut(text, 5000)}"), output_field=TextField())
    Incident.objects.filter(pk=incident.pk).update(search_text=Left(appended, MAX_SEARCH_TEXT))


def _id(user: User | None) -> str | None:
    return str(user.public_id) if user else None
