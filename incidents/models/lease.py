"""How a worker holds a row. Delivery is at least once, so every write of the holder names its token."""

import uuid
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone


class LeasedQuerySet(models.QuerySet[Any]):
    """Claims and releases by conditional update; whoever changed exactly one row holds it."""

    def unleased(self) -> Self:
        """Return rows that nobody holds, or whose holder is gone."""
        return self.filter(Q(lease_until=None) | Q(lease_until__lt=timezone.now()))

    def claim(self, pk: int, **conditions: Any) -> uuid.UUID | None:
        """Return the token of a new lease on the row, or None when it is held or the conditions do not hold.

        Counts an attempt, because a queue does not count the restarts of a task that kills its worker.
        """
        token = uuid.uuid4()
        claimed = (
            self.unleased()
            .filter(pk=pk, **conditions)
            .update(lease_token=token, lease_until=_lease_end(), attempts=F("attempts") + 1)
        )
        return token if claimed else None

    def held(self, pk: int, token: uuid.UUID) -> Self:
        """Return the row while the token still holds it: every write of the holder goes through this."""
        return self.filter(pk=pk, lease_token=token)

    def renew(self, pk: int, token: uuid.UUID) -> bool:
        """Extend the lease; False when it was lost, and the holder must stop writing."""
        return self.held(pk, token).update(lease_until=_lease_end()) == 1

    def release(self, pk: int, token: uuid.UUID, **values: Any) -> bool:
        """Write the last values and let go; False when the lease was lost and nothing was written."""
        return self.held(pk, token).update(lease_token=None, lease_until=None, **values) == 1

    def let_go(self) -> int:
        """Take every lease away, for a shutdown; whoever still works notices at its next write. Returns how many."""
        return self.exclude(lease_token=None).update(lease_token=None, lease_until=None)


def _lease_end() -> Any:
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)


class Leased(models.Model):
    """A row that one worker at a time works on."""

    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)

    objects = LeasedQuerySet.as_manager()

    class Meta:
        """Only a mixin."""

        abstract = True
