"""Writes lines of an incident's timeline, and counts the incident's version for pages that are open."""

from datetime import datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from incidents.models import Incident, IncidentEvent, Note, SystemText
from teams.models import User


def hold(incident_id: int) -> None:
    """Hold the incident's row until the transaction ends: the first thing in every act that also writes other rows.

    One order for all (incident, what hangs on it, audit chain), so that no two acts wait for each other. ``no_key``,
    because rows that point to the incident are inserted by others meanwhile. SQLite ignores it; there ``BEGIN
    IMMEDIATE`` has locked the whole database already.
    """
    Incident.objects.select_for_update(no_key=True).values_list("pk").get(pk=incident_id)


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
