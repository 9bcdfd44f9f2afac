"""Leads with agents in the background, and what their logs say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.define import define_tool


def scout(*turns: Any, **options: Any) -> Harness:
    return define_harness("scout", ScriptedProvider([*turns]), **options)


def lead(*turns: Any, agent: Harness, **options: Any) -> Harness:
    return define_harness("acme/lead", ScriptedProvider([*turns] or ["Nothing."]), agents={"scout": agent}, **options)


async def records_of(store: Any, thread_id: str, *kinds: type) -> list[Any]:
    """The records of some kinds in a log, in order."""
    return [record for batch in (await store.read(thread_id)).batches for record in batch.records if isinstance(record, kinds)]


async def notes(store: Any, thread_id: str = "t") -> list[str]:
    """What the log was given to tell the model of agents, in every way there is."""
    found = await records_of(store, thread_id, r.Appended, r.InputReceived)
    return [message.text for record in found for message in record.messages if message.text.startswith("[background agent")]


async def left_running(store: Any, gated: Any, **options: Any) -> str:
    """An agent that a host began and left when it went, for a deploy."""
    model, first = gated("Never said."), create_harness_host({"log": store})
    session = await first.open(lead(agent=define_harness("scout", model)), "t")
    key = await session.start_agent("scout", "Look around", **options)
    await model.begun.wait()
    await first.close(recoverable=True)
    return str(key)


def digging(ran: Path) -> Harness:
    """A lead whose scout digs once, which is a line in a file, and finds gold."""

    @define_tool(replay="safe")
    def dig() -> str:
        """Dig."""
        with ran.open("a") as file:
            file.write("dug\n")
        return "gold"

    return lead("I see.", agent=scout({"tool_calls": [{"id": "d", "name": "dig"}]}, "Gold.", tools=[dig]))
