"""Keeps every name that the platform ever had, so that a lesson can be searched for all of them."""

import uuid

from teams.models import KnownName


def know(kind: KnownName.Kind, name: str, object_id: uuid.UUID) -> None:
    """Write the name down once; empty names are none."""
    if name:
        KnownName.objects.get_or_create(kind=kind, object_id=object_id, name=name)
