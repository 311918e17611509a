"""What must hold on every page: readable by anybody, in both themes, at any width, and without a complaint."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.totp.internal import auth as totp
from axe_playwright_python.base import AXE_SCRIPT
from django.template.loader import render_to_string
from django.urls import get_resolver
from playwright.sync_api import Page, Route, expect

from oncall.kept_forms import Kept
from oncall.middleware import CONTENT_SECURITY_POLICY
from tests.browser import stage
from tests.browser.conftest import ROOT, SignIn, Site, Visitor
from tests.browser.places import DRAWN, NO_PAGE, PLACES, SWITCHED_OFF, Place
from tests.factories import PASSWORD
from tests.test_access_matrix import ROWS, names

pytestmark = [pytest.mark.thorough, pytest.mark.browser, pytest.mark.worker]

# What WCAG 2.2 added to axe-core's rules is off unless asked for; and open menus would cover what is under them.
TARGETS = {"runOnly": {"type": "rule", "values": ["target-size"]}}
ALL_WITH_TARGETS = {"rules": {"target-size": {"enabled": True}}}
ALL: dict[str, Any] = {}
# A theme changes colours and nothing else.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# Only what is wrong is handed back: the rest is a megabyte.
RUN_AXE = "async rules => (await axe.run(document, rules)).violations"
OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true })"
CLOSE_MENUS = "document.querySelectorAll('details.oc-menu').forEach(each => { each.open = false })"
GIVEN_BACK = [Kept("note", "What was typed\nwhile the session ended " + "W" * 500, True), Kept("fix", "new", False)]
Entrance = Callable[[Visitor, dict[str, str]], None]
NOT_BY_BUTTON = {"nobody", "guest", "halfway", "rosa", "otto", "nina"}


@pytest.fixture(scope="module")
def made(site: Site) -> dict[str, str]:
    """What was made for these tests, by name: paths."""
    return dict(json.loads(site.manage("shell", "--no-imports", stdin="from tests.browser import stage; stage.show()")))


@pytest.fixture(scope="module")
def visit(site: Site, seated: SignIn, made: dict[str, str]) -> Callable[[str], Visitor]:
    """Return a function that returns a person's browser, signed in at the first time."""
    ready: set[str] = set()

    def visitor_of(who: str) -> Visitor:
        visitor = seated(who, demo=who not in NOT_BY_BUTTON)
        if who not in ready and who in ENTRANCES:
            ENTRANCES[who](visitor, made)
        ready.add(who)
        return visitor

    return visitor_of


def _with_password(name: str) -> Entrance:
    def enter(visitor: Visitor, made: dict[str, str]) -> None:
        visitor.open("/accounts/login/")
        visitor.page.fill("[name=login]", f"{name}@example.com")
        visitor.page.fill("[name=password]", PASSWORD)
        visitor.page.click("button:has-text('Sign in')")

    return enter


def _with_both_factors(visitor: Visitor, made: dict[str, str]) -> None:
    _with_password("otto")(visitor, made)
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    code = totp.format_hotp_value(totp.hotp_value(stage.OTTOS_SECRET, counter))
    visitor.page.fill("[name=code]", code)
    visitor.page.click("button:has-text('Sign in') >> nth=0")


def _proved(enter: Entrance) -> Entrance:
    """As ``enter``, and the password once more: what changes how somebody signs in asks for it."""

    def prove(visitor: Visitor, made: dict[str, str]) -> None:
        enter(visitor, made)
        visitor.open("/accounts/reauthenticate/")
        visitor.page.fill("[name=password]", PASSWORD)
        visitor.page.click("button:has-text('Go on')")

    return prove


def _with_a_code_sent(visitor: Visitor, made: dict[str, str]) -> None:
    visitor.open("/accounts/reauthenticate/code/")
    visitor.page.click("button:has-text('Send a code')")


def _by_invitation(visitor: Visitor, made: dict[str, str]) -> None:
    visitor.open(made["invitation"])
    visitor.page.click("button:has-text('Go on')")


ENTRANCES = {
    "rosa": _with_password("rosa"),
    "nina": _proved(_with_password("nina")),
    "otto": _proved(_with_both_factors),
    "halfway": _with_password("otto"),
    "jonas": _with_a_code_sent,
    "guest": _by_invitation,
}


