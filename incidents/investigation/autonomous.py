"""The autonomous strategy: the model chooses the tools, within limits that it cannot move."""

from incidents.investigation import conversation, prompts, tools
from incidents.investigation.case import QUESTIONS_BY_MODEL, TOOL_CALLS_PER_RUN
from incidents.investigation.conversation import Part
from incidents.investigation.journal import ASK
from incidents.investigation.questions import Ask
from incidents.investigation.report import readable, tidy
from incidents.investigation.run import THINK, Run, Waits, result_fields
from incidents.models import Question, Step
from oncall.clients.llm import Reply, ToolCall, ToolCallRejected

REJECTIONS_IN_A_ROW = 2
CALLS_PER_TURN = 4
CONTENT_CHARACTERS = 2000


class NotRun(Exception):
    """A call that the model made and that is not run; the sentence says why, for the model and the trace."""

    def __init__(self, sentence: str, status: Step.Status) -> None:
        super().__init__(sentence)
        self.status = status


def work(run: Run) -> Waits | None:
    """Let the model call tools until it has enough, or a cap is reached; the last step is kept for the answer.

    Returns questions to the engineer when it asks some. A run that is taken up first finishes its latest turn.
    """
    waits = _finish_turn(run)
    while waits is None and not _is_over(run):
        if not _take_turn(run):
            return None
        waits = _finish_turn(run)
    return waits


def _is_over(run: Run) -> bool:
    run.stopped = _cap(run)
    return bool(run.stopped)


def _cap(run: Run) -> str:
    """Return at which cap the loop is, in words; "" while it may go on."""
    limits, journal = run.case.limits, run.journal
    latest = [step for step in journal.done if step.name == THINK][-REJECTIONS_IN_A_ROW:]
    if len(latest) == REJECTIONS_IN_A_ROW and all(step.result.get("rejected") for step in latest):
        return f"Stopped after {REJECTIONS_IN_A_ROW} rejected tool calls."
    if journal.turn >= limits.steps - 1:
        return f"Stopped after {limits.steps} steps."
    if run.loop_is_late:
        return f"Stopped after {limits.seconds:.0f} seconds."
    if journal.tokens >= limits.tokens:
        return f"Stopped after {limits.tokens:,} tokens."
    if sum(1 for step in journal.done if step.kind == Step.Kind.TOOL) >= TOOL_CALLS_PER_RUN:
        return f"Stopped after {TOOL_CALLS_PER_RUN} tool calls."
    return ""


def _take_turn(run: Run) -> bool:
    """Ask the model for its next step; False when it has nothing more to call."""
    turn = run.journal.turn + 1
    parts = _messages(run, turn)
    step = run.begin_model_call(THINK, turn, parts)
    messages = [part.message for part in parts]
    try:
        reply = run.ask_model(
            lambda model: model.reply(messages, tools=tools.TOOLS, deadline=run.deadline(for_answer=False))
        )
    except ToolCallRejected as error:
        rejected = tidy(str(error), 300)
        run.journal.end(
            step,
            status=Step.Status.ERROR,
            line=f"The tool call was rejected: {rejected}",
            result={"rejected": rejected},
        )
        return True
    calls = _calls(reply, turn)
    run.journal.end(
        step,
        status=Step.Status.SUCCESS,
        line=", ".join(call.name for call in calls) or "enough, on to the answer",
        result={
            "content": readable(reply.content, CONTENT_CHARACTERS),
            "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls],
        },
        **result_fields(reply),
    )
    return bool(calls)


def _messages(run: Run, turn: int) -> list[Part]:
    """Return the whole conversation, with what earlier turns recalled shrunk to a line."""
    newest = run.journal.turn
    history = conversation.history(run.sources(run.supplied()), whole=lambda step: step.turn == newest)
    last = prompts.STEP.format(step=turn, steps=run.case.limits.steps)
    return [*run.opening(prompts.WITH_MEMORY), *history, conversation.own_text("user", last)]


