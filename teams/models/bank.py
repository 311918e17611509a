"""A memory bank, and which project may do what with it. The bank is the only wall between memories."""

import uuid

from django.db import models
from django.db.models import Q


def new_bank_id() -> str:
    """Return an id that cannot be guessed: whoever knows it and holds the server's key can read the bank."""
    return f"b-{uuid.uuid4().hex}"


class Bank(models.Model):
    """A bank of the memory server. ``bank_id`` never reaches a browser or a model; people see ``name``."""

    class Kind(models.TextChoices):
        """Who may write to it."""

        PRIVATE = "private", "Private"
        SHARED = "shared", "Shared lessons"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bank_id = models.CharField(max_length=64, unique=True, default=new_bank_id, editable=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)
    ensured_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        """The platform has one shared bank."""

        constraints = [
            models.UniqueConstraint(fields=["kind"], condition=Q(kind="shared"), name="bank_one_shared"),
        ]

    def __str__(self) -> str:
        return self.name


class BankAssignment(models.Model):
    """What a project may do with a bank. A private bank has one owner, its only writer."""

    class Access(models.TextChoices):
        """``own`` reads and writes a private bank; ``read`` and ``contribute`` are given by the platform."""

        OWN = "own", "Owns"
        READ = "read", "Reads"
        CONTRIBUTE = "contribute", "Contributes"

    bank = models.ForeignKey(Bank, models.PROTECT, related_name="assignments")
    project = models.ForeignKey("teams.Project", models.PROTECT, related_name="bank_assignments")
    access = models.CharField(max_length=12, choices=Access.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """One owner for each bank, one own bank for each project."""

        constraints = [
            models.UniqueConstraint(fields=["bank", "project", "access"], name="bank_assignment_once"),
            models.UniqueConstraint(fields=["bank"], condition=Q(access="own"), name="bank_one_owner"),
            models.UniqueConstraint(fields=["project"], condition=Q(access="own"), name="project_one_own_bank"),
        ]

    def __str__(self) -> str:
        return f"{self.project} {self.access} {self.bank}"
