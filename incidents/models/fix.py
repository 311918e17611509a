"""What people did: fixes, outcomes that verified one, attempts that failed, ratings of answers."""

import uuid

from django.db import models
from django.db.models import Q
from django.urls import reverse


class Fix(models.Model):
    """A remediation in one project, which outcomes and attempts name: "same fix as P1", or a new one."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey("teams.Project", models.PROTECT, related_name="fixes")
    title = models.CharField(max_length=160)
    steps = models.TextField(blank=True)
    command = models.TextField(blank=True)
    runbook_title = models.CharField(max_length=120, blank=True)
    runbook_url = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    # A duplicate keeps its own outcomes and attempts, and counts as the fix that it was merged into. One level deep.
    merged_into = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="merged")

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Return the fix's page."""
        return reverse("fix_detail", args=[self.public_id])

    @property
    def root_id(self) -> int:
        """The id of the fix that is left after merging. No query."""
        return self.merged_into_id or self.pk


class Followed(models.TextChoices):
    """What the engineer followed."""

    RECORD = "record", "A cited record"
    SUGGESTION = "suggestion", "A suggestion of an answer"
    SOMETHING_ELSE = "something_else", "Something else"


class Act(models.Model):
    """What an outcome and an attempt share: which fix, what was followed, which answer it replies to."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    fix = models.ForeignKey(Fix, models.PROTECT, related_name="%(class)ss")
    followed = models.CharField(max_length=16, choices=Followed.choices, default=Followed.SOMETHING_ELSE)
    followed_record = models.ForeignKey(
        "incidents.MemoryRecord", models.PROTECT, null=True, blank=True, related_name="+"
    )
    followed_diagnosis = models.ForeignKey(
        "incidents.Diagnosis", models.PROTECT, null=True, blank=True, related_name="+"
    )
    followed_action = models.PositiveSmallIntegerField(null=True, blank=True)  # index of the immediate action
    # The with-memory answer that stood on the page when the person recorded this.
    answers_diagnosis = models.ForeignKey(
        "incidents.Diagnosis", models.PROTECT, null=True, blank=True, related_name="+"
    )
    # Who wrote this version, where it corrects an earlier one; the act stays the act of who did it.
    corrected_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    # A corrected act is a new row; the old one points to it.
    superseded_by = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="supersedes")

    class Meta:
        """Only a mixin."""

        abstract = True


class Outcome(Act):
    """The root cause and the fix that worked, verified by a person."""

    incident = models.ForeignKey("incidents.Incident", models.PROTECT, related_name="outcomes")
    root_cause = models.TextField(max_length=4000, blank=True)
    what_was_done = models.TextField(max_length=4000, blank=True)
    minutes = models.PositiveIntegerField()
    # One click on "P1's fix worked again": a confirmation, never copied text.
    is_confirmation = models.BooleanField(default=False)
    verified_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    verified_at = models.DateTimeField()
    # False after the incident was reopened because the fix did not hold: such a row stays, as a failure of its fix.
    held = models.BooleanField(null=True, blank=True)
    # When the incident was reopened: the outcome stays, with its memory and its track, and is the current one no more.
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One current outcome for each incident."""

        ordering = ["verified_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["incident"],
                condition=Q(superseded_by=None, ended_at=None),
                name="outcome_one_current",
            )
        ]

    def __str__(self) -> str:
        return f"outcome of incident {self.incident_id}"

    @property
    def is_current(self) -> bool:
        """Whether it stands: neither corrected, nor ended by a reopening."""
        return self.superseded_by_id is None and self.ended_at is None


class Attempt(Act):
    """A fix that was tried and failed."""

    incident = models.ForeignKey("incidents.Incident", models.PROTECT, related_name="attempts")
    what_happened = models.TextField(max_length=4000, blank=True)
    tried_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    tried_at = models.DateTimeField()

    class Meta:
        """In the order they were tried."""

        ordering = ["tried_at"]

    def __str__(self) -> str:
        return f"failed attempt on incident {self.incident_id}"


class Feedback(models.Model):
    """A person's rating of an answer; they may change it."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    diagnosis = models.ForeignKey("incidents.Diagnosis", models.PROTECT, related_name="feedback")
    user = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    helpful = models.BooleanField()
    note = models.TextField(max_length=2000, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        """One rating for each person."""

        constraints = [models.UniqueConstraint(fields=["diagnosis", "user"], name="feedback_once")]

    def __str__(self) -> str:
        return "helpful" if self.helpful else "not helpful"
