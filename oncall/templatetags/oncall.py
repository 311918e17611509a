"""How values look on a page. Loaded into every template (settings, ``builtins``).

Whatever comes from alerts, memory or a model is hostile text: everything here escapes what it prints.
"""

import re
import unicodedata
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django import forms, template
from django.forms.boundfield import BoundField
from django.template.context import Context
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

# --- Icons and chips --------------------------------------------------------------------------------------------------
# The class that carries a vocabulary's values. The stored value is the attribute and part of the icon's id, so that no
# template maps a value to a colour: static/copilot.css does.
CHIP_CLASSES = {
    "sev": "oc-sev",
    "state": "oc-state",
    "record": "oc-state",
    "kind": "oc-kind",
    "delta": "oc-delta",
    "pattern": "oc-chip",
    "memory": "oc-chip",
    "gate": "oc-chip",
    "match": "oc-chip",
    "lesson": "oc-chip",
    "tone": "oc-chip",
}
# Where the icon is not "<vocabulary>-<value>". "Same" is said by the word alone.
_CHIP_ICONS = {
    ("delta", "same"): "",
    ("tone", "info"): "i-alert-circle",
    ("tone", "warn"): "i-alert-triangle",
    ("tone", "bad"): "i-alert-circle",
    ("tone", "good"): "i-check",
}


@register.simple_tag
def icon(name: str, value: str = "") -> SafeString:
    """Return the symbol ``name``, or ``name-value``: ``{% icon "i-check" %}``, ``{% icon "pattern" run.pattern %}``.

    It is hidden from assistive technology, so the word must stand beside it.
    """
    symbol = f"{name}-{value}" if value else name
    return format_html('<svg class="ic" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), symbol)


@register.simple_tag
def chip(vocabulary: str, value: str, label: str, symbol: str | None = None) -> SafeString:
    """Return a stored value as shape, word and colour; nothing where the value is empty.

    ``{% chip "gate" command.verdict command.get_verdict_display %}``. ``symbol`` replaces the value's own icon.
    Raise TemplateSyntaxError for a vocabulary that has no class.
    """
    if vocabulary not in CHIP_CLASSES:
        raise template.TemplateSyntaxError(f"{vocabulary!r} is no vocabulary; known: {', '.join(CHIP_CLASSES)}.")
    if not value:
        return SafeString("")
    name = symbol if symbol is not None else _CHIP_ICONS.get((vocabulary, value), f"{vocabulary}-{value}")
    return format_html(
        '<span class="{}" data-{}="{}">{}{}</span>',
        CHIP_CLASSES[vocabulary],
        vocabulary,
        value,
        icon(name) if name else "",
        label,
    )


# --- Times ------------------------------------------------------------------------------------------------------------
@register.filter
def when(moment: datetime | None) -> SafeString:
    """Return a ``<time>`` in the reader's zone: "02:14" today, "12 May" this year, else "12 May 2025".

    The whole moment and its zone stand in ``title``. Nothing where there is no moment.
    """
    if moment is None:
        return SafeString("")
    local, now = timezone.localtime(moment), timezone.localtime()
    day = f"{local.day} {local:%B}"
    if local.date() == now.date():
        text = f"{local:%H:%M}"
    elif local.year == now.year:
        text = day
    else:
        text = f"{day} {local.year}"
    return _time(local, text)


@register.filter
def age_or_date(moment: datetime | None) -> SafeString:
    """Return a ``<time>`` for a narrow column: "9 min" within a week, then "12 May", of another year "Nov 2025"."""
    if moment is None:
        return SafeString("")
    local, now = timezone.localtime(moment), timezone.localtime()
    if now - local < timedelta(days=7):
        text = age(moment)
    elif local.year == now.year:
        text = f"{local.day} {local:%b}"
    else:
        text = f"{local:%b} {local.year}"
    return _time(local, text)


def _time(local: datetime, text: str) -> SafeString:
    """Return a ``<time>`` that shows the text, with the whole moment and its zone in ``title``."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local.day} {local:%B} {local.year}, {local:%H:%M} {_zone(local)}",
        text,
    )


@register.filter
def age(moment: datetime | None) -> str:
    """Return how long ago the moment was, in its largest unit: "40 s", "9 min", "3 h", "1 day", "5 days"."""
    if moment is None:
        return ""
    seconds = max(0, int((timezone.now() - moment).total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86_400:
        return f"{seconds // 3600} h"
    days = seconds // 86_400
    return f"{days} day" if days == 1 else f"{days} days"


def _zone(local: datetime) -> str:
    """Return "UTC", "Europe/Berlin (UTC+2)" or "Asia/Kolkata (UTC+5:30)"."""
    offset = local.utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset else 0
    if not minutes:
        return timezone.get_current_timezone_name()
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes > 0 else "−"
    return f"{timezone.get_current_timezone_name()} (UTC{sign}{hours}{f':{rest:02}' if rest else ''})"


# --- Text that is not what it looks like ------------------------------------------------------------------------------
# Unicode's Default_Ignorable_Code_Point, which also holds every bidirectional control, and the blank Braille cell.
# U+FE0F is left out: it only makes the sign before it an emoji, and alerts are full of those.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Controls but tab and line feed, line and paragraph separators, and half a surrogate pair.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_HIDDEN = re.compile(f"[{_IGNORABLE}{_CONTROL}]")
# A shell's words are ASCII. Whatever else stands there may be read as something that it is not.
_NOT_PLAIN = re.compile(r"[^\t\n\x20-\x7e]")
# A quoted part belongs to its word; a quote that is never closed is a character like any other.
_SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\S)+""", re.DOTALL)


