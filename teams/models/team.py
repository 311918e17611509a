"""A team, who belongs to it, and who was invited."""

import uuid

from django.db import models
from django.db.models import Q
from django.urls import reverse


class Team(models.Model):
    """People who work on the same incidents. Owns projects, which never change their team."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the team's page."""
        return reverse("team_detail", args=[self.slug])


class Membership(models.Model):
    """A person's role in a team. Someone who leaves keeps the row, so that old records can say that they left."""

    class Role(models.TextChoices):
        """What a member may do; ``teams.permissions`` has the table."""

        VIEWER = "viewer", "Viewer"
        RESPONDER = "responder", "Responder"
        ADMIN = "admin", "Admin"

    team = models.ForeignKey(Team, models.PROTECT, related_name="memberships")
    user = models.ForeignKey("teams.User", models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    joined_at = models.DateTimeField(auto_now_add=True)
    left_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One row for each person in a team."""

        constraints = [models.UniqueConstraint(fields=["team", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} as {self.role}"


class Invitation(models.Model):
    """A link that lets the owner of one address join once. Only a hash of the link's secret is kept."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    team = models.ForeignKey(Team, models.PROTECT, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=12, choices=Membership.Role.choices)
    secret_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey("teams.User", models.PROTECT, null=True, blank=True, related_name="+")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """One open invitation for each address in a team."""

        constraints = [
            models.UniqueConstraint(
                fields=["team", "email"],
                condition=Q(accepted_at=None, revoked_at=None),
                name="invitation_one_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.team}"
