"""The app."""

from django.apps import AppConfig


class IncidentsConfig(AppConfig):
    """Incidents, their investigations and what is remembered of them."""

    name = "incidents"
