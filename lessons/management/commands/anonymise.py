"""Anonymise a text from standard input, by the code that lessons go through."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lessons.anonymise.cleaning import anonymise
from lessons.anonymise.names import Names
from lessons.services.anonymising import known_names


class Command(BaseCommand):
    help = "Anonymise the text on standard input: what is left, and what was found where."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object: text and findings")
        parser.add_argument(
            "--vocabulary",
            type=Path,
            metavar="FILE",
            help="a JSON file of names that stands in for the platform's own",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            names = _names(options["vocabulary"]) if options["vocabulary"] else known_names()
        except (OSError, ValueError) as error:
            raise CommandError(f"The vocabulary cannot be read. {error}") from None
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
        cleaned = anonymise(text, names)
        if not options["json"]:
            self.stdout.write(cleaned.text, ending="")
            return
        self.stdout.write(
            json.dumps({"text": cleaned.text, "findings": [f.as_json() for f in cleaned.findings]}, ensure_ascii=False)
        )


def _names(file: Path) -> Names:
    return Names.from_json(json.loads(file.read_text(encoding="utf-8")))
