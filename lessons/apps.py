"""The app."""

from django.apps import AppConfig


class LessonsConfig(AppConfig):
    """Lessons that all projects share."""

    name = "lessons"
