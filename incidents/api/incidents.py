"""Incidents, to read."""

from typing import cast

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from incidents.api.pages import page_of
from incidents.api.shapes import incident_shape
from incidents.models import Incident
from teams import access
from teams.actors import Actor
from teams.permissions import Permission


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
        mine = readable(request)
        shown = _filtered(mine, request).select_related("project", "service", "assignee", "latest_investigation")
        rows, following = page_of(shown, request, within=mine)
        return Response({"next": following, "results": [incident_shape(request, incident) for incident in rows]})


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
