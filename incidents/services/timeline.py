"""Writes lines of an incident's timeline, and counts the incident's version for pages that are open."""

from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from incidents.models import Incident, IncidentEvent
from teams.models import User


def touch(incident_id: int) -> None:
    """Count a change that an open page must show."""
    Incident.objects.filter(pk=incident_id).update(version=F("version") + 1)


def add(
    *, incident: Incident, kind: IncidentEvent.Kind, by: User | None, at: datetime | None = None, **detail: Any
) -> IncidentEvent:
    """Add a line and count the change. ``detail`` holds short words and numbers, never an alert's or a memory's text."""
    event = IncidentEvent.objects.create(incident=incident, kind=kind, by=by, at=at or timezone.now(), detail=detail)
    touch(incident.pk)
    return event
