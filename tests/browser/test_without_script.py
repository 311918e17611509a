"""Every write works as a plain form: a day with JavaScript off. A write that is not in it fails the suite."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import resolve
from playwright.sync_api import Locator, Page, Response, expect

from incidents.examples import EXAMPLES
from tests.browser.conftest import SignIn, Visitor
from tests.test_access_matrix import ROWS

pytestmark = [pytest.mark.thorough, pytest.mark.browser, pytest.mark.worker, pytest.mark.timeout(180)]

# For machines; and the button by which the tests sign in, pressed before anything is counted.
NOT_HERE = {"api_alert_create", "demo_login"}
OTHER_ALERT = "service=catalog-api severity=low\nERROR too many open files in the thumbnail writer"


class Writer:
    """A person without script, and the names of the addresses that their forms were sent to."""

    def __init__(self, visitor: Visitor, written: set[str]) -> None:
        self.page: Page = visitor.page
        self.open = visitor.open
        self._written = written
        self.page.on("response", self._note)

    def _note(self, response: Response) -> None:
        if response.request.method == "POST":
            path = urlsplit(response.url).path
            assert response.status < 400, f"{path} answered {response.status}"
            self._written.add(resolve(path).url_name or "")

    def send(self, address: str, button: str = "", **fields: str) -> None:
        """Fill in the form that goes to an address with this in it, or to the page's own, and press its button."""
        forms = self.page.locator(f"form[action*='{address}']" if address else "main form:not([action])")
        button_of = "button:not([type=button])" + (f":has-text('{button}')" if button else "")
        form = forms.filter(has=self.page.locator(button_of)).first
        self._unfold(form)
        for name, value in fields.items():
            self._fill(form.locator(f"[name='{name}']"), value)
        with self.page.expect_navigation():
            form.locator(button_of).first.click()

    def _unfold(self, form: Locator) -> None:
        shut = self.page.locator("details:not([open])").filter(has=form)
        while shut.count():
            shut.first.locator("> summary").click()

    def _fill(self, field: Locator, value: str) -> None:
        kind = field.first.evaluate("element => element.type")
        if kind == "radio":
            chosen = field.locator(f"xpath=self::*[@value='{value}']").get_attribute("id")
            self.page.click(f"label[for='{chosen}']")
        elif kind == "checkbox":
            field.first.check()
        elif kind.startswith("select"):
            field.select_option(value)
        else:
            field.first.fill(value)

    def reload_until(self, found: str) -> None:
        """Load the page again, as its Refresh link does, until this is on it."""

        def there() -> None:
            self.page.reload()
            expect(self.page.locator(found).first).to_be_attached(timeout=200)

        _patiently(there)


def _patiently(attempt: Any, times: int = 60) -> None:
    for left in range(times, 0, -1):
        try:
            attempt()
        except AssertionError:
            if left == 1:
                raise
        else:
            return


def test_every_write_works_without_script(sign_in: SignIn) -> None:
    written: set[str] = set()
    ines = Writer(sign_in("ines", javascript=False), written)

    _work_an_incident(ines)
    _mend_fixes(ines)
    _keep_memory_true(ines)
    _manage(ines)
    _let_somebody_in(ines, Writer(sign_in(None, javascript=False), written))

    assert {row.name for row in ROWS if row.method == "POST"} - NOT_HERE - written == set()


def _work_an_incident(ines: Writer) -> None:
    ines.open("/incidents/")
    ines.send("first-steps/dismiss")
    ines.open("/incidents/new/")
    ines.send("", "Investigate", project="CAT", text=OTHER_ALERT)
    incident = ines.page.url
    ines.reload_until("#live[data-live-state='done']")
    ines.send("/acknowledge/")
    ines.send("/assign/", "Hand over", word="Taking it")
    ines.send("/severity/", "Critical")
    ines.send("/bring-in/", "Jonas Abara", assign="on")
    ines.page.click("a[href$='/correct/']")
    ines.send("", "Save", environment="prod-eu")
    ines.send("/note/", note="Looks like last week")
    ines.send("/system-text/", system_text="open files: 65535 of 65535")
    ines.send("/attempt/", followed="something_else", fix="new", new_fix="Restart it", what_happened="It came back")
    ines.send("/feedback/", alert_only="no", note="It named no cause")
    ines.send(
        "/outcome/", "Save the fix", followed="something_else", fix="new", new_fix="Close handles",
        root_cause="A leak of handles", what_was_done="Closed them",
    )  # fmt: skip
    ines.page.click("a[href*='/attempts/']")
    ines.send("", "Save the correction", what_happened="It came back after ten minutes")
    assert ines.page.url.startswith(incident)
    ines.send("/reopen/", "No, it came back")
    ines.send("/close/", "False alarm")

    ines.open("/incidents/new/")
    ines.send("", "Save without investigating", project="CAT", text="search-api severity=low\nERROR index 7 is red")
    pasted = urlsplit(ines.page.url).path
    ines.open("/incidents/?project=CAT&tab=all")
    ines.page.locator("form[action*='/incidents/bulk/'] input[name=nr]").first.check()
    ines.send("/incidents/bulk/", "Assign to me")
    ines.send("/bulk/undo/")
    ines.open(f"{pasted}correct/")
    ines.page.click("a[href$='/move/']")
    ines.send("", "Move", project="SEARCH")
    assert "/incidents/SEARCH-" in ines.page.url
    ines.open("/incidents/new/")
    ines.send("", "Investigate", project="CAT", text=EXAMPLES["vague"].text)
    ines.reload_until("textarea[name^='answer-']")
    ines.send("/cancel/")
    ines.send("/investigate/")
    ines.reload_until("textarea[name^='answer-']")
    name = ines.page.locator("textarea[name^='answer-']").first.get_attribute("name")
    ines.send("/answer/", "Send and go on", **{str(name): "The thumbnail writer says: too many open files"})


