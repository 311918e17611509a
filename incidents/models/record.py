"""What is remembered: our row for one document of a bank. The row is the outbox entry and the record of truth."""

import uuid

from django.db import models
from django.urls import reverse

from incidents.models.lease import Leased


class MemoryRecord(Leased):
    """One document. ``wanted_revision`` is what the bank should hold (None: nothing), ``confirmed_revision`` what it
    was seen to hold, by recalling this very revision.
    """

    class Kind(models.TextChoices):
        """Which act of a person wrote it."""

        VERIFIED_RESOLUTION = "verified_resolution", "Verified here"
        FAILED_ATTEMPT = "failed_attempt", "Failed attempt"
        FEEDBACK = "feedback", "Feedback"
        IMPORTED_INCIDENT = "imported_incident", "Imported, not confirmed"
        LESSON = "lesson", "Lesson"

    class State(models.TextChoices):
        """How far it is."""

        QUEUED = "queued", "Queued"
        RETAINED = "retained", "Retained"
        RECALLABLE = "recallable", "Recallable"
        FAILED = "failed", "Failed"
        QUARANTINED = "quarantined", "Quarantined"
        FORGETTING = "forgetting", "Being forgotten"
        FORGOTTEN = "forgotten", "Forgotten"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bank = models.ForeignKey("teams.Bank", models.PROTECT, related_name="records")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    document_id = models.UUIDField()
    # None for a lesson: nothing leads from a shared lesson to where it came from.
    incident = models.ForeignKey(
        "incidents.Incident", models.PROTECT, null=True, blank=True, related_name="memory_records"
    )
    outcome = models.ForeignKey("incidents.Outcome", models.PROTECT, null=True, blank=True, related_name="records")
    attempt = models.ForeignKey("incidents.Attempt", models.PROTECT, null=True, blank=True, related_name="records")
    feedback = models.ForeignKey("incidents.Feedback", models.PROTECT, null=True, blank=True, related_name="records")
    fix = models.ForeignKey("incidents.Fix", models.PROTECT, null=True, blank=True, related_name="records")
    confirmed_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    occurred_at = models.DateTimeField()
    created_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    latest_revision = models.PositiveIntegerField(default=1)
    wanted_revision = models.PositiveIntegerField(null=True, blank=True, default=1)
    confirmed_revision = models.PositiveIntegerField(null=True, blank=True)
    queued_at = models.DateTimeField()
    retained_at = models.DateTimeField(null=True, blank=True)
    recallable_at = models.DateTimeField(null=True, blank=True)
    # Seconds from queued to recallable, of the newest revision.
    recallable_after = models.FloatField(null=True, blank=True)
    next_try_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=200, blank=True)
    forgotten_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    forgotten_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One row for each document of a bank."""

        constraints = [models.UniqueConstraint(fields=["bank", "document_id"], name="record_document_once")]
        indexes = [models.Index(fields=["state", "next_try_at"], name="record_sweep")]

    def __str__(self) -> str:
        return f"{self.kind} {self.document_id}"

    def get_absolute_url(self) -> str:
        """Return the record's page."""
        return reverse("memory_detail", args=[self.public_id])


# In a record's text this line stands between what people verified and what an alert said, which anybody can send.
ALERT_SAID = "What the alert said:"


class MemoryRecordRevision(models.Model):
    """The text of a record, in its parts and whole. Blank after it was forgotten.

    ``text`` is what is retained, shown and quoted; the parts are what the relevance gate compares.
    """

    record = models.ForeignKey(MemoryRecord, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200, blank=True)
    symptom = models.TextField(blank=True)
    cause = models.TextField(blank=True)
    fix = models.TextField(blank=True)
    service = models.CharField(max_length=120, blank=True)
    text = models.TextField(blank=True)
    content_hash = models.CharField(max_length=64)
    created_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Numbered from 1."""

        ordering = ["record", "number"]
        constraints = [models.UniqueConstraint(fields=["record", "number"], name="record_revision_once")]

    def __str__(self) -> str:
        return f"{self.record_id} revision {self.number}"

    @property
    def verified_end(self) -> int:
        """Where in ``text`` the words of people end. From the first such line on: an alert may say it again."""
        place = f"\n{self.text}".find(f"\n{ALERT_SAID}\n")
        return len(self.text) if place < 0 else place
