"""Customers, places and people whom nobody told the platform about, as running text names them.

A name is a word with a capital that is neither ordinary English nor public technology. What stands before or behind it
says what it names; without that, in an English sentence, it is reported as uncertain.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from lessons.anonymise.findings import Found
from lessons.anonymise.wordlists import given_names, is_common, months, ordinary, places, technology

_UP = r"[A-Z][A-Za-z0-9'’\-]{1,30}"
_NAME = rf"{_UP}(?:(?:\s(?:&|and Sons|und Söhne|of|de|der|van|von)\s|\s?&\s?|[ \t]){_UP}){{0,4}}"
_LEGAL = (
    r"(?:GmbH(?: & Co\.? KG)?|AG|KG|KGaA|SE|mbH|e\.V\.|Ltd|Limited|Inc|LLC|LLP|PLC|plc|Corp|Corporation|Co\.|S\.?A\.?S?|SARL|S\.à r\.l\.|BV|B\.V\.|NV|N\.V\.|"
    r"AB|AS|ASA|A/S|ApS|Oy|Oyj|OY|hf\.|ehf\.|OÜ|UAB|SIA|s\.\s?r\.\s?o\.|a\.\s?s\.|[Ss]p\. z o\. ?o\.|S\.?p\.?A\.?|S\.?r\.?l\.?|S\.?L\.?|Pty(?: Ltd)?|Kft\.?|Zrt\.?|d\.o\.o\.|"
    r"Lda|Ltda|GbR|OHG|Group|Holdings?|Gruppe|Bank|Airlines?|Insurance|Logistics|Retail|Foods?|Pharma|Motors|Energy|Telecom|Hospital|University|Stores?)"
)
_LEGAL_WORD = re.compile(_LEGAL)
# Those that stand behind a name and nowhere else: what is before them is a name, be it the most ordinary words.
_SURELY_LEGAL = re.compile(
    r"GmbH|mbH|KGaA|Ltd|LLC|LLP|PLC|Inc|Corp|Corporation|Limited|SARL|Oyj?|ApS|Pty|Kft|Zrt|Lda|Ltda|GbR|OHG"
)
_LEGAL_AFTER = re.compile(rf"\s{_LEGAL}(?![A-Za-z])")
_BUSINESS = re.compile(
    r"Hotel|Bank|Banco|Banque|Stadtwerke|Sparkasse|Volksbank|Raiffeisenbank|Klinik|Klinikum|Spital|Hospital|Hopital|Universit(?:y|at|e)|Apotheke|"
    r"Pharmacie|Restaurant|Kaufhaus|Kaufhof|Autohaus|Versicherung|Gemeinde|Stadt|City|Ville|Mairie|Kommune|Lycee|Schule|Verlag|[A-Z][a-z]+(?:erei|haus|werke?|kasse|klinik)"
)
_CUSTOMER_WORD = (
    r"(?:customers?|clients?|tenants?|merchants?|partners?|vendors?|suppliers?|subscribers?|retailers?|resellers?|shops?|stores?|brand|prospect|licensee|payer|bank|"
    r"carrier|provider|kund(?:e|en|in|innen)|mandant(?:en)?|handler|lieferant|clientes?|clienti|zakazni[kc]\w{0,4}|klient\w{0,4}|"
    r"asiakas|asiakkaa\w{0,4}|kunder?|fournisseur)"
)
_TITLE = re.compile(r"(?:Mrs?|Ms|Miss|Dr|Prof|Frau|Herrn?|Mme|Mlle|Monsieur|Madame|Senora?|Pan[ia]?)\.?")
_CUSTOMER = re.compile(r"Kund(?:e|en|in|innen)|Mandant(?:en|in)?|Lieferant(?:en|in)?")
_JOINED = r"(?:\s(?:named|called|is|was|are|were|like|such as|and|at|from)\s|[ :=]{1,3}\(?|,\s)[\"'`(]?"
_CUSTOMER_BEFORE = re.compile(rf"\b{_CUSTOMER_WORD}{_JOINED}$")
_NAMED_CUSTOMER = re.compile(
    r"\b(?:customers?|clients?|merchant|tenant|retailer|kunden?|mandant|cliente?)(?: (?:named|called))? [\"']?$"
)
_GREETING = re.compile(r"\b(?:hi|hey|hello|dear|cc|thanks|thank you|ping(?:ed)?|regards),? @?$")
_NOBODY = frozenset("all team everyone everybody there folks guys the you for to it i we this that".split())
_CUSTOMER_AFTER = re.compile(
    r"(?:'s|s')?\s(?:tenants?|accounts?|customers?|shops?|stores?|storefront|subscriptions?|contracts?|invoices?|orders|users?|data|"
    r"integration|portal|site|website|checkout|SLA)\b"
)
_SLUG = re.compile(
    rf"\b(?i:{_CUSTOMER_WORD})(?:_?(?:id|name|slug|key))?\s?(?:[=:]\s?|\s)[\"'`=:]?(?P<name>[a-z0-9]+(?:[-_][a-z0-9]+)+)"
)
_TITLE_BEFORE = re.compile(
    r"\b(?:mr|mrs|ms|miss|dr|prof|sir|frau|herrn?|mme|mlle|m\.|monsieur|madame|senora?|sig|pan[ia]?|hr|fr)\.?\s$"
)
_PERSON_BEFORE = re.compile(
    r"\b(?:cc|paged|pinged|ping|hi|hey|hello|thanks|regards|cheers|by|engineer|colleague|on-?call|contact|ask|asked|called|told|tell|reported by|"
    r"approved by|owner|author|assignee|reviewer|escalated to|handed to|spoke (?:to|with))[,:]?\s@?$"
)
_HANDLE = re.compile(r"@[A-Za-z][\w.-]{2,30}\w(?![/(\w])")
_HANDLE_BEFORE = re.compile(
    r"(?:\b(?:cc|by|ping|pinged|paged|ask|asked|hi|hey|thanks|to|from|with|and|fyi|attn|assign(?:ed)?)[: ,]\s?|^|\"|\n)$"
)
# tomek.w here; login of tomek.w
_LOGIN = re.compile(
    r"(?<![\w.@/-])(?P<login>[a-z]{2,20}\.[a-z]{1,20})(?= (?:here|speaking)\b)|\b(?:user|login|account|logged in as|by|cc|ping|ask|asked|from|hi)[ :=] ?@?(?P<named>[a-z]{2,20}\.[a-z]{1,20})(?![\w.(/-])"
)
_PLACE_WORD = (
    r"(?:offices?|data ?cent(?:er|re)s?|dc\d?|warehouses?|site|plant|branch|store|factory|campus|depot|hub|lab|pop|region|airport|hall|building|hospital|"
    r"harbour|port|terminal|shop|team|cage|colo)"
)
_PLACE_BEFORE = re.compile(
    rf"\b(?:{_PLACE_WORD}(?:,)? (?:in|at|near|of)|buro in|buero in|filiale|oficina de|oficina en|bureau de|kontor i|biur\w{{0,3}} w|pobo[ck]\w{{1,2}} v|standort|"
    rf"niederlassung|rechenzentrum|moved to|move to|based in|located in|travel\w* to|flew to|live[sd]? in|visit\w* (?:to|in)?|ship\w* to|rack in|"
    rf"users in|customers in|people in)\s$"
)
_PLACE_AFTER = re.compile(rf"(?:'s)?[ -]{_PLACE_WORD}\b", re.I)
_PLACE_IN = re.compile(r"\b(?:in|from|near|at|to|into|of|between|via|and|a|en|v|w|aus|nach|bei|i|till|til)\s$", re.I)
_SLAVIC_IN = re.compile(r"(?<![A-Za-z])(?:z|ze|w|we|v|ve|do|iz|u|k|ke|od|na)\s$", re.I)
_STREET = re.compile(
    r"\b[A-Z][\w.-]{2,30}(?:stra(?:ss)e|str\.|weg|platz|gasse|allee)\s\d{1,4}[a-z]?\b|\b\d{1,5}[A-Za-z]?\s(?:[A-Z][a-z]{2,20}\s){1,3}(?:Street|St\.|Road|Rd\.?|Avenue|Ave\.?|Lane|Drive|Blvd|Square|Quay)(?!\w)"
    r"|\b(?:Rue|Avenue|Boulevard|Via|Calle|Plaza|Piazza|Rua)\s(?:de\s(?:la\s)?|du\s|des\s|del(?:la)?\s|la\s)?[A-Z][\w-]{2,20}"
    r"|\b[A-Z][a-z]{2,20}(?:strasse|gasse|allee)\b"
    r"|\b\d{1,4},?\s(?:rue|avenue|boulevard|place)\s(?:de\s(?:la\s)?|du\s|des\s)?[A-Z][\w-]{2,20}",
)
_FILE_ENDINGS = frozenset(
    "py sh js go rs ts md txt yaml yml json conf cfg ini log xml html java service socket timer sql exe dll so rb php pl cs".split()
)
_UPPER = re.compile(_UP)
_GENITIVE = re.compile(r"'s?$")
_NAME_WORD = re.compile(r"[A-Za-z.-]+")
_PARTS = re.compile(r"[-']")
_CODE = re.compile(r"[a-z][A-Z]|\d|^[A-Z]{2,}s?$")
_RUN = re.compile(rf"(?<![\w@/\\.$-]){_NAME}")
_CAPITALISED = re.compile(r"(?<![\w.@/\\$#&<{:=_-])[A-Z][a-z]{2,24}(?:-[A-Z][a-z]{1,24})?(?![\w@/\\=({\[:]|\.\w|-\w|_)")
_NEIGHBOUR_LEFT = re.compile(r"(?<![\w.@/-])([A-Z][a-z]{1,15}) $")
_NEIGHBOUR_RIGHT = re.compile(r" ([A-Z][a-z]{2,20})(?![\w@/(-]|\.\w)")
_INITIAL_AND_NAME = re.compile(r"(?<![\w.])(?:[A-Z]\. ?){1,3}([A-Z][a-z]{2,20})(?![\w@/(])")
_SPEAKS = re.compile(
    r"'s\b| (?:and|or) [A-Z]|,? (?:who|also )?(?:complained|reported|said|says|told|called|asked|confirmed|noticed|wrote|paged|agreed|thinks|knows|joined)\b"
)
_FUNCTION_WORDS = frozenset(
    """the a an our your their his her its this that these those when while after before if in on at for from by with dear hi
    hey and but then also both we they it as since once because until however thanks today yesterday only all some every
    each no not please see ask call restart contact customer client user team per via to of or so both""".split()
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;|•*>\"“(\[]\s{0,3}|\n\s*|(?:^|\n)\s*[-*\d.)]+\s)$")
_ENGLISH = re.compile(
    r"\b(?:the|and|was|were|is|are|of|to|for|with|that|after|from|has|had|because|since|when|not|it|we|our)\b", re.I
)


def find_in_prose(text: str) -> Iterator[Found]:
    """Yield customers, places and people by the words around them, and other proper nouns as uncertain."""
    for run in _RUN.finditer(text):
        told = _told(text, run)
        start = _skip_common(text, run.start(), run.end())
        if told is not None:
            yield told
        elif start is not None:
            yield from _by_context(text, run.start(), start, run.end())
        yield from _places(text, run.start(), run.group())
    for match in _SLUG.finditer(text):
        if not all(is_common(part) for part in re.split(r"[-_]", match["name"])):
            yield _found(text, match.start("name"), match.end("name"), "customer")
    if "@" in text:
        for match in _HANDLE.finditer(text):
            said = _HANDLE_BEFORE.search(text[max(0, match.start() - 12) : match.start()].lower())
            if said and match.group()[1:].lower() not in technology() | ordinary():
                yield _found(text, match.start(), match.end(), "person")
    for match in _LOGIN.finditer(text):
        first, _, last = (match["login"] or match["named"]).partition(".")
        if not is_common(first) and last not in _FILE_ENDINGS:
            yield _found(text, *match.span("login" if match["login"] else "named"), "person")
    for match in _STREET.finditer(text):
        yield _found(text, match.start(), match.end(), "place")
    yield from _proper_nouns(text)


def _last(words: list[re.Match[str]], pattern: re.Pattern[str]) -> int | None:
    """Return where the name begins that the last such word of a row announces: "Kundin Frau Petersen"."""
    places = [after.start() for word, after in pairwise(words) if pattern.fullmatch(word.group())]
    return places[-1] if places else None


def _told(text: str, run: re.Match[str]) -> Found | None:
    """Return the name of a customer or a person that is told to be one, be it of the most ordinary words."""
    words = [_GENITIVE.sub("", word) for word in run.group().split()]
    if len(words) > 1 and _SURELY_LEGAL.fullmatch(words[-1]):
        return _found(text, run.start(), run.end(), "customer")
    start = run.start()
    if len(words) > 1 and _GREETING.fullmatch(words[0].lower() + " "):
        start = text.index(" ", start) + 1
        words.pop(0)
    before = text[max(0, start - 24) : start].lower()
    first = words[0].lower()
    if first in technology() or first in _NOBODY or _is_code(words[0]):
        return None
    if _GREETING.search(before):
        return _found(text, start, run.end(), "person")
    return _found(text, start, run.end(), "customer") if _NAMED_CUSTOMER.search(before) else None


def _by_context(text: str, first: int, start: int, end: int) -> Iterator[Found]:
    """Yield what a row of words with capitals names, of which the one at ``start`` is a proper name."""
    words = list(re.finditer(r"\S+", text[first:end]))
    legal = next(
        (
            word
            for word in words[1:]
            if _LEGAL_WORD.fullmatch(_GENITIVE.sub("", word.group())) and first + word.start() > start
        ),
        None,
    )
    follows = _LEGAL_AFTER.match(text, end)
    business = next((word for word in words[:-1] if _BUSINESS.fullmatch(word.group())), None)
    trimmed = _trimmed(text, start, end)
    before, after = text[max(0, start - 48) : start].lower(), text[trimmed : trimmed + 24]
    titled = _last(words, _TITLE)
    customer = _last(words, _CUSTOMER)
    if titled is not None:
        yield _found(text, first + titled, end, "person")
    elif customer is not None:
        yield _found(text, first + customer, end, "customer")
    elif legal or follows:
        yield _found(text, start, follows.end() if follows else first + legal.end(), "customer")  # type: ignore[union-attr]
    elif business is not None:
        yield _found(text, first + business.start(), trimmed, "customer")
    elif _TITLE_BEFORE.search(before):
        yield _found(text, start, trimmed, "person")
    elif _CUSTOMER_BEFORE.search(before) or _CUSTOMER_AFTER.match(after):
        yield _found(text, start, trimmed, "customer")
    elif _PLACE_BEFORE.search(before) or _PLACE_AFTER.match(after):
        yield _found(text, start, trimmed, "place")
    elif _PERSON_BEFORE.search(before) and _is_proper(text[start:trimmed].split()[0]):
        yield _found(text, start, trimmed, "person")


def _found(text: str, start: int, end: int, kind: str) -> Found:
    return Found(start, end, kind, " ".join(text[start:end].lower().split()))


def _is_proper(word: str) -> bool:
    """Return whether a word with a capital names somebody: it is no word of the language nor of the field."""
    lower = word.lower().removesuffix("'s")
    return (
        word[:1].isupper()
        and not is_common(lower)
        and not all(is_common(part) for part in _PARTS.split(lower) if part)
        and not _is_code(word)
    )


def _is_code(word: str) -> bool:
    """Return whether the word is written as an identifier is: with a hump, a number or in capitals."""
    return _CODE.search(word) is not None or word.lower() in months()


def _skip_common(text: str, start: int, end: int) -> int | None:
    """Return where a proper name begins in a row of words with capitals, or None where there is none."""
    for word in _UPPER.finditer(text[start:end]):
        if _is_proper(word.group()) or (
            re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", word.group()) and not is_common(word.group().lower())
        ):
            return start + word.start()
    return None


def _trimmed(text: str, start: int, end: int) -> int:
    """Return the end of a name without the ordinary words of the field that follow it."""
    words = list(re.finditer(r"\S+", text[start:end]))
    while len(words) > 1 and not _is_proper(words[-1].group()):
        words.pop()
    return start + words[-1].end()


def _places(text: str, start: int, run: str) -> Iterator[Found]:
    words = list(_NAME_WORD.finditer(run))
    for count in range(min(3, len(words)), 0, -1):
        for first in range(len(words) - count + 1):
            begin, end = words[first].start(), words[first + count - 1].end()
            name = run[begin:end]
            if name.lower() in places() and not name.isupper() and (count > 1 or _is_place(text, start + begin, name)):
                yield _found(text, start + begin, start + end, "place")
    if len(words) == 1 and _SLAVIC_IN.search(text[max(0, start - 4) : start]):
        name = words[0].group().lower()
        if any(name[:-cut] in _place_stems() for cut in range(1, 4) if len(name) - cut >= 4):
            yield _found(text, start + words[0].start(), start + words[0].end(), "place")


@cache
def _place_stems() -> frozenset[str]:
    """Return what stays of a place's name when it is declined."""
    return frozenset(name.rstrip("aeiouy") for name in places() if " " not in name)


