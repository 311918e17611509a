"""Deliveries in, incidents out. The body commits first; whatever goes wrong afterwards loses nothing."""

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from incidents.intake import content
from incidents.intake.body import TooLarge, unpack
from incidents.intake.content import Content
from incidents.intake.fingerprint import fingerprint
from incidents.intake.normal import NormalAlert, Unreadable
from incidents.models import Alert, Delivery, Incident, IncidentEvent
from incidents.reading.facts import AlertFacts, read_facts
from incidents.reading.redaction import redact, redact_tree
from incidents.reading.text import clean, cut, signature
from incidents.services import timeline
from incidents.services.incidents import extend_search, known_services
from teams.models import ApiKey, Project, Service, User

logger = logging.getLogger(__name__)

# Text of one alert that is worked with; the body is kept whole beside it.
MAX_TEXT = 60_000
# A delivery that nobody read for this long is read by the sweep.
PATIENCE = timedelta(seconds=10)
# After so many, what is in the body is left alone, and only its size is said.
READ_ATTEMPTS = 3
SWEEP_BATCH = 100
# So many alerts of an incident are searched: what the hundredth says has been said, and a storm must stay cheap.
SEARCHED_ALERTS = 30
NOT_READ = "It could not be read."


class NotAccepted(Exception):
    """There is nothing to keep: the body is empty, or larger than allowed. The sentence is for the sender."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class _LeaseLost(Exception):
    """Somebody else reads the delivery by now; what was written here is rolled back."""


@dataclass(frozen=True)
class _Read:
    """An alert with its facts, ready to be stored."""

    alert: NormalAlert
    facts: AlertFacts
    text: str
    fingerprint: str


def receive(
    *,
    project: Project,
    body: bytes,
    content_type: str,
    source: str,
    by: User | None = None,
    key: ApiKey | None = None,
    title: str = "",
    encoding: str = "",
    at: datetime | None = None,
) -> Delivery:
    """Keep a body and read it. Returns the delivery, with its incident unless only resolved alerts were in it.

    ``at`` dates everything back; example data uses it. Content that cannot be read is no error: it is kept as text.

    Raises:
        NotAccepted: the body is empty (code ``empty``) or larger than allowed (code ``too_large``).
    """
    encoding = clean(encoding).strip().lower()[:40]
    _refuse_empty_and_endless(body, encoding)
    delivery = Delivery.objects.create(
        project=project,
        source=source,
        content_type=clean(content_type)[:120],
        content_encoding=encoding,
        title=redact(clean(title))[:200],
        body=body,
        size=len(body),
        received_by=by,
        received_with=key,
        received_at=at or timezone.now(),
    )
    read(delivery.pk)
    return Delivery.objects.select_related("incident__project__team").get(pk=delivery.pk)


def _refuse_empty_and_endless(body: bytes, encoding: str) -> None:
    if len(body) > settings.ALERT_MAX_BYTES:
        raise too_large()
    try:
        unpacked = unpack(body, encoding, settings.ALERT_MAX_BYTES)
    except TooLarge:
        raise too_large() from None
    except Unreadable:
        unpacked = body  # kept all the same; reading it says why
    if not unpacked.removeprefix(b"\xef\xbb\xbf").strip():
        raise NotAccepted("empty", "The alert is empty.")


def too_large() -> NotAccepted:
    """Return the refusal of a body that is larger than allowed, as it came or once it is unpacked."""
    return NotAccepted("too_large", f"An alert has at most {settings.ALERT_MAX_BYTES:,} bytes.")


def read(delivery_id: int) -> None:
    """Read the alerts out of a delivery, once, whoever calls and how often.

    When the database fails meanwhile, the delivery stays as received, and the sweep reads it again.
    """
    token = Delivery.objects.claim(delivery_id, state=Delivery.State.RECEIVED)
    if token is None:
        return
    delivery = Delivery.objects.select_related("project__team", "received_by").get(pk=delivery_id)
    try:
        _read_claimed(delivery, token)
    except _LeaseLost:
        logger.info("Delivery %s is read by somebody else.", delivery.public_id)
    except (OperationalError, IntegrityError):
        logger.exception("The database failed while delivery %s was read; it is read again.", delivery.public_id)
        Delivery.objects.release(delivery_id, token)


def _read_claimed(delivery: Delivery, token: uuid.UUID) -> None:
    body = bytes(delivery.body)
    if delivery.attempts > READ_ATTEMPTS:
        _store_all(delivery, token, content.size_only(body, NOT_READ))
        return
    try:
        _store_all(delivery, token, _content(delivery, body))
    except (_LeaseLost, OperationalError, IntegrityError):
        raise
    except Exception:
        # Whatever broke, the text must still reach somebody.
        logger.exception("Delivery %s could not be read; it is kept as text.", delivery.public_id)
        _store_all(delivery, token, content.as_text(body, NOT_READ))


def sweep() -> None:
    """Read what was accepted and left unread, and remove bodies whose time is over."""
    waiting = Delivery.objects.unleased().filter(
        state=Delivery.State.RECEIVED, received_at__lt=timezone.now() - PATIENCE
    )
    for delivery_id in waiting.order_by("pk").values_list("pk", flat=True)[:SWEEP_BATCH]:
        read(delivery_id)
    too_old = timezone.now() - timedelta(days=settings.DELIVERY_RETENTION_DAYS)
    expired = Delivery.objects.filter(received_at__lt=too_old, body_removed_at=None)
    ids = list(expired.values_list("pk", flat=True)[:SWEEP_BATCH])
    Delivery.objects.filter(pk__in=ids).update(body=b"", body_removed_at=timezone.now())


# --- Reading ----------------------------------------------------------------------------------------------------------


def _content(delivery: Delivery, body: bytes) -> Content:
    return content.read(
        body,
        encoding=delivery.content_encoding,
        pasted=delivery.source == Delivery.Source.PASTE,
        limit=settings.ALERT_MAX_BYTES,
    )


def _store_all(delivery: Delivery, token: uuid.UUID, read_: Content) -> None:
    """Store the alerts and let go of the delivery, or nothing at all."""
    services = known_services(delivery.project)
    title = delivery.title if len(read_.alerts) == 1 else ""
    prepared = [_prepare(alert, services, title) for alert in read_.alerts]  # takes a while: not in the transaction
    with transaction.atomic():
        # One intake at a time in a project: two that hold the same alerts in another order would wait for each other.
        Project.objects.select_for_update(no_key=True).get(pk=delivery.project_id)
        stored = [found for one in prepared if (found := _store(delivery, one))]
        incident, is_new = stored[0] if stored else (None, False)
        released = Delivery.objects.release(
            delivery.pk,
            token,
            state=Delivery.State.READ if read_.understood else Delivery.State.UNPARSED,
            problem=read_.problem[:200],
            incident=incident,
            result=(Delivery.Result.NEW if is_new else Delivery.Result.REPEAT) if incident else "",
        )
        if not released:
            raise _LeaseLost


def _prepare(alert: NormalAlert, services: dict[str, str], title: str) -> _Read:
    text = cut(redact(clean(alert.text)), MAX_TEXT).strip() or "(nothing that can be shown)"
    labels = redact_tree(dict(alert.labels))
    given = {
        "title": title or alert.title,
        "service": alert.service,
        "environment": alert.environment,
        "severity": alert.severity,
    }
    labels |= {name: redact(clean(value)) for name, value in given.items() if value}
    facts = read_facts(text, labels=labels, services=services)
    return _Read(alert, facts, text, fingerprint(alert, facts))


def _store(delivery: Delivery, read_: _Read) -> tuple[Incident, bool] | None:
    """Store one alert; return its incident and whether it is new, None for a resolved alert that opened none."""
    at = delivery.received_at
    started = read_.alert.started_at or at
    resolved = read_.alert.status == Alert.Status.RESOLVED
    incident = _open_incident(delivery.project, read_.fingerprint)
    is_new = False
    if incident is None:
        last = _last_incident(delivery.project, read_.fingerprint)
        if last is not None and (resolved or _same_firing(delivery, read_, last)):
            incident = last
        elif resolved:
            return None
        else:
            incident, is_new = _open(delivery, read_, min(started, at), previous=last)
    _add_alert(delivery, read_, incident, started)
    if resolved:
        timeline.touch(incident.pk)
    elif not is_new:
        _repeat(incident, read_, at)
    return incident, is_new


def _open_incident(project: Project, of: str) -> Incident | None:
    return (
        Incident.objects.filter(project=project, fingerprint=of, merged_into=None)
        .exclude(status=Incident.Status.RESOLVED)
        .select_related("project__team")
        .first()
    )


def _last_incident(project: Project, of: str) -> Incident | None:
    return (
        Incident.objects.filter(project=project, fingerprint=of, moved_to=None)
        .select_related("project__team")
        .order_by("-number")
        .first()
    )


def _same_firing(delivery: Delivery, read_: _Read, last: Incident) -> bool:
    """Return whether a sender repeats a firing that was resolved already: still firing, not a new start.

    A paste is always meant as something new. A sender that gives no start time is believed to start anew.
    """
    started = read_.alert.started_at
    if delivery.source == Delivery.Source.PASTE or started is None:
        return False
    return Alert.objects.filter(incident=last, started_at__gte=started).exists()


def _open(delivery: Delivery, read_: _Read, started: datetime, previous: Incident | None) -> tuple[Incident, bool]:
    """Open an incident; when somebody else opened it at the same moment, return theirs."""
    project, facts = delivery.project, read_.facts
    try:
        with transaction.atomic():
            Project.objects.filter(pk=project.pk).update(next_incident_number=F("next_incident_number") + 1)
            number = Project.objects.values_list("next_incident_number", flat=True).get(pk=project.pk) - 1
            incident = Incident.objects.create(
                project=project,
                number=number,
                title=facts.title or "Alert without a title",
                fingerprint=read_.fingerprint,
                severity=facts.severity or Incident.Severity.MEDIUM,
                service=_service(project, facts),
                environment=(facts.environment or "")[:60],
                opened_by=delivery.received_by,
                started_at=started,
                last_alert_at=delivery.received_at,
                previous=previous,
                search_text=cut(f"{facts.title}\n{facts.service or ''}\n{read_.text}", 20_000),
            )
    except IntegrityError:
        winner = _open_incident(project, read_.fingerprint)
        if winner is None:
            raise
        return winner, False
    if delivery.received_by:
        timeline.add(
            incident=incident, kind=IncidentEvent.Kind.OPENED, by=delivery.received_by, at=delivery.received_at
        )
    return incident, True


def _service(project: Project, facts: AlertFacts) -> Service | None:
    return project.services.filter(name=facts.service).first() if facts.service else None


def _add_alert(delivery: Delivery, read_: _Read, incident: Incident, started: datetime) -> None:
    facts = read_.facts
    Alert.objects.create(
        delivery=delivery,
        incident=incident,
        fingerprint=read_.fingerprint,
        status=read_.alert.status,
        title=facts.title or incident.title,
        text=read_.text,
        facts=facts.as_dict(),
        severity=facts.severity or "",
        service_name=(facts.service or "")[:120],
        environment=(facts.environment or "")[:60],
        started_at=started,
        received_at=delivery.received_at,
    )


def _repeat(incident: Incident, read_: _Read, at: datetime) -> None:
    """Count the repeat; what a person set stays as it is."""
    Incident.objects.filter(pk=incident.pk).update(
        alert_count=F("alert_count") + 1, last_alert_at=at, version=F("version") + 1
    )
    if incident.alert_count < SEARCHED_ALERTS:
        said = {signature(line) for line in incident.search_text.splitlines()}
        if new := [line for line in read_.text.splitlines() if signature(line) not in said]:
            extend_search(incident, "\n".join(new))
    if read_.facts.severity:
        unsaid = Incident.objects.filter(pk=incident.pk, severity_by=None).exclude(status=Incident.Status.RESOLVED)
        unsaid.update(severity=read_.facts.severity)
