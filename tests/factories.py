"""Plain keyword-only functions with defaults. They call the real services, so that a test's world is a real one."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count

from django.utils import timezone

from incidents.models import Delivery, Incident
from incidents.services import deliveries, outcomes
from teams import services
from teams.models import Membership, Project, Team, User

PASSWORD = "correct horse battery"
_numbers = count(1)

POOL_ALERT = """\
[FIRING:1] SearchApiHighErrorRate (search-api, prod-eu) severity=critical
search-api returns 502 for 18.4% of requests (baseline 0.3%)
Timeout expired. The timeout period elapsed prior to obtaining a connection from the pool.
This may have occurred because all pooled connections were in use and max pool size was reached.
pool: active=40 idle=0 waiting=212
"""


def make_user(*, email: str = "", name: str = "", **fields: object) -> User:
    """Return a person who can sign in with ``PASSWORD``."""
    number = next(_numbers)
    user = User.objects.create_user(
        email=email or f"person{number}@example.com", password=PASSWORD, name=name or f"Person {number}", **fields
    )
    user.emailaddress_set.create(email=user.email, verified=True, primary=True)
    return user


def make_team(*, name: str = "", by: User | None = None) -> Team:
    """Return a team without members."""
    return services.create_team(name=name or f"Team {next(_numbers)}", by=by)


def make_project(*, team: Team | None = None, key: str = "", name: str = "", by: User | None = None) -> Project:
    """Return a project with its private bank."""
    number = next(_numbers)
    return services.create_project(
        team=team or make_team(), key=key or f"PRJ{number}", name=name or f"Project {number}", by=by
    )


def make_member(*, team: Team, role: str = Membership.Role.RESPONDER, user: User | None = None, **fields: str) -> User:
    """Return a member of the team."""
    user = user or make_user(**fields)
    services.add_member(team=team, user=user, role=role, by=None)
    return user


def make_key(*, project: Project, by: User, scopes: Sequence[str] = ("alerts:write",)) -> str:
    """Return the secret text of a new API key."""
    _, secret = services.make_api_key(project=project, name="test", scopes=list(scopes), by=by)
    return secret


def make_incident(*, project: Project, by: User, text: str = POOL_ALERT, title: str = "") -> Incident:
    """Return the incident that a paste of the text opened or joined."""
    delivery = deliveries.receive(
        project=project,
        body=text.encode(),
        content_type="text/plain; charset=utf-8",
        source=Delivery.Source.PASTE,
        by=by,
        title=title,
    )
    assert delivery.incident is not None
    return delivery.incident


def resolve(*, incident: Incident, by: User, root_cause: str = "", fix: str = "", **fields: object) -> object:
    """Record a verified outcome with a new fix, and return what the service returned."""
    return outcomes.record_outcome(
        incident=incident,
        by=by,
        root_cause=root_cause or "The nightly reindex held every connection of the pool.",
        what_was_done="Paused the job; the errors were gone in three minutes.",
        minutes=18,
        new_fix_title=fix or "Pause the nightly reindex",
        **fields,
    )


def days_ago(days: float) -> object:
    """Return a time in the past."""
    return timezone.now() - timedelta(days=days)
