"""The inbox's tabs and facets: each with the count of what choosing it would show, and the address that does."""

from dataclasses import dataclass

from django.db.models import Count

from incidents.views.inbox_address import TABS, Filter, InboxAddress, tab_asks


@dataclass(frozen=True)
class Tab:
    """A tab with how many incidents it has, whatever the filters."""

    key: str
    label: str
    count: int
    is_current: bool
    href: str


@dataclass(frozen=True)
class Choice:
    """A value of a facet. ``href`` sets it, or removes it where it is set."""

    vocabulary: str
    value: str
    label: str
    count: int
    is_set: bool
    href: str


@dataclass(frozen=True)
class Facet:
    """A filter with its values."""

    title: str
    choices: list[Choice]


@dataclass(frozen=True)
class Removal:
    """A filter that is set, in words, and the address without it."""

    label: str
    href: str


def tabs(address: InboxAddress) -> list[Tab]:
    """Return the tabs; *To write down* only while there is one, or while it is looked at. One query."""
    counts = address.visible().aggregate(
        **{tab: Count("pk", filter=tab_asks(tab, address.user)) if tab != "all" else Count("pk") for tab in TABS}
    )
    return [
        Tab(key, label, counts[key], key == address.tab, address.plain_href(tab=key))
        for key, label in TABS.items()
        if key != "to_write_down" or counts[key] or key == address.tab
    ]


def facets(address: InboxAddress) -> tuple[list[Facet], int]:
    """Return the facets, and how many incidents the address shows. One query, whatever is set."""
    asked = {each.name: address.asked(but=each.name) for each in address.filters}
    whole = address.asked()
    wanted: dict[str, Count] = {"shown": Count("pk", filter=whole) if whole else Count("pk")}
    for each in address.filters:
        others = asked[each.name]
        if others is not None:
            for place, (_, asks) in enumerate(each.meanings.values()):
                wanted[f"{each.name}_{place}"] = Count("pk", filter=others & asks)
    counts = address.in_tab().aggregate(**wanted)
    shown = 0 if whole is None else counts["shown"]
    found: dict[str, Facet] = {}
    for each in address.filters:
        if each.title:
            found.setdefault(each.title, Facet(each.title, [])).choices.extend(_choices(address, each, counts))
    return [facet for facet in found.values() if facet.choices], shown


def _choices(address: InboxAddress, each: Filter, counts: dict[str, int]) -> list[Choice]:
    choices = []
    for place, (value, (label, _)) in enumerate(each.meanings.items()):
        is_set = address.chosen.get(each.name) == value
        href = address.href(**{each.name: "" if is_set else value})
        choices.append(Choice(each.vocabulary, value, label, counts.get(f"{each.name}_{place}", 0), is_set, href))
    if each.only_used:
        choices = [choice for choice in choices if choice.count or choice.is_set]
    return choices


def removals(address: InboxAddress) -> list[Removal]:
    """Return what narrows the view, each with the way to be rid of it. No query."""
    found = [
        Removal(f"{each.word}: {word}" if each.word else word, address.href(**{each.name: ""}))
        for each in address.filters
        if each.name in address.chosen and (word := each.word_of(address.chosen[each.name]))
    ]
    if address.words:
        found.append(Removal(f"“{address.words}”", address.href(q="")))
    return found


def counted_elsewhere(address: InboxAddress) -> int:
    """Return how many resolved incidents the words are in: for a view of active ones that came out empty. One query."""
    return address.in_tab("resolved").count() if address.words and address.tab in ("active", "mine") else 0
