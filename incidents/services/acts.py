"""What outcomes, attempts and feedback share: the incident held, the gate asked, what was followed, words cleaned.

The incident's row is held first, so that a double click or two tabs make one act; the second is told that it is already
saved, or that somebody else was quicker. Every act may raise ``Http404`` or ``PermissionDenied``, as ``teams.access``
says, when the person may not work the incident.
"""

from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from incidents.memory.records import Sighting
from incidents.models import Attempt, Diagnosis, Incident, MemoryRecord, Outcome
from incidents.models.fix import Act, Followed
from incidents.reading.redaction import redact
from incidents.reading.text import clean
from incidents.services import fixes, incidents
from incidents.services.fixes import NamedFix
from incidents.services.incidents import Conflict
from teams import access
from teams.models import User
from teams.permissions import Permission

ActT = TypeVar("ActT", Outcome, Attempt)


class Following(TypedDict, total=False):
    """What was followed, and which answer stood on the page. What is left out of a correction stays."""

    followed: str
    followed_record: MemoryRecord | None
    followed_diagnosis: Diagnosis | None
    followed_action: int | None
    answers_diagnosis: Diagnosis | None


class Details(NamedFix, Following, total=False):
    """The fix that an act names, and what was followed."""


@dataclass(frozen=True)
class Changed:
    """An incident whose state a person changed, or found as they wanted it."""

    incident: Incident
    already_saved: bool = False


def hold(incident: Incident, by: User) -> Incident:
    """Return the incident as it is now, its row held until the transaction ends, once the person may work it.

    The gate is asked here too, and not only where a page fetches: what these acts write goes into the private bank.
    SQLite ignores the row lock; there ``BEGIN IMMEDIATE`` has locked the whole database already.
    """
    held = (
        Incident.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project__team", "service", "resolved_by")
        .get(pk=incident.pk)
    )
    access.require(by, Permission.INCIDENT_WORK, held)
    incidents.refuse_moved(held)
    if held.merged_into_id:
        raise Conflict(f"{held.ref} was merged into another incident. Work on that one.")
    return held


def standing(rows: Any, act: ActT) -> ActT:
    """Return the act as it is now, out of ``rows``.

    Raises:
        Conflict: it was corrected meanwhile.
    """
    found: ActT = rows.get(pk=act.pk)
    if found.superseded_by_id:
        raise Conflict("It was corrected meanwhile. Look at it again first.")
    return found


def require_author(by: User, author_id: int, incident: Incident) -> None:
    """The author may correct their own; others' need a team admin."""
    if by.pk != author_id:
        access.require(by, Permission.MEMORY_MANAGE, incident)


def is_same_act(old: Outcome | Attempt, details: Details) -> bool:
    """Return whether the correction names the same fix, as it is, and the same thing that was followed."""
    fix = old.fix
    same_fix = fixes.is_same(fix, details) and not fixes.changes(fix, details)
    followed = details.get("followed", old.followed) == old.followed
    record = details.get("followed_record", old.followed_record)
    return same_fix and followed and (record.pk if record else None) == old.followed_record_id


def following(incident: Incident, details: Following, old: Act | None = None) -> dict[str, Any]:
    """Return what was followed as columns, or as the old act had it.

    Raises:
        ValueError: a record of a bank or an answer of an incident that has nothing to do with this one.
    """
    if old and "followed" not in details:
        followed = {
            name: getattr(old, name)
            for name in ("followed", "followed_record", "followed_diagnosis", "followed_action")
        }
    else:
        followed = {
            "followed": Followed(details.get("followed") or Followed.SOMETHING_ELSE),
            "followed_record": details.get("followed_record"),
            "followed_diagnosis": details.get("followed_diagnosis"),
            "followed_action": details.get("followed_action"),
        }
    answers = details.get("answers_diagnosis") or (old.answers_diagnosis if old else None)
    for diagnosis in (followed["followed_diagnosis"], answers):
        if diagnosis and diagnosis.investigation.incident_id != incident.pk:
            raise ValueError("An act follows and answers a diagnosis of its own incident.")
    return {**followed, "answers_diagnosis": answers}


def record_of(kind: MemoryRecord.Kind, **act: Any) -> MemoryRecord | None:
    """Return the memory record that an act wrote, if it did: ``record_of(kind, attempt=attempt)``."""
    return MemoryRecord.objects.filter(kind=kind, **act).first()


def sighting(incident: Incident) -> Sighting:
    """Return what was seen at the incident, as a memory text tells it."""
    facts = incidents.facts(incident)
    return Sighting(
        title=incident.title,
        text=incidents.alert_text(incident),
        service=facts.service or "",
        environment=facts.environment or "",
    )


def written(text: str) -> str:
    """Return a person's words as they are kept: without credentials, which people paste with their logs."""
    return redact(clean(text)).strip()
