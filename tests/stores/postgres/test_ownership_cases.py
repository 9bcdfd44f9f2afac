"""The cases about who may write, with the sessions in PostgreSQL: two that come at once, one with old knowledge, one that can not renew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.errors import OwnershipLostError, SDKError
from lousho_cli.executor.create_agent import create_agent
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.postgres import database
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.tools.define import define_tool

Open = Callable[..., PostgresStore]
AT = "2026-01-01T00:00:00.000Z"
CALL = {"tool_calls": [{"name": "work", "args": {}, "id": "call_work"}]}


def agent_of(store: PostgresStore, turns: list[Any], work: Callable[..., Any] | None = None) -> Any:
    tools = [define_tool(name="work", execute=work)] if work is not None else []
    return create_agent(ScriptedProvider(turns), store=store, tools=tools)


async def test_case_188_who_comes_with_an_old_copy_adds_to_what_is_there_now(url: str, opened: Open) -> None:
    turns = [f"answer {n}" for n in range(7)]
    old, new = opened(url), opened(url)
    for n in range(3):
        await agent_of(old, turns).send(f"message {n}", "s")
    stale = await old.claim("s", "old host")
    await old.release(stale)
    for n in range(3, 5):
        await agent_of(new, turns).send(f"message {n}", "s")
    late = r.Batch((await read_session(old, "s")).seq + 1, stale.epoch, AT, (r.Claimed("old host"), r.Note("late", "a stale save")))
    with pytest.raises(OwnershipLostError):
        await old.append(stale, (late,))
    result = await agent_of(old, turns).send("message 5", "s")
    assert [m.text for m in result.messages if m.role == "user"] == [f"message {n}" for n in range(6)]


async def test_case_189_of_two_that_recover_the_same_session_one_runs_it(url: str, opened: Open) -> None:
    ran: list[int] = []
    go = asyncio.Event()

    async def work() -> str:
        ran.append(1)
        await go.wait()
        return "done"

    store = opened(url)
    claim = await store.claim("s", "a host that died")
    begun = (r.Claimed("h"), r.Created("a"), r.InputReceived("i", ()), r.RunStarted("i", offered=("work",)), r.InputApplied("i"))
    turn = r.Turn(Message("assistant", tool_calls=(ToolCall("call_work", "work", "{}"),)), "tool_calls")
    await store.append(claim, (r.Batch(1, claim.epoch, AT, begun), r.Batch(2, claim.epoch, AT, (turn, r.Mark(1)))))
    await store.release(claim)

    async def recover() -> str:
        try:
            return str((await agent_of(opened(url), [CALL, "done"], work).resume("s")).text)
        except SDKError as error:
            return error.code
        finally:
            go.set()

    outcomes = await asyncio.gather(recover(), recover())
    assert ran == [1]
    assert sorted(outcomes) == ["LOUSHO_SESSION_BUSY", "done"]


async def test_case_190_a_recovery_sweep_leaves_alone_what_this_process_just_began(url: str, opened: Open) -> None:
    store, sweeping = opened(url), opened(url)
    ran: dict[str, int] = {}

    async def start(name: str) -> None:
        async def work() -> str:
            ran[name] = ran.get(name, 0) + 1
            return "done"

        await agent_of(store, [CALL, "done"], work).send("go", name)

    async def sweep(name: str) -> None:
        async def work() -> str:
            ran[name] = 99
            return "twice"

        for head in await sweeping.pending(10, AT):
            if head.id == name:
                try:
                    await agent_of(sweeping, [CALL, "done"], work).resume(name)
                except SDKError as error:
                    assert error.code == "LOUSHO_SESSION_BUSY"

    names = [f"s-{number}" for number in range(15)]
    for name in names:
        await asyncio.gather(start(name), sweep(name), sweep(name))
    assert ran == dict.fromkeys(names, 1)


async def test_case_196_an_owner_that_can_not_renew_starts_nothing_more(
    url: str, proxy: CuttingProxy, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": 0.2, "limit_s": None})
    begun, go = asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    async def work() -> str:
        ran.append("work")
        begun.set()
        await go.wait()
        return "done"

    async def more() -> str:
        ran.append("more")
        return "done"

    model = ScriptedProvider([{"tool_calls": [*CALL["tool_calls"], {"name": "more", "args": {}, "id": "call_more"}]}, "Never asked."])
    tools = [define_tool(name=name, execute=execute) for name, execute in (("work", work), ("more", more))]
    harness = define_harness("h", model, tools=tools, tool_concurrency=1)
    host = create_harness_host({"log": opened(proxy.url(url))}, ownership={"expires_after_ms": 1500, "renew_every_ms": 100})
    session = await host.open(harness, "t")
    receipt = await session.send("Go")
    await begun.wait()
    proxy.refuse()
    owned = next(iter(host._threads.values()))._owned
    assert owned is not None
    async with asyncio.timeout(30):
        while not owned.log.claim.overdue:
            await asyncio.sleep(0.01)
    go.set()
    other = opened(url)
    async with asyncio.timeout(30):
        while await other.owner("t") is not None:
            await asyncio.sleep(0.01)
    claim = await other.claim("t", "another host")
    assert ran == ["work"]
    assert [turn.message.text for one in (await other.read("t")).batches for turn in one.records if isinstance(turn, r.Turn)] == [""]
    proxy.refuse(False)
    await other.release(claim)
    await host.close()
    assert ran == ["work"]
    assert receipt.input_id