def _calls(reply: Reply, turn: int) -> list[ToolCall]:
    """Return the model's calls under ids of our own, cut to a size that can be stored; one more than may be run."""
    return [
        ToolCall(
            f"call_{turn}_{place}",
            tools.tool_name(call) or "unnamed",
            (call.arguments or "").replace("\0", "")[: tools.ARGUMENTS_CHARACTERS + 1],
        )
        for place, call in enumerate(reply.tool_calls[: CALLS_PER_TURN + 1], start=1)
    ]


def _finish_turn(run: Run) -> Waits | None:
    """Run what the latest turn called and has no result yet. Questions come last, as one wait."""
    said = next((step for step in reversed(run.journal.done) if step.name == THINK), None)
    if said is None:
        return None
    answered = {call_id for step in run.journal.done for call_id in conversation.call_ids(step)}
    questions: list[tuple[str, Ask]] = []
    for place, call in enumerate(conversation.calls_of(said), start=1):
        if call.id in answered:
            continue
        try:
            arguments = _checked(run, call, place, waiting=len(questions))
        except NotRun as refused:
            _refuse(run, call, said.turn, refused)
            continue
        if call.name == ASK:
            questions.append((call.id, Ask(arguments["question"])))
        else:
            _run_tool(run, call, arguments, said.turn)
    return Waits(said.turn, Question.AskedBy.MODEL, tuple(questions)) if questions else None


def _checked(run: Run, call: ToolCall, place: int, *, waiting: int) -> dict[str, str]:
    """Return the call's arguments.

    Raises:
        NotRun: the call is bad, was made before, or goes past a limit.
    """
    if place > CALLS_PER_TURN:
        raise NotRun(f"At most {CALLS_PER_TURN} calls in one turn.", Step.Status.REFUSED)
    try:
        arguments = tools.read_arguments(call)
    except tools.BadCall as bad:
        raise NotRun(str(bad), Step.Status.ERROR) from bad
    if tools.call_key(call.name, arguments) in _made_before(run, call):
        raise NotRun("This very call was made before; its result stands above.", Step.Status.REFUSED)
    if call.name == ASK:
        _check_may_ask(run, waiting)
    return arguments


def _check_may_ask(run: Run, waiting: int) -> None:
    if not run.case.diagnosis.investigation.may_ask:
        raise NotRun("Nobody can be asked in this run. Go on with what you have.", Step.Status.REFUSED)
    asked = sum(1 for question in run.questions() if question.asked_by == Question.AskedBy.MODEL)
    if asked + waiting >= QUESTIONS_BY_MODEL:
        raise NotRun("Enough was asked. Go on with what you have.", Step.Status.REFUSED)


def _made_before(run: Run, call: ToolCall) -> set[str]:
    """Return the keys of every good call before this one."""
    keys: set[str] = set()
    for earlier in (made for step in run.journal.done for made in conversation.calls_of(step)):
        if earlier.id == call.id:
            break
        try:
            keys.add(tools.call_key(earlier.name, tools.read_arguments(earlier)))
        except tools.BadCall:
            continue
    return keys


def _refuse(run: Run, call: ToolCall, turn: int, refused: NotRun) -> None:
    run.journal.note(
        Step.Kind.TOOL,
        call.name,
        turn=turn,
        call_id=call.id,
        status=refused.status,
        line=str(refused),
        result={"error": str(refused)},
    )


def _run_tool(run: Run, call: ToolCall, arguments: dict[str, str], turn: int) -> None:
    if call.name == tools.INSPECT:
        run.toolbox.inspect(turn=turn, call_id=call.id)
    elif call.name == tools.RECALL:
        queries = list(dict.fromkeys([arguments["query"], *run.queries()]))
        run.toolbox.recall_project_memory(queries, turn=turn, call_id=call.id)
    else:
        run.toolbox.recall_shared_lessons([arguments["query"]], turn=turn, call_id=call.id)
