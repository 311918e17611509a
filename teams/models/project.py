"""A project: the incidents of one product, its services, and how its investigations are run."""

import uuid
from typing import Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from teams.models.user import User


class ProjectQuerySet(models.QuerySet["Project"]):
    """Named, chainable reads."""

    def visible_to(self, user: User) -> Self:
        """Return the projects of the teams that the person is a member of: the only membership query there is."""
        return self.filter(team__memberships__user=user.pk, team__memberships__left_at=None, team__closed_at=None)


class Project(models.Model):
    """Owns incidents and one private bank. Its key names it in every address and never changes or returns."""

    class Strategy(models.TextChoices):
        """Who chooses the tools of an investigation."""

        GUIDED = "guided", "Guided: fixed steps in a fixed order"
        AUTONOMOUS = "autonomous", "Autonomous: the model chooses"

    class Model(models.TextChoices):
        """Which language model answers."""

        CONFIGURED = "configured", "As configured"
        OFFLINE = "offline", "Offline reasoner only"

    class Relevance(models.TextChoices):
        """What the relevance gate accepts of memory."""

        NORMAL = "normal", "Normal: close and partial matches"
        STRICT = "strict", "Strict: close matches only"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey("teams.Team", models.PROTECT, related_name="projects")
    key = models.CharField(
        max_length=10,
        unique=True,
        validators=[RegexValidator(r"^[A-Z][A-Z0-9]{1,9}$", "Two to ten capitals and digits, a capital first.")],
    )
    name = models.CharField(max_length=80)
    time_zone = models.CharField(max_length=64, default="UTC")
    strategy = models.CharField(max_length=12, choices=Strategy.choices, default=Strategy.GUIDED)
    model = models.CharField(max_length=12, choices=Model.choices, default=Model.CONFIGURED)
    memory_on = models.BooleanField(default=True)
    relevance = models.CharField(max_length=6, choices=Relevance.choices, default=Relevance.NORMAL)
    uses_shared_lessons = models.BooleanField(default=False)
    contributes_lessons = models.BooleanField(default=False)
    escalation_contact = models.CharField(max_length=120, blank=True)
    next_incident_number = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        """Projects are listed by key."""

        ordering = ["key"]
        constraints = [
            models.CheckConstraint(
                condition=Q(next_incident_number__gte=1), name="project_next_incident_number_positive"
            )
        ]

    def __str__(self) -> str:
        return self.key


class Service(models.Model):
    """A part of the product that alerts name, under its own name or an alias."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="services")
    name = models.CharField(max_length=120)
    aliases = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """One row for each name in a project."""

        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="service_once")]

    def __str__(self) -> str:
        return self.name
