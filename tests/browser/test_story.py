"""The story that must work, as a stranger would try it. The tests build on each other, in this order."""

import re
import time

import pytest
from playwright.sync_api import expect

from incidents.examples import EXAMPLES
from tests.browser.conftest import SignIn, Site, Visitor

pytestmark = [pytest.mark.browser, pytest.mark.worker, pytest.mark.timeout(180)]

SIMILAR = """\
PagerDuty: checkout search is failing
service=search-api env=prod-eu severity=critical
Customers get 502 pages. The log repeats: Timeout expired, no connection could be obtained from the pool in time,
all pooled connections are in use. The database itself is idle.
"""
seen: dict[str, str] = {}


def _paste(visitor: Visitor, text: str, project: str = "SEARCH") -> None:
    visitor.open("/incidents/new/")
    visitor.page.select_option("#id_project", project)
    visitor.page.fill("#id_text", text)
    visitor.page.click("button:has-text('Investigate')")


def _finished(visitor: Visitor) -> None:
    expect(visitor.page.locator("#live[data-live-state='done']")).to_be_visible(timeout=30_000)


def test_serve_says_where_it_is_and_who_can_sign_in(site: Site) -> None:
    said = site.log.read_text()

    assert site.url in said
    assert "Priya Lindqvist" in said


def test_the_sign_in_page_has_a_button_for_each_person(sign_in: SignIn) -> None:
    visitor = sign_in(None)
    visitor.open("/")

    expect(visitor.page.locator("form button[name='email']")).to_have_count(7)
    visitor.page.click("button[value='priya@example.com']")
    expect(visitor.page.locator("#first")).to_have_text("Three steps to see what it does")
    assert {"Known here", "Seen elsewhere", "New pattern", "Needs info"} <= set(
        visitor.page.locator(".oc-rows .oc-chip").all_inner_texts()
    )