def _mend_fixes(ines: Writer) -> None:
    ines.open("/fixes/?project=CAT")
    ines.page.click("a:has-text('Restart it')")
    ines.send("/change/", "Save", title="Restart the writer")
    ines.page.select_option("[name=into]", label="Close handles")
    ines.send("/merge/", "Merge into it")
    ines.open("/fixes/?project=CAT")
    ines.page.click("a:has-text('Close handles')")
    ines.page.click("a:has-text('Restart the writer')")
    ines.send("/take-apart/", "Take apart")


def _keep_memory_true(ines: Writer) -> None:
    ines.open("/memory/?project=CAT")
    ines.page.locator(".oc-row-title").first.click()
    ines.page.click("a[href$='/forget/']")
    ines.send("", "Forget it")
    assert "Forgotten" in ines.page.locator("main").inner_text()


def _manage(ines: Writer) -> None:
    ines.open("/profile/")
    ines.send("", "Save", name="Ines Okafor")
    ines.send("/profile/theme/")
    ines.send("/profile/theme/")
    ines.open("/projects/CAT/settings/")
    ines.send("", "Save", escalation_contact="Catalogue on-call, Jonas Abara")
    ines.send("/lessons/", "Save")
    ines.send("/services/#", "Add", name="thumbnail-writer", aliases="thumbs")
    ines.send("/services/", "Save thumbnail-writer", aliases="thumbs, resize")
    ines.send("/keys/#", "Make the key", name="Test key", scopes="alerts:write")
    ines.send("/revoke/", "Revoke Test key")
    ines.open("/teams/discovery/")
    ines.send("/projects/", "Make it", key="WEB", name="Web shop")
    assert "/projects/WEB/settings/" in ines.page.url


def _let_somebody_in(ines: Writer, guest: Writer) -> None:
    ines.open("/teams/discovery/")
    ines.send("/invitations/", "Invite", email="mistaken@example.org", role="viewer")
    ines.send("/revoke/", "Revoke the invitation of mistaken@example.org")
    ines.send("/invitations/", "Invite", email="walter@example.org", role="viewer")
    link = re.search(r"/invitations/\S+", ines.page.locator("main").inner_text())
    assert link
    guest.open(link[0])
    guest.send("", "Go on")
    guest.send("/accounts/signup/", name="Walter Newell", password1="correct horse battery")
    guest.open("/teams/discovery/")
    assert "Walter Newell" in guest.page.locator("main").inner_text()

    ines.open("/teams/discovery/")
    row = ines.page.locator("tr:has-text('Walter Newell')")
    row.locator("select[name=role]").select_option("responder")
    row.locator("button:has-text('Save')").click()
    ines.page.locator("tr:has-text('Walter Newell') a:has-text('Remove')").click()
    ines.send("", "Remove Walter Newell")


def test_a_note_outlives_its_session(sign_in: SignIn) -> None:
    visitor = sign_in("priya", javascript=False)
    visitor.open("/incidents/SEARCH-17/")
    typed = "Both clocks drift since the reboot.\nNothing else was changed."
    visitor.page.click("details:not([open]):has([name=system_text]) > summary")
    visitor.page.locator("[name=system_text]").fill(typed)
    visitor.page.context.clear_cookies(name="oncall_session")
    visitor.page.click("form[action*='/system-text/'] button")
    assert "You were signed out before this was sent." in visitor.text()

    with visitor.page.context.expect_page() as opened:
        visitor.page.click("a:has-text('Sign in in another tab')")
    opened.value.click("button[value='priya@example.com']")
    assert "/incidents/SEARCH-17/" in opened.value.url
    visitor.page.click("button:has-text('Send it again')")
    # Signing in gave out a new token, so the form comes once more, with all that was typed.
    assert visitor.page.locator("textarea").input_value() == typed
    visitor.page.click("button:has-text('Send it again')")

    assert "Nothing else was changed." in visitor.text()
    visitor.complaints.clear()  # the browser logs both refusals
