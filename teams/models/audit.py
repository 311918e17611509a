"""What people did: append-only rows in hash chains, and every name that the platform ever had."""

import uuid

from django.db import models


class AuditChain(models.Model):
    """The head of one chain: ``team:<uuid>`` or ``platform``. Its row lock orders the writers."""

    name = models.CharField(max_length=64, unique=True)
    next_sequence = models.PositiveBigIntegerField(default=1)
    last_hash = models.CharField(max_length=64, default="0" * 64)

    def __str__(self) -> str:
        return self.name


class AuditEvent(models.Model):
    """One act. Ids only: names are ``KnownName`` ids, and no text of an incident stands here.

    ``row_hash`` is SHA-256 over the previous row's hash and this row's canonical JSON; ``at`` is written as the
    text that was hashed, because a database may round a time.
    """

    chain = models.ForeignKey(AuditChain, models.PROTECT, related_name="events")
    sequence = models.PositiveBigIntegerField()
    at = models.CharField(max_length=32)
    actor_id = models.UUIDField(null=True, blank=True)
    via = models.CharField(max_length=40)  # session, key:<id>, token:<id>, task, command
    act = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    address = models.CharField(max_length=45, blank=True)
    previous_hash = models.CharField(max_length=64)
    row_hash = models.CharField(max_length=64)

    class Meta:
        """Each place in a chain is taken once."""

        ordering = ["chain", "sequence"]
        constraints = [models.UniqueConstraint(fields=["chain", "sequence"], name="audit_event_place")]

    def __str__(self) -> str:
        return f"{self.chain} {self.sequence}: {self.act}"


class KnownName(models.Model):
    """A name that a team, project, service or person has or had. Written at every create and rename, never removed."""

    class Kind(models.TextChoices):
        """What bears the name."""

        TEAM = "team", "Team"
        PROJECT = "project", "Project"
        PROJECT_KEY = "project_key", "Project key"
        SERVICE = "service", "Service"
        PERSON = "person", "Person"
        EMAIL = "email", "E-mail address"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    name = models.CharField(max_length=254)
    object_id = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """One row for each name of an object."""

        constraints = [models.UniqueConstraint(fields=["kind", "object_id", "name"], name="known_name_once")]

    def __str__(self) -> str:
        return self.name
