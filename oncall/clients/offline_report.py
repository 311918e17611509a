"""How the offline reasoner concludes: from recalled memories if there are any that match, else from the alert alone."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from oncall.clients.offline_conversation import STRENGTHS, Conversation, Facts, FailedAttempt, Memory, Metric
from oncall.clients.offline_knowledge import Recognised, recognise

CAUSE_CHARACTERS = 200
REASON_CHARACTERS = 70
ACTION_CHARACTERS = 240
QUOTE_CHARACTERS = 240
# A shorter command stands in many texts by chance.
TELLING_COMMAND_CHARACTERS = 8
SHOWN = 3

NOT_KNOWN_HERE = "I don't know. Nothing verified in this project matches."
NOT_KNOWN_ALONE = "I don't know. The alert alone does not show the cause."
MEMORY_UNAVAILABLE = "I don't know. Memory was unavailable, so nothing could be compared."
TOO_VAGUE = "Not known. The alert names no service, no error and no metric."

_SEVERITIES = {
    "critical": "critical p1 sev1 sev0 page fatal emergency disaster blocker",
    "high": "high error p2 sev2 major urgent",
    "medium": "medium warning warn p3 sev3 moderate average",
    "low": "low info information p4 p5 sev4 sev5 minor notice",
}
# What a metric near its baseline speaks against, by words of the metric's name.
_RULED_OUT_BY_NORMAL = (
    (re.compile(r"request|traffic|rps|qps|throughput", re.IGNORECASE), "A surge of traffic"),
    (re.compile(r"cpu|load", re.IGNORECASE), "A lack of CPU"),
    (re.compile(r"mem|heap", re.IGNORECASE), "A lack of memory"),
    (re.compile(r"disk|filesystem", re.IGNORECASE), "A full disk"),
)
_NORMAL = (0.9, 1.1)
_NUMBER = re.compile(r"\d{1,12}(?:,\d{3})*(?:\.\d{1,6})?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def diagnosis(conversation: Conversation) -> dict[str, Any]:
    """Return the diagnosis, with all fields of its schema."""
    if conversation.facts.vague and not conversation.answers:
        return _needs_more_info(conversation.facts)
    if conversation.recalled:
        return _from_memory(conversation)
    return _from_alert_alone(conversation.facts)


# --- What memory says -------------------------------------------------------------------------------------------------


def _from_memory(conversation: Conversation) -> dict[str, Any]:
    usable = sorted((memory for memory in conversation.memories if memory.counts), key=_rank)
    own = [memory for memory in usable if memory.place == "own"]
    if own:
        return _known_here(conversation, own, usable)
    if usable:
        return _seen_elsewhere(conversation, usable)
    root_cause = NOT_KNOWN_HERE if conversation.memory_answered else MEMORY_UNAVAILABLE
    return _unknown(conversation.facts, root_cause)


def _rank(memory: Memory) -> tuple[int, int, bool]:
    """Own before elsewhere, close before partial, verified before imported; otherwise in the order of recall."""
    return (("own", "team", "shared").index(memory.place), -STRENGTHS.index(memory.strength), not memory.is_verified)


def _known_here(conversation: Conversation, own: Sequence[Memory], usable: Sequence[Memory]) -> dict[str, Any]:
    best = own[0]
    failed_before = _failure_of(best, conversation.failed_attempts) is not None
    confidence = "low"
    if best.is_verified:
        confidence = "high" if best.strength == "close" and not failed_before else "medium"
    elif best.strength == "close":
        confidence = "medium"
    why = "its fix failed before" if failed_before else best.reason
    return _report(
        conversation.facts,
        best=best,
        evidence=usable,
        summary=f"It looks like {best.ref}: {best.title or best.cause}",
        confidence=confidence,
        confidence_reason=f"{best.ref}, {best.strength} match: {why}" if why else f"{best.ref}, {best.strength} match",
        immediate_actions=_actions(own, conversation),
    )


def _seen_elsewhere(conversation: Conversation, usable: Sequence[Memory]) -> dict[str, Any]:
    best = usable[0]
    where = f"in {best.project}" if best.project else "in another project"
    return _report(
        conversation.facts,
        best=best,
        evidence=usable,
        summary=f"It happened {where} ({best.ref}), never verified here: {best.title or best.cause}",
        confidence="medium" if best.strength == "close" else "low",
        confidence_reason=f"Only seen elsewhere: {best.ref}, {best.strength} match.",
        immediate_actions=_actions(usable, conversation, prefix="Worked elsewhere, not verified here: "),
    )


def _report(facts: Facts, *, best: Memory, evidence: Sequence[Memory], summary: str, **fields: Any) -> dict[str, Any]:
    """Return the diagnosis that rests on the best memory."""
    cause = best.cause or _cause_of_the_same_fix(best, evidence)
    known = recognise([cause, best.title, *facts.signatures], [facts.title, *facts.symptoms])
    return {
        "severity": _severity(facts, known),
        "category": known.symptom.category if known else "not_known",
        "summary": shortened(f"{_subject(facts)}. {summary}", 300),
        "root_cause": shortened(cause, CAUSE_CHARACTERS),
        "evidence": [_cited(memory) for memory in evidence[:SHOWN]],
        "ruled_out": _ruled_out(facts.metrics),
        "long_term_fixes": [f"General practice: {known.symptom.long_term_fix}"] if known else [],
        "needs_more_info": False,
        "clarifying_questions": [],
        **fields,
        "confidence_reason": shortened(fields["confidence_reason"], REASON_CHARACTERS),
    }


def _cause_of_the_same_fix(best: Memory, others: Sequence[Memory]) -> str:
    """Return what somebody else wrote of a fix that was only confirmed; a title is no cause."""
    fix = _SENTENCE_END.split(best.fix, maxsplit=1)[0]
    same = (memory.cause for memory in others if memory.cause and fix and memory.fix.startswith(fix))
    return next(same, f"Not written down; what fixed it: {fix}" if fix else "Not known.")


def _cited(memory: Memory) -> dict[str, str]:
    quote = memory.quote or _SENTENCE_END.split(memory.text, maxsplit=1)[0]
    return {
        "ref": memory.ref,
        "quote": quote[:QUOTE_CHARACTERS],
        "match_strength": memory.strength,
        "reason": shortened(memory.reason, REASON_CHARACTERS),
    }


def _actions(memories: Iterable[Memory], conversation: Conversation, *, prefix: str = "") -> list[dict[str, Any]]:
    """Return the memories' fixes as actions, best first, without those that failed before, and what to watch then."""
    actions: list[dict[str, Any]] = []
    proposed: list[str] = []
    struck: list[str] = []
    for memory in memories:
        attempt = _failure_of(memory, conversation.failed_attempts)
        if attempt:
            struck.append(f"The fix of {memory.ref} failed before ({attempt.ref}): do not repeat it.")
            continue
        headline = _headline(memory)
        if headline and not any(_same_words(headline, fix) for fix in proposed):
            text = f"If that does not help: {headline}" if proposed else f"{prefix}{headline}"
            proposed.append(headline)
            actions.append(_action(text, memory.command if memory.place != "shared" else "", [memory.ref]))
    if not actions:
        return [_action(" ".join([*struck[:1], _escalate(conversation.facts.service)]))]
    return [*actions[:SHOWN], *_watch(conversation.facts.metrics)]


