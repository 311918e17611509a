"""The relevance gate: is a recalled memory the same failure, near to it, or only alike in its words?

Recall always returns something, so this decides what counts. It compares the alert with *our* rows, never with what a
memory server sent, and with what else stands in the bank, never with what else the server found: so it judges alike
whatever server found a memory. Retrieval scores are not used.

First what a team's own history shows by itself: the same error line, or the same alert again. Everything else is scored
by the features of ``incidents.memory.features``, weighted by constants that were fitted to public alerts and records
(``gate_constants.json``). A score is the log-odds of the memory against "none of them". Public records name no service
of one's own, so what the same service adds is set by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from incidents.memory.constants import constants
from incidents.memory.features import VAGUE_SYMPTOMS, Evidence, Placed, evidence, opposites
from incidents.memory.landscape import Landscape
from incidents.memory.texts import AlertText, MemoryText, Reading
from incidents.memory.words import common_words, is_word, stems
from incidents.models.investigation import MatchStrength

# Candidates that are judged, and the nearest of the bank with which they are compared.
JUDGED = RIVALS = 12
SAME_SERVICE, OTHER_SERVICE = 0.5, -0.7
# The same service with the same symptom is what a team's own history looks like, in whatever words.
SAME_SYMPTOM_OF_SERVICE = 1.2
# An error line is the same error only if it says enough: "Error: failed" is everybody's.
SIGNATURE_RARITY = 9.0
SIGNATURE_STEMS = 3
# An alert that says less than this proves nothing, however well a memory covers it: words that are not common ones,
# symptoms that are not vague ones, the service.
TELLING_SIGNS, SIGNS_FOR_CLOSE = 3, 4
# One word in common says where something failed rather than what: it must score so much more.
FEW_SHARED, MORE_FOR_FEW = 1, 1.2
WORDS_NAMED = 3
# From what mean nearness of the alert's sentences, by MiniLM, a reason speaks of it.
MEANS_THE_SAME, MEANS_MUCH = 0.6, 0.45


@dataclass(frozen=True)
class Judged:
    """The gate's word on one candidate. ``score`` orders candidates of equal strength and is never shown."""

    strength: MatchStrength
    reason: str
    score: float


def judge(
    alert: AlertText, candidates: Sequence[Placed], rivals: Sequence[Placed], landscape: Landscape[Any]
) -> list[Judged]:
    """Return the gate's word on each candidate, in order. ``rivals`` are the nearest of the bank to the alert."""
    known = constants()
    found = evidence(alert, candidates, rivals, landscape, known.strangers)
    return [_judge(alert, candidate.memory, one, landscape) for candidate, one in zip(candidates, found, strict=True)]


def _judge(alert: AlertText, memory: MemoryText, found: Evidence, landscape: Landscape[Any]) -> Judged:
    known = constants()
    parts = known.parts(found.features)
    score = known.base + sum(parts.values())
    same_service = _same(alert.facts.service, memory.service)
    symptoms = sorted((alert.reading.symptoms & memory.reading.symptoms) - VAGUE_SYMPTOMS)
    history = []
    other_kind = bool(_other_kind(alert, memory)) and not symptoms
    if same_service is not None:
        score += OTHER_SERVICE if not same_service else 0.0 if other_kind else SAME_SERVICE
        history.append("same service" if same_service else f"another service ({memory.service})")
    if symptoms:
        score += SAME_SYMPTOM_OF_SERVICE if same_service else 0.0
        history.append(f"same symptom ({symptoms[0]})")
    against = _against(alert, memory)

    if _shares_an_error(alert, memory, landscape):
        strength = MatchStrength.PARTIAL if same_service is False else MatchStrength.CLOSE
        return Judged(strength, _line("same error text", *history, *against), score)
    is_same_alert = bool(alert.fingerprint) and alert.fingerprint == memory.fingerprint
    if is_same_alert and not _names_another_error(alert, memory):
        strength = MatchStrength.CLOSE if score >= known.partial else MatchStrength.PARTIAL
        return Judged(strength, _line("same alert", *history, *against), score)
    telling = _telling(found.shared)
    for_it = _for_it(alert, found, telling)
    signs = _signs(alert)
    if signs < TELLING_SIGNS:
        return Judged(MatchStrength.WEAK, _line("the alert says too little to tell", *history), score)
    if not telling and not symptoms:
        return Judged(MatchStrength.WEAK, _line(*_why_not(alert, found, telling), *history, *against), score)
    shared = len(telling) + len(symptoms) + (same_service is True)
    may_be_close = (
        signs + (same_service is True) >= SIGNS_FOR_CLOSE
        and score >= known.close + (MORE_FOR_FEW if shared <= FEW_SHARED else 0.0)
        and not (other_kind or same_service is False)
    )
    if may_be_close:
        return Judged(MatchStrength.CLOSE, _line(*for_it, *history), score)
    if score >= known.partial:
        return Judged(MatchStrength.PARTIAL, _line(*for_it, *history, *against), score)
    return Judged(MatchStrength.WEAK, _line(*_why_not(alert, found, telling), *history, *against), score)


