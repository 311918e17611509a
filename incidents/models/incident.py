"""What the team works on."""

import re
import uuid
from typing import Self

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import connections, models
from django.db.models import Q
from django.urls import reverse

from teams.models import Project, User

# An incident's name, as people type it.
_REF = re.compile(r"([A-Za-z][A-Za-z0-9]{1,9})-([0-9]{1,9})", re.ASCII)


class Severity(models.TextChoices):
    """How bad it is."""

    CRITICAL = "critical", "Critical"
    HIGH = "high", "High"
    MEDIUM = "medium", "Medium"
    LOW = "low", "Low"


class Category(models.TextChoices):
    """What kind of cause it has."""

    CAPACITY = "capacity", "Capacity"
    CHANGE = "change", "Change"
    CONFIGURATION = "configuration", "Configuration"
    DATA = "data", "Data"
    DEPENDENCY = "dependency", "Dependency"
    NETWORK = "network", "Network"
    SECURITY = "security", "Security"
    NOT_KNOWN = "not_known", "Not known"


class IncidentQuerySet(models.QuerySet["Incident"]):
    """Named, chainable reads."""

    def visible_to(self, user: User) -> Self:
        """Return incidents of the projects that the person may see."""
        return self.filter(project__in=Project.objects.visible_to(user))

    def active(self) -> Self:
        """Return incidents that are not resolved."""
        return self.exclude(status=Incident.Status.RESOLVED)

    def search(self, query: str) -> Self:
        """Return incidents whose titles, alerts, notes or fixes hold every word of the query, or whose number it is.

        PostgreSQL uses its full text search; elsewhere, where an install is small, the words are looked for one by one.
        """
        query = query.replace("\x00", " ").strip()
        found, asked = self, Q()
        if connections[self.db].vendor == "postgresql":
            found = self.annotate(searched=SearchVector("search_text", config="simple"))
            asked = Q(searched=SearchQuery(query, config="simple"))
        else:
            for word in query.split()[:12]:
                asked &= Q(search_text__icontains=word)
        if name := _REF.fullmatch(query):
            asked |= Q(project__key=name[1].upper(), number=int(name[2]))
        return found.filter(asked)


class Incident(models.Model):
    """Opened by an alert or a person, numbered per project, resolved by a person."""

    class Status(models.TextChoices):
        """Stored; "investigating" is derived from an active investigation."""

        OPEN = "open", "Open"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        RESOLVED = "resolved", "Resolved"

    class CloseReason(models.TextChoices):
        """How it ended."""

        FIXED = "fixed", "Fixed"
        RECOVERED = "recovered", "Recovered by itself"
        FALSE_ALARM = "false_alarm", "False alarm"
        NOT_ACTIONABLE = "not_actionable", "Not actionable"
        DUPLICATE = "duplicate", "Duplicate"
        # Only by moving: what is left under the old number.
        MOVED = "moved", "Moved to another project"

    Severity = Severity
    Category = Category
    # How a person may close it without a fix.
    CLOSED_WITHOUT_A_FIX = (
        CloseReason.RECOVERED,
        CloseReason.FALSE_ALARM,
        CloseReason.NOT_ACTIONABLE,
        CloseReason.DUPLICATE,
    )

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey("teams.Project", models.PROTECT, related_name="incidents")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.OPEN)
    close_reason = models.CharField(max_length=16, choices=CloseReason.choices, blank=True)
    # Written down later: resolved, nothing retained yet, and on the list until an outcome is recorded.
    write_down_later = models.BooleanField(default=False)
    duplicate_of = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="duplicates")
    merged_into = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="merged")
    previous = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="later")
    # A paste in the wrong project: what came in stands under the new number, the old one only says where it went.
    moved_to = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="moved_from")

    fingerprint = models.CharField(max_length=64)
    # A person's correction is marked by its *_by field and survives every repeat of the alert.
    severity = models.CharField(max_length=8, choices=Severity.choices, default=Severity.MEDIUM)
    severity_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    service = models.ForeignKey("teams.Service", models.PROTECT, null=True, blank=True, related_name="incidents")
    service_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    environment = models.CharField(max_length=60, blank=True)
    environment_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.NOT_KNOWN)

    assignee = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="assigned_incidents")
    opened_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    started_at = models.DateTimeField()
    last_alert_at = models.DateTimeField()
    alert_count = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    # The newest investigation, kept here so that a list needs no query for each row.
    latest_investigation = models.ForeignKey(
        "incidents.Investigation", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    search_text = models.TextField(blank=True, editable=False)
    # Counts every change that the page shows; a live page asks with the version that it has seen.
    version = models.PositiveIntegerField(default=1)

    objects = IncidentQuerySet.as_manager()

    class Meta:
        """One number and one open incident of a fingerprint in each project."""

        constraints = [
            models.UniqueConstraint(fields=["project", "number"], name="incident_number_once"),
            models.UniqueConstraint(
                fields=["project", "fingerprint"],
                condition=~Q(status="resolved") & Q(merged_into=None),
                name="incident_one_open_of_fingerprint",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "status", "-last_alert_at"], name="incident_list"),
            models.Index(fields=["project", "fingerprint"], name="incident_fingerprint"),
        ]

    def __str__(self) -> str:
        return self.ref

    def get_absolute_url(self) -> str:
        """Return the incident's page."""
        return reverse("incident_detail", args=[self.project.key, self.number])

    @property
    def ref(self) -> str:
        """The name that people use: ``SEARCH-12``. Needs the project loaded."""
        return f"{self.project.key}-{self.number}"


class Note(models.Model):
    """What a person wrote down. Never part of what a model is sent, and never remembered as fact."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    incident = models.ForeignKey(Incident, models.PROTECT, related_name="notes")
    text = models.TextField(max_length=10_000)
    by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.text[:60]


class IncidentEvent(models.Model):
    """A line of the timeline: what a person or the agent did, and when. Alerts are read from their own rows."""

    class Kind(models.TextChoices):
        """What happened."""

        OPENED = "opened", "opened it"
        ACKNOWLEDGED = "acknowledged", "acknowledged it"
        ASSIGNED = "assigned", "assigned it"
        CORRECTED = "corrected", "corrected it"
        INVESTIGATED = "investigated", "investigated"
        ANSWERED = "answered", "answered"
        ATTEMPTED = "attempted", "saved a failed attempt"
        RATED = "rated", "rated an answer"
        RESOLVED = "resolved", "resolved it"
        RECORDED = "recorded", "wrote down what fixed it"
        REOPENED = "reopened", "reopened it"
        SYSTEM_TEXT = "system_text", "added more from the system"
        NOTED = "noted", "wrote a note"
        BROUGHT_IN = "brought_in", "brought in"
        MOVED = "moved", "moved it to another project"
        MOVED_HERE = "moved_here", "moved it here"

    incident = models.ForeignKey(Incident, models.PROTECT, related_name="events")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField()
    note = models.ForeignKey(Note, models.PROTECT, null=True, blank=True, related_name="+")
    system_text = models.ForeignKey("incidents.SystemText", models.PROTECT, null=True, blank=True, related_name="+")
    # Short words for the line, such as {"from": "high", "to": "low"}. No text of an alert or a memory.
    detail = models.JSONField(default=dict)

    class Meta:
        """In the order of time."""

        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.incident_id} {self.kind}"
