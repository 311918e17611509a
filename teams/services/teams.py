"""Teams."""

from django.db import transaction
from django.utils.text import slugify

from teams import audit
from teams.models import KnownName, Team, User
from teams.services.names import know


@transaction.atomic
def create_team(*, name: str, slug: str = "", by: User | None) -> Team:
    """Make a team without members; the slug follows from the name unless it is given."""
    team = Team.objects.create(name=name, slug=slug or _free_slug(name))
    know(KnownName.Kind.TEAM, team.name, team.public_id)
    audit.record("team.create", by=by, on=team, team=None)
    return team


def _free_slug(name: str) -> str:
    base = slugify(name)[:36] or "team"
    taken = set(Team.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    return next(slug for slug in [base, *(f"{base}-{n}" for n in range(2, 1000))] if slug not in taken)
