"""An answer that its server cut in two is no end: it is sent back as it is, and the model goes on."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.decide import PAUSED
from lousho_cli.domain.messages import Message, Native
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.views import CheckpointView

HALF = Message(role="assistant", native=Native("somewhere", '[{"type":"server_tool_use"}]'))
REST = Message(role="assistant", content="Found it.")


class Halves:
    """A model that pauses ``pauses`` times before it answers."""

    name, model = "halves", "halves"

    def __init__(self, pauses: int) -> None:
        self.pauses = pauses
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> Any:
        self.asked.append(request)
        yield Answer(HALF, PAUSED) if len(self.asked) <= self.pauses else Answer(REST)


async def test_case_133_a_paused_answer_is_sent_back_unchanged_and_the_next_is_the_answer() -> None:
    model, store = Halves(1), MemoryStore()
    view = CheckpointView(store)
    ran = await AgentExecutor.execute(agent={}, input="Search.", provider=model, session_id="s", checkpoint_store=view)
    assert (ran.text, ran.finish_reason, ran.steps) == ("Found it.", "stop", 2)
    assert [m.role for m in model.asked[1].messages] == ["user", "assistant"]
    assert model.asked[1].messages[1] == HALF
    entries = await view.history("s", 10)
    assert [(entry.checkpoint.status, entry.checkpoint.finish_reason) for entry in entries] == [
        ("finished", "stop"),
        ("in-progress", PAUSED),
    ]


async def test_case_133_pauses_are_bounded_by_the_steps() -> None:
    model = Halves(99)
    ran = await AgentExecutor.execute(agent={}, input="Search.", provider=model, session_id="s", max_steps=3)
    assert (ran.finish_reason, ran.steps, len(model.asked)) == ("max-steps", 3, 3)
