"""A run may take only so long: what runs is stopped, and the session says it ran out of time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import Agent, AgentExecutor, FileStore, ScriptedProvider, function_tool, memory_store, resume_after_approval
from lousho_cli.domain.messages import Message
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent

CALL = {"tool_calls": [{"name": "slow", "args": {}, "id": "call_slow"}]}


class Silent:
    """A model that never answers."""

    name, model = "silent", "silent"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        await asyncio.Event().wait()
        yield Answer(Message("assistant", "never"))


async def slow() -> str:
    """Waits for ever."""
    await asyncio.Event().wait()
    return "never"


def overtaken(clock: Any) -> Any:
    """The same, and the time of the run is up once it has begun: on a busy machine that is not sure with a time of milliseconds."""

    async def slow() -> str:
        clock.ms += 1_000
        await asyncio.Event().wait()
        return "never"

    return function_tool(slow)


async def run(store: Any, provider: Any, tool: Any = None, **more: Any) -> Any:
    return await AgentExecutor.execute(
        Agent("late"),
        more.pop("input", "go"),
        provider,
        [tool or function_tool(slow)],
        session_id="late",
        checkpoint_store=store.checkpoints,
        approval_store=store.approvals,
        abort_grace_ms=0,
        **more,
    )


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_run_out_of_time_ends_with_every_call_answered(tmp_path: Path, clock: Any, where: str) -> None:
    store = FileStore(tmp_path)
    if where == "model":
        result = await run(store, Silent(), max_duration_ms=60)
    else:
        result = await run(store, ScriptedProvider([CALL, "never"]), overtaken(clock), max_duration_ms=60, clock=clock)
    assert (result.finish_reason, result.status, result.outcome) == ("timeout", "finished", "completed")
    answered = [m.tool_call_id for m in result.messages if m.role == "tool"]
    assert answered == (["call_slow"] if where == "tool" else [])


async def test_the_next_message_has_time_of_its_own(clock: Any) -> None:
    store = memory_store()
    await run(store, ScriptedProvider([CALL]), overtaken(clock), max_duration_ms=30, clock=clock)
    result = await run(store, ScriptedProvider([CALL, "here I am"]), input="again", max_duration_ms=60_000)
    assert (result.finish_reason, result.text) == ("stop", "here I am")


async def test_the_time_is_stamped_before_the_first_model_call() -> None:
    """So it is in the log from the beginning, and whoever resumes finds it there."""
    store = memory_store()
    task = asyncio.ensure_future(run(store, Silent(), max_duration_ms=50))
    while not (await store.read("late")).head:
        await asyncio.sleep(0)
    (batch,) = (await store.read("late")).batches
    deadline = next(record.deadline for record in batch.records if hasattr(record, "deadline"))
    assert deadline is not None and deadline > batch.at
    assert (await task).finish_reason == "timeout"


async def test_time_that_a_person_takes_does_not_count(clock: Any) -> None:
    store = memory_store()
    gated = function_tool(slow, needs_approval=True)
    provider = ScriptedProvider([CALL, "done"])
    options: dict[str, Any] = {"session_id": "late", "checkpoint_store": store.checkpoints, "approval_store": store.approvals}
    paused = await AgentExecutor.execute(Agent("late"), "go", provider, [gated], max_duration_ms=60_000, clock=clock, **options)
    clock.ms += 3 * 24 * 3600 * 1000
    decision = {"id": paused.approval_id, "approved": False}
    result = await resume_after_approval(decision, store.approvals, [gated], provider, {"clock": clock}, store.checkpoints)
    assert (result.finish_reason, result.text) == ("stop", "done")
