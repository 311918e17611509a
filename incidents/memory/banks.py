"""Which banks a project may use, asked anew at each call: access that was taken away ends with the next question."""

import logging

from teams.models import Bank, BankAssignment, Project

logger = logging.getLogger(__name__)

Access = BankAssignment.Access


def own_bank(project: Project) -> Bank:
    """Return the project's private bank.

    Raises:
        Bank.DoesNotExist: it has none.
    """
    return Bank.objects.get(kind=Bank.Kind.PRIVATE, assignments__project=project.pk, assignments__access=Access.OWN)


def same_team_banks(project: Project) -> list[tuple[Bank, Project]]:
    """Return the banks that the project may read in its own team, each with the project that owns it."""
    readable = BankAssignment.objects.filter(project=project.pk, access=Access.READ, bank__kind=Bank.Kind.PRIVATE)
    owners = (
        BankAssignment.objects.filter(bank__in=readable.values("bank"), access=Access.OWN)
        .filter(project__team=project.team_id)
        .exclude(project=project.pk)
    )
    return [(owner.bank, owner.project) for owner in owners.select_related("bank", "project").order_by("project__key")]


def shared_bank(project: Project) -> Bank | None:
    """Return the bank of shared lessons; None unless the platform lets the project read it and its team wants to."""
    return Bank.objects.filter(
        kind=Bank.Kind.SHARED,
        assignments__project=project.pk,
        assignments__access=Access.READ,
        assignments__project__uses_shared_lessons=True,
    ).first()


def readable(project: Project) -> set[int]:
    """Return the ids of the banks that the project may read now."""
    found = {bank.pk for bank, _ in same_team_banks(project)}
    shared = shared_bank(project)
    if shared:
        found.add(shared.pk)
    try:
        found.add(own_bank(project).pk)
    except Bank.DoesNotExist:
        logger.warning("Project %s has no bank of its own.", project.key)
    return found
