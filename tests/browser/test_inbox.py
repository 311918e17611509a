"""The inbox at a browser: by keys alone, without script, and while new incidents come in."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn, Visitor

pytestmark = [pytest.mark.thorough, pytest.mark.browser, pytest.mark.worker, pytest.mark.timeout(180)]

SHORTCUTS = ["a", "r", "e", "j", "k", "?", "/", "x", "n", "g", "i", "m"]


def paste(visitor: Visitor, name: str, title: str = "") -> None:
    """Open an incident of its own kind, without an investigation."""
    visitor.open("/incidents/new/")
    visitor.page.select_option("#id_project", "SEARCH")
    visitor.page.fill("#id_text", f"service={name} severity=low\nERROR {name} failed to start")
    if title:
        visitor.page.fill("#id_title", title)
    visitor.page.click("button:has-text('Save without investigating')")


def here(page: Page) -> str:
    """Return the name of the row that the keys are at."""
    return page.locator(".oc-row[aria-current] .oc-nr").inner_text()


def shown(page: Page) -> list[str]:
    return page.locator(".oc-row .oc-nr").all_inner_texts()


def open_dialogs(page: Page) -> int:
    return page.locator("dialog[open]").count()


def test_rows_are_walked_ticked_and_acknowledged_by_keys(sign_in: SignIn) -> None:
    visitor = sign_in("ines")
    paste(visitor, "walker")
    visitor.open("/incidents/?sort=new")
    page = visitor.page
    names = shown(page)
    acknowledge = page.locator("[data-bulk] button[name=acknowledge]")

    expect(acknowledge).to_be_disabled()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert here(page) == names[1]
    page.keyboard.press("k")
    assert here(page) == names[0]
    page.keyboard.press("x")
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    expect(acknowledge).to_be_enabled()
    page.keyboard.press("a")
    expect(page.locator(".oc-toast")).to_contain_text("1 acknowledged.")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/incidents/{names[0]}/")


def test_going_somewhere_takes_two_keys(sign_in: SignIn) -> None:
    visitor = sign_in("ines")
    visitor.open("/incidents/")

    visitor.page.keyboard.press("g")
    visitor.page.keyboard.press("m")
    visitor.page.wait_for_url("**/memory/")
    visitor.page.keyboard.press("g")
    visitor.page.keyboard.press("i")
    visitor.page.wait_for_url("**/incidents/")
    visitor.page.keyboard.press("?")
    expect(visitor.page.locator("[data-keys-dialog]")).to_contain_text("Next and previous incident")
    visitor.page.keyboard.press("Escape")
    expect(visitor.page.locator("[data-keys-dialog]")).to_be_hidden()
    visitor.page.keyboard.press("/")
    expect(visitor.page.locator("#q")).to_be_focused()


@pytest.mark.parametrize("where", ["#q", "#id_text", "#id_title"])
def test_no_key_fires_in_a_field(sign_in: SignIn, where: str) -> None:
    visitor = sign_in("ines")
    visitor.open("/incidents/" if where == "#q" else "/incidents/new/")
    page, url = visitor.page, visitor.page.url

    page.focus(where)
    for key in SHORTCUTS:
        page.keyboard.type(key)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("日本 @€")

    assert page.input_value(where) == "日本 @€"
    assert (page.url, open_dialogs(page)) == (url, 0)


def test_no_key_fires_on_a_select_or_with_alt_gr(sign_in: SignIn) -> None:
    visitor = sign_in("ines")
    visitor.open("/incidents/new/")
    page, url = visitor.page, visitor.page.url
    page.focus("#id_project")
    for key in ("j", "k", "n", "?"):
        page.keyboard.press(key)
    assert (page.url, open_dialogs(page)) == (url, 0)

    visitor.open("/incidents/")
    page.evaluate(
        """for (const key of ["j", "x", "?"]) document.body.dispatchEvent(new KeyboardEvent("keydown",
           {key, bubbles: true, cancelable: true, modifierAltGraph: true}))"""
    )
    assert (page.locator(".oc-row[aria-current]").count(), open_dialogs(page)) == (0, 0)


def test_nothing_fires_once_shortcuts_are_off(sign_in: SignIn) -> None:
    visitor = sign_in("mei")
    page = visitor.page
    visitor.open("/profile/")
    page.uncheck("#id_shortcuts_on")
    page.click("main button:has-text('Save')")
    visitor.open("/incidents/?tab=all")
    url = page.url

    for key in (*SHORTCUTS, "Control+k"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)

    assert (page.url, open_dialogs(page), page.locator(".oc-row[aria-current]").count()) == (url, 0, 0)
    assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_find_is_a_dialog_with_script(sign_in: SignIn) -> None:
    visitor = sign_in("ines")
    visitor.open("/memory/")
    page = visitor.page

    page.keyboard.press("Control+k")
    page.keyboard.type("SEARCH-1")
    option = page.locator("[role=option][aria-selected=true]")
    expect(option).to_contain_text("SEARCH-1 ")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[role=option]").first).to_have_attribute("aria-selected", "false")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/incidents/SEARCH-1/")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.locator("[data-find-dialog]")).to_be_hidden()


def test_several_are_assigned_and_given_back_without_javascript(sign_in: SignIn) -> None:
    visitor = sign_in("ines", javascript=False)
    paste(visitor, "noscript-one")
    paste(visitor, "noscript-two")
    visitor.open("/incidents/?q=noscript")
    page = visitor.page
    for box in page.locator("input[name=nr]").all():
        box.check()

    page.click("button[name=assign][value=me]")
    assert "2 assigned." in page.locator(".oc-toast").inner_text()
    assert page.url.endswith("/incidents/?q=noscript")
    assert page.locator(".oc-row:has-text('Ines Okafor')").count() == 2
    page.click(".oc-toast button")
    assert "2 given back." in page.locator(".oc-toast").inner_text()
    assert page.locator(".oc-row:has-text('Nobody yet')").count() == 2

    visitor.open("/find/?find=noscript-one")
    page.click(".oc-found >> nth=0")
    assert "noscript-one" in visitor.text()


def test_new_incidents_are_told_and_push_no_row(sign_in: SignIn) -> None:
    visitor, other = sign_in("ines"), sign_in("jonas")
    visitor.open("/incidents/?sort=new")
    page = visitor.page
    before, place = shown(page), page.locator(".oc-row").first.bounding_box()

    paste(other, "newcomer")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#news")).to_contain_text("1 new incident.")

    assert (shown(page), page.locator(".oc-row").first.bounding_box()) == (before, place)
    page.click("#news a")
    assert shown(page)[1:] == before


def test_a_hidden_tab_asks_nothing(sign_in: SignIn) -> None:
    visitor = sign_in("ines")
    page = visitor.page
    page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => true})")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/news/" in request.url else None)
    visitor.open("/incidents/")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(1500)

    assert asked == []


@pytest.mark.parametrize("width", [1440, 375, 320])
def test_long_and_hostile_titles_break_nothing(sign_in: SignIn, width: int) -> None:
    visitor = sign_in("ines", width=width)
    title = f"<b>bold</b> \u202eright to left שלום 🔥 {width} " + "x" * 140
    paste(visitor, f"hostile-{'abc'[width % 3]}", title[:200])
    for path in (f"/incidents/?q=hostile&project={'P' * 60}", "/incidents/?q=hostile", "/find/?find=bold", "/help/"):
        visitor.open(path)
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.page.locator("main b:text-is('bold')").count() == 0
