"""Investigations, to read: steps, questions, both diagnoses with their evidence."""

import uuid

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from incidents.api.incidents import actor, get_incident
from incidents.api.shapes import diagnosis_shape, investigation_shape, question_shape, step_shape
from incidents.models import Evidence, Step
from teams import access
from teams.permissions import Permission


class InvestigationList(APIView):
    """``GET …/investigations/``."""

    def get(self, request: Request, key: str, number: int) -> Response:
        """Return the incident's investigations, newest first."""
        incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
        rows = incident.investigations.order_by("-number")
        return Response({"results": [investigation_shape(request, incident, row) for row in rows]})


class InvestigationDetail(APIView):
    """``GET …/investigations/<id>/``."""

    def get(self, request: Request, key: str, number: int, investigation: uuid.UUID) -> Response:
        """Return one investigation with everything that it left."""
        incident = get_incident(request, key, number, Permission.INCIDENT_VIEW)
        found = access.get_object(
            incident.investigations.select_related("incident__project__team"),
            actor(request),
            Permission.INCIDENT_VIEW,
            public_id=investigation,
        )
        diagnoses = list(found.diagnoses.order_by("kind"))
        steps = Step.objects.filter(diagnosis__in=diagnoses).order_by("diagnosis", "sequence")
        cited = Evidence.objects.filter(diagnosis__in=diagnoses).with_text()
        evidence = list(cited.select_related("record__incident__project").order_by("position", "pk"))
        kinds = {diagnosis.pk: diagnosis.kind for diagnosis in diagnoses}
        return Response(
            investigation_shape(request, incident, found)
            | {
                "steps": [step_shape(step) | {"diagnosis": kinds[step.diagnosis_id]} for step in steps],
                "questions": [question_shape(row) for row in found.questions.select_related("answered_by")],
                "diagnoses": [
                    diagnosis_shape(row, [item for item in evidence if item.diagnosis_id == row.pk])
                    for row in diagnoses
                ],
            }
        )
