"""The template tags: what a page prints for values, times and hostile text."""

import html
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.template import Context, Template, TemplateSyntaxError
from django.test import RequestFactory
from django.utils import timezone

from incidents.models import Incident, MemoryRecord
from incidents.models.incident import Severity
from incidents.models.investigation import MatchStrength, MemoryWord, Pattern
from oncall.templatetags import oncall as tags

BERLIN = ZoneInfo("Europe/Berlin")


def text_of(markup: str) -> str:
    """Return what a reader sees."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def render(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """A fixed moment: 14 June 2026, 00:14 UTC, which is 02:14 in Berlin."""
    moment = datetime(2026, 6, 14, 0, 14, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: moment)
    return moment


# --- Icons and chips --------------------------------------------------------------------------------------------------
def test_icon_joins_name_and_value() -> None:
    assert 'icons.svg#gate-auto"' in tags.icon("gate", "auto")
    assert 'icons.svg#i-check"' in tags.icon("i-check")


def test_icon_is_hidden_from_assistive_technology() -> None:
    assert 'aria-hidden="true"' in tags.icon("i-check")


def test_icon_escapes_its_name() -> None:
    assert "<script>" not in tags.icon('"><script>')


def test_chip_prints_value_icon_and_word() -> None:
    chip = render('{% chip "gate" "approval" "Needs approval" %}')
    assert '<span class="oc-chip" data-gate="approval">' in chip
    assert "#gate-approval" in chip
    assert text_of(chip) == "Needs approval"


@pytest.mark.parametrize(
    ("vocabulary", "css"), [("sev", "oc-sev"), ("state", "oc-state"), ("record", "oc-state"), ("kind", "oc-kind")]
)
def test_chip_without_box_has_its_own_class(vocabulary: str, css: str) -> None:
    assert f'class="{css}"' in tags.chip(vocabulary, "open", "Open")


def test_chip_of_no_value_is_nothing() -> None:
    assert tags.chip("pattern", "", "") == ""


def test_chip_that_says_same_has_no_icon() -> None:
    assert "<svg" not in tags.chip("delta", "same", "same")


def test_chip_takes_another_icon() -> None:
    assert "#match-weak" in tags.chip("tone", "warn", "Weak match", symbol="match-weak")


def test_chip_escapes_value_and_word() -> None:
    chip = tags.chip("sev", '"><b>', "<script>")
    assert "<script>" not in chip
    assert "<b>" not in chip


def test_chip_of_unknown_vocabulary_is_refused() -> None:
    with pytest.raises(TemplateSyntaxError, match="mood"):
        tags.chip("mood", "good", "Good")


@pytest.mark.parametrize(
    ("vocabulary", "choices"),
    [
        ("sev", Severity),
        ("state", Incident.Status),
        ("pattern", Pattern),
        ("memory", MemoryWord),
        ("match", MatchStrength),
        ("kind", MemoryRecord.Kind),
        ("record", MemoryRecord.State),
    ],
)
def test_every_stored_value_has_a_shape(vocabulary: str, choices: type, symbols: frozenset[str]) -> None:
    assert {f"{vocabulary}-{value}" for value in choices.values} <= symbols


# --- Times ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("moment", "seen"),
    [
        (datetime(2026, 6, 13, 22, 5, tzinfo=UTC), "00:05"),
        (datetime(2026, 6, 13, 21, 55, tzinfo=UTC), "13 June"),
        (datetime(2026, 5, 12, 3, 0, tzinfo=UTC), "12 May"),
        (datetime(2025, 5, 12, 3, 0, tzinfo=UTC), "12 May 2025"),
        (datetime(2025, 12, 31, 23, 30, tzinfo=UTC), "1 January"),
    ],
    ids=["today there", "yesterday there", "this year", "another year", "this year there"],
)
def test_when_is_as_short_as_the_readers_day_allows(now: datetime, moment: datetime, seen: str) -> None:
    with timezone.override(BERLIN):
        assert text_of(tags.when(moment)) == seen


def test_when_carries_the_whole_moment_and_its_zone(now: datetime) -> None:
    with timezone.override(BERLIN):
        markup = tags.when(now)
    assert 'datetime="2026-06-14T02:14:00+02:00"' in markup
    assert "14 June 2026, 02:14 Europe/Berlin (UTC+2)" in markup


@pytest.mark.parametrize(
    ("zone", "offset"), [("UTC", '00:14 UTC"'), ("Asia/Kolkata", "(UTC+5:30)"), ("America/St_Johns", "(UTC−2:30)")]
)
def test_when_names_the_offset(now: datetime, zone: str, offset: str) -> None:
    with timezone.override(ZoneInfo(zone)):
        assert offset in tags.when(now)


@pytest.mark.parametrize(
    ("ago", "seen"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(hours=23, minutes=59), "23 h"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=40), "40 days"),
    ],
)
def test_age_uses_the_largest_unit(now: datetime, ago: timedelta, seen: str) -> None:
    assert tags.age(now - ago) == seen


@pytest.mark.parametrize(
    ("moment", "seen"),
    [
        (datetime(2026, 6, 14, 0, 5, tzinfo=UTC), "9 min"),
        (datetime(2026, 6, 7, 0, 15, tzinfo=UTC), "6 days"),
        (datetime(2026, 6, 7, 0, 14, tzinfo=UTC), "7 Jun"),
        (datetime(2025, 12, 31, 23, 30, tzinfo=UTC), "1 Jan"),  # in Berlin the year had begun
        (datetime(2025, 11, 14, 8, 12, tzinfo=UTC), "Nov 2025"),
    ],
    ids=["minutes", "under a week", "a week", "new year", "another year"],
)
def test_age_or_date_turns_into_a_date_and_carries_the_whole_moment(now: datetime, moment: datetime, seen: str) -> None:
    with timezone.override(BERLIN):
        shown = tags.age_or_date(moment)

    assert text_of(shown) == seen
    assert "Europe/Berlin" in shown


def test_no_moment_prints_nothing() -> None:
    assert tags.when(None) == ""
    assert tags.age_or_date(None) == ""
    assert tags.age(None) == ""


# --- Hostile text -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "character",
    ["\u200b", "\u202e", "\u2066", "\u00ad", "\ufeff", "\u3164", "\u2800", "\x00", "\x1b", "\u2028", "\U000e0041"],
)
def test_visible_writes_out_what_cannot_be_seen(character: str) -> None:
    seen = tags.visible(f"a{character}b")
    assert character not in seen
    assert text_of(seen) == f"aU+{ord(character):04X}b"


def test_visible_marks_so_that_text_cannot_pretend() -> None:
    assert "oc-hole" in tags.visible("\u200b")
    assert "oc-hole" not in tags.visible("U+200B")


@pytest.mark.parametrize("text", ["Grüße, 18 % of requests\n\tشكرا", "⚠️ high", "naïve — “quoted”"])
def test_visible_leaves_honest_text_alone(text: str) -> None:
    assert tags.visible(text) == text


def test_visible_escapes_markup() -> None:
    assert tags.visible("<img src=x onerror=1>\u200b") == (
        '&lt;img src=x onerror=1&gt;<span class="oc-hole">U+200B</span>'
    )


@pytest.mark.parametrize("nothing", [None, ""])
def test_visible_of_nothing_is_nothing(nothing: str | None) -> None:
    assert tags.visible(nothing) == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("kubectl -n search  get pods", ["kubectl", "-n", "search", "get", "pods"]),
        ("""patch -p '{"spec": {"suspend": true}}'""", ["patch", "-p", """'{"spec": {"suspend": true}}'"""]),
        (r'echo "say \"two words\"" done', ["echo", r'"say \"two words\""', "done"]),
        (r"ls my\ folder", ["ls", r"my\ folder"]),
        ("echo it's open", ["echo", "it's", "open"]),
        ("a |\n  b", ["a", "|", "b"]),
        ("", []),
    ],
)
def test_command_words_are_shell_words(command: str, words: list[str]) -> None:
    markup = tags.command_words(command)
    assert [text_of(word) for word in re.findall(r"<span>(.*?)</span>", markup, re.DOTALL)] == words
    assert text_of(markup) == command


def test_command_words_show_hidden_and_foreign_characters() -> None:
    seen = text_of(tags.command_words("curl https://\u0430pple.example /tmp/\u200bcache \u202ehs.x"))
    assert seen == "curl https://\u0430 U+0430pple.example /tmp/U+200Bcache U+202Ehs.x"


def test_command_words_escape_markup() -> None:
    assert "<script>" not in tags.command_words("echo <script>")


# --- Links ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "address",
    [
        "//evil.example/x",
        "  javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "jav&#x09;ascript:alert(1)",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "ftp://runbooks.example/",
        "runbooks.example/07",
        "https://good.example@evil.example/",
        "https://good.example:80@evil.example/",
        "https://@evil.example/",
        "https://good.example\\@evil.example/",
        "https:\\\\evil.example",
        "https://good.example\n.evil.example/",
        "https://good.example\u202e/",
        "https://good.example%2f.evil.example/",
        "https://evil.example:port/",
        "https://evil.example:99999/",
        "https://[::1/",
        "https://",
        "https:///x",
        "http:evil.example",
        "https://a..b.example/",
        'https://evil.example/"onmouseover="x',
        "",
    ],
)
def test_safe_link_makes_no_link(address: str) -> None:
    for markup in (tags.safe_link(address), tags.safe_link(address, "Runbook")):
        assert "<a" not in markup
        assert "<script" not in markup


def test_safe_link_without_a_link_shows_what_was_given() -> None:
    assert text_of(tags.safe_link("file:///etc/passwd", "RB-07")) == "RB-07 file:///etc/passwd"


@pytest.mark.parametrize(
    ("address", "href"),
    [
        ("https://runbooks.example/07?a=1&b=2#top", "https://runbooks.example/07?a=1&b=2#top"),
        (" http://10.0.0.8:8080/x ", "http://10.0.0.8:8080/x"),
        ("HTTPS://Runbooks.Example/", "https://runbooks.example/"),
        ("http://[2001:db8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://build_server/job", "http://build_server/job"),
        ("https://\u0430pple.example/", "https://xn--pple-43d.example/"),
    ],
)
def test_safe_link_goes_where_it_says(address: str, href: str) -> None:
    link = tags.safe_link(address)
    assert f'href="{html.escape(href)}"' in link
    assert text_of(link) == href


def test_safe_link_with_a_label_shows_the_real_host() -> None:
    link = tags.safe_link("https://evil.example/good.example", "https://good.example")
    assert text_of(link) == "https://good.example evil.example"


def test_safe_link_escapes_its_label() -> None:
    assert "<script>" not in tags.safe_link("https://good.example/", "<script>")


def test_safe_link_sends_no_referrer() -> None:
    assert 'rel="noreferrer"' in tags.safe_link("https://good.example/")


# --- Frame and forms --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "seen"), [("Priya Lindqvist", "PL"), ("noor", "N"), ("Ana María da Silva", "AS"), ("", ""), (None, "")]
)
def test_initials(name: str | None, seen: str) -> None:
    assert tags.initials(name) == seen


@pytest.mark.parametrize(
    ("url", "marked"), [("/incidents/", True), ("/incidents/SEARCH-1/", True), ("/memory/", False), ("", False)]
)
def test_current_marks_the_page_and_those_above_it(rf: RequestFactory, url: str, marked: bool) -> None:
    context = Context({"request": rf.get("/incidents/SEARCH-1/")})
    assert bool(tags.current(context, url)) is marked


def test_current_without_a_request_marks_nothing() -> None:
    assert tags.current(Context(), "/") == ""


class _Form(forms.Form):
    title = forms.CharField(help_text="One line")
    severity = forms.ChoiceField(choices=[("low", "Low")])
    followed = forms.ChoiceField(choices=[("p1", "P1"), ("other", "Something else")], widget=forms.RadioSelect)
    later = forms.BooleanField(required=False)


def test_field_joins_help_and_error_to_the_control() -> None:
    markup = render("{% field form.title %}", form=_Form({}))
    (described,) = re.findall(r'aria-describedby="([^"]*)"', markup)
    for target in described.split():
        assert f'id="{target}"' in markup
    assert text_of(markup).split() == ["Title", "One", "line", "This", "field", "is", "required."]
    assert 'aria-invalid="true"' in markup
    assert "form-control is-invalid" in markup


def test_field_in_order_is_not_marked() -> None:
    markup = render("{% field form.title %}", form=_Form())
    assert "is-invalid" not in markup
    assert "invalid-feedback" not in markup


def test_field_may_be_marked_for_an_error_that_stands_elsewhere() -> None:
    assert "is-invalid" in render("{% field form.title invalid=True %}", form=_Form())


def test_field_takes_a_label_and_attributes() -> None:
    markup = render('{% field form.title label="Name" optional=True autocomplete="name" %}', form=_Form())
    assert text_of(markup).split()[:2] == ["Name", "optional"]
    assert 'autocomplete="name"' in markup


@pytest.mark.parametrize(("name", "css"), [("severity", "form-select"), ("later", "form-check-input")])
def test_field_has_the_class_of_its_control(name: str, css: str) -> None:
    assert css in tags.field(_Form()[name])["control"]


def test_field_draws_radios_as_buttons_and_keeps_the_choice() -> None:
    markup = render("{% field form.followed %}", form=_Form({"followed": "other"}))
    assert markup.count('class="btn-check"') == 2
    assert re.search(r'value="other"[^>]* checked', markup)
    assert not re.search(r'value="p1"[^>]* checked', markup)
