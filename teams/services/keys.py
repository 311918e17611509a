"""API keys of projects."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from teams import audit
from teams.models import ApiKey, Project, User

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def hash_secret(secret: str) -> str:
    """Return SHA-256 of the secret: it has 160 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def make_api_key(
    *, project: Project, name: str, scopes: Sequence[str], by: User, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Make a key and return it with its text ``occ_<id>_<secret>``, which is shown once and never again.

    Raises:
        ValidationError: a scope is not known, or none is given.
    """
    unknown = set(scopes) - set(ApiKey.Scope.values)
    if unknown or not scopes:
        raise ValidationError({"scopes": "Choose at least one of the scopes in the list."})
    secret = _random(32)
    key = ApiKey(
        key_id=_random(8),
        project=project,
        name=name,
        scopes=sorted(set(scopes)),
        secret_hash=hash_secret(secret),
        created_by=by,
        expires_at=expires_at,
    )
    key.full_clean()
    key.save()
    audit.record("key.create", by=by, on=key, team=project.team, after={"scopes": key.scopes})
    return key, f"occ_{key.key_id}_{secret}"


@transaction.atomic
def revoke_api_key(*, key: ApiKey, by: User) -> None:
    """End the key; the next call with it is refused. Revoking twice is one act."""
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("key.revoke", by=by, on=key, team=key.project.team)


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
