"""Turns a report into a diagnosis: applies the rules in order, and keeps what each of them changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from incidents.investigation import rules
from incidents.investigation.case import Case
from incidents.investigation.checks import safe_checks
from incidents.investigation.past import FailedFix, failed_fixes, ratings_for, root_id
from incidents.investigation.questions import questions_for
from incidents.investigation.report import Report
from incidents.investigation.supplied import Supplied
from incidents.models import Evidence, MemoryRecord
from incidents.models.incident import Severity
from incidents.models.investigation import MatchStrength, MemoryWord
from incidents.models.track import track_records

UNAVAILABLE = "Memory was unavailable. This is not the same as no match."


@dataclass(frozen=True)
class Findings:
    """What a run gathered besides its report. ``own_words`` are the words of each recall from the own bank.

    ``expired``: nobody answered in time. ``unreadable`` is the model's text where no form of the report could be read.
    """

    supplied: Mapping[str, Supplied] = field(default_factory=dict)
    own_words: Sequence[str] = ()
    answers: str = ""
    asked: Sequence[str] = ()
    expired: bool = False
    unreadable: str | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """A diagnosis as its row keeps it, the evidence rows, and memory's word and the pattern for the investigation."""

    values: dict[str, Any]
    evidence: list[dict[str, Any]]
    memory_word: str
    pattern: str
    warnings: tuple[rules.Warned, ...]


def judge(case: Case, report: Report, findings: Findings) -> Answer:
    """Apply rules 1 to 7. Constant number of queries."""
    vague = case.is_vague(findings.answers)
    ratings = ratings_for(case.incident)
    judged, dropped = rules.judge_evidence(report.evidence, findings.supplied)
    tracks = track_records(root_id(one.memory.fix) for one in judged if one.memory.fix)
    judged, left_out = rules.order_evidence(judged, tracks, ratings)
    accepted = [one for one in judged if one.accepted]
    word = rules.memory_word(findings.own_words, accepted, findings.supplied.values()) if case.sees_memory else ""

    report, unclaimed = rules.remove_claims(report, case.alert_text)
    questions = list(findings.asked) or [ask.text for ask in questions_for(case.facts)]
    report, vagueness = rules.ask_when_vague(report, vague=vague, expired=findings.expired, questions=questions)
    confidence = rules.decide_confidence(
        report.confidence,
        accepted,
        kind=case.diagnosis.kind,
        memory_word=word,
        vague=vague,
        unreadable=findings.unreadable is not None,
    )
    failed = _failed(case, judged)
    actions, struck = rules.judge_actions(report.immediate_actions, judged=judged, failed=failed, ratings=ratings)
    warnings = (
        *(rules.Warned(0, note) for note in findings.notes),
        *([rules.Warned(3, UNAVAILABLE)] if word == MemoryWord.UNAVAILABLE else []),
        *dropped,
        *left_out,
        *confidence.warnings,
        *unclaimed,
        *vagueness,
        *struck,
        *rules.distrust(case.alert_text, findings.supplied.values(), findings.answers),
    )
    values = {
        "severity": report.severity or _severity(case),
        "category": report.category,
        "summary": report.summary,
        "root_cause": report.root_cause,
        "confidence": confidence.confidence,
        "confidence_reason": confidence.reason,
        "ruled_out": report.ruled_out,
        "immediate_actions": [action.stored() for action in actions],
        "long_term_fixes": report.long_term_fixes,
        "needs_more_info": report.needs_more_info,
        "clarifying_questions": report.clarifying_questions,
        "safe_checks": safe_checks(case.facts) if report.needs_more_info else [],
        "do_not_repeat": [one.stored() for one in failed],
        "warnings": [warned.stored() for warned in warnings],
        "unreadable_text": findings.unreadable or "",
    }
    needs_info = vague or (findings.expired and not accepted)
    pattern = rules.pattern(word, accepted, needs_info=needs_info) if case.sees_memory else ""
    evidence = [_evidence(one, place) for place, one in enumerate(judged)]
    return Answer(values, evidence, word, pattern, warnings)


def partial(case: Case, supplied: Mapping[str, Supplied]) -> dict[str, Any]:
    """Return what is certain without any model: for a run that broke down before it had an answer."""
    judged, _ = rules.judge_evidence((), supplied)
    return {
        "severity": _severity(case),
        "safe_checks": safe_checks(case.facts),
        "do_not_repeat": [one.stored() for one in _failed(case, judged)],
    }


def _severity(case: Case) -> str:
    return case.facts.severity if case.facts.severity in Severity.values else ""


def _failed(case: Case, judged: Sequence[rules.Judged]) -> list[FailedFix]:
    """Rule 6 looks at this fingerprint, at accepted close matches, and at failed attempts that match."""

    def incidents(strength: str) -> set[int]:
        return {
            one.memory.record.incident_id
            for one in judged
            if one.memory.scope == Evidence.Scope.OWN
            and one.memory.record.incident_id
            and one.strength == strength
            and (one.accepted or one.memory.record.kind == MemoryRecord.Kind.FAILED_ATTEMPT)
        }

    # The alert alone has no memories: only this fingerprint's own history strikes out its suggestions.
    return failed_fixes(case.incident, close=incidents(MatchStrength.CLOSE), partial=incidents(MatchStrength.PARTIAL))


def _evidence(one: rules.Judged, place: int) -> dict[str, Any]:
    start, end = one.quote or (None, None)
    return {
        "ref": one.memory.ref,
        "scope": one.memory.scope,
        "record": one.memory.record,
        "revision": one.memory.revision.number,
        "quote_start": start,
        "quote_end": end,
        "match_strength": one.strength,
        "reason": one.memory.reason[:300],
        "model_reason": one.model_reason[:300],
        "accepted": one.accepted,
        "not_used_because": one.not_used_because[:200],
        "position": place,
    }
