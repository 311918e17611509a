"""What the API shows of each thing. Names and public ids only: no primary key, and never a bank's id."""

from typing import Any

from django.urls import reverse
from rest_framework.request import Request

from incidents.models import Alert, Diagnosis, Evidence, Incident, Investigation, Question, Step
from teams.models import User


def person(user: User | None) -> dict[str, str] | None:
    """Return a person's id and name."""
    return {"id": str(user.public_id), "name": user.name} if user else None


def incident_link(request: Request, incident: Incident) -> dict[str, str]:
    """Return an incident's name and addresses."""
    return {
        "id": str(incident.public_id),
        "ref": incident.ref,
        "url": request.build_absolute_uri(incident.get_absolute_url()),
        "api_url": request.build_absolute_uri(
            reverse("api_incident_detail", args=[incident.project.key, incident.number])
        ),
    }


def alert_shape(request: Request, alert: Alert) -> dict[str, Any]:
    """Return one alert of a delivery."""
    return {
        "id": str(alert.public_id),
        "title": alert.title,
        "status": alert.status,
        "incident": incident_link(request, alert.incident),
    }


def incident_shape(request: Request, incident: Incident) -> dict[str, Any]:
    """Return an incident as a list shows it."""
    run = incident.latest_investigation
    return incident_link(request, incident) | {
        "project": incident.project.key,
        "number": incident.number,
        "title": incident.title,
        "status": incident.status,
        "close_reason": incident.close_reason or None,
        "severity": incident.severity,
        "category": incident.category,
        "service": incident.service.name if incident.service else None,
        "environment": incident.environment or None,
        "assignee": person(incident.assignee),
        "alert_count": incident.alert_count,
        "started_at": incident.started_at,
        "last_alert_at": incident.last_alert_at,
        "resolved_at": incident.resolved_at,
        "investigation": investigation_shape(request, incident, run) if run else None,
    }


def investigation_shape(request: Request, incident: Incident, investigation: Investigation) -> dict[str, Any]:
    """Return an investigation without what it found."""
    return {
        "id": str(investigation.public_id),
        "number": investigation.number,
        "state": investigation.state,
        "strategy": investigation.strategy,
        "pattern": investigation.pattern or None,
        "memory": investigation.memory_word or None,
        "started_at": investigation.started_at,
        "finished_at": investigation.finished_at,
        "waits_until": investigation.waits_until,
        "api_url": request.build_absolute_uri(
            reverse("api_investigation_detail", args=[incident.project.key, incident.number, investigation.public_id])
        ),
    }


def diagnosis_shape(diagnosis: Diagnosis, evidence: list[Evidence]) -> dict[str, Any]:
    """Return an answer with its evidence."""
    return {
        "id": str(diagnosis.public_id),
        "kind": diagnosis.kind,
        "state": diagnosis.state,
        "severity": diagnosis.severity or None,
        "category": diagnosis.category,
        "summary": diagnosis.summary,
        "root_cause": diagnosis.root_cause,
        "confidence": diagnosis.confidence or None,
        "confidence_reason": diagnosis.confidence_reason,
        "ruled_out": diagnosis.ruled_out,
        "immediate_actions": [
            {"text": action.get("text"), "command": action.get("command"), "refs": action.get("refs") or [],
             "failed_before": bool(action.get("struck"))}
            for action in diagnosis.immediate_actions
        ],
        "long_term_fixes": diagnosis.long_term_fixes,
        "safe_checks": diagnosis.safe_checks,
        "needs_more_info": diagnosis.needs_more_info,
        "clarifying_questions": diagnosis.clarifying_questions,
        "warnings": diagnosis.warnings,
        "unreadable_text": diagnosis.unreadable_text or None,
        "model": diagnosis.model or None,
        "simulated": diagnosis.simulated,
        "stopped": diagnosis.stopped or None,
        "evidence": [evidence_shape(item) for item in evidence],
    }  # fmt: skip


def evidence_shape(item: Evidence) -> dict[str, Any]:
    """Return a recalled memory by its reference, read ``with_text``: the quote is our own revision's, as it is today.

    Of a shared lesson, and of a memory that the project may no longer read, nothing says where it comes from.
    """
    text: str = item.revision_text  # type: ignore[attr-defined]
    named = item.scope != Evidence.Scope.SHARED and item.is_readable  # type: ignore[attr-defined]
    quote = text[item.quote_start : item.quote_end] if item.quote_start is not None else ""
    return {
        "ref": item.ref,
        "scope": item.scope,
        "kind": item.record.kind,
        "record": str(item.record.public_id) if named else None,
        "incident": item.record.incident.ref if named and item.record.incident else None,
        "match_strength": item.match_strength,
        "reason": item.reason,
        "accepted": item.accepted,
        "not_used_because": item.not_used_because or None,
        "quote": quote or None,
    }


def step_shape(step: Step) -> dict[str, Any]:
    """Return a step of the trace."""
    return {
        "id": str(step.public_id),
        "sequence": step.sequence,
        "kind": step.kind,
        "name": step.name,
        "scope": step.scope or None,
        "status": step.status,
        "line": step.line,
        "model": step.model or None,
        "prompt_tokens": step.prompt_tokens,
        "completion_tokens": step.completion_tokens,
        "started_at": step.started_at,
        "seconds": step.seconds,
    }


def question_shape(question: Question) -> dict[str, Any]:
    """Return a question and its answer."""
    return {
        "id": str(question.public_id),
        "text": question.text,
        "asked_by": question.asked_by,
        "answer": question.answer or None,
        "answered_by": person(question.answered_by),
        "closed_at": question.closed_at,
    }
