"""Check every audit chain from its first row to its head."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from teams import audit
from teams.models import AuditChain


class Command(BaseCommand):
    """Names each row that was changed, is missing or stands in the wrong place."""

    help = "Check the audit's hash chains."

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError when a chain is not intact."""
        problems: list[str] = []
        for chain in AuditChain.objects.order_by("name"):
            problems += audit.verify(chain)
        for problem in problems:
            self.stdout.write(problem)
        if problems:
            raise CommandError("1 problem." if len(problems) == 1 else f"{len(problems)} problems.")
        self.stdout.write(f"All chains are intact: {AuditChain.objects.count()}.")
