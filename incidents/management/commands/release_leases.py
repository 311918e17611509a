"""Let go of everything that a worker of this installation held."""

from typing import Any

from django.core.management.base import BaseCommand

from incidents.models import Delivery, MemoryRecord
from incidents.services import diagnosing


class Command(BaseCommand):
    help = (
        "Release the leases of work that was under way, after the workers have stopped, "
        "so that a restart takes it up at once. A worker that still runs notices at its next write and stops."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        released = diagnosing.release_leases()
        for model in (MemoryRecord, Delivery):
            released += model.objects.let_go()
        self.stdout.write(f"{released} lease{'' if released == 1 else 's'} released.")
