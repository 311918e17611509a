"""Customers, places and people whom nobody told the platform about, as running text names them.

A name is a word with a capital that is neither ordinary English nor public technology. What stands before or behind it
says what it names; without that, in an English sentence, it is reported as uncertain.
"""

import re
from collections.abc import Iterator

from lessons.anonymise.findings import Found
from lessons.anonymise.wordlists import is_common, months, ordinary, places, technology

_UP = r"[A-Z][A-Za-z0-9'’\-]{1,30}"
_NAME = rf"{_UP}(?:(?:\s(?:&|and Sons|und Söhne|of|de|der|van|von)\s|\s?&\s?|[ \t]){_UP}){{0,4}}"
_LEGAL = (
    r"(?:GmbH(?: & Co\.? KG)?|AG|KG|KGaA|SE|mbH|e\.V\.|Ltd|Limited|Inc|LLC|LLP|PLC|plc|Corp|Corporation|Co\.|S\.?A\.?S?|SARL|S\.à r\.l\.|BV|B\.V\.|NV|N\.V\.|"
    r"AB|AS|ASA|A/S|ApS|Oy|Oyj|OY|hf\.|ehf\.|OÜ|UAB|SIA|s\.\s?r\.\s?o\.|a\.\s?s\.|Sp\. z o\. ?o\.|S\.?p\.?A\.?|S\.?r\.?l\.?|S\.?L\.?|Pty(?: Ltd)?|Kft\.?|Zrt\.?|d\.o\.o\.|"
    r"Lda|Ltda|GbR|OHG|Group|Holdings?|Gruppe|Bank|Airlines?|Insurance|Logistics|Retail|Foods?|Pharma|Motors|Energy|Telecom|Hospital|University|Stores?)"
)
_COMPANY = re.compile(rf"\b(?P<name>{_NAME})\s(?P<legal>{_LEGAL})(?![A-Za-z])")
_BUSINESS = re.compile(
    r"\b(?:Hotel|Bank|Banco|Banque|Stadtwerke|Sparkasse|Volksbank|Raiffeisenbank|Klinik|Klinikum|Spital|Hospital|H[oô]pital|Universit(?:y of|ät|at|é|e)|"
    r"Apotheke|Pharmacie|Restaurant|Kaufhaus|Kaufhof|Autohaus|Versicherung|Gemeinde|Stadt|City of|Ville de|Mairie de|Kommune|Lyc[eé]e|Schule|Verlag|Brauerei)"
    rf"(?:\s{_UP}){{1,3}}"
)
_CUSTOMER_WORD = (
    r"(?:customers?|clients?|tenants?|merchants?|partners?|vendors?|suppliers?|subscribers?|retailers?|resellers?|shops?|stores?|brand|prospect|licensee|payer|bank|"
    r"carrier|provider|kund(?:e|en|in|innen)|mandant(?:en)?|h[aä]ndler|lieferant|partner|clientes?|cliente|clienti|zakazni[kc]\w{0,4}|klient\w{0,4}|"
    r"asiakas|asiakkaa\w{0,4}|kunder?|fournisseur)"
)
_CUSTOMER_BEFORE = re.compile(
    rf"\b(?i:{_CUSTOMER_WORD})(?:\s(?:named|called|is|was|are|were|like|such as|and|at|from)\s|[ :=]{{1,3}}\(?|,\s)[\"'`(]?"
    rf"(?P<name>{_NAME}|(?<=[\"'`=:])[a-z0-9]+(?:[-_][a-z0-9]+)+)"
)
_CUSTOMER_AFTER = re.compile(
    rf"\b(?P<name>{_NAME})(?:'s|’s|s')?\s(?:tenants?|accounts?|customers?|shops?|stores?|storefront|subscriptions?|contracts?|invoices?|orders|users?|data|"
    r"integration|portal|site|website|checkout|SLA)\b"
)
_TITLED = re.compile(
    rf"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Frau|Herrn?|Mme|Mlle|M\.|Monsieur|Madame|Se[nñ]ora?|Sig\.?(?:ra)?|Pan[ií]?|Pana|Herr|Hr|Fr)\.?\s(?P<name>{_UP}(?:\s{_UP}){{0,2}})"
)
_PERSON_BEFORE = re.compile(
    r"\b(?i:cc|paged|pinged|ping|hi|hey|hello|thanks|regards|cheers|by|engineer|colleague|on-?call|contact|ask|asked|called|told|tell|reported by|approved by|"
    rf"owner|author|assignee|reviewer|escalated to|handed to|spoke (?:to|with))[,:]?\s@?(?P<name>{_UP}(?:\s{_UP}){{0,2}})"
)
_HANDLE = re.compile(
    r"(?:\b(?:cc|by|ping|pinged|paged|ask|asked|hi|hey|thanks|to|from|with|and|fyi|attn|assign(?:ed)?)[: ,]\s?|^|\")(?P<name>@[A-Za-z][\w.-]{2,30}\w)(?![/(\w])", re.M
)
_PLACE_WORD = (
    r"(?:office|data ?cent(?:er|re)s?|dc\d?|warehouse|site|plant|branch|store|factory|campus|depot|hub|lab|pop|region|airport|hall|building|hospital|harbour|port|terminal|shop|team|cage|colo)"
)
_PLACE_BEFORE = re.compile(
    rf"\b(?i:{_PLACE_WORD}(?:,)? (?:in|at|near|of)|b[uü]ro in|filiale|oficina de|oficina en|bureau de|kontor i|biur\w{{0,3}} w|pobo[cč]k\w{{1,2}} v|standort|niederlassung|rechenzentrum|"
    rf"moved to|move to|based in|located in|travel\w* to|flew to|live[sd]? in|visit\w* (?:to|in)?|ship\w* to|rack in|users in|customers in|people in)\s(?P<name>{_NAME})",
)
_PLACE_AFTER = re.compile(rf"\b(?P<name>{_NAME})(?:'s)?[ -](?:{_PLACE_WORD}|office|DC\d?)\b")
_PLACE_IN = re.compile(r"\b(?:in|from|near|at|to|into|of|between|via|and|à|en|v|w|aus|nach|bei|i|till|til)\s$", re.I)
_STREET = re.compile(
    r"\b[A-ZÄÖÜ][\w.-]{2,30}(?:stra(?:ß|ss)e|str\.|weg|platz|gasse|allee)\s\d{1,4}[a-z]?\b|\b\d{1,5}\s(?:[A-Z][a-z]{2,20}\s){1,3}(?:Street|St\.|Road|Rd\.?|Avenue|Ave\.?|Lane|Drive|Blvd|Square|Quay)(?!\w)"
    r"|\b(?:D-|CH-|A-)?\d{5}\s[A-ZÄÖÜ][a-zäöüß]{3,20}\b|\b\d{1,4},?\s(?:rue|avenue|boulevard|place)\s(?:de\s(?:la\s)?|du\s|des\s)?[A-Z][\w-]{2,20}",
)
_CAPITALISED = re.compile(r"(?<![\w.@/\\$#&<{:=_-])[A-Z][a-z]{2,24}(?:-[A-Z][a-z]{1,24})?(?![\w@/\\=({\[:]|\.\w|-\w|_)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;|•*>\"“(\[]\s{0,3}|\n\s*|(?:^|\n)\s*[-*\d.)]+\s)$")
_ENGLISH = re.compile(r"\b(?:the|and|was|were|is|are|of|to|for|with|that|after|from|has|had|because|since|when|not|it|we|our)\b", re.I)
_SHOWN_TOO = re.compile(r"\b(?:error|exception|warning|fatal|caused by|panic)\b", re.I)


