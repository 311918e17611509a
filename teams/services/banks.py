"""Which project may use which bank. The assignment is data; access changes with the next call."""

from django.core.exceptions import ValidationError
from django.db import transaction

from teams import audit
from teams.models import Bank, BankAssignment, Project, User


def shared_bank() -> Bank:
    """Return the platform's one shared bank; made when it is first needed."""
    bank, _ = Bank.objects.get_or_create(kind=Bank.Kind.SHARED, defaults={"name": "Shared lessons"})
    return bank


@transaction.atomic
def share_memory(*, reader: Project, owner: Project, by: User | None) -> BankAssignment:
    """Let a project read the private bank of another project of the same team.

    Raises:
        ValidationError: they are of different teams, or the same project.
    """
    if reader.team_id != owner.team_id:
        raise ValidationError({"reader": "A private memory may be read only by projects of the same team."})
    if reader.pk == owner.pk:
        raise ValidationError({"reader": "A project reads its own memory already."})
    bank = Bank.objects.get(assignments__project=owner, assignments__access=BankAssignment.Access.OWN)
    assignment, created = BankAssignment.objects.get_or_create(
        bank=bank, project=reader, access=BankAssignment.Access.READ
    )
    if created:
        after = {"reader": str(reader.public_id)}
        audit.record("bank.share", by=by, on=owner, team=owner.team, after=after)
    return assignment


@transaction.atomic
def stop_sharing_memory(*, reader: Project, owner: Project, by: User | None) -> None:
    """Take the right to read back; the next recall obeys."""
    removed, _ = BankAssignment.objects.filter(
        bank__assignments__project=owner,
        bank__assignments__access=BankAssignment.Access.OWN,
        project=reader,
        access=BankAssignment.Access.READ,
    ).delete()
    if removed:
        before = {"reader": str(reader.public_id)}
        audit.record("bank.stop_sharing", by=by, on=owner, team=owner.team, before=before)
