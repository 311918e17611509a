"""The app."""

from django.apps import AppConfig


class EmbeddedConfig(AppConfig):
    """The embedded memory's tables."""

    name = "oncall.clients.embedded"
    label = "embedded"
    default_auto_field = "django.db.models.BigAutoField"