def test_a_known_alert_is_answered_twice_with_evidence(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    started = time.monotonic()
    _paste(visitor, EXAMPLES["known"].text)
    expect(visitor.page.locator("#trace .oc-mono").first).to_be_visible(timeout=5_000)
    seen["first step after"] = f"{time.monotonic() - started:.1f} s"
    _finished(visitor)
    seen["pool"] = visitor.page.url
    said = visitor.text()

    assert "Known here." in said
    assert "High confidence" in said
    assert "The offline reasoner wrote this." in said
    expect(visitor.page.locator(".oc-answers th[scope=col]")).to_have_text(["Part", "Alert alone", "With memory"])
    card = visitor.page.locator("#ev-p1").inner_text()
    assert re.search(r"SEARCH-\d+", card)
    assert "Close match" in card
    assert "Same error text, same service" in card
    assert "seen 3×" in card
    assert "Ines Okafor, 18 min" in card
    assert "RB-07 Pool exhaustion" in card
    assert "Worked 3 of 3" in card
    assert "has left" in visitor.page.locator(".oc-evidence").inner_text()
    struck = visitor.page.locator("#failed del").all_inner_texts()
    assert "Restart the search-api pods" in struck
    commands = visitor.page.locator("#do ~ ol .oc-cmd, section:has(#do) .oc-cmd")
    expect(commands.first).to_contain_text("Not judged yet")
    expect(commands.locator("[data-copy]")).to_have_count(0)


def test_an_attempt_and_the_outcome_are_saved_and_become_recallable(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    visitor.page.goto(seen["pool"])
    attempt = visitor.page.locator("#attempt")
    attempt.locator("label:has-text('Something else')").click()
    attempt.locator("select[name=fix]").select_option("new")
    attempt.locator("[name=new_fix]").fill("Fail the database over")
    attempt.locator("[name=what_happened]").fill("The new primary had the same waiters within a minute.")
    attempt.locator("button[type=submit]").click()
    expect(visitor.page.locator("#saved")).to_contain_text("Attempt that failed: Fail the database over")

    outcome = visitor.page.locator("#fixed")
    outcome.locator("label:has-text('Something else')").click()
    outcome.locator("select[name=fix]").select_option("new")
    outcome.locator("[name=new_fix]").fill("Stop the catalogue export")
    outcome.locator("[name=root_cause]").fill("The catalogue export opened a transaction for each product and kept it.")
    outcome.locator("[name=what_was_done]").fill("Stopped the export; the pool was free again at once.")
    outcome.locator("[name=minutes]").fill("14")
    outcome.locator("button:has-text('Save the fix and resolve')").click()

    expect(visitor.page.locator("#verdict")).to_contain_text("Fixed.")
    fixed = visitor.page.locator("#saved li").filter(has_text="Verified fix").first
    expect(fixed).to_contain_text(re.compile(r"queued.*retained.*recallable after \d+\.\d s", re.S), timeout=20_000)
    seen["recallable"] = re.search(r"recallable after [\d.]+ s", fixed.inner_text()).group()  # type: ignore[union-attr]


def test_a_similar_alert_finds_what_was_just_written_down(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    _paste(visitor, SIMILAR)
    _finished(visitor)
    resolved = re.search(r"SEARCH-\d+", seen["pool"]).group()  # type: ignore[union-attr]

    assert resolved in visitor.page.locator(".oc-evidence").inner_text()
    proposed = visitor.page.locator("section:has(#do) .oc-do-text").all_inner_texts()
    assert not any("Fail the database over" in text for text in proposed)
    assert "Fail the database over" in visitor.page.locator("#failed del").all_inner_texts()


def test_an_unknown_alert_gets_i_do_not_know(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    _paste(visitor, EXAMPLES["new"].text)
    _finished(visitor)
    said = visitor.text()

    assert "I don’t know. Nothing verified in this project matches." in said
    assert "New pattern" in said
    assert "Low confidence" in said
    assert "Escalate to a second person" in said
    expect(visitor.page.locator(".oc-ev")).to_have_count(0)


def test_a_vague_alert_asks_three_questions_and_goes_on_from_an_answer(sign_in: SignIn) -> None:
    visitor = sign_in("priya")
    _paste(visitor, EXAMPLES["vague"].text)
    expect(visitor.page.locator("#ask")).to_have_text("Three questions", timeout=15_000)
    expect(visitor.page.locator("textarea[name^='answer-']")).to_have_count(3)
    expect(visitor.page.locator("#checks")).to_be_visible(timeout=15_000)
    assert 2 <= visitor.page.locator("section:has(#checks) .oc-cmd").count() <= 3

    visitor.page.locator("textarea[name^='answer-']").last.fill(
        "search-api answers 502: Timeout expired, prior to obtaining a connection from the pool"
    )
    visitor.page.click("button:has-text('Send and go on')")
    _finished(visitor)

    assert "Known here." in visitor.text()
    assert "answered" in visitor.page.locator("#timeline").inner_text()


def test_another_team_sees_none_of_it(sign_in: SignIn, site: Site) -> None:
    visitor = sign_in("dario")
    visitor.open("/incidents/?tab=all")
    assert "SEARCH-" not in visitor.text()
    visitor.open("/incidents/?tab=all&q=pool")
    assert "SEARCH-" not in visitor.text()
    for path in (seen["pool"].removeprefix(site.url), "/projects/SEARCH/settings/", "/teams/discovery/"):
        response = visitor.page.goto(site.url + path)
        assert response is not None
        assert response.status == 404
        assert "There is nothing here for you." in visitor.text()
    visitor.open("/memory/?project=SEARCH")
    assert "SEARCH-" not in visitor.text()
    answer = visitor.page.request.get(f"{site.url}/api/v1/incidents/")
    assert answer.json()["results"] == []
    visitor.complaints.clear()  # the browser logs each 404 that was asked for


def test_an_empty_memory_says_so_and_how_to_fill_it(sign_in: SignIn) -> None:
    visitor = sign_in("dario")
    visitor.open("/memory/")
    assert "No verified fix here yet." in visitor.text()
    _paste(visitor, "service=payout-batch env=prod severity=high\nERROR gateway timed out after 30 s", "PAY")
    _finished(visitor)
    said = visitor.text()

    assert "No verified fix here yet." in said
    assert "Resolve an incident" in said
    assert "Use shared lessons" in said


def test_everything_can_be_written_without_javascript(sign_in: SignIn) -> None:
    visitor = sign_in("ines", javascript=False)
    visitor.open("/incidents/new/")
    visitor.page.select_option("#id_project", "CAT")
    visitor.page.fill("#id_text", "service=catalog-api severity=low\nERROR too many open files")
    visitor.page.click("button:has-text('Save without investigating')")
    visitor.page.click("button:has-text('Acknowledge')")
    assert "Acknowledged" in visitor.text()
    visitor.page.fill("#nt", "Looks like last week")
    visitor.page.click("#timeline button:has-text('Add') >> nth=0")
    assert "Looks like last week" in visitor.text()
    visitor.page.fill("#fixed [name=root_cause]", "A leak of handles")
    visitor.page.click("#fixed button:has-text('Save the fix and resolve')")
    # The fix was left out: the form comes back with what was typed.
    assert "Not saved yet." in visitor.text()
    assert visitor.page.input_value("#fixed [name=root_cause]") == "A leak of handles"
    visitor.complaints.clear()  # the browser logs the 400 of the refused form
