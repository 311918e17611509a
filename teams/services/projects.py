"""Projects, their services and their settings."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from teams import audit
from teams.models import Bank, BankAssignment, KnownName, Project, Service, Team, User
from teams.services.banks import shared_bank
from teams.services.names import know


@transaction.atomic
def create_project(*, team: Team, key: str, name: str, by: User | None) -> Project:
    """Make a project with its private bank. The key is global, and is never used again.

    The platform lets a new project use shared lessons and contribute to them; the project has both switched off.

    Raises:
        ValidationError: the key has another form, or is taken.
    """
    guided = settings.GROQ_TPM_BUDGET < settings.GUIDED_BELOW_TPM
    project = Project(
        team=team,
        key=key,
        name=name,
        strategy=Project.Strategy.GUIDED if guided else Project.Strategy.AUTONOMOUS,
    )
    project.full_clean()
    try:
        with transaction.atomic():
            project.save()
    except IntegrityError:  # another team was given the key since it was looked for
        raise ValidationError({"key": "This key was given before. A key is never used again."}) from None
    bank = Bank.objects.create(kind=Bank.Kind.PRIVATE, name=_bank_name(project))
    BankAssignment.objects.create(bank=bank, project=project, access=BankAssignment.Access.OWN)
    for access in (BankAssignment.Access.READ, BankAssignment.Access.CONTRIBUTE):
        BankAssignment.objects.create(bank=shared_bank(), project=project, access=access)
    know(KnownName.Kind.PROJECT, project.name, project.public_id)
    know(KnownName.Kind.PROJECT_KEY, project.key, project.public_id)
    audit.record("project.create", by=by, on=project, team=team)
    return project


CHANGEABLE = (
    "name",
    "time_zone",
    "strategy",
    "model",
    "memory_on",
    "relevance",
    "uses_shared_lessons",
    "contributes_lessons",
    "escalation_contact",
)
# Free words of people: the audit says that they changed, not what they are.
_WORDS = ("name", "escalation_contact")


@transaction.atomic
def change_project(*, project: Project, by: User, **changes: Any) -> Project:
    """Change the project's settings; what is not named stays.

    Raises:
        ValueError: something is no setting of a project.
        ValidationError: a value is not allowed.
    """
    unknown = set(changes) - set(CHANGEABLE)
    if unknown:
        raise ValueError(f"No setting of a project: {', '.join(sorted(unknown))}.")
    changed = {name: value for name, value in changes.items() if getattr(project, name) != value}
    if not changed:
        return project
    before = {name: getattr(project, name) for name in changed}
    for name, value in changed.items():
        setattr(project, name, value)
    project.full_clean()
    project.save(update_fields=list(changed))
    if "name" in changed:
        owned = Bank.objects.filter(assignments__project=project, assignments__access=BankAssignment.Access.OWN)
        Bank.objects.filter(pk__in=owned).update(name=_bank_name(project))
    know(KnownName.Kind.PROJECT, project.name, project.public_id)
    audit.record(
        "project.change", by=by, on=project, team=project.team, before=_auditable(before), after=_auditable(changed)
    )
    return project


def _bank_name(project: Project) -> str:
    """Return the name by which people know the project's memory, cut to the column."""
    return f"Memory of {project.name}"[:80]


def _auditable(values: dict[str, Any]) -> dict[str, Any]:
    return {name: "changed" if name in _WORDS else value for name, value in values.items()}


@transaction.atomic
def create_service(*, project: Project, name: str, aliases: Iterable[str] = (), by: User | None) -> Service:
    """Make a service that alerts may name.

    Raises:
        ValidationError: another service of the project goes by that name or alias.
    """
    service = Service(project=project, name=name, aliases=list(aliases))
    _check(service)
    service.save()
    _know_service(service)
    audit.record("service.create", by=by, on=service, team=project.team)
    return service


@transaction.atomic
def update_service(*, service: Service, name: str, aliases: Iterable[str], by: User) -> Service:
    """Rename a service or change its aliases.

    Raises:
        ValidationError: another service of the project goes by that name or alias.
    """
    service.name, service.aliases = name, list(aliases)
    _check(service)
    service.save(update_fields=["name", "aliases"])
    _know_service(service)
    audit.record("service.change", by=by, on=service, team=service.project.team)
    return service


def _check(service: Service) -> None:
    """Refuse a name that means another service already: alerts are matched by names and aliases, whatever the case.

    One at a time in a project, so that two that are checked at once are not both found free.
    """
    Project.objects.select_for_update(no_key=True).get(pk=service.project_id)
    service.full_clean()
    names = {name.lower() for name in (service.name, *service.aliases)}
    for other in service.project.services.exclude(pk=service.pk):
        taken = names & {name.lower() for name in (other.name, *other.aliases)}
        if taken:
            raise ValidationError({"name": f"{other.name} goes by {', '.join(sorted(taken))} already."})


def _know_service(service: Service) -> None:
    for name in (service.name, *service.aliases):
        know(KnownName.Kind.SERVICE, name, service.public_id)
