"""How the run of an investigation is shown: its steps as bars, with what each looked at and found."""

from dataclasses import dataclass

from incidents.models import Step
from incidents.views.incident_page import IncidentPage


@dataclass(frozen=True)
class Bar:
    """A step of the trace, with its share of the time as a bar (0 to 100)."""

    step: Step
    name: str
    state: str
    icon: str
    line: str
    lines: list[str]
    open: bool
    sent: bool
    x: float
    width: float


_STEP_STATES = {
    Step.Status.RUNNING: ("queued", "step-running"),
    Step.Status.SUCCESS: ("done", "step-done"),
    Step.Status.NO_DATA: ("done", "step-done"),
    Step.Status.REFUSED: ("failed", "step-failed"),
    Step.Status.ERROR: ("failed", "step-failed"),
}


def trace(page: IncidentPage) -> list[Bar]:
    """Return the steps of the traced run in order, each with its share of the time."""
    total = page.seconds or 1
    bars, passed = [], 0.0
    for step in page.steps:
        state, icon = _STEP_STATES[Step.Status(step.status)]
        rules = step.kind == Step.Kind.RULES
        bars.append(
            Bar(
                step=step,
                name="Checked by the rules" if rules else step.name,
                state=state,
                icon="i-shield-check" if rules else icon,
                line=_step_line(step),
                lines=_step_lines(step, page),
                open=rules,
                sent=bool(step.sent_hash),
                x=round(100 * passed / total, 1),
                width=max(1, round(100 * step.seconds / total, 1)),
            )
        )
        passed += step.seconds
    return bars


def _step_line(step: Step) -> str:
    parts = [step.scope, step.line]
    if step.kind == Step.Kind.MODEL:
        tokens = step.prompt_tokens + step.completion_tokens
        parts = [step.model, f"{tokens:,} tokens" if tokens else "", step.line]
    return ", ".join(part for part in parts if part)


def _step_lines(step: Step, page: IncidentPage) -> list[str]:
    if step.kind == Step.Kind.RULES:
        return [str(warning["text"]) for warning in page.traced.warnings] if page.traced else []
    lines = [f"{name}: {value}" for name, value in step.arguments.items() if isinstance(value, str)]
    for query in step.arguments.get("queries", []):
        lines.append(f"query: {query}")
    if step.name == "inspect_alert":
        lines += [f"{name}: {value}" for name, value in step.result.items() if isinstance(value, str) and value]
        lines += [f"error: {signature}" for signature in step.result.get("error_signatures", [])]
    refs = [str(memory.get("ref")) for memory in step.result.get("memories", []) if isinstance(memory, dict)]
    if refs:
        lines.append("  ".join(refs))
    return lines
