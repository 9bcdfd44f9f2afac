"""Two that come at once, or one that comes with old knowledge: one of them works, nothing is lost."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import (
    Agent,
    AgentExecutor,
    FileStore,
    MemoryStore,
    OwnershipLostError,
    ScriptedProvider,
    SDKError,
    function_tool,
    get_checkpoint_history,
)
from lousho_cli.domain import records as r
from lousho_cli.ports.sessions import read_session

AT = "2026-01-01T00:00:00.000Z"
CALL = {"tool_calls": [{"name": "work", "args": {}, "id": "call_work"}]}


async def say(store: FileStore, text: Any, turns: list[Any], tools: Any = (), session_id: str = "s") -> Any:
    stores = {"checkpoint_store": store.checkpoints, "approval_store": store.approvals}
    return await AgentExecutor.execute(Agent("a"), text, ScriptedProvider(turns), list(tools), session_id=session_id, **stores)


async def test_case_188_who_comes_with_an_old_copy_adds_to_what_is_there_now(tmp_path: Path) -> None:
    turns = [f"answer {n}" for n in range(7)]
    old, new = FileStore(tmp_path), FileStore(tmp_path)
    for n in range(3):
        await say(old, f"message {n}", turns)
    stale = await old.claim("s", "old host")
    await old.release(stale)
    for n in range(3, 5):
        await say(new, f"message {n}", turns)
    batch = r.Batch((await read_session(old, "s")).seq + 1, stale.epoch, AT, (r.Claimed("old host"), r.Note("late", "a stale save")))
    with pytest.raises(OwnershipLostError):
        await old.append(stale, (batch,))
    result = await say(old, "message 5", turns)
    assert [m.text for m in result.messages if m.role == "user"] == [f"message {n}" for n in range(6)]


async def test_case_189_of_two_that_recover_the_same_session_one_runs_it(tmp_path: Path) -> None:
    ran: list[int] = []
    go = asyncio.Event()

    async def work() -> str:
        ran.append(1)
        await go.wait()
        return "done"

    store = FileStore(tmp_path)
    claim = await store.claim("s", "a host that died")
    begun = (r.Claimed("h"), r.Created("a"), r.InputReceived("i", ()), r.RunStarted("i", offered=("work",)), r.InputApplied("i"))
    from lousho_cli.domain.messages import Message, ToolCall

    turn = r.Turn(Message("assistant", tool_calls=(ToolCall("call_work", "work", "{}"),)), "tool_calls")
    await store.append(claim, (r.Batch(1, claim.epoch, AT, begun), r.Batch(2, claim.epoch, AT, (turn, r.Mark(1)))))
    await store.release(claim)

    async def recover() -> str:
        try:
            return (await say(FileStore(tmp_path), [], [CALL, "done"], [function_tool(work)])).text
        except SDKError as error:
            return error.code
        finally:
            go.set()

    outcomes = await asyncio.gather(recover(), recover())
    assert ran == [1]
    assert sorted(outcomes) == ["LOUSHO_SESSION_BUSY", "done"]


async def test_case_190_a_recovery_sweep_leaves_alone_what_this_process_just_began(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    ran: dict[str, int] = {}

    async def start(name: str) -> None:
        def work() -> str:
            ran[name] = ran.get(name, 0) + 1
            return "done"

        await say(store, "go", [CALL, "done"], [function_tool(work)], name)

    async def sweep(name: str) -> None:
        for head in (await FileStore(tmp_path).heads()).heads:
            if head.id == name and head.outcome is None:
                try:
                    await say(FileStore(tmp_path), [], [CALL, "done"], [function_tool(lambda: "twice", name="work", description="d")], name)
                except SDKError as error:
                    assert error.code == "LOUSHO_SESSION_BUSY"

    for number in range(60):
        name = f"s-{number}"
        await asyncio.gather(start(name), sweep(name), sweep(name))
    assert ran == {f"s-{number}": 1 for number in range(60)}


async def test_case_056_times_of_files_play_no_part(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    for n in range(3):
        await say(store, f"message {n}", ["one", "two", "three"])
    files = sorted((tmp_path / "sessions" / "s").iterdir(), key=lambda path: path.stat().st_mtime)
    for age, path in enumerate(files):
        os.utime(path, (1_000_000 - age * 1000, 1_000_000 - age * 1000))
    again = FileStore(tmp_path)
    checkpoint = await again.checkpoints.load("s")
    history = await get_checkpoint_history(again.checkpoints, "s")
    assert checkpoint is not None and history is not None
    assert checkpoint.messages[-1].text == "three"
    assert history[0].checkpoint == checkpoint


async def test_de_018_new_input_on_resume_comes_after_the_results(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    work = function_tool(lambda: "done", name="work", description="d", needs_approval=True)
    paused = await say(store, "go", [CALL, "later"], [work])
    fork = await AgentExecutor.fork("s", f"#{(await read_session(store, 's')).seq - 1}", store.checkpoints)
    assert paused.finish_reason == "awaiting-approval"
    free = function_tool(lambda: "done", name="work", description="d")
    result = await say(store, "and something new", [CALL, "both"], [free], fork.session_id)
    assert [m.role for m in result.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert (result.messages[3].text, result.text) == ("and something new", "both")


@pytest.mark.parametrize("kind", [MemoryStore, FileStore])
@pytest.mark.parametrize(("limit", "kept"), [(None, 50), (2, 2), (0, 0)])
async def test_de_160_each_store_takes_the_size_of_its_ring_when_it_is_made(
    tmp_path: Path, kind: Any, limit: int | None, kept: int
) -> None:
    options = {} if limit is None else {"history_limit": limit}
    store = kind(**options) if kind is MemoryStore else kind(tmp_path, **options)
    assert store.history_limit == kept
    work = function_tool(lambda: "done", name="work", description="d")
    await say(store, "go", [CALL, "done"], [work])
    history = await get_checkpoint_history(store.checkpoints, "s")
    assert history is not None and len(history) == min(kept, 3)
