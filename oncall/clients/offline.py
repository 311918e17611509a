"""The offline reasoner: the same protocol as a language model, without one.

It is deterministic, calls the same tools in a fixed order, and concludes only from tool results and the messages it
is sent. It is what an install without a key uses, and what stands in when every model has failed; every page that
shows its work says so.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from oncall.clients.llm import Message, Reply, ToolCall, ToolSpec
from oncall.clients.offline_conversation import Conversation
from oncall.clients.offline_report import diagnosis

READY = "I have what the tools can tell and am ready to answer."


class OfflineReasoner:
    """Implements ``ChatModel``. It never waits, and never raises."""

    name = "offline reasoner"
    simulated = True

    def reply(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline: float) -> Reply:
        """Call the next useful tool that is offered, one at a time; say that it is ready when there is none."""
        started = time.monotonic()
        step = Conversation(messages).next_step({tool.name for tool in tools})
        if step is None:
            return self._reply(READY, started)
        name, arguments = step
        # From the position in the conversation: the same messages always give the same answer.
        call = ToolCall(id=f"offline_{len(messages)}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
        return self._reply("", started, calls=(call,))

    def report(
        self,
        messages: Sequence[Message],
        *,
        name: str,
        schema: dict[str, Any],
        parse: Callable[[str], Any],
        deadline: float,
    ) -> Reply:
        """Return a diagnosis, with the fields that the schema names: it knows no other kind of report."""
        started = time.monotonic()
        fields = diagnosis(Conversation(messages))
        wanted = schema.get("properties") or fields
        content = json.dumps({key: value for key, value in fields.items() if key in wanted}, ensure_ascii=False)
        try:
            parsed = parse(content)
        except (ValueError, RecursionError):
            parsed = None
        return self._reply(content, started, parsed=parsed)

    def _reply(self, content: str, started: float, *, calls: tuple[ToolCall, ...] = (), parsed: Any = None) -> Reply:
        return Reply(
            content=content,
            model=self.name,
            tool_calls=calls,
            finish_reason="tool_calls" if calls else "stop",
            seconds=time.monotonic() - started,
            parsed=parsed,
        )
