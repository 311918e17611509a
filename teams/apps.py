"""The app."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """People, teams, projects and their banks."""

    name = "teams"

    def ready(self) -> None:
        """Listen to allauth; its models can be imported only now."""
        from teams import signals  # noqa: PLC0415

        signals.listen()
