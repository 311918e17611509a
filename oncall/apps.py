"""The project's own app: settings checks, commands and template tags."""

from django.apps import AppConfig


class OncallConfig(AppConfig):
    """The Django project."""

    name = "oncall"
