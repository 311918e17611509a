"""The incident's page in a real browser: what it weighs, when it asks, without script and with keys."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, expect

from incidents.examples import EXAMPLES
from tests.browser.conftest import SignIn, Site, Visitor

pytestmark = [pytest.mark.thorough, pytest.mark.browser, pytest.mark.worker, pytest.mark.timeout(120)]

KILOBYTE = 1000
FIRST, AFTER = 250 * KILOBYTE, 30 * KILOBYTE


def _transferred(session: CDPSession, load: Callable[[], None]) -> int:
    """Return how many bytes came over the wire while a page was loaded. What the browser has cached counts nothing."""
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    load()
    return int(sum(sizes))


def test_the_page_is_light(site: Site, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.url}/accounts/login/")
    page.click("button[value='priya@example.com']")
    signed_in = context.storage_state()
    context.close()
    fresh = browser.new_context(storage_state=signed_in)
    page = fresh.new_page()
    session = fresh.new_cdp_session(page)
    session.send("Network.enable")

    def load() -> None:
        page.goto(f"{site.url}/incidents/SEARCH-15/", wait_until="networkidle")

    first = _transferred(session, load)
    after = _transferred(session, load)
    fresh.close()

    assert first < FIRST
    assert after < AFTER


def test_nothing_in_the_head_blocks_the_first_paint_but_the_theme(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    visitor.open("/incidents/SEARCH-15/")

    blocking = visitor.page.locator("head script:not([defer])").evaluate_all("all => all.map(each => each.src)")

    assert [Path(source).name for source in blocking] == ["theme.js"]


def test_a_finished_page_asks_nothing_and_a_hidden_one_neither(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.open("/incidents/SEARCH-15/")
    visitor.page.wait_for_load_state("networkidle")
    asked.clear()
    visitor.page.wait_for_timeout(1500)
    assert asked == []

    visitor.page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => window.isHidden ?? false})")
    _vague(visitor)
    visitor.page.evaluate("window.isHidden = true")
    visitor.page.wait_for_timeout(200)
    asked.clear()
    visitor.page.wait_for_timeout(6000)
    assert asked == []


def _vague(visitor: Visitor) -> None:
    """Leave the page on an incident that waits for an answer."""
    page = visitor.page
    visitor.open("/incidents/new/")
    page.select_option("#id_project", "SEARCH")
    page.fill("#id_text", EXAMPLES["vague"].text)
    page.click("button:has-text('Investigate')")
    expect(page.locator("#live[data-live-state='waiting']")).to_be_visible(timeout=15_000)


def test_the_summary_is_copied_by_a_key(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.site.url)
    visitor.open("/incidents/SEARCH-15/")

    visitor.page.keyboard.press("c")

    expect(visitor.page.locator("[data-announce]")).to_have_text("Copied")
    copied = visitor.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("SEARCH-15 ")
    assert re.search(r"Next: .+\nFailed before", copied)
    assert copied.endswith("/incidents/SEARCH-15/")


def test_the_summary_opens_without_script(sign_in: SignIn) -> None:
    visitor = sign_in("mei", javascript=False)
    visitor.open("/incidents/SEARCH-15/")

    visitor.page.click(".oc-head-actions a:has-text('Copy summary')")

    assert visitor.page.inner_text("#summary").startswith("SEARCH-15 ")


def test_what_changes_at_the_end_is_there_and_what_was_typed_stays(sign_in: SignIn) -> None:
    watching, acting = sign_in("priya"), sign_in("ines")
    _vague(watching)
    page = watching.page
    expect(page.locator(".oc-head-actions")).to_contain_text("Cancel")
    page.fill("#cause", "typed while it runs")

    acting.page.goto(page.url)
    acting.page.click("button:has-text('Go on without answers')")

    expect(page.locator(".oc-head-actions")).to_contain_text("Investigate again", timeout=20_000)
    expect(page.locator("#cause")).to_have_value("typed while it runs")
    expect(page.locator("#timeline")).to_contain_text("Investigated")
