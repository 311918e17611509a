"""People, as the platform knows them."""

from django.db import transaction

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


def prove_address(user: User) -> None:
    """Mark the person's login address as verified."""
    user.emailaddress_set.update_or_create(  # type: ignore[attr-defined]
        email=user.email, defaults={"verified": True, "primary": True}
    )


def know_person(user: User) -> None:
    """Write down the person's name and address."""
    know(KnownName.Kind.PERSON, user.name, user.public_id)
    know(KnownName.Kind.EMAIL, user.email, user.public_id)


@transaction.atomic
def update_profile(*, user: User, name: str, time_zone: str, theme: str, shortcuts_on: bool) -> None:
    """Change what a person may change of themselves."""
    before = {"time_zone": user.time_zone, "theme": user.theme, "shortcuts_on": user.shortcuts_on}
    after = {"time_zone": time_zone, "theme": theme, "shortcuts_on": shortcuts_on}
    renamed = name != user.name
    user.name, user.time_zone, user.theme, user.shortcuts_on = name, time_zone, theme, shortcuts_on
    user.save(update_fields=["name", "time_zone", "theme", "shortcuts_on"])
    know_person(user)
    audit.record("person.update", by=user, on=user, team=None, before=before, after=after | {"renamed": renamed})
