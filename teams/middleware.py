"""Per request: times in the person's zone, and the audit told through which door an act comes."""

import zoneinfo
from collections.abc import Callable

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from teams import audit, entrance
from teams.actors import KeyActor
from teams.models import User


class RefusedWrites:
    """Writes down, in the platform's chain, each write that somebody signed in may not make: page or API alike."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle the request; a form that is out of date is no refusal of a person."""
        response = self.get_response(request)
        refused = response.status_code == 403 and request.method not in ("GET", "HEAD", "OPTIONS")
        if refused and request.resolver_match and not hasattr(request, "csrf_refused"):
            who = request.user
            by = who if isinstance(who, User) else None
            on = by or (who.key if isinstance(who, KeyActor) else None)
            if on is not None:
                with transaction.atomic():
                    audit.record("write.refused", by=by, on=on, team=None, after={"to": request.resolver_match.route})
        return response


class TimeZoneMiddleware:
    """Activates the signed-in person's time zone, and says "session" to the audit."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle the request within both."""
        zone = _zone(getattr(request.user, "time_zone", "")) if request.user.is_authenticated else None
        with timezone.override(zone), audit.acting("session", entrance.client_address(request)):
            return self.get_response(request)


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
