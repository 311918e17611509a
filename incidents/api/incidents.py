"""Incidents, to read."""

from typing import Any, cast

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from incidents.api.shapes import incident_shape
from incidents.models import Incident
from teams import access
from teams.actors import Actor
from teams.permissions import Permission


class IncidentPages(CursorPagination):
    """Newest first. A cursor shows each incident once, whatever arrives meanwhile."""

    ordering = ("-created_at", "-pk")
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


def actor(request: Request) -> Actor:
    """Return who calls; the permission classes let nobody anonymous through."""
    return cast(Actor, request.user)


def readable(request: Request) -> QuerySet[Incident]:
    """Return the incidents that the caller may read."""
    return Incident.objects.filter(project__in=access.visible_projects(actor(request), Permission.INCIDENT_VIEW))


def get_incident(request: Request, key: str, number: int, permission: Permission) -> Incident:
    """Return the incident, once the caller was found to have the permission on it."""
    found = Incident.objects.select_related("project__team", "service", "assignee", "latest_investigation")
    return access.get_object(found, actor(request), permission, project__key=key, number=number)


class IncidentList(APIView):
    """``GET /api/v1/incidents/``: filters ``status`` and ``project``; pages by cursor."""

    def get(self, request: Request) -> Response:
        """Return one page of incidents."""
        incidents = _filtered(readable(request), request)
        pages = IncidentPages()
        rows: Any = pages.paginate_queryset(
            incidents.select_related("project", "service", "assignee", "latest_investigation"), request, view=self
        )
        return pages.get_paginated_response([incident_shape(request, incident) for incident in rows])


def _filtered(incidents: QuerySet[Incident], request: Request) -> QuerySet[Incident]:
    status, project = request.query_params.get("status"), request.query_params.get("project")
    if status:
        if status not in Incident.Status.values:
            raise ValidationError({"status": f"One of {', '.join(Incident.Status.values)}."})
        incidents = incidents.filter(status=status)
    if project:
        incidents = incidents.filter(project__key=project.replace("\x00", ""))
    return incidents


class IncidentDetail(APIView):
    """``GET /api/v1/incidents/<KEY>-<number>/``."""

    def get(self, request: Request, key: str, number: int) -> Response:
        """Return the incident."""
        return Response(incident_shape(request, get_incident(request, key, number, Permission.INCIDENT_VIEW)))
