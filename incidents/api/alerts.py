"""Alerts in, from machines."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from rest_framework import status
from rest_framework.exceptions import NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from incidents.api.shapes import alert_shape, incident_link
from incidents.models import Delivery
from incidents.services import deliveries
from oncall.problems import Problem
from teams import access
from teams.actors import KeyActor
from teams.authentication import ApiKeyAuthentication

ALERTS_WRITE = "alerts.write"


class AlwaysJSON(BaseContentNegotiation):
    """Answers in JSON whatever the sender accepts: an alert must not be lost over a header."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Return no parser: the body is taken as bytes."""
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str | None]:
        """Return the only renderer."""
        (renderer,) = renderers
        return renderer, renderer.media_type


class AlertCreate(APIView):
    """``POST /api/v1/alerts``: keep a body, whatever it is, and say which incident it belongs to.

    The body is read as bytes before any parser can fail over it, and the key alone authenticates: a session's cookie
    would bring its CSRF check along.
    """

    authentication_classes = [ApiKeyAuthentication]
    parser_classes: Sequence[type[BaseParser]] = ()
    content_negotiation_class = AlwaysJSON

    def post(self, request: Request) -> Response:
        """Return 202 with the delivery, the incident, and ``new`` or ``repeat``."""
        actor = request.user
        if not isinstance(actor, KeyActor):
            raise NotAuthenticated
        access.require(actor, ALERTS_WRITE, actor.project)
        try:
            delivery = deliveries.receive(
                project=actor.project,
                body=_body(request),
                content_type=request.META.get("CONTENT_TYPE", ""),
                encoding=request.META.get("HTTP_CONTENT_ENCODING", ""),
                source=Delivery.Source.API,
                key=actor.key,
            )
        except deliveries.NotAccepted as refusal:
            too_large = refusal.code == "too_large"
            refused = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE if too_large else status.HTTP_400_BAD_REQUEST
            raise Problem(refused, refusal.code, str(refusal), field="body") from None
        return Response(_answer(request, delivery), status=status.HTTP_202_ACCEPTED)


def _body(request: Request) -> bytes:
    """Return the body; one that says it is too large is not read at all."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdigit() and int(length) > settings.ALERT_MAX_BYTES:
        raise deliveries.too_large()
    if request.META.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked" and request.META.get(
        "wsgi.input_terminated"
    ):
        # Django reads as much as Content-Length says, which such a request has not; the server ends the stream.
        return bytes(request.META["wsgi.input"].read(settings.ALERT_MAX_BYTES + 1))
    return bytes(request._request.body)


def _answer(request: Request, delivery: Delivery) -> dict[str, Any]:
    alerts = delivery.alerts.select_related("incident__project").order_by("pk")
    return {
        "delivery": str(delivery.public_id),
        "state": delivery.state,
        "problem": delivery.problem or None,
        "result": delivery.result or None,
        "incident": incident_link(request, delivery.incident) if delivery.incident else None,
        "alerts": [alert_shape(request, alert) for alert in alerts],
    }
