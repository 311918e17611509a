"""Make a project's memory bank again from the rows that people's acts wrote."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.memory import bookkeeping
from incidents.memory.banks import own_bank
from oncall.clients.memory import MemoryFailure, get_memory
from teams.models import Project

WIDTH = 30


class Command(BaseCommand):
    help = (
        "Bring a project's bank to what our rows want: send what is missing or outdated, remove what nobody wants. "
        "Stopped halfway, run it again: it goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's key, such as SEARCH")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(key=options["project"].upper()).first()
        if project is None:
            raise CommandError(f"There is no project with the key {options['project']}.")
        memory = get_memory()
        if memory is None:
            raise CommandError("Memory is off on this server (ONCALL_MEMORY).")
        bank = own_bank(project)
        try:
            found = bookkeeping.rebuild(bank, memory, self._show)
            left = bookkeeping.differences(bank, memory)
        except MemoryFailure as failure:
            raise CommandError(f"{failure} What was done stays; run it again.") from None
        status = bookkeeping.status(bank)
        self.stdout.write(
            f"{len(found.missing)} were missing, {len(found.outdated)} outdated, {len(found.foreign)} not ours. "
            f"{status.states.get('recallable', 0)} are recallable now."
        )
        if left or status.waiting:
            raise CommandError(f"{status.waiting} still wait, and the sweep goes on with them. See memory_status.")

    def _show(self, done: int, of: int) -> None:
        if self.stdout.isatty():
            filled = WIDTH * done // of
            end = "\n" if done == of else ""
            self.stdout.write(f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {of}", ending=end)
        elif done == of or done % 100 == 0:
            self.stdout.write(f"{done} of {of}")
