"""People, as the platform knows them."""

from typing import Any

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import F

from teams import audit
from teams.models import KnownName, User
from teams.services.names import know


@transaction.atomic
def create_user(
    *,
    email: str,
    name: str,
    by: User | None,
    password: str | None = None,
    is_platform_admin: bool = False,
    is_lesson_reviewer: bool = False,
) -> User:
    """Make a person whose address counts as proven; without a password they sign in by a link first."""
    user = User.objects.create_user(
        email=email,
        password=password,
        name=name,
        is_platform_admin=is_platform_admin,
        is_lesson_reviewer=is_lesson_reviewer,
    )
    prove_address(user)
    know_person(user)
    roles = {"platform_admin": is_platform_admin, "lesson_reviewer": is_lesson_reviewer}
    audit.record("person.create", by=by, on=user, team=None, after=roles)
    return user


@transaction.atomic
def make_platform_admin(*, user: User, by: User | None) -> None:
    """Let the person manage the platform; one who does already stays what they are."""
    if User.objects.filter(pk=user.pk, is_platform_admin=False).update(is_platform_admin=True):
        audit.record("person.make_platform_admin", by=by, on=user, team=None)


@transaction.atomic
def welcome(*, user: User) -> None:
    """Write down a person who has just signed up by themselves."""
    know_person(user)
    audit.record("person.create", by=user, on=user, team=None)


def prove_address(user: User) -> None:
    """Mark the person's login address as verified."""
    user.emailaddress_set.update_or_create(  # type: ignore[attr-defined]
        email=user.email, defaults={"verified": True, "primary": True}
    )


def free_address(email: str) -> None:
    """Drop what others claimed of an address and never proved: whoever was sent its invitation may sign up with it."""
    EmailAddress.objects.filter(email__iexact=email, verified=False).exclude(user__email__iexact=email).delete()


@transaction.atomic
def add_address(*, user: User, email: str) -> None:
    """Write down an address that the person has proven to be theirs."""
    know(KnownName.Kind.EMAIL, email, user.public_id)
    audit.record("person.add_address", by=user, on=user, team=None)


def know_person(user: User) -> None:
    """Write down the person's name and address."""
    know(KnownName.Kind.PERSON, user.name, user.public_id)
    know(KnownName.Kind.EMAIL, user.email, user.public_id)


CHANGEABLE = ("name", "time_zone", "theme", "shortcuts_on")


@transaction.atomic
def update_profile(*, user: User, **changes: Any) -> None:
    """Change what a person may change of themselves; what is not named stays.

    Raises:
        ValueError: something is not theirs to change.
        ValidationError: a value is not allowed.
    """
    unknown = set(changes) - set(CHANGEABLE)
    if unknown:
        raise ValueError(f"Nobody changes this of themselves: {', '.join(sorted(unknown))}.")
    changed = {name: value for name, value in changes.items() if getattr(user, name) != value}
    if not changed:
        return
    before = {name: getattr(user, name) for name in changed}
    for name, value in changed.items():
        setattr(user, name, value)
    user.full_clean()
    user.save(update_fields=list(changed))
    know_person(user)
    audit.record("person.change", by=user, on=user, team=None, before=_auditable(before), after=_auditable(changed))


@transaction.atomic
def end_sessions(*, user: User, by: User | None) -> None:
    """Sign the person out everywhere.

    The caller's own session ends too, unless Django's ``update_session_auth_hash`` renews it.
    """
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])
    audit.record("person.end_sessions", by=by, on=user, team=None)


def _auditable(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without names: those stand in ``KnownName``."""
    return {name: "changed" if name == "name" else value for name, value in values.items()}