def _signs(alert: AlertText) -> int:
    """Return how many things the alert names by which a failure can be known."""
    return len(_telling(alert.reading.stems)) + len(alert.reading.symptoms - VAGUE_SYMPTOMS) + bool(alert.facts.service)


def _telling(found: Iterable[str]) -> list[str]:
    """Return the stems by which a failure can be known."""
    return [stem for stem in found if is_word(stem) and stem not in common_words()]


def _shares_an_error(alert: AlertText, memory: MemoryText, landscape: Landscape[Any]) -> bool:
    for shared in alert.reading.signatures & memory.reading.signatures:
        telling = {stem for stem in stems(shared) if is_word(stem)}
        if len(telling) >= SIGNATURE_STEMS and sum(map(landscape.rarity, telling)) >= SIGNATURE_RARITY:
            return True
    return False


def _names_another_error(alert: AlertText, memory: MemoryText) -> bool:
    here, there = alert.reading.signatures, memory.reading.signatures
    return bool(here and there and not here & there)


def _other_kind(alert: AlertText, memory: MemoryText) -> list[str]:
    """Return what makes it another kind of failure, in words; such a memory is never close."""
    here, there = alert.reading, memory.reading
    found = []
    if here.technologies and there.technologies and not here.technologies & there.technologies:
        found.append(f"another technology ({', '.join(sorted(there.technologies)[:2])})")
    if (symptom := there.symptoms - VAGUE_SYMPTOMS) and (own := here.symptoms - VAGUE_SYMPTOMS) and not symptom & own:
        found.append(f"another symptom ({min(symptom)})")
    return found


def _against(alert: AlertText, memory: MemoryText) -> list[str]:
    """Return what contradicts, in words."""
    here, there = alert.reading, memory.reading
    found = _other_kind(alert, memory)
    for said, other in opposites(here, there)[:1]:
        found.append(f"says “{_spelled(other, there)}” and not “{_spelled(said, here)}”")
    return found


def _for_it(alert: AlertText, found: Evidence, telling: Sequence[str]) -> list[str]:
    """Return what speaks for the memory, in words, from the features that decided."""
    said = []
    if rare := _quoted(alert, [stem for stem in telling if stem in found.only_here]):
        said.append(f"says {rare}, which no other near memory does")
    elif words := _quoted(alert, telling):
        said.append(f"says {words}")
    meaning = found.features["sentences"]
    if meaning >= MEANS_THE_SAME:
        said.append("its sentences mean nearly the same")
    elif meaning >= MEANS_MUCH:
        said.append("its sentences are near in meaning")
    if min(found.features["over_fused"], found.features["over_sentences"]) > 0:
        said.append("nearer than any other memory")
    return said or ["near in all that is compared"]


def _why_not(alert: AlertText, found: Evidence, telling: Sequence[str]) -> list[str]:
    """Return why a memory that came near is not used, in words, from the features that decided."""
    shared, missing = _quoted(alert, telling), _quoted(alert, _telling(found.missing))
    said = [f"shares only {shared}" if shared else "shares no telling word"]
    if missing:
        said.append(f"says nothing of {missing}")
    return said


def _spelled(stem: str, *texts: Reading) -> str:
    return next((text.words[stem] for text in texts if stem in text.words), stem)


def _same(one: str | None, other: str) -> bool | None:
    """Return whether both name the same service; None where one of them names none."""
    return one.casefold() == other.casefold() if one and other else None


def _quoted(alert: AlertText, found: Sequence[str]) -> str:
    spelled = (alert.reading.words.get(stem, "") for stem in found)
    words = list(dict.fromkeys(word[:40] for word in spelled if word))[:WORDS_NAMED]
    return ", ".join(f"“{word}”" for word in words)


def _line(*parts: str) -> str:
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."[:300]
