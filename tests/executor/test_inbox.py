"""Posts for the owner of a session: taken once, recorded before they go, and never lost between two owners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, NotFoundError, SessionBusyError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.aborts import abort_session
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import record_decision, resume_after_approval
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.inbox import Inbox
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.function import function_tool

AGENT = {"name": "trip", "prompt": "p"}
CALLS = {"tool_calls": [{"name": "look", "id": "call_1"}]}


@pytest.fixture(params=["memory", "file"])
def logs(request: Any, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / ".lousho")


def post(post_id: str, kind: Any, body: Any = None, by: str | None = None) -> Post:
    return Post(id=post_id, kind=kind, at="2026-01-01T00:00:00.000Z", by=by, body=body)


def said(text: str) -> list[Any]:
    return [msgspec.to_builtins(user(text))]


async def run(logs: Any, *turns: Any, input: Any = "Go", tool: Callable[..., Any] = lambda: 1, gated: bool = False, **options: Any) -> Any:
    look = function_tool(tool, name="look", description="d", needs_approval=gated)
    stores = {"checkpoint_store": logs.checkpoints, "approval_store": logs.approvals}
    return await AgentExecutor.execute(AGENT, input, ScriptedProvider(turns), [look], session_id="s", **stores, **options)


async def records(logs: Any) -> list[Any]:
    return [record for batch in (await logs.read("s")).batches for record in batch.records]


async def test_an_input_left_during_a_run_is_the_next_turn(logs: Any) -> None:
    async def look() -> int:
        await logs.post("s", post("in-2", "input", said("More"), by="ann"))
        await logs.post("s", post("in-2", "input", said("More"), by="ann"))
        return 1

    result = await run(logs, CALLS, "one", "two", tool=look)
    assert result.text == "one", "the caller's own result; the other's stands in the log"
    session = await read_session(logs, "s")
    assert [m.text for m in session.messages if m.role == "user"] == ["Go", "More"]
    assert session.inputs["in-2"].status == "settled"
    assert session.inputs["in-2"].by == "ann"
    assert await logs.inbox("s") == ()


async def test_received_stands_in_the_log_before_the_post_goes(logs: Any) -> None:
    taken = asyncio.Event()

    async def look() -> int:
        await logs.post("s", post("in-2", "input", said("More")))
        while await logs.inbox("s"):
            await asyncio.sleep(0.005)
        assert any(isinstance(record, r.InputReceived) and record.id == "in-2" for record in await records(logs))
        taken.set()
        return 1

    await run(logs, CALLS, "one", "two", tool=look)
    assert taken.is_set()


async def test_an_id_that_the_log_has_is_only_removed(logs: Any) -> None:
    await run(logs, "one", "two", input_id="in-1")
    await logs.post("s", post("in-1", "input", said("Go")))
    result = await run(logs, "one", "two", input=[])
    assert result.text == "one"
    assert await logs.inbox("s") == ()
    assert (await read_session(logs, "s")).turns == 1


async def test_an_input_left_for_nobody_is_taken_by_the_next_owner(logs: Any) -> None:
    await run(logs, "one", "two")
    await logs.post("s", post("in-2", "input", said("More")))
    assert (await run(logs, "one", "two", input=[])).text == "two"


async def test_an_abort_stops_the_run_and_says_who(logs: Any) -> None:
    async def look() -> int:
        await logs.post("s", post("p-1", "abort", by="ann"))
        while await logs.inbox("s"):
            await asyncio.sleep(0.005)
        return 1

    result = await run(logs, CALLS, "never", tool=look)
    assert (result.outcome, result.finish_reason) == ("aborted", "aborted")
    assert [record.by for record in await records(logs) if isinstance(record, r.AbortAsked)] == ["ann"]


async def test_an_abort_for_a_run_that_has_ended_changes_nothing(logs: Any) -> None:
    await run(logs, "one", "two")
    await logs.post("s", post("p-1", "abort"))
    assert (await run(logs, "one", "two", input=[])).outcome == "completed"
    assert await logs.inbox("s") == ()


async def test_a_posted_answer_decides_once_and_is_named(logs: Any) -> None:
    paused = await run(logs, CALLS, "done", gated=True)
    for number, approved in enumerate((False, True)):
        body = {"id": paused.approval_id, "approved": approved}
        await logs.post("s", post(f"p-{number}", "answer", body))

    result = await run(logs, CALLS, "done", gated=True, input="More")
    assert [m.text for m in result.messages if m.role == "user"] == ["Go", "More"]
    look = function_tool(lambda: 1, name="look", description="d", needs_approval=True)
    decided = {"id": paused.approval_id, "approved": True}
    with pytest.raises(NotFoundError):
        await resume_after_approval(decided, logs.approvals, [look], ScriptedProvider([CALLS, "done"]), {}, logs.checkpoints)
    answers = [record for record in await records(logs) if isinstance(record, r.WaitAnswered)]
    assert [(record.post, record.approved) for record in answers] == [("p-0", False)]
    assert await logs.inbox("s") == ()


async def test_a_decision_is_recorded_without_going_on(logs: Any) -> None:
    ran: list[int] = []
    paused = await run(logs, CALLS, "done", tool=lambda: ran.append(1), gated=True)
    await record_decision({"id": paused.approval_id, "approved": True}, "s", logs.checkpoints)
    assert ran == []
    with pytest.raises(NotFoundError):
        await record_decision({"id": paused.approval_id, "approved": False}, "s", logs.checkpoints)
    assert (await run(logs, CALLS, "done", tool=lambda: ran.append(1), gated=True, input=[])).text == "done"
    assert ran == [1]


async def test_a_session_nobody_drives_is_aborted_from_outside(logs: Any) -> None:
    paused = await run(logs, CALLS, "done", gated=True)
    await logs.post("s", post("p-1", "abort"))
    session = await abort_session("s", logs.checkpoints, by="ann")
    assert (session.outcome, session.wait, paused.approval_id in session.decided) == ("aborted", None, True)
    assert await logs.inbox("s") == ()
    seq = session.seq
    assert (await abort_session("s", logs.checkpoints)).seq == seq


async def test_a_driven_session_is_not_aborted_behind_its_owner(logs: Any) -> None:
    async def look() -> int:
        with pytest.raises(SessionBusyError):
            await abort_session("s", logs.checkpoints)
        return 1

    assert (await run(logs, CALLS, "done", tool=look)).outcome == "completed"


async def test_only_a_log_store_can_be_reached_from_outside() -> None:
    class Plain:
        async def load(self, session_id: str) -> None:
            return None

    with pytest.raises(ConfigurationError):
        await abort_session("s", Plain())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        await record_decision({"id": "x", "approved": True}, "s", Plain())  # type: ignore[arg-type]


async def test_what_could_not_be_taken_is_tried_again_and_then_nobody_looks_who_is_told_of_nothing() -> None:
    class Quiet(MemoryStore):
        fails, looks = 3, 0

        async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
            await asyncio.sleep(0)
            return False

        async def inbox(self, log_id: str) -> tuple[Post, ...]:
            self.looks += 1
            if self.looks <= self.fails:
                raise StorageError("it can not be read now")
            return await super().inbox(log_id)

    store = Quiet()
    await store.post("s", post("in-1", "input", said("Go")))
    log = await SessionLog.open(store, "s", "here", SYSTEM_CLOCK)
    inbox = Inbox(log, AbortController())
    assert not await inbox.take()
    inbox.watch()
    async with asyncio.timeout(30):
        while inbox._again:
            await asyncio.sleep(0)
    assert "in-1" in log.session.inputs
    for _ in range(20):
        await asyncio.sleep(0)
    assert store.looks == store.fails + 1
    await inbox.stop()
    await log.close()
