"""What the address of an inbox view says: team, tab, filters, words, order. It alone decides what is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.http import Http404, QueryDict

from incidents.models import Incident, Investigation
from incidents.models.incident import Category, Severity
from incidents.models.investigation import MemoryWord, Pattern
from teams import access
from teams.models import Project, Team, User

TABS = {
    "active": "Active",
    "mine": "Mine",
    "resolved": "Resolved",
    "all": "All",
    "to_write_down": "To write down",
}
SORTS = {
    "severity": "Severity, then newest",
    "new": "Newest",
    "alerts": "Most alerts",
}
LONGEST_SEARCH = 200
# Who looks at what is going on wants the worst first; who looks back wants the latest first.
_WORST_FIRST = ("active", "mine")
# "Needs more information" as the screen says it, where a chip or a filter has no room.
NEEDS_INFO = "Needs info"
_PATTERNS = {**dict(Pattern.choices), Pattern.NEEDS_MORE_INFO.value: NEEDS_INFO}
_NEWEST = ("-last_alert_at", "-pk")
_RANK = Case(
    *(When(severity=severity, then=Value(place)) for place, severity in enumerate(Severity.values)),
    output_field=IntegerField(),
)


@dataclass(frozen=True)
class Filter:
    """One of the address's filters: ``meanings`` has each value with its word and what it asks of an incident.

    Filters of one ``title`` stand in one facet, without a title in none; ``word`` goes before a value that is set.
    """

    name: str
    title: str
    word: str
    meanings: Mapping[str, tuple[str, Q]]
    # Whose icons and colours the values have, if any.
    vocabulary: str = ""
    # Values that nothing has are left out of these facets.
    only_used: bool = False

    def asks(self, value: str) -> Q | None:
        """Return what the value asks; None where there is no such value, so that nothing matches."""
        return self.meanings[value][1] if value in self.meanings else None

    def word_of(self, value: str) -> str:
        """Return the value's word."""
        return self.meanings[value][0] if value in self.meanings else value


@dataclass
class InboxAddress:
    """The view that a person asked for."""

    query: QueryDict
    user: User

    def value(self, name: str) -> str:
        """Return what the address says, without NUL, which PostgreSQL refuses."""
        return self.query.get(name, "").replace("\x00", "").strip()

    @cached_property
    def team(self) -> Team | None:
        """The team that the address names; None for all of the person's teams.

        Raises:
            Http404: it is none of theirs, as if it did not exist.
        """
        slug = self.value("team")
        if slug in ("", "all"):
            return None
        teams = [membership.team for membership in access.memberships(self.user)]
        found = next((team for team in teams if team.slug == slug), None)
        if found is None:
            raise Http404
        return found

    @cached_property
    def tab(self) -> str:
        """The tab; Active where the address names none that there is."""
        return self.value("tab") if self.value("tab") in TABS else "active"

    @cached_property
    def words(self) -> str:
        """What is searched for. SQLite refuses a pattern that is far longer."""
        return self.value("q")[:LONGEST_SEARCH]

    @cached_property
    def sort(self) -> str:
        """The order; without one in the address it follows from the tab."""
        if self.value("sort") in SORTS:
            return self.value("sort")
        return "severity" if self.tab in _WORST_FIRST else "new"

    @property
    def order(self) -> tuple[Any, ...]:
        """The order as ``order_by`` takes it; whole, so that no page repeats a row of another."""
        if self.sort == "severity":
            return (_RANK, *_NEWEST)
        return ("-alert_count", *_NEWEST) if self.sort == "alerts" else _NEWEST

    @cached_property
    def projects(self) -> list[Project]:
        """The projects that can be chosen."""
        projects = Project.objects.visible_to(self.user)
        return list((projects.filter(team=self.team) if self.team else projects).order_by("name"))

    @cached_property
    def filters(self) -> list[Filter]:
        """Every filter, in the order in which the page shows them."""
        run = "latest_investigation__"
        waits = Q(**{f"{run}state": Investigation.State.WAITING})
        patterns = {value: (word, Q(**{f"{run}pattern": value})) for value, word in _PATTERNS.items()}
        word, needs_info = patterns[Pattern.NEEDS_MORE_INFO]
        patterns[Pattern.NEEDS_MORE_INFO] = word, needs_info | waits
        unavailable = MemoryWord.UNAVAILABLE
        services = {name: (name, Q(service__name=name)) for name in [self.value("service")] if name}
        memory = {unavailable.value: ("Memory unavailable", Q(**{f"{run}memory_word": unavailable}))}
        severities = {value: (word, Q(severity=value)) for value, word in Severity.choices}
        categories = {value: (word, Q(category=value)) for value, word in Category.choices}
        projects = {project.key: (project.name, Q(project=project.pk)) for project in self.projects}
        assignees = {"me": ("Me", Q(assignee=self.user.pk)), "none": ("Nobody", Q(assignee=None))}
        return [
            Filter("pattern", "Memory said", "", patterns, "pattern"),
            Filter("memory", "Memory said", "", memory, "memory"),
            Filter("severity", "Severity", "Severity", severities, "sev"),
            Filter("category", "Category", "Category", categories, only_used=True),
            Filter("project", "Project", "Project", projects, only_used=True),
            Filter("assignee", "Assignee", "Assignee", assignees),
            # Find leads to this one; it has too many values for a list beside the rows.
            Filter("service", "", "Service", services),
        ]

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The filters that are set, with their values."""
        return {each.name: self.value(each.name) for each in self.filters if self.value(each.name)}

    @property
    def is_narrowed(self) -> bool:
        """Whether filters or words leave something out."""
        return bool(self.chosen or self.words)

    def asked(self, *, but: str = "") -> Q | None:
        """Return what all set filters ask but one; None where a value does not exist, so that nothing matches."""
        wanted = Q()
        for each in self.filters:
            if each.name in self.chosen and each.name != but:
                asks = each.asks(self.chosen[each.name])
                if asks is None:
                    return None
                wanted &= asks
        return wanted

    # --- what it shows ---------------------------------------------------------------------------------------------

    def visible(self) -> QuerySet[Incident]:
        """Return every incident of the chosen team, or of all of the person's teams."""
        incidents = Incident.objects.visible_to(self.user)
        return incidents.filter(project__team=self.team) if self.team else incidents

    def in_tab(self, tab: str = "") -> QuerySet[Incident]:
        """Return the incidents of a tab, or of the address's own, in which the words stand."""
        incidents = self.visible().filter(tab_asks(tab or self.tab, self.user))
        return incidents.search(self.words) if self.words else incidents  # type: ignore[attr-defined]

    def shown(self) -> QuerySet[Incident]:
        """Return the incidents that the address shows."""
        asked = self.asked()
        return self.in_tab().none() if asked is None else self.in_tab().filter(asked)

    def href(self, **changes: str) -> str:
        """Return the address of a view that differs in this; an empty value leaves a part out, and so the page."""
        query = self.query.copy()
        for name, value in {"page": "", **changes}.items():
            query[name] = value
            if not value:
                del query[name]
        return f"?{query.urlencode()}"

    def plain_href(self, **parts: str) -> str:
        """Return the address of a view that keeps only the team."""
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in {"team": self.value("team"), **parts}.items() if value})
        return f"?{query.urlencode()}"


def tab_asks(tab: str, user: User) -> Q:
    """Return what a tab asks of an incident."""
    active = ~Q(status=Incident.Status.RESOLVED)
    return {
        "active": active,
        "mine": active & Q(assignee=user.pk),
        "resolved": ~active,
        "all": Q(),
        "to_write_down": ~active & Q(write_down_later=True),
    }[tab]