def find_in_prose(text: str) -> Iterator[Found]:
    """Yield customers, places and people by the words around them, and other proper nouns as uncertain."""
    for match in _COMPANY.finditer(text):
        start = _skip_common(text, match.start("name"), match.end("name"))
        if start is not None:
            yield _found(text, start, match.end(), "customer")
    for match in _BUSINESS.finditer(text):
        if any(_is_proper(word) for word in match.group().split()[1:]):
            yield _found(text, match.start(), match.end(), "customer")
    for pattern, kind in ((_CUSTOMER_BEFORE, "customer"), (_CUSTOMER_AFTER, "customer"), (_TITLED, "person"), (_PERSON_BEFORE, "person")):
        for match in pattern.finditer(text):
            if match["name"][0].islower() and (pattern is not _CUSTOMER_BEFORE or all(is_common(p) for p in re.split(r"[-_]", match["name"]))):
                continue
            start = match.start("name") if match["name"][0].islower() else _skip_common(text, match.start("name"), match.end("name"))
            if start is not None:
                yield _found(text, start, _trimmed(text, start, match.end("name")), kind)
    for match in _HANDLE.finditer(text):
        if match["name"][1:].lower() not in technology() | ordinary():
            yield _found(text, match.start("name"), match.end("name"), "person")
    yield from _places(text)
    yield from _proper_nouns(text)


