"""Print how far what people verified is on its way to the memory, bank by bank, and whether the banks hold it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from incidents.memory import bookkeeping
from incidents.models import MemoryRecord
from oncall.clients.memory import MemoryFailure, get_memory
from teams.models import Bank, BankAssignment

SHOWN = (
    MemoryRecord.State.QUEUED,
    MemoryRecord.State.RETAINED,
    MemoryRecord.State.RECALLABLE,
    MemoryRecord.State.FAILED,
    MemoryRecord.State.QUARANTINED,
    MemoryRecord.State.FORGETTING,
)


class Command(BaseCommand):
    help = (
        "Per bank: records by state, the age of the oldest that waits, and where the bank's own documents differ "
        "from what our rows say. Ends with an error where they differ. Mend a bank with rebuild_bank."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", help="only the bank of this project")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        owners = BankAssignment.objects.filter(access=BankAssignment.Access.OWN).select_related("bank", "project")
        if options["project"]:
            owners = owners.filter(project__key=options["project"].upper())
            if not owners.exists():
                raise CommandError(f"There is no project with the key {options['project']}.")
        lines = [_line(owner.project.key, owner.bank) for owner in owners.order_by("project__key")]
        if not options["project"]:
            lines += [_line("shared", bank) for bank in Bank.objects.filter(kind=Bank.Kind.SHARED)]
        if options["json"]:
            self.stdout.write(json.dumps({"banks": lines}, indent=2))
        else:
            self.stdout.write("\n".join(_as_text(line) for line in lines) or "There is no bank yet.")
        if any(line["missing"] or line["outdated"] or line["foreign"] for line in lines):
            raise CommandError("A bank differs from what our rows say. Mend it: manage.py rebuild_bank PROJECT")


def _line(name: str, bank: Bank) -> dict[str, Any]:
    """Return one bank's figures. A bank is named by its project; its id is nobody's business."""
    status = bookkeeping.status(bank)
    oldest = (timezone.now() - status.oldest).total_seconds() if status.oldest else None
    memory = get_memory()
    problem, found = "", bookkeeping.Differences()
    try:
        if memory is None:
            problem = "Memory is off."
        else:
            found = bookkeeping.differences(bank, memory)
    except MemoryFailure as failure:
        problem = str(failure)
    return {
        "bank": name,
        **{state.value: status.states.get(state, 0) for state in SHOWN},
        "oldest_waiting_seconds": oldest,
        "missing": len(found.missing),
        "outdated": len(found.outdated),
        "foreign": len(found.foreign),
        "problem": problem or None,
    }


def _as_text(line: dict[str, Any]) -> str:
    states = ", ".join(f"{line[state.value]} {state.label.lower()}" for state in SHOWN if line[state.value])
    parts = [f"{line['bank']}: {states or 'no record'}."]
    if line["oldest_waiting_seconds"] is not None:
        parts.append(f"The oldest waits for {line['oldest_waiting_seconds']:.0f} s.")
    if line["problem"]:
        parts.append(f"The bank could not be compared: {line['problem']}")
    else:
        differ = ", ".join(f"{line[name]} {name}" for name in ("missing", "outdated", "foreign") if line[name])
        parts.append(f"The bank differs: {differ}." if differ else "The bank holds the same.")
    return " ".join(parts)
