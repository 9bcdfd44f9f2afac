"""A host that drives a lead, and somebody else who changes an agent of it meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.executor.aborts import abort_session, call_off_agents
from lousho_cli.executor.approvals import record_decision
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.define import define_tool
from tests.host.agents import lead, notes, records_of, scout


def waiting_scout() -> Any:
    @define_tool(needs_approval=True)
    def dig() -> str:
        """Dig."""
        return "gold"

    return scout({"tool_calls": [{"id": "d", "name": "dig"}]}, "Gold.", tools=[dig])


async def until(fact: Any) -> Any:
    while not (found := await fact()):
        await asyncio.sleep(0)
    return found


class Slow(MemoryStore):
    """Reads the log of an agent that was just given back only once it may: its host is still about to see how it rests."""

    def __init__(self) -> None:
        super().__init__()
        self.rests, self.go = asyncio.Event(), asyncio.Event()

    async def release(self, claim: Any, wake_at: str | None = None) -> None:
        await super().release(claim, wake_at)
        if claim.log_id != "t" and not self.rests.is_set():
            self.rests.set()

    async def read(self, log_id: str, after: int = 0) -> Any:
        if log_id != "t" and self.rests.is_set() and not self.go.is_set():
            self.go.set()
            await self.until_decided()
        return await super().read(log_id, after)

    async def until_decided(self) -> None:
        """Until the decision is made and the lead's host has been told."""
        await until(self._decided)

    async def _decided(self) -> bool:
        agents = [head for head in (await self.heads()).heads if head.lead]
        return any(head.waits_for is None and head.decided for head in agents) and not await self.inbox("t") and self._told

    _told = False

    async def discard(self, log_id: str, post_ids: Any) -> None:
        await super().discard(log_id, post_ids)
        self._told = self._told or (log_id == "t" and bool(post_ids))


async def test_an_agent_that_is_decided_while_its_host_sees_it_rest_goes_on(gated: Any) -> None:
    model, store = gated("Nothing."), Slow()
    host = create_harness_host({"log": store})
    session = await host.open(define_harness("acme/lead", model, agents={"scout": waiting_scout()}), "t")
    key = await session.start_agent("scout", "Dig")
    await session.send("Hi")
    await model.begun.wait()  # so the lead is driven
    await store.go.wait()
    agent = (await read_session(store, "t")).agents[key].session
    (waits,) = [head.waits_for for head in (await store.heads()).heads if head.id == agent]
    assert waits is not None
    await record_decision({"id": waits.id, "approved": True}, agent, store.checkpoints)
    async with asyncio.timeout(20):
        assert (await session.agent_result(key)).text == "Gold."
    model.go.set()
    await host.close()


@pytest.mark.parametrize("wake", [False, True])
async def test_agents_that_were_called_off_begin_no_turn_and_are_taken_up_no_more(store: Any, wake: bool) -> None:
    first = create_harness_host({"log": store})
    harness = lead("I see.", agent=waiting_scout())
    session = await first.open(harness, "t")
    group = await session.start_agents([("scout", "Dig"), ("scout", "Dig there")], start_turn_when_done=wake)

    async def both_wait() -> bool:
        return [one.status for one in await session.agents()] == ["waiting", "waiting"]

    await until(both_wait)
    await first.close(recoverable=True)
    agents = [agent.session for agent in (await read_session(store, "t")).agents.values()]
    waits = [await store.head(agent) for agent in agents]
    await record_decision({"id": waits[0].waits_for.id, "approved": True}, agents[0], store.checkpoints)
    await call_off_agents(store, "t")
    await abort_session(agents[1], store.checkpoints)

    second = create_harness_host({"log": store})
    again = await second.open(harness, "t")
    await second.idle("t")
    assert [(await again.agent_result(one)).code for one in group.agents] == ["lead_aborted", "lead_aborted"]
    assert len(await notes(store)) == 1
    assert await records_of(store, "t", r.RunStarted) == []
    assert (await read_session(store, agents[0])).outcome is None  # decided, and nobody goes on with it
    await second.close()


async def test_one_agent_of_a_group_that_completed_begins_no_turn_once_its_mates_were_called_off(store: Any) -> None:
    host = create_harness_host({"log": store})
    session = await host.open(
        define_harness("acme/lead", ScriptedProvider(["I see."]), agents={"scout": scout("Gold."), "slow": waiting_scout()}), "t"
    )
    group = await session.start_agents([("scout", "Dig"), ("slow", "Dig there")], start_turn_when_done=True)
    assert (await session.agent_result(group.agents[0])).outcome == "completed"

    async def waits() -> bool:
        return [one.status for one in await session.agents()] == ["waiting"] and await store.owner("t") is None

    await until(waits)
    await call_off_agents(store, "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "I see."
    assert len(await records_of(store, "t", r.RunStarted)) == 1  # that of the input, which sees the note
    assert len(await notes(store)) == 1
    await host.close()
