"""The last step of every run: the report, in a call without tools, and what the rules make of it."""

from dataclasses import replace
from typing import Any

from django.conf import settings

from incidents.investigation import conversation, prompts, tools
from incidents.investigation.conversation import Part
from incidents.investigation.judging import Findings, judge
from incidents.investigation.report import NAME, SCHEMA, Report, parse_report, readable
from incidents.investigation.run import ANSWER, RULES, Ended, Run, result_fields
from incidents.investigation.supplied import Supplied
from incidents.models import Step
from incidents.reading.text import find_quote
from oncall.clients.llm import ChatModel, Reply

UNREADABLE_CHARACTERS = 4000
REPORT_TOKENS = 3000
LEAST_PROMPT_TOKENS = 2500


def answer(run: Run) -> Ended:
    """Ask for the report, judge it, and end the run."""
    supplied = run.supplied()
    turn = min(run.journal.turn + 1, run.case.limits.steps)
    parts = _messages(run, supplied)
    step = run.begin_model_call(ANSWER, turn, parts)
    reply, report, unreadable = _report(run, parts)
    run.journal.end(
        step,
        status=Step.Status.SUCCESS if unreadable is None else Step.Status.ERROR,
        line="" if unreadable is None else "could not be read",
        result={"report": _without_quotes(report, supplied)},
        **result_fields(reply),
    )
    return _judged(run, report, supplied, unreadable, turn, reply.model)


def _report(run: Run, parts: list[Part]) -> tuple[Reply, Report, str | None]:
    """Return the reply, the report, and the model's text where no form of its report could be read."""
    messages = [part.message for part in parts]

    def ask(model: ChatModel) -> Reply:
        deadline = run.deadline(for_answer=True)
        return model.report(messages, name=NAME, schema=SCHEMA, parse=parse_report, deadline=deadline)

    reply = run.ask_model(ask)
    run.notes.extend(reply.notes)
    if isinstance(reply.parsed, Report):
        return reply, reply.parsed, None
    run.fall_back("The model’s answer could not be read. The offline reasoner wrote this one.")
    second = ask(run.fallback)
    report = second.parsed if isinstance(second.parsed, Report) else Report(summary="No answer could be written.")
    second = replace(second, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens)
    return second, report, readable(reply.content, UNREADABLE_CHARACTERS)


def _messages(run: Run, supplied: dict[str, Supplied]) -> list[Part]:
    """Return the conversation with everything that may be cited, in less and less room until it fits the plan."""
    last = conversation.own_text("user", prompts.WRITE_REPORT)
    if not run.case.sees_memory:
        return [*run.opening(prompts.ALERT_ONLY), last]
    opening, sources = run.opening(prompts.WITH_MEMORY), run.sources(supplied)
    allowed = max(settings.GROQ_TPM_BUDGET - REPORT_TOKENS, LEAST_PROMPT_TOKENS)
    parts: list[Part] = []
    for room in conversation.MEMORY_ROOMS:
        parts = [*opening, *conversation.history(sources, whole=lambda step: True, room=room), last]
        if conversation.tokens_of(parts) <= allowed:
            break
    return parts


def _judged(
    run: Run, report: Report, supplied: dict[str, Supplied], unreadable: str | None, turn: int, model: str
) -> Ended:
    step = run.journal.begin(Step.Kind.RULES, RULES, turn=turn)
    questions = run.questions()
    answer = judge(
        run.case,
        report,
        Findings(
            supplied=supplied,
            own_words=tools.recall_words(run.journal.done),
            answers=run.answers(),
            asked=[question.text for question in questions],
            # Closed by nobody: the wait ran out.
            expired=any(question.closed_at and question.answered_by_id is None for question in questions),
            unreadable=unreadable,
            notes=tuple(dict.fromkeys(run.notes)),
        ),
    )
    run.journal.end(
        step,
        status=Step.Status.SUCCESS,
        line="; ".join(warned.text.rstrip(".") for warned in answer.warnings) or "nothing changed",
        result={
            "warnings": [warned.stored() for warned in answer.warnings],
            "memory_word": str(answer.memory_word),
            "pattern": str(answer.pattern),
        },
    )
    return Ended(answer, model=model, simulated=run.model.simulated, stopped=run.stopped)


def _without_quotes(report: Report, supplied: dict[str, Supplied]) -> dict[str, Any]:
    """Return the report as the step keeps it: a quote is memory text, so that only its place is kept."""
    kept = report.model_dump(mode="json")
    for item, cited in zip(kept["evidence"], report.evidence, strict=True):
        memory = supplied.get(cited.ref)
        item["quote"] = find_quote(memory.revision.text, cited.quote) if memory and cited.quote else None
    return kept
