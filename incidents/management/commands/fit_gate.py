"""Fit the relevance gate's constants to a collection of memories and queries with known answers."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.memory.constants import CONSTANTS
from incidents.memory.evaluation import read_memories, read_queries
from incidents.memory.fitting import fit_constants


class Command(BaseCommand):
    help = "Fit the relevance gate's constants to memories and queries with known answers, and print what they reach."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("memories", type=Path, help="JSON lines: id, title, symptom, cause, fix")
        parser.add_argument("queries", type=Path, help="JSON lines: text, relevant, also_ok, kind")
        parser.add_argument("--out", type=Path, default=CONSTANTS, help="where to write the constants")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            memories = read_memories(options["memories"])
            constants = fit_constants(memories, read_queries(options["queries"], (memory.id for memory in memories)))
        except ValueError as error:
            raise CommandError(str(error)) from None
        options["out"].write_text(constants.as_json(), encoding="utf-8")
        self.stdout.write(json.dumps(constants.figures, indent=2))
        self.stdout.write(f"Written to {options['out']}.")