def _headline(memory: Memory) -> str:
    """Return the fix in one sentence: what to do, without how it went. Two records of one fix have the same."""
    return _SENTENCE_END.split(memory.fix, maxsplit=1)[0].strip()


def _failure_of(memory: Memory, attempts: Iterable[FailedAttempt]) -> FailedAttempt | None:
    return next((attempt for attempt in attempts if _same_fix(memory, attempt)), None)


def _same_fix(memory: Memory, attempt: FailedAttempt) -> bool:
    if attempt.fix and re.match(re.escape(attempt.fix.rstrip(".")) + r"(?:[.,;:]|$)", memory.fix, re.IGNORECASE):
        return True
    said = len(memory.command) >= TELLING_COMMAND_CHARACTERS and memory.command in attempt.text
    return said or _same_words(_headline(memory), attempt.fix)


def _same_words(one: str, other: str) -> bool:
    """Return whether two texts say the same thing: nearly the same words, in whatever order."""
    first, second = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return bool(first) and len(first & second) >= 0.75 * len(first | second)


def _watch(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    metric = next((metric for metric in metrics if metric.name and metric.baseline), None)
    if metric is None:
        return []
    return [_action(f"Then watch whether {metric.name} comes back to {metric.baseline}{_unit(metric)}.")]


# --- What the alert says ----------------------------------------------------------------------------------------------


def _from_alert_alone(facts: Facts) -> dict[str, Any]:
    known = recognise([facts.title, *facts.signatures], [*facts.symptoms, *(m.name for m in facts.metrics), facts.text])
    if known is None:
        return _unknown(facts, NOT_KNOWN_ALONE)
    symptom = known.symptom
    return {
        "severity": _severity(facts, known),
        "category": symptom.category,
        "summary": shortened(f"{_subject(facts)}. From the alert alone it looks like: {symptom.name}.", 300),
        "root_cause": symptom.cause,
        "confidence": "medium" if known.plainly else "low",
        "confidence_reason": "The alert names the symptom; the cause is general knowledge.",
        "evidence": [],
        "ruled_out": _ruled_out(facts.metrics),
        "immediate_actions": [_action(symptom.first_action, symptom.command or ""), *_watch(facts.metrics)],
        "long_term_fixes": [symptom.long_term_fix],
        "needs_more_info": False,
        "clarifying_questions": [],
    }


def _unknown(facts: Facts, root_cause: str) -> dict[str, Any]:
    return {
        "severity": _severity(facts, None),
        "category": "not_known",
        "summary": shortened(f"{_subject(facts)}. {root_cause}", 300),
        "root_cause": root_cause,
        "confidence": "low",
        "confidence_reason": "Nothing that was found supports a cause.",
        "evidence": [],
        "ruled_out": _ruled_out(facts.metrics),
        "immediate_actions": [_action(_escalate(facts.service))],
        "long_term_fixes": [],
        "needs_more_info": False,
        "clarifying_questions": [],
    }


def _needs_more_info(facts: Facts) -> dict[str, Any]:
    about = f" (“{shortened(facts.title, 60)}”)" if facts.title else ""
    return {
        **_unknown(facts, TOO_VAGUE),
        "immediate_actions": [],
        "confidence_reason": "There is too little to go on.",
        "needs_more_info": True,
        "clarifying_questions": [
            f"Which service, page or request fails{about}, and what does the person see?",
            "What does one failing request say, word for word, in the log or the trace?",
            "When did it start, which number moved (from what to what), and what changed just before?",
        ],
    }


def _severity(facts: Facts, known: Recognised | None) -> str:
    said = facts.severity.lower().replace("-", "").replace(" ", "")
    for severity, words in _SEVERITIES.items():
        if said and said in words.split():
            return severity
    return known.symptom.severity if known else "medium"


def _subject(facts: Facts) -> str:
    place = ", ".join(part for part in (facts.service, facts.environment) if part)
    what = shortened(facts.title or next(iter(facts.signatures or facts.symptoms), "An alert"), 120).rstrip(".")
    return what if not place or facts.service.lower() in what.lower() else f"{place}: {what}"


def _ruled_out(metrics: Sequence[Metric]) -> list[str]:
    """Return what the metrics speak against: those that are as they usually are."""
    causes = []
    for metric in metrics:
        value, baseline = _number(metric.value), _number(metric.baseline)
        if not value or not baseline or not _NORMAL[0] <= value / baseline <= _NORMAL[1]:
            continue
        cause = next((cause for words, cause in _RULED_OUT_BY_NORMAL if words.search(metric.name)), None)
        if cause:
            causes.append(f"{cause}: {metric.name} is {metric.value}, usually {metric.baseline}{_unit(metric)}.")
    return causes[:SHOWN]


def _number(text: str) -> float | None:
    match = _NUMBER.search(text)
    return float(match.group().replace(",", "")) if match else None


def _unit(metric: Metric) -> str:
    return f" {metric.unit}" if metric.unit and metric.unit not in metric.baseline else ""


def _escalate(service: str = "") -> str:
    return f"Escalate to a person who knows {service or 'this service'}; change nothing before that."


def _action(text: str, command: str = "", refs: Sequence[str] = ()) -> dict[str, Any]:
    return {"text": shortened(text, ACTION_CHARACTERS), "command": command or None, "refs": list(refs)}


def shortened(text: str, limit: int) -> str:
    """Return the text within the limit: its whole first sentences if they fit, otherwise cut at a word with a mark."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    whole = ""
    for sentence in _SENTENCE_END.split(text[: limit + 1])[:-1]:
        if len(whole) + len(sentence) + 1 > limit:
            break
        whole = f"{whole} {sentence}".strip()
    if whole:
        return whole
    return (
        text[: limit - 1].rpartition(" ")[0].rstrip(",;:") + "…"
        if " " in text[: limit - 1]
        else text[: limit - 1] + "…"
    )
