"""The bounded loop: one diagnosis from the alert to a judged answer, in steps that are saved as they happen.

A run is a function of its saved steps: after a wait or a kill it is taken up from them, and nothing that was done is
done again. It ends with an answer at every cap; the report is its last step, in a call without tools.
"""

from incidents.investigation import autonomous, tools
from incidents.investigation.answering import answer
from incidents.investigation.journal import ASK
from incidents.investigation.questions import questions_for
from incidents.investigation.run import Ended, Run, Waits
from incidents.models import Question, Step
from teams.models import Project


def go(run: Run) -> Waits | Ended:
    """Work until there is an answer, or a question to the engineer.

    Raises:
        LeaseLost: another worker has the diagnosis, or it was cancelled.
    """
    if run.case.sees_memory:
        waits = _begin(run) or _use_tools(run)
        if waits is not None:
            return waits
        _make_sure_memory_was_asked(run)
    return answer(run)


def _begin(run: Run) -> Waits | None:
    """Rule 5's questions come before anything else, and once; answers from an earlier run count."""
    vague = run.case.facts.vague
    if vague:
        run.inspect(turn=1)
    if run.questions():
        _tell_earlier_answers(run)
        return None
    if not vague or not run.case.diagnosis.investigation.may_ask:
        return None
    questions = tuple((f"ask_{place}", ask) for place, ask in enumerate(questions_for(run.case.facts), start=1))
    return Waits(turn=1, asked_by=Question.AskedBy.RULES, questions=questions)


def _tell_earlier_answers(run: Run) -> None:
    """An investigation that takes up an earlier one knows its questions and answers from the start."""
    told = {asked["call_id"] for step in run.journal.done for asked in step.arguments.get("questions", [])}
    earlier = [question for question in run.questions() if question.call_id not in told]
    if not earlier:
        return
    answered = sum(1 for question in earlier if question.answer)
    run.journal.note(
        Step.Kind.TOOL,
        ASK,
        turn=1,
        scope="engineer",
        arguments={"questions": [{"call_id": question.call_id, "text": question.text} for question in earlier]},
        status=Step.Status.SUCCESS if answered else Step.Status.NO_DATA,
        line=f"{answered} of {len(earlier)} answered before",
    )


def _use_tools(run: Run) -> Waits | None:
    if run.case.diagnosis.investigation.strategy == Project.Strategy.AUTONOMOUS:
        return autonomous.work(run)
    _work_guided(run)
    return None


def _work_guided(run: Run) -> None:
    """The guided strategy: always the same tools in the same order."""
    run.inspect(turn=1)
    run.recall_memory(turn=2)
    if not run.did(tools.SHARED):
        run.toolbox.recall_shared_lessons(run.queries(), turn=3, call_id="call_shared")


def _make_sure_memory_was_asked(run: Run) -> None:
    """No with-memory answer without a recall: where the model made none, the code does."""
    turn = min(run.journal.turn + 1, run.case.limits.steps)
    run.inspect(turn=turn)
    run.recall_memory(turn=turn)
