"""Per request: times in the person's zone, and the audit told through which door an act comes."""

import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from teams import audit, entrance


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
