"""Writes lines of an incident's timeline, and counts the incident's version for pages that are open."""

from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from incidents.models import Incident, IncidentEvent, Note, SystemText
from teams.models import User


def touch(incident_id: int) -> None:
    """Count a change that an open page must show."""
    Incident.objects.filter(pk=incident_id).update(version=F("version") + 1)


def add(
    *,
    incident: Incident,
    kind: IncidentEvent.Kind,
    by: User | None,
    at: datetime | None = None,
    note: Note | None = None,
    system_text: SystemText | None = None,
    **detail: Any,
) -> IncidentEvent:
    """Add a line and count the change.

    ``detail`` holds short words and numbers, never an alert's or a memory's text; a note and a system text stand in
    their own rows and are named.
    """
    event = IncidentEvent.objects.create(
        incident=incident,
        kind=kind,
        by=by,
        at=at or timezone.now(),
        note=note,
        system_text=system_text,
        detail=detail,
    )
    touch(incident.pk)
    return event
