"""Whether a word that is both somebody's name and an ordinary word is a name where it stands.

A public technology's name stays, whoever has a service of that name: it says nothing about them. An ordinary word is a
name where it is used as one: before "service", after "team", within an identifier, with a capital in mid-sentence. What
cannot be told is unclear, and a person is asked.
"""

import re
from enum import Enum, auto

from lessons.anonymise.names import Commonness
from lessons.anonymise.wordlists import is_common, months, technology


class Usage(Enum):
    """What a word is where it stands."""

    NAME = auto()
    WORD = auto()
    UNCLEAR = auto()


_AFTER_NAME = re.compile(
    r"[`'\"]?\s{1,3}(?:micro)?(?:service|svc|team|squad|crew|api|pods?|deployment|namespace|backend|frontend|workers?|"
    r"consumers?|project|application|app|component|on-?call|owners?|repo(?:sitory)?|maintainers?|engineers?|runbook|"
    r"dashboard|container|replicas?|topic|database|db|cluster|gateway|-team)\b",
    re.I,
)
_BEFORE_NAME = re.compile(
    r"(?:\b|(?=-))(?:(?:micro)?services?|svc|teams?|squad|projects?|app|namespace|deployments?|deploy|component|job|owner|owned by|named|"
    r"called|statefulset|daemonset|repo|unit|(?<=\s)-n|(?<=\s)--(?:namespace|service|project|team))[\s:=/\"'`]{1,4}$",
    re.I,
)
_TEAM_AFTER = re.compile(r"[ -](?:team|squad|crew|guild|tribe|folks|people|on-?call|engineers?)\b", re.I)
_TEAM_BEFORE = re.compile(r"\b(?:team|squad)[ :=-]{1,2}$", re.I)
_OPERATED = re.compile(
    r"\b(?:restart(?:ed|ing)?|re-?deploy(?:ed|ing)?|deploy(?:ed|ing)?|scal(?:e|ed|ing)|roll(?:ed|ing)? back|page[ds]?|asked|ask|"
    r"tell|told|upgrad(?:e|ed|ing)|drain(?:ed)?|patch(?:ed)?|bounce[ds]?|kill(?:ed)?|stop(?:ped)?)(?: the)? $",
    re.I,
)
_PREDICATE = re.compile(
    r"\s(?:is|was|were|has|had|did|does|cannot|could|can't|couldn't|went|timed|times|returned|returns|failed|fails|crashed|"
    r"crashes|logged|threw|throws|restarted|rejected|answered|sent|owns|owned|paged|deployed|reported|said)\b"
)
# What surrounds an ordinary word in an identifier of somebody's own.
_OWN_PARTS = frozenset(
    """svc service services api apis app apps worker workers db database deployment deploy prod production staging stage
    stg dev test qa uat pod pods team queue gateway backend frontend consumer producer server job jobs cron cronjob ns
    namespace cluster proxy events event topic lambda function bot daemon client sync importer exporter scheduler
    processor handler controller reconciler adapter runbook dashboard repo v1 v2 v3 eu us blue green main master primary replica requests rw ro
    endpoint url host web ui cache sa ci cd""".split()
)
# Identifiers of public technology that hold ordinary words.
_PUBLIC = re.compile(
    r"search_path|search_after|full_?text_search|searchguard|git-checkout|x-notify|sd_notify|inotify\w*|fs\.inotify\S*|notify_all|"
    r"notifyall|elasticsearch\S*|opensearch\S*|tsearch\w*|ldapsearch|researchers?|billing_?mode|search_?type|"
    r"_search(?:/\S*)?|search\.max_\S+|pg_notify",
    re.I,
)
_IDENTIFIER_LEFT = re.compile(r"[A-Za-z0-9_.@/-]{1,60}$")
_IDENTIFIER_RIGHT = re.compile(r"[A-Za-z0-9_.@/-]{0,60}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]['\")\]]?\s|\n\s*|[•*]\s|\d[.)]\s|^\s*-\s|[\"“]\s?)\s*$")

# What a person does, and what they have.
_ACTS = re.compile(
    r"(?:'s|s')\b|,? (?:and|or|&) [A-Z]|\s(?:is|was|has|had|will|did|does|said|says|asked|asks|found|saw|told|thinks|thought|set|ran|"
    r"knows|knew|wrote|took|got|went|owns|can|could|should|would|from|who|also|already|then|later|just|[a-z]{3,}ed)\b|,\s|\s?\(|\s?:"
)
_NO_PERSON_NEXT = re.compile(
    r"\s(?:of|the|a|an|all|each|every|any|as|it|its|this|that|these|those|them|you|we|they|there|not|no|be|have|both|only|"
    r"periods?|notes?|time|windows?|join|days?|and|or|in|on|to|with|up|down|out|off|unused|old|new|failed|one|two)\b",
    re.I,
)
_MODALS = frozenset({"will", "may"})
_PERSON_BEFORE = re.compile(
    r"(?:@|\b(?:by|cc|ask|asked|tell|told|paged|page|ping|pinged|from|with|thanks|thank you|hi|hey|hello|mr|mrs|ms|dr|user|"
    r"author|owner|assignee|engineer|colleague|called|frau|herr|pan|pani)[.:=]?\s{0,2}|/(?:home|users)/)$",
    re.I,
)


