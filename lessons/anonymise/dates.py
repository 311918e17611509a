"""Dates finer than a month, in the ways that logs and people of many languages write them. A month or a year stays."""

import re
from collections.abc import Iterator

from lessons.anonymise.findings import Found
from lessons.anonymise.network import is_version
from lessons.anonymise.wordlists import months

_TIME = (
    r"(?:[T,]?\s{0,2}(?:at |um |a las |a |v |o |kl\.? |à |klo )?(?<!\d)(?:[01]?\d|2[0-3])[:h.][0-5]\d(?::[0-6]\d)?(?:[.,]\d{1,9})?"
    r"(?:\s?(?:[AaPp]\.?[Mm]\b\.?|Uhr\b|hrs?\b))?(?:\s?(?:Z\b|UTC|GMT|CES?T|E[SD]T|P[SD]T|C[SD]T|BST|IST|MSK|JST)(?:[+-]\d{1,2})?|\s?[+-]\d\d:?\d\d\b)?)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:(?:19|20)\d\d)"
_ROMAN = r"(?:I{1,3}|IV|VI{0,3}|IX|XI{0,2})"
_ORDINALS = (
    r"(?:twenty[- ]|thirty[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|"
    r"fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth)"
)
_NUMERIC = re.compile(
    rf"(?<![\d.\w-]){_YEAR}([-/.]){_MONTH}\1{_DAY}(?!\d)(?:{_TIME}|T\d\d(?:\d{{2,4}})?Z?)?"
    rf"|(?<![\d.\w/-]){_DAY}(?:\.\s?{_MONTH}\.\s?|/{_MONTH}/|-{_MONTH}-){_YEAR}\b{_TIME}?"
    rf"|(?<![\d.\w/-]){_MONTH}/{_DAY}/(?:{_YEAR}|\d\d)\b{_TIME}?"
    rf"|(?<![\d.\w/-]){_DAY}/{_MONTH}/\d\d\b{_TIME}?"
    rf"|(?<![\d.\w/-]){_DAY}[. ]{{1,2}}{_ROMAN}\.?\s?{_YEAR}\b"
    rf"|(?<![\dA-Za-z.]){_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?Z?)?(?![\dA-Za-z])"
    rf"|\b{_YEAR}-?W(?:0[1-9]|[1-4]\d|5[0-3])(?:-?[1-7])?\b"
    rf"|\b{_YEAR}-(?:00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])(?![\d-])"
)
# Without the century it may be a version; without a year it is a date only after such a word.
_SHORT = re.compile(rf"(?<![\d.\w/-]){_DAY}\.\s?{_MONTH}\.\d\d\b(?!\.){_TIME}?")
_YEARLESS = re.compile(rf"(?<![\d.\w/-]){_DAY}\.\s?{_MONTH}\.(?=\s|$|[,;)])")
_YEARLESS_BEFORE = re.compile(r"\b(?:am|vom|bis|zum|seit|den|dem|ab|dne|od|do|ze|dnia)\s$", re.I)
_WEEK = re.compile(
    rf"\b(?:[Ww]eek|wk|KW|CW|Woche|semaine|semana|tyden)\s?(?:no\.? ?)?(?:[1-9]|[1-4]\d|5[0-3])(?:[ /]{_YEAR})?\b(?!\s?(?:days|of retention))"
)
_CJK = re.compile(
    r"(?:\d{2,4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号號일](?:\s?\d{1,2}[時时시点點:]\s?\d{0,2}[分분]?)?"
)
_FIRST_DIGIT = re.compile(r"\d(?<!\d\d)")
_EPOCH = re.compile(r"(?<![\w.+-])1[4-9]\d{8}(?:\.\d{1,9}|\d{3}(?:\d{3}){0,2})?(?![\w]|\.\d)")
_EPOCH_UNIT = re.compile(
    r"\s?(?:bytes?|[kmgt]i?b|requests?|rows?|records?|messages?|ns|us|µs|ms|hits?|keys?|events?|times)\b", re.I
)
_CLOCK = re.compile(
    r"(?<![\d:.])(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d{1,9}(?:\s?(?:Z\b|UTC|CES?T|[+-]\d\d:?\d\d))?|\s?(?:Z\b|UTC|GMT|CES?T|E[SD]T|P[SD]T)|(?=\s+(?:ERROR|WARN|INFO|DEBUG|FATAL|TRACE)|[Z\]]))"
)
_RELATIVE = re.compile(
    r"\b(?:[1-9]|[12]\d|3[01])(?:st|nd|rd|th)\b(?= (?:at|around|night|morning|evening|\d\d:)|[,.]? \d\d:)", re.I
)


_SUFFIX = r"(?:st|nd|rd|th|er|re|º|°|ª|\.|-?(?:go|ho|ego|te|lo|e))?"
_LINK = r"(?:\s?(?:of|de|del|di|do|d')\s|[-/.\s]\s?|\s{0,3})"
_YEAR_AFTER = r"(?:(?:\s?(?:of|de|del|,)|[-/.])?\s{0,2}(?:(?:19|20)\d\d|'\d\d|(?<=[-/])\d\d)(?!\d)(?:\s?(?:roku|r\.|goda|roku\b|rokuu?|p\.|an))?)"
# The month's name is looked up afterwards: a pattern of seven hundred names would be slow.
_MONTH_AFTER = re.compile(
    rf"(?:{_DAY}\s?[-–/]\s?)?{_DAY}{_SUFFIX}{_LINK}"
    rf"(?P<month>[a-z]{{3,14}})(?![a-z])\.?(?P<year>{_YEAR_AFTER})?(?:(?:[: ]|{_LINK})?{_TIME})?",
    re.I,
)
_MONTH_AFTER_WORD = re.compile(
    rf"\b(?:the )?{_ORDINALS}{_LINK}(?P<month>[a-z]{{3,14}})(?![a-z])(?P<year>{_YEAR_AFTER})?{_TIME}?", re.I
)
_ORDINAL_ENDING = re.compile(r"(?:th|st|nd|rd) (?:of )?(?i:[jfmasond][a-z]{2})")
_MONTH_BEFORE = re.compile(r"\b(?P<month>[A-Za-z]{3,14})\.?\s{1,2}(?:the\s)?$")
_DAY_AFTER = re.compile(rf"{_DAY}(?:st|nd|rd|th)?(?![\w:%]|\.\d)(?P<year>,?\s(?:(?:19|20)\d\d)\b)?{_TIME}?", re.I)
_MONTH_WITHIN = re.compile(rf"\b(?P<year>{_YEAR})[-/. ](?P<month>[a-z]{{3,14}})[-/. ]{_DAY}\b", re.I)
_ENGLISH = frozenset("jan feb mar apr may jun jul aug sep sept oct nov dec".split())


def _is_month(name: str, year: str | None) -> bool:
    """Return whether the word is a month's name; a short one of another language counts only with a year."""
    name = name.lower()
    return name in months() and (len(name) > 3 or name in _ENGLISH or year is not None)


# A weekday belongs to the date that follows it, and so does a time to the date that it stands before.
_LEAD = re.compile(
    r"(?:\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|[^\W\d]{3,12})(?:\.?,?\s(?:den\s|dem\s|le\s|el\s|the\s|dne\s)?)$",
    re.I,
)
_WEEKDAYS = frozenset(
    """mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday sunday montag dienstag
    mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles
    jueves viernes sabado domingo lunedi martedi mercoledi giovedi venerdi segunda terca quarta quinta sexta maandag
    dinsdag woensdag donderdag vrijdag zaterdag zondag pondeli utery streda ctvrtek patek sobota nedele poniedzialek
    wtorek sroda czwartek piatek niedziela mandag tirsdag onsdag torsdag fredag lordag sondag""".split()
)
_TIME_BEFORE = re.compile(
    r"(?<![\d:.])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:\s?(?:UTC|GMT|CES?T|E[SD]T|P[SD]T|Z|Uhr))?(?:,| on| am| le)?\s$"
)


def find_dates(text: str) -> Iterator[Found]:
    """Yield each date that names a day or a week, with its time and weekday; points of time in seconds; log times."""
    for start, end in _dates(text):
        start = _led(text, start)
        yield Found(start, end, "date", " ".join(text[start:end].lower().split()))
    for digit in _FIRST_DIGIT.finditer(text):
        match = _EPOCH.match(text, digit.start())
        if match and not _EPOCH_UNIT.match(text, match.end()):
            yield Found(match.start(), match.end(), "date", match.group())
        match = _CLOCK.match(text, digit.start())
        if match:
            yield Found(match.start(), match.end(), "time", match.group())


def _dates(text: str) -> Iterator[tuple[int, int]]:
    """Yield where dates stand. All but those in words begin or end with a number: only numbers are looked at."""
    for digit in _FIRST_DIGIT.finditer(text):
        place = digit.start()
        for pattern in (_NUMERIC, _RELATIVE):
            match = pattern.match(text, place)
            if match:
                yield match.span()
        match = _SHORT.match(text, place)
        if match and (_said(text, place) or not is_version(text, place)):
            yield match.span()
        match = _YEARLESS.match(text, place)
        if match and _said(text, place):
            yield match.span()
        for pattern in (_MONTH_AFTER, _MONTH_WITHIN):
            match = pattern.match(text, place)
            if match and _is_month(match["month"], match["year"]):
                yield match.span()
        before = _MONTH_BEFORE.search(text[max(0, place - 24) : place])
        if before:
            match = _DAY_AFTER.match(text, place)
            if match and _is_month(before["month"], match["year"]):
                yield place - len(before.group()), match.end()
    if _ORDINAL_ENDING.search(text):
        for match in _MONTH_AFTER_WORD.finditer(text):
            if _is_month(match["month"], match["year"]):
                yield match.span()
    for pattern in (_WEEK, _CJK):
        if pattern is _WEEK or not text.isascii():
            for match in pattern.finditer(text):
                yield match.span()


def _said(text: str, start: int) -> bool:
    return _YEARLESS_BEFORE.search(text[max(0, start - 8) : start]) is not None


def _led(text: str, start: int) -> int:
    before = _TIME_BEFORE.search(text, max(0, start - 24), start)
    if before:
        return before.start()
    lead = _LEAD.search(text, max(0, start - 24), start)
    if lead and re.match(r"[^\W\d]+", lead.group()).group().lower() in _WEEKDAYS:  # type: ignore[union-attr]
        return lead.start()
    return start
