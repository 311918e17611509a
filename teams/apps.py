"""The app."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """People, teams, projects and their banks."""

    name = "teams"
