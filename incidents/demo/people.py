"""Who works at the invented company. Everybody's address is at example.com, which nobody can own."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Person:
    """``teams`` maps a team's slug to the role there; ``left`` are teams that the person left."""

    key: str
    name: str
    teams: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()
    is_platform_admin: bool = False
    is_lesson_reviewer: bool = False
    signs_in: bool = True

    @property
    def email(self) -> str:
        """Their login."""
        return f"{self.key}@example.com"


PEOPLE = [
    Person("priya", "Priya Lindqvist", (("discovery", "responder"),)),
    Person("ines", "Ines Okafor", (("discovery", "admin"),)),
    Person("jonas", "Jonas Abara", (("discovery", "responder"),)),
    Person("mei", "Mei Castellan", (("discovery", "viewer"),)),
    Person("tomasz", "Tomasz Wren", (("discovery", "responder"),), left=("discovery",), signs_in=False),
    Person("dario", "Dario Fenn", (("payments", "admin"),)),
    Person("lucia", "Lucía Barros", is_lesson_reviewer=True),
    Person("robin", "Robin Achterberg", is_platform_admin=True),
]

TEAMS = [("discovery", "Discovery"), ("payments", "Payments")]


@dataclass(frozen=True)
class DemoProject:
    """A project with its services and their aliases."""

    key: str
    name: str
    team: str
    escalation_contact: str
    services: tuple[tuple[str, tuple[str, ...]], ...]


PROJECTS = [
    DemoProject(
        "SEARCH",
        "Search",
        "discovery",
        "Search on-call, Ines Okafor",
        (
            ("search-api", ("searchapi", "search")),
            ("suggest-builder", ("suggest",)),
            ("search-indexer", ("indexer",)),
            ("product-index", ("index-node",)),
            ("search-cache", ()),
        ),
    ),
    DemoProject(
        "CAT",
        "Catalogue",
        "discovery",
        "Catalogue on-call, Jonas Abara",
        (
            ("catalog-api", ("catalogue-api",)),
            ("catalog-sync", ()),
            ("price-import", ()),
            ("image-resize", ()),
        ),
    ),
    DemoProject(
        "PAY",
        "Payouts",
        "payments",
        "Payments on-call, Dario Fenn",
        (("payout-batch", ()), ("ledger-api", ("ledger",))),
    ),
]