def test_every_page_has_a_place() -> None:
    everything = set(names(get_resolver().url_patterns))
    posted_only = {row.name for row in ROWS} - {row.name for row in ROWS if row.method == "GET"}
    pages = {name for name in everything - posted_only - NO_PAGE - SWITCHED_OFF if not _about_one_row(name)}

    assert pages - {place.name for place in PLACES} == set(), "add a Place to PLACES"
    assert everything >= NO_PAGE | SWITCHED_OFF


def _about_one_row(name: str) -> bool:
    """The pages of platform data for each table are the same ones; the list and a row of one table stand for all."""
    return name.startswith("admin:teams_") and not name.startswith("admin:teams_team_c")


def test_every_error_has_a_place() -> None:
    problems = {path.stem for path in (ROOT / "templates").glob("*.html") if "_problem.html" in path.read_text()}

    assert problems - {place.name for place in PLACES} == set(), "add a Place to PLACES"


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_page(place: Place, visit: Callable[[str], Visitor], made: dict[str, str]) -> None:
    visitor = visit(place.who)
    page = visitor.page
    visitor.complaints.clear()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light")

    assert _open(visitor, place.path.format(**made), place.status) == place.status
    # A link with a token is followed to the page without it; everything else is judged where it was asked for.
    if place.path != "{reset}":
        assert urlsplit(page.url).path == place.path.format(**made).partition("?")[0]
    page.evaluate(AXE_SCRIPT)
    found = _violations(page, ALL_WITH_TARGETS)
    widths = {1440: _width(page)}
    page.evaluate(OPEN_ALL)
    _change_theme(page, "dark")
    found += _violations(page, COLOURS)
    page.set_viewport_size({"width": 375, "height": 800})
    found += _violations(page, COLOURS)
    _change_theme(page, "light")
    found += _violations(page, ALL)
    page.evaluate(CLOSE_MENUS)
    found += _violations(page, TARGETS)
    widths[375] = _width(page)
    page.set_viewport_size({"width": 320, "height": 800})
    widths[320] = _width(page)

    assert not found, "\n".join(found)
    assert {window: width for window, width in widths.items() if width > window} == {}
    assert [text for text in visitor.complaints if not _tells_the_status(text, place.status)] == []


def _open(visitor: Visitor, path: str, status: int) -> int:
    """Open the page and return its status; a page that only a fault shows is served from its template."""
    if path.startswith(DRAWN):
        body = render_to_string(
            path.removeprefix(DRAWN), {"reference": "0a1b2c3d", "fields": GIVEN_BACK, "sign_in": "/"}
        )
        headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Content-Type": "text/html; charset=utf-8"}

        def serve(route: Route) -> None:
            route.fulfill(status=status, body=body, headers=headers)

        visitor.page.route(f"**{path}", serve, times=1)
    response = visitor.page.goto(visitor.site.url + path)
    assert response is not None
    return response.status


def _width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


def _change_theme(page: Page, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    page.wait_for_function("theme => document.documentElement.dataset.bsTheme === theme", arg=theme)


def _violations(page: Page, rules: dict[str, Any]) -> list[str]:
    """Return what axe-core finds: at which width, in which theme, the rule, where, and what it says."""
    violations = page.evaluate(RUN_AXE, rules | {"resultTypes": ["violations"]})
    where = page.evaluate("`${innerWidth} ${document.documentElement.dataset.bsTheme}`")
    return [
        f"{where}: {violation['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]


def _tells_the_status(text: str, status: int) -> bool:
    return status >= 400 and f"responded with a status of {status}" in text


def test_an_incident_prints_black_on_white_and_unfolded(visit: Callable[[str], Visitor]) -> None:
    page = visit("priya").page
    page.goto(f"{visit('priya').site.url}/incidents/SEARCH-15/")
    page.set_viewport_size({"width": 700, "height": 1000})  # a sheet of A4 between its margins
    _change_theme(page, "dark")
    page.emulate_media(media="print")

    heading = page.locator("h1").evaluate("each => getComputedStyle(each).color")
    assert heading == "rgb(20, 24, 31)"
    expect(page.locator(".oc-answers thead")).to_be_visible()
    expect(page.locator("#timeline ol")).to_be_visible()
    expect(page.locator("main form:visible, main .btn:visible, header.oc-top:visible")).to_have_count(0)
    page.emulate_media(media="screen")