def _is_place(text: str, start: int, name: str) -> bool:
    if not is_common(name.lower()):
        return True
    before, after = text[max(0, start - 12) : start], text[start + len(name) : start + len(name) + 24]
    if name.lower() in technology():
        return re.match(r"[ -](?:office|warehouse|branch|data ?cent)", after, re.I) is not None
    return _PLACE_IN.search(before) is not None or re.match(rf"[ -]{_PLACE_WORD}\b", after, re.I) is not None


def _proper_nouns(text: str) -> Iterator[Found]:
    for match in _CAPITALISED.finditer(text):
        word = match.group()
        given = word.lower() in given_names()
        if not given and not _is_proper(word):
            continue
        start, end = match.span()
        before = text[max(0, start - 30) : start]
        if _SENTENCE_START.search(before[-6:]) and not given and not _SPEAKS.match(text, end):
            continue
        if not _is_english(text[max(0, start - 100) : end + 100]):
            continue
        # The given name before, or the surname behind.
        left = _NEIGHBOUR_LEFT.search(before)
        if left and left[1].lower() not in technology() | _FUNCTION_WORDS:
            start -= len(left.group())
        right = _NEIGHBOUR_RIGHT.match(text, end)
        if right and right[1].lower() not in technology():
            end = right.end()
        yield Found(start, end, "name", word.lower(), uncertain=True)
    for match in _INITIAL_AND_NAME.finditer(text):
        if _is_proper(match[1]):
            yield Found(match.start(), match.end(), "person", match[1].lower())


def _is_english(text: str) -> bool:
    """Return whether the words around are English, where a capital within a sentence means a name."""
    return len(_ENGLISH.findall(text)) * 12 >= len(text.split())
