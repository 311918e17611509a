"""What came in: a delivery as it was received, and the alerts that were read out of it."""

import uuid

from django.db import models
from django.db.models import Q

from incidents.models.incident import Severity
from incidents.models.lease import Leased


class Delivery(Leased):
    """One body as received. Commits before anything is parsed, so that nothing that was sent is lost."""

    class Source(models.TextChoices):
        """Which door it came through."""

        PASTE = "paste", "Paste"
        API = "api", "API"

    class State(models.TextChoices):
        """What became of it."""

        RECEIVED = "received", "Received"
        READ = "read", "Read"
        UNPARSED = "unparsed", "Not understood, kept as text"

    class Result(models.TextChoices):
        """What it did to the incidents."""

        NEW = "new", "New incident"
        REPEAT = "repeat", "Repeat of an open incident"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey("teams.Project", models.PROTECT, related_name="deliveries")
    source = models.CharField(max_length=12, choices=Source.choices)
    content_type = models.CharField(max_length=120, blank=True)
    content_encoding = models.CharField(max_length=40, blank=True)
    # The title that the person gave, where they gave one.
    title = models.CharField(max_length=200, blank=True)
    # The bytes as received, for members only; removed by retention.
    body = models.BinaryField()
    body_removed_at = models.DateTimeField(null=True, blank=True)
    size = models.PositiveIntegerField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.RECEIVED)
    problem = models.CharField(max_length=200, blank=True)
    result = models.CharField(max_length=8, choices=Result.choices, blank=True)
    incident = models.ForeignKey("incidents.Incident", models.PROTECT, null=True, blank=True, related_name="deliveries")
    received_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    received_with = models.ForeignKey("teams.ApiKey", models.PROTECT, null=True, blank=True, related_name="+")
    received_at = models.DateTimeField()

    class Meta:
        """Indexes for the sweep, which asks every few seconds for the few that wait or are too old."""

        indexes = [
            models.Index(fields=["received_at"], condition=Q(state="received"), name="delivery_unread"),
            models.Index(fields=["received_at"], condition=Q(body_removed_at=None), name="delivery_with_body"),
        ]

    def __str__(self) -> str:
        return str(self.public_id)


class Alert(models.Model):
    """One notification. ``text`` and ``facts`` are redacted and safe to search, send and show (escaped)."""

    class Status(models.TextChoices):
        """What the sender says."""

        FIRING = "firing", "Firing"
        RESOLVED = "resolved", "Resolved"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    delivery = models.ForeignKey(Delivery, models.PROTECT, related_name="alerts")
    incident = models.ForeignKey("incidents.Incident", models.PROTECT, related_name="alerts")
    fingerprint = models.CharField(max_length=64)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.FIRING)
    title = models.CharField(max_length=200)
    text = models.TextField()
    # AlertFacts as a dictionary: incidents.reading.facts.
    facts = models.JSONField(default=dict)
    severity = models.CharField(max_length=8, choices=Severity.choices, blank=True)
    service_name = models.CharField(max_length=120, blank=True)
    environment = models.CharField(max_length=60, blank=True)
    # As the sender says, whose clock may be ahead; the time of receipt where it does not say.
    started_at = models.DateTimeField()
    received_at = models.DateTimeField()

    class Meta:
        """In the order of arrival."""

        ordering = ["received_at", "pk"]

    def __str__(self) -> str:
        return self.title


class SystemText(models.Model):
    """*More from the system* that a responder added: log lines, a deploy note. It counts as alert text."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    incident = models.ForeignKey("incidents.Incident", models.PROTECT, related_name="system_texts")
    text = models.TextField(max_length=20_000)
    by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """In the order of arrival."""

        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return self.text[:60]
