"""Answers that belong to no app: errors, and whether the program is alive."""

import logging
import secrets

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 413 for a body over the limit, 400 for any other request that could not be read."""
    if isinstance(exception, RequestDataTooBig):
        return render(request, "413.html", status=413)
    return render(request, "400.html", status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return 500 with a reference that also stands in the log. Asks neither the database nor the session."""
    reference = secrets.token_hex(4)
    # The pattern of the address, not the address: that may hold an invitation's secret, or a line break.
    match = request.resolver_match
    logger.error("Reference %s: %s %s failed", reference, request.method, match.route if match else "an address")
    return HttpResponse(loader.get_template("500.html").render({"reference": reference}), status=500)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Return 200 while the web server answers."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return 200 while the database answers, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("The database does not answer.", content_type="text/plain", status=503)
    return HttpResponse("ok", content_type="text/plain")
