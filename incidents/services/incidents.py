"""What people do with an incident, and what it says.

Each act is a conditional update: of two people in two tabs one wins, and the other is told what stands now.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, TextField, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django.utils.formats import date_format

from incidents.models import Incident, IncidentEvent, Note, SystemText
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.redaction import redact
from incidents.reading.text import clean, cut
from incidents.services import timeline
from teams import audit
from teams.models import Membership, Project, Service, User

Kind = IncidentEvent.Kind
Status = Incident.Status

MAX_SYSTEM_TEXT = 20_000
# What an investigation is given of one incident; the prompt's own budget is smaller still.
MAX_ALERT_TEXT = 60_000


class Conflict(Exception):
    """Somebody was quicker, or what was meant is gone. The sentence says who, what and when, for the page."""


# --- What it says -----------------------------------------------------------------------------------------------------


def alert_text(incident: Incident) -> str:
    """Return what came in: the first alert, later ones that say something else, and *more from the system*.

    Redacted. Notes of people are not part of it.
    """
    texts: list[str] = []
    for text in incident.alerts.order_by("received_at", "pk").values_list("text", flat=True)[:50]:
        if text not in texts:
            texts.append(text)
    texts += [f"More from the system:\n{added.text}" for added in incident.system_texts.all()]
    return cut("\n\n".join(texts[:3] + texts[3:][-3:]), MAX_ALERT_TEXT)


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
        Conflict: it was resolved meanwhile.
    """
    at = at or timezone.now()
    with transaction.atomic():
        changed = Incident.objects.filter(pk=incident.pk, status=Status.OPEN).update(
            status=Status.ACKNOWLEDGED, acknowledged_at=at, acknowledged_by=by
        )
        if not changed:
            _refuse_resolved(incident)
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
    if assignee is not None and not _may_work(assignee, incident):
        raise Conflict(f"{assignee} may not work this incident.")
    with transaction.atomic():
        changed = Incident.objects.filter(pk=incident.pk).exclude(status=Status.RESOLVED).update(assignee=assignee)
        if not changed:
            _refuse_resolved(incident)
        if assignee != incident.assignee:
            audit.record(
                "incident.assign",
                by=by,
                on=incident,
                team=incident.project.team,
                before={"assignee": _id(incident.assignee)},
                after={"assignee": _id(assignee)},
            )
            timeline.add(incident=incident, kind=Kind.ASSIGNED, by=by, to=str(assignee or "nobody"))
        if word.strip():
            add_note(incident=incident, text=word, by=by)


def _may_work(user: User, incident: Incident) -> bool:
    membership = Membership.objects.filter(team=incident.project.team_id, user=user, left_at=None)
    return user.is_active and membership.exclude(role=Membership.Role.VIEWER).exists()


@transaction.atomic
def add_note(*, incident: Incident, text: str, by: User) -> Note:
    """Write a note into the timeline. No model is sent it, and it is never remembered as fact."""
    note = Note.objects.create(incident=incident, text=redact(clean(text)), by=by)
    audit.record("incident.note", by=by, on=incident, team=incident.project.team, after={"note": str(note.public_id)})
    timeline.add(incident=incident, kind=Kind.NOTED, by=by, note=note)
    _extend_search(incident, note.text)
    return note


@transaction.atomic
def add_system_text(*, incident: Incident, text: str, by: User) -> SystemText:
    """Add *more from the system*: log lines, a deploy note. It counts as alert text for both answers."""
    cleaned = cut(redact(clean(text)), MAX_SYSTEM_TEXT)
    added = SystemText.objects.create(incident=incident, text=cleaned, by=by)
    after = {"system_text": str(added.public_id)}
    audit.record("incident.system_text", by=by, on=incident, team=incident.project.team, after=after)
    timeline.add(incident=incident, kind=Kind.SYSTEM_TEXT, by=by, system_text=added)
    _extend_search(incident, cleaned)
    return added


@transaction.atomic
def correct(*, incident: Incident, by: User, **changes: Any) -> None:
    """Set severity, service or environment as the person knows them; what is not named stays.

    A correction carries the person's name and survives every repeat of the alert.

    Raises:
        ValueError: something else is named.
    """
    unknown = set(changes) - {"severity", "service", "environment"}
    if unknown:
        raise ValueError(f"Not to be corrected: {', '.join(sorted(unknown))}.")
    now = Incident.objects.select_for_update(of=("self",)).select_related("service").get(pk=incident.pk)
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


def _auditable(value: Any) -> str:
    """An environment is text of an alert, so the audit says only that there is one."""
    if isinstance(value, Service):
        return str(value.public_id)
    return str(value) if value in Incident.Severity.values else ("set" if value else "")


def close(*, incident: Incident, reason: str, duplicate_of: Incident | None, by: User) -> None:
    """Close without a fix: recovered by itself, false alarm, not actionable, duplicate. Nothing is retained.

    Raises:
        Conflict: it was resolved meanwhile, or would be a duplicate of itself.
        ValueError: the reason is none of these.
    """
    if reason not in set(Incident.CloseReason.values) - {Incident.CloseReason.FIXED}:
        raise ValueError(f"No reason to close without a fix: {reason}.")
    if duplicate_of is not None and duplicate_of.pk == incident.pk:
        raise Conflict("An incident is no duplicate of itself.")
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
            _refuse_resolved(incident)
        after = {"reason": reason, "duplicate_of": str(duplicate_of.public_id) if duplicate_of else None}
        audit.record("incident.close", by=by, on=incident, team=incident.project.team, after=after)
        word = Incident.CloseReason(reason).label.lower()
        timeline.add(incident=incident, kind=Kind.RESOLVED, by=by, at=at, reason=word)


def _refuse_resolved(incident: Incident) -> None:
    """Raise Conflict when the incident is resolved by now; otherwise the act was done before, which is no conflict."""
    now = Incident.objects.select_related("resolved_by").get(pk=incident.pk)
    if now.status != Status.RESOLVED:
        return
    at = date_format(timezone.localtime(now.resolved_at), "H:i") if now.resolved_at else ""
    raise Conflict(f"{now.resolved_by or 'Somebody'} resolved this at {at}.")


def _extend_search(incident: Incident, text: str) -> None:
    """Append the text to what a search looks through, in one statement."""
    appended = Concat(F("search_text"), Value(f"\n{cut(text, 5000)}"), output_field=TextField())
    Incident.objects.filter(pk=incident.pk).update(search_text=appended)


def _id(user: User | None) -> str | None:
    return str(user.public_id) if user else None