def _found(text: str, start: int, end: int, kind: str) -> Found:
    return Found(start, end, kind, " ".join(text[start:end].lower().split()))


def _is_proper(word: str) -> bool:
    """Return whether a word with a capital names somebody: it is no word of the language nor of the field."""
    lower = re.sub(r"(?:'s|’s)$", "", word).lower()
    return word[:1].isupper() and not is_common(lower) and not all(is_common(part) for part in re.split(r"[-’']", lower) if part) and not _is_code(word)


def _is_code(word: str) -> bool:
    """Return whether the word is written as an identifier is: with a hump, a number or in capitals."""
    return bool(re.search(r"[a-z][A-Z]|\d|^[A-Z]{2,}s?$", word)) or word.lower() in months()


def _skip_common(text: str, start: int, end: int) -> int | None:
    """Return where a proper name begins in a row of words with capitals, or None where there is none."""
    for word in re.finditer(_UP, text[start:end]):
        if _is_proper(word.group()) or re.fullmatch(r"[A-Z][a-z]+[A-Z][a-z]+", word.group()) and not is_common(word.group().lower()):
            return start + word.start()
    return None


def _trimmed(text: str, start: int, end: int) -> int:
    """Return the end of a name without the ordinary words of the field that follow it."""
    words = list(re.finditer(r"\S+", text[start:end]))
    while len(words) > 1 and not _is_proper(words[-1].group()):
        words.pop()
    return start + words[-1].end()


def _places(text: str) -> Iterator[Found]:
    for pattern in (_PLACE_BEFORE, _PLACE_AFTER):
        for match in pattern.finditer(text):
            if match["name"][0].isupper():
                start = _skip_common(text, match.start("name"), match.end("name"))
                if start is not None:
                    yield _found(text, start, _trimmed(text, start, match.end("name")), "place")
    for match in _STREET.finditer(text):
        yield _found(text, match.start(), match.end(), "place")
    for match in re.finditer(rf"(?<![\w@/.-]){_UP}(?:[ ]{_UP}){{0,2}}(?![\w@/]|\.\w)", text):
        words = match.group().split(" ")
        for count in range(len(words), 0, -1):
            for first in range(len(words) - count + 1):
                name = re.sub(r"(?:'s|’s)$", "", " ".join(words[first : first + count]))
                if name.lower() in places() and not name.isupper():
                    start = match.start() + len(" ".join(words[:first])) + (1 if first else 0)
                    if count > 1 or _is_place(text, start, name):
                        yield _found(text, start, start + len(name), "place")


def _is_place(text: str, start: int, name: str) -> bool:
    if not is_common(name.lower()):
        return True
    before, after = text[max(0, start - 12) : start], text[start + len(name) : start + len(name) + 24]
    if name.lower() in technology():
        return re.match(rf"[ -](?:office|warehouse|branch|data ?cent)", after, re.I) is not None
    return _PLACE_IN.search(before) is not None and not is_common(name.lower()) or re.match(rf"[ -]{_PLACE_WORD}\b", after, re.I) is not None


def _proper_nouns(text: str) -> Iterator[Found]:
    for match in _CAPITALISED.finditer(text):
        word = match.group()
        if not _is_proper(word):
            continue
        before = text[max(0, match.start() - 6) : match.start()]
        starts = _SENTENCE_START.search(before) and not re.match(r"'s\b", text[match.end() : match.end() + 3])
        if not starts and _is_english(text[max(0, match.start() - 100) : match.end() + 100]):
            yield Found(match.start(), match.end(), "name", word.lower(), uncertain=True)


def _is_english(text: str) -> bool:
    """Return whether the words around are English, where a capital within a sentence means a name."""
    return len(_ENGLISH.findall(text)) * 12 >= len(text.split())