@register.filter
def visible(text: object) -> SafeString:
    """Return the text with each invisible or direction-changing character written out, as ``U+200B`` in a mark."""
    return _marked(str(text or ""), _HIDDEN)


@register.filter
def command_words(command: object) -> SafeString:
    """Return one ``<span>`` for each shell word, so that a command breaks between words only.

    Every character beyond printable ASCII is named: a Cyrillic letter in a host must not pass for a Latin one.
    """
    text, parts, end = str(command or ""), [], 0
    for word in _SHELL_WORD.finditer(text):
        parts.append((_marked(text[end : word.start()], _NOT_PLAIN), _marked(word[0], _NOT_PLAIN)))
        end = word.end()
    return format_html_join("", "{}<span>{}</span>", parts)


def _marked(text: str, suspicious: re.Pattern[str]) -> SafeString:
    """Return the text, escaped, with a mark in place of each suspicious character."""
    parts, end = [], 0
    for match in suspicious.finditer(text):
        parts.append((text[end : match.start()], _name(match[0])))
        end = match.end()
    marked = format_html_join("", '{}<span class="oc-hole">{}</span>', parts)
    return format_html("{}{}", marked, text[end:])


def _name(character: str) -> str:
    """Return the code point, after the sign itself where there is one to see."""
    code = f"U+{ord(character):04X}"
    seen = unicodedata.category(character)[0] in "LNPS" and not _HIDDEN.fullmatch(character)
    return f"{character} {code}" if seen else code


# --- Links ------------------------------------------------------------------------------------------------------------
# What a browser drops, turns around or ends a host with. A link that has any of it is not what it looks like.
_NOT_IN_LINK = re.compile(rf"[\s\\<>\"'`{_IGNORABLE}{_CONTROL}]")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]*:[0-9a-f:.]*")


@register.filter
def safe_link(address: object, label: object = "") -> SafeString:
    """Return a link to an http(s) address, with its real host to be seen; anything else as plain text.

    ``{{ fix.runbook_url|safe_link:fix.runbook_title }}``. Not links: other schemes, addresses without one, and those
    that carry a user name, which shows one host and goes to another. A host in other letters stands in its ASCII form.
    """
    text = str(address or "").strip(" ")
    parts = _web_address(text)
    if parts is None:
        return format_html("{} {}", label, visible(text)) if label and text else visible(label or text)
    href = parts.geturl()
    if not label:
        return format_html('<a href="{}" rel="noreferrer">{}</a>', href, visible(href))
    return format_html(
        '<a href="{}" rel="noreferrer">{}</a> <span class="oc-quiet">{}</span>', href, visible(label), parts.netloc
    )


def _web_address(text: str) -> SplitResult | None:
    """Return the parts, with the host in ASCII, of an address that goes where it seems to go."""
    if _NOT_IN_LINK.search(text):
        return None
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").encode("idna").decode().lower(), parts.port
    except ValueError:  # UnicodeError, which a host of another shape raises, is one
        return None
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not _HOST.fullmatch(host):
        return None
    if ":" in host:
        host = f"[{host}]"
    return parts._replace(netloc=host if port is None else f"{host}:{port}")


# --- Frame and forms --------------------------------------------------------------------------------------------------
@register.filter
def initials(name: object) -> str:
    """Return the first letters of the first and the last word."""
    words = str(name or "").split()
    return (words[0][0] + (words[-1][0] if len(words) > 1 else "")).upper() if words else ""


@register.simple_tag(takes_context=True)
def current(context: Context, url: str) -> SafeString:
    """Return ``aria-current`` for a link whose page, or a page below it, is the one that is shown."""
    path = getattr(context.get("request"), "path", "")
    return SafeString(' aria-current="page"' if url and path.startswith(url) else "")


@register.inclusion_tag("_field.html")
def field(
    bound: BoundField, label: str = "", *, optional: bool = False, invalid: bool = False, **attrs: Any
) -> dict[str, Any]:
    """Show a form's field: label above, help under, error joined by ``aria-describedby``.

    ``{% field form.email label="Email" autocomplete="username" %}``. ``optional`` says so beside the label; ``invalid``
    marks a field whose error stands elsewhere; all other arguments become attributes of the control.
    """
    shape = _shape(bound.field.widget)
    return {
        "field": bound,
        "label": label or bound.label,
        "optional": optional,
        "shape": shape,
        "control": "" if shape == "choice" else control(bound, invalid=invalid, **attrs),
    }


@register.simple_tag
def control(bound: BoundField, *, invalid: bool = False, **attrs: Any) -> SafeString:
    """Return a field's control alone, with its classes, for a layout that ``field`` does not have."""
    css = {"check": "form-check-input", "select": "form-select"}.get(_shape(bound.field.widget), "form-control")
    if invalid or bound.errors:
        css, attrs = f"{css} is-invalid", {**attrs, "aria-invalid": "true"}
    return bound.as_widget(attrs={**attrs, "class": f"{css} {bound.field.widget.attrs.get('class', '')}".strip()})


def _shape(widget: forms.Widget) -> str:
    """Return how a field is laid out: "check" (box before label), "choice" (radios as buttons), "select" or "text"."""
    if isinstance(widget, forms.CheckboxInput):
        return "check"
    if isinstance(widget, forms.RadioSelect | forms.CheckboxSelectMultiple):
        return "choice"
    return "select" if isinstance(widget, forms.Select) else "text"