def part_usage(text: str, start: int, end: int) -> Usage:
    """Return what an ordinary word is that stands in a team's longer name: a name beside the word "team" only."""
    beside = _TEAM_AFTER.match(text, end) or _TEAM_BEFORE.search(text[max(0, start - 12) : start])
    return Usage.NAME if beside else Usage.WORD


def thing_usage(text: str, start: int, end: int, commonness: Commonness) -> Usage:
    """Return what a team's, project's, service's, host's or the company's name is at this place."""
    word = text[start:end]
    if commonness is Commonness.RARE:
        return Usage.NAME if len(word) >= 4 or _stands_alone(text, start, end) else Usage.WORD
    if commonness is Commonness.PHRASE:
        return Usage.UNCLEAR if word.islower() and re.search(r"\s", word) else Usage.NAME
    left, right = _identifier(text, start, end)
    whole = text[start - len(left) : end + len(right)]
    before, after = text[max(0, start - 40) : start], text[end : end + 24]
    if commonness is Commonness.TECHNOLOGY:
        named = re.search(r"\b(?:service|team|project)\s?[=:]\s?[\"'`]?$|\bteam\s$", before, re.I) or re.match(
            r"\steam\b", after
        )
        return Usage.UNCLEAR if named and not left + right else Usage.WORD
    if _PUBLIC.search(whole):
        return Usage.WORD
    if left or right:
        return _usage_in_identifier(left, right, word)
    if _AFTER_NAME.match(after) and not _is_verb_before(before):
        return Usage.NAME
    if _BEFORE_NAME.search(before):
        return Usage.NAME
    if word.isupper() and len(word) > 2:
        return Usage.UNCLEAR
    if word[0].isupper():
        if re.search(r"\b[A-Z]\w+ $", before) and is_technology(before.split()[-1]):
            return Usage.WORD  # MongoDB Atlas
        if not _SENTENCE_START.search(before):
            return Usage.NAME
        return Usage.UNCLEAR if _PREDICATE.match(after) else Usage.WORD
    if before[-1:] in {"`", "'", '"'} and after[:1] == before[-1:]:
        return Usage.UNCLEAR
    return (
        Usage.UNCLEAR
        if _OPERATED.search(before) or re.match(r"\s(?:is|was) (?:down|up|back|slow|unhealthy|dead)\b", after)
        else Usage.WORD
    )


def _usage_in_identifier(left: str, right: str, word: str) -> Usage:
    own = {part.lower() for part in _WORDS.findall(left)[-1:] + _WORDS.findall(right)[:1]}
    if left.endswith("/") and not right:
        # The end of a path: /v1/search is anybody's.
        return Usage.WORD
    if own & _OWN_PARTS or any(part.isdigit() for part in own):
        return Usage.NAME
    if left.endswith(("@", "/")) or right.startswith(("@", ".")):
        return (
            Usage.UNCLEAR
            if right.startswith((".", "@")) and not right[1:2].isspace() and len(right) > 1
            else Usage.WORD
        )
    return Usage.WORD if all(is_common(part) for part in own) else Usage.UNCLEAR


def person_usage(text: str, start: int, end: int, commonness: Commonness) -> Usage:
    """Return what a given name, a surname or both are at this place."""
    word = text[start:end]
    before, after = text[max(0, start - 40) : start], text[end : end + 24]
    if word.lower() in months() and _is_month(before, after):
        return Usage.WORD
    if commonness is Commonness.RARE:
        return Usage.NAME if len(word) > 3 or word[0].isupper() or _PERSON_BEFORE.search(before) else Usage.WORD
    if commonness is Commonness.PHRASE or re.search(r"[\s._-]", word):
        return Usage.NAME
    if re.search(r"(?:@|/(?:home|users)/|\buser(?:name)?[=:]\s?)$", before, re.I):
        return Usage.NAME
    if not word[0].isupper() or (commonness is Commonness.TECHNOLOGY and word.isupper()):
        return Usage.WORD
    left, right = _identifier(text, start, end)
    if left or (right and not right.startswith(".")):
        return Usage.WORD
    if _PERSON_BEFORE.search(before):
        return Usage.NAME
    if re.match(r"\s(?:periods?|notes)\b", after):
        return Usage.WORD
    if not _SENTENCE_START.search(before):
        return Usage.NAME if not word.isupper() else Usage.UNCLEAR
    if _NO_PERSON_NEXT.match(after):
        return Usage.NAME if re.match(r"\s(?:and|or) [A-Z]", after) else Usage.WORD
    if _ACTS.match(after):
        return Usage.NAME
    return Usage.WORD if word.lower() in _MODALS and re.match(r"\s[a-z]", after) else Usage.UNCLEAR


def _is_month(before: str, after: str) -> bool:
    return bool(
        re.match(r",? (?:19|20)\d\d\b", after)
        or re.search(r"\b(?:in|since|until|till|during|of|before|after|last|next|early|late|mid) $", before)
    )


def _identifier(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what belongs to the same identifier, before and after; a full stop at a sentence's end does not."""
    left = _IDENTIFIER_LEFT.search(text, max(0, start - 60), start)
    right = _IDENTIFIER_RIGHT.match(text, end)
    after = right.group() if right else ""
    return left.group() if left else "", after.rstrip(".") if re.fullmatch(r"\.+", after) else after.rstrip(".-/")


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _is_verb_before(before: str) -> bool:
    return re.search(r"\b(?:to|will|can|must|should|may)\s$", before, re.I) is not None


def is_technology(word: str) -> bool:
    """Return whether the word is a public technology's name, in whatever case."""
    return word.lower() in technology()
