"""Where the spellings of a vocabulary stand in a text, and whether each is a name there or an ordinary word."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from lessons.anonymise.findings import Found
from lessons.anonymise.names import Commonness, Spelling, Vocabulary
from lessons.anonymise.usage import Usage, part_usage, person_usage, thing_usage
from lessons.anonymise.wordlists import is_common

_TOKENS = re.compile(r"[A-Za-z0-9]+")
# Between two words of a name anything may stand that joins words, within reason.
_JOINT = re.compile(r"[^A-Za-z0-9.,;!?]{0,4}(?:[.,]\s?|[\s\W]{0,12})", re.S)
# Within a word only a line break with its hyphen, quote marks or comment sign.
_BROKEN = re.compile(r"[-\\\"'+]{0,2}[ \t]{0,8}\r?\n[\s\"'+>#|*/-]{0,12}")
# A plural, a genitive, a case: German, Slavic, Baltic, Finnish, Hungarian endings in plain letters.
_PLURAL = frozenset({"s", "es"})
_CASES = frozenset(
    """a e i o u y s es em en er ens a ach ami am ami ata ata ech em emu ev eva ech ego ej emu enka et ga ho hoz im imi iem
    ie ich ima in iu ja ju je ka kou ku la le ma mi mu na nak nek ne nou no nu om ov ova ove ovi ovu ovy ou oj oi oy oyu oye
    ovou ovich ovych ova ovi owi owie ow owa owej owa owego ra rek rol sta stan sk ta tol ua um us uv val vel vi ych ym ymi
    yn uy yu ya iya iyu iey iou iego iemu iej ie an on ille lle lla lta ssa sta n iin een in""".split()
)
# Initials and the small words of a surname belong to it: "P. van den", "v.d.", "O'".
_INITIALS_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])[A-Z][a-z]?\.[ -]?){0,3}(?:(?<![A-Za-z])(?:van|von|vom|zu|v|d|de|del|della|dos|der|den|ter|ten|bin|al|el)(?:\.[ ]?|[ -])){0,3}$"
)
_INITIAL_AFTER = re.compile(r" [A-Z]\.(?![\w])")


_INITIALS = re.compile(r"(?<![\w.])[A-Z](?:[A-Z]{1,3}(?![\w-]|\.\w)|(?:\. ?[A-Z]){1,3}\.)")
_DASH_BEFORE = re.compile(r"(?:[—–]|(?<!\w)-{1,2})\s?$")
_LINE_ENDS = re.compile(r"\s*(?:\n|$)")
_PERSON_BEFORE = re.compile(
    r"(?:[—–/~(\[]\s?|(?<!\w)-{1,2}\s?|\b(?:by|cc|from|ask|ping|paged|with|author|owner|reviewer|assignee)[ :]\s?@?)$"
)
_ACTS_AFTER = re.compile(r" (?:said|says|and I|[a-z]{3,}ed|was on|is on)\b")


class _Skeleton:
    """A text without what stands between its words, and the way back."""

    def __init__(self, text: str) -> None:
        self.text = text
        tokens = list(_TOKENS.finditer(text))
        self.letters = "".join([token.group() for token in tokens]).lower()
        self.sources = [token.start() for token in tokens]
        self.ends = [token.end() for token in tokens]
        # Where each token begins among the letters.
        self.places = [0, *accumulate(end - start for start, end in zip(self.sources, self.ends, strict=True))][:-1]


def find_names(text: str, vocabulary: Vocabulary) -> Iterator[Found]:
    """Yield every known name that stands in the text, whatever it is spelled like."""
    if vocabulary.automaton is not None:
        skeleton = _Skeleton(text)
        for last, (length, spellings) in vocabulary.automaton.iter(skeleton.letters):
            for spelling in spellings:
                found = _placed(skeleton, spelling, last + 1 - length, last + 1)
                if found is not None:
                    yield found
    if vocabulary.initials:
        for match in _INITIALS.finditer(text):
            letters = re.sub(r"[^A-Z]", "", match.group())
            if letters in vocabulary.initials and _is_signed(text, match, letters):
                yield Found(*match.span(), "person", vocabulary.initials[letters])


def _is_signed(text: str, match: re.Match[str], letters: str) -> bool:
    """Return whether initials stand where a person signs or is named by them; those with dots count everywhere."""
    if "." in match.group():
        return True
    before, after = text[max(0, match.start() - 16) : match.start()], text[match.end() : match.end() + 24]
    if _DASH_BEFORE.search(before) and _LINE_ENDS.match(after):
        return True
    if is_common(letters.lower()):
        return False
    return len(letters) > 2 or _PERSON_BEFORE.search(before) is not None or _ACTS_AFTER.match(after) is not None


def _placed(skeleton: _Skeleton, spelling: Spelling, a: int, b: int) -> Found | None:
    text = skeleton.text
    first = bisect_right(skeleton.places, a) - 1
    last = bisect_right(skeleton.places, b - 1) - 1
    start = skeleton.sources[first] + a - skeleton.places[first]
    end = skeleton.sources[last] + b - skeleton.places[last]
    rare = spelling.commonness is Commonness.RARE and not spelling.stem
    # A long rare name is found inside a word, too.
    embedded = rare and b - a >= 7 and not re.search(r"\s", text[start:end])
    if not (a == skeleton.places[first] or _breaks(text, start) or embedded):
        return None
    rest = text[end : skeleton.ends[last]].lower()
    if rest and not _breaks(text, end):
        whole = text[skeleton.sources[last] : skeleton.ends[last]].lower()
        long_phrase = spelling.commonness is Commonness.PHRASE and b - a >= 7
        declined = rest in _PLURAL or (rest in _CASES and (rare or spelling.stem or long_phrase))
        if declined and b - a >= 3 and not (first == last and spelling.kind == "person" and is_common(whole)):
            end = skeleton.ends[last]
        elif not embedded:
            return None
    elif spelling.stem and not rest:
        return None
    if not _joined(skeleton, spelling, a, first, last, rare):
        return None
    token = text[skeleton.sources[last] : skeleton.ends[last]]
    if first == last and end - start < len(token) and is_common(token.lower()):
        return None  # OAuth holds no service of the name auth
    return _judged(text, spelling, start, end)


def _breaks(text: str, place: int) -> bool:
    """Return whether a word ends before this place and another begins: a camel's hump, or a number's edge."""
    before, after = text[place - 1], text[place]
    if before.isdigit() != after.isdigit():
        return True
    if not after.isupper():
        return False
    return before.islower() or text[place + 1 : place + 2].islower()


def _joined(skeleton: _Skeleton, spelling: Spelling, a: int, first: int, last: int, rare: bool) -> bool:
    """Return whether what stands between the tokens of a match may stand within this name."""
    hyphens = rare or spelling.commonness is Commonness.PHRASE
    for token in range(first + 1, last + 1):
        gap = skeleton.text[skeleton.ends[token - 1] : skeleton.sources[token]]
        if skeleton.places[token] - a in spelling.breaks:
            if not _JOINT.fullmatch(gap):
                return False
        elif _BROKEN.fullmatch(gap) or (hyphens and len(gap) == 1 and gap in "-_."):
            continue
        elif not (hyphens and gap == " " and _is_letter(skeleton, token - 1) and _is_letter(skeleton, token)):
            return False  # n i g h t j a r
    return True


def _is_letter(skeleton: _Skeleton, token: int) -> bool:
    return skeleton.ends[token] - skeleton.sources[token] == 1


def _judged(text: str, spelling: Spelling, start: int, end: int) -> Found | None:
    word = text[start:end]
    if spelling.kind == "person":
        if spelling.stem and (is_common(word.lower()) or not word[0].isupper()):
            return None
        if not spelling.login or len(spelling.breaks) > 1:
            usage = person_usage(text, start, end, spelling.commonness)
        else:
            usage = Usage.NAME if spelling.commonness is Commonness.RARE else Usage.WORD
        if usage is not Usage.WORD and word[0].isupper() and not spelling.login:
            start, end = _with_initials(text, start, end)
    else:
        usage = part_usage(text, start, end) if spelling.part else thing_usage(text, start, end, spelling.commonness)
    if usage is Usage.WORD:
        return None
    return Found(start, end, spelling.kind, spelling.identity, uncertain=usage is Usage.UNCLEAR)


def _with_initials(text: str, start: int, end: int) -> tuple[int, int]:
    before = _INITIALS_BEFORE.search(text, max(0, start - 24), start)
    after = _INITIAL_AFTER.match(text, end)
    return (before.start() if before else start), (after.end() if after else end)
