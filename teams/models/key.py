"""An API key of a project."""

from django.db import models


class ApiKey(models.Model):
    """``occ_<key_id>_<secret>``: authenticates a machine for one project. Only a hash of the secret is kept."""

    class Scope(models.TextChoices):
        """What a key may do. Acts that need a person are open to none of them."""

        ALERTS_WRITE = "alerts:write", "Send alerts"
        INCIDENTS_READ = "incidents:read", "Read incidents"
        INCIDENTS_WRITE = "incidents:write", "Work incidents"
        MEMORY_READ = "memory:read", "Read memory"

    key_id = models.CharField(max_length=12, unique=True)
    project = models.ForeignKey("teams.Project", models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=80)
    scopes = models.JSONField(default=list)
    secret_hash = models.CharField(max_length=64)
    created_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.project}"
