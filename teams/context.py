"""What the frame of every page shows: teams, what may be done, the time zone, the theme."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from teams import access
from teams.entrance import demo_people
from teams.models import Project, Team, User


@dataclass(frozen=True)
class TeamLink:
    """A line of the team menu."""

    slug: str
    name: str
    current: bool


class Frame:
    """Evaluated only as far as a template asks: at most a query for the project, where the view fetched none."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._user: Any = getattr(request, "user", None)

    @property
    def _person(self) -> User | None:
        return self._user if self._user is not None and self._user.is_authenticated else None

    @cached_property
    def _teams(self) -> list[Team]:
        if self._person is None:
            return []
        return [membership.team for membership in access.memberships(self._person)]

    @cached_property
    def project(self) -> Project | None:
        """The project that the address names, if the person may see it; the view may have fetched it already."""
        fetched: Project | None = getattr(self._request, "project", None)
        if fetched is not None:
            return fetched
        key = self._named.get("key")
        if not isinstance(key, str) or "\x00" in key:
            return None
        return next((p for p in Project.objects.filter(key=key) if p.team_id in access.roles(self._user)), None)

    @cached_property
    def team(self) -> Team | None:
        """The team that the address names or whose project it names; else the only one, where there is one."""
        chosen = self._request.GET.get("team") or self._named.get("slug")
        found = next((team for team in self._teams if team.slug == chosen), None)
        if found is None and self.project:
            found = next((team for team in self._teams if team.pk == self.project.team_id), None)
        return found or (self._teams[0] if len(self._teams) == 1 else None)

    @property
    def _named(self) -> dict[str, Any]:
        """What the address names; empty where no view was found."""
        match = self._request.resolver_match
        return match.kwargs if match else {}

    @property
    def teams(self) -> list[TeamLink]:
        """The person's teams, by name."""
        return [TeamLink(team.slug, team.name, team == self.team) for team in self._teams]

    @cached_property
    def can(self) -> set[str]:
        """What the person may do in the chosen team, or in any of theirs."""
        if self._person is None:
            return set()
        teams = [self.team] if self.team else self._teams
        return {str(permission) for team in teams for permission in access.permissions_for(self._person, team)}

    @property
    def zone(self) -> str:
        """The zone that all times are in: "Berlin, UTC+1"."""
        if self._person is None:
            return ""
        name = timezone.get_current_timezone_name()
        if name == "UTC":
            return "UTC"
        return f"{self._person.time_zone.rsplit('/', 1)[-1].replace('_', ' ')}, UTC{_offset(timezone.localtime())}"

    @property
    def theme(self) -> str:
        """light, dark or system."""
        return self._person.theme if self._person else "system"

    @property
    def shortcuts(self) -> bool:
        """Whether single keys do something."""
        return self._person.shortcuts_on if self._person else False

    @property
    def is_local(self) -> bool:
        """Whether this is the local profile."""
        return settings.LOCAL


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the frame, and on the sign-in page of the local profile the example people."""
    return {"frame": Frame(request), "demo_people": demo_people}


def _offset(local: datetime) -> str:
    minutes = int((local.utcoffset() or timedelta()).total_seconds() // 60)
    sign, minutes = ("−" if minutes < 0 else "+"), abs(minutes)
    return f"{sign}{minutes // 60}" + (f":{minutes % 60:02d}" if minutes % 60 else "")
