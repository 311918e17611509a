"""The REST API, version 1."""

from django.urls import path, re_path

from incidents.api import alerts, incidents, investigations

_INCIDENT = "incidents/<str:key>-<int:number>/"

urlpatterns = [
    # With and without the slash: a sender's configuration must not fail over one character.
    re_path(r"^alerts/?$", alerts.AlertCreate.as_view(), name="api_alert_create"),
    path("incidents/", incidents.IncidentList.as_view(), name="api_incident_list"),
    path(_INCIDENT, incidents.IncidentDetail.as_view(), name="api_incident_detail"),
    path(_INCIDENT + "investigations/", investigations.InvestigationList.as_view(), name="api_investigation_list"),
    path(
        _INCIDENT + "investigations/<uuid:investigation>/",
        investigations.InvestigationDetail.as_view(),
        name="api_investigation_detail",
    ),
]
