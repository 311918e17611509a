"""How a machine proves which project it is: ``Authorization: Bearer occ_<id>_<secret>``."""

import hmac
import re
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from teams import audit
from teams.actors import KeyActor
from teams.models import ApiKey
from teams.services.keys import hash_secret

_KEY = re.compile(r"^occ_([a-z0-9]{8})_([a-z0-9]{32})$")
_NOTED_EVERY = timedelta(minutes=1)
_REFUSED = "This API key is not valid: it is unknown, expired or revoked."


class ApiKeyAuthentication(BaseAuthentication):
    """Turns a valid key into a ``KeyActor``. Leaves requests without a bearer token to the next class."""

    def authenticate(self, request: Request) -> tuple[KeyActor, ApiKey] | None:
        """Return the actor and its key; raises AuthenticationFailed (401) for any key that is not good."""
        scheme, _, token = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        match = _KEY.match(token.decode("ascii", "replace").strip())
        if match is None:
            raise AuthenticationFailed(_REFUSED)
        key_id, secret = match.groups()
        key = ApiKey.objects.select_related("project__team").filter(key_id=key_id).first()
        # Compared also where there is no such key, so that its absence takes as long as a wrong secret.
        known = key.secret_hash if key else hash_secret("")
        good = hmac.compare_digest(known, hash_secret(secret))
        if key is None or not good or not _is_alive(key):
            raise AuthenticationFailed(_REFUSED)
        _used(key)
        audit.came_by(f"key:{key.key_id}")
        return KeyActor(key), key

    def authenticate_header(self, request: Request) -> str:
        """Return what a client is asked for with a 401."""
        return "Bearer"


def _is_alive(key: ApiKey) -> bool:
    now = timezone.now()
    expired = key.expires_at is not None and key.expires_at <= now
    return key.revoked_at is None and not expired and key.project.archived_at is None and not key.project.team.closed_at


def _used(key: ApiKey) -> None:
    """Note the time of use, at most once a minute: on SQLite each write waits for every other."""
    now = timezone.now()
    stale = now - _NOTED_EVERY
    if key.last_used_at is None or key.last_used_at < stale:
        ApiKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=stale), pk=key.pk).update(last_used_at=now)
