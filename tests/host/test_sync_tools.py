"""Python tools that are not async, on a host with several threads."""

from __future__ import annotations

import threading

from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.define import define_tool
from tests.host.owning import closing


async def test_the_tool_of_one_thread_does_not_wait_for_that_of_another() -> None:
    rings = threading.Event()
    waits = define_tool(name="waits", execute=lambda: rings.wait(60))
    ring = define_tool(name="ring", execute=lambda: rings.set() or "rang")
    first = define_harness("acme/waits", ScriptedProvider([{"tool_calls": [{"name": "waits", "id": "w"}]}, "Heard."]), tools=[waits])
    second = define_harness("acme/rings", ScriptedProvider([{"tool_calls": [{"name": "ring", "id": "r"}]}, "Rang."]), tools=[ring])
    host = create_harness_host({"log": MemoryStore()})
    async with closing(host):
        listener, ringer = await host.open(first, "a"), await host.open(second, "b")
        await listener.send("Go", input_id="a")
        await ringer.send("Go", input_id="b")
        assert ((await listener.settled("a")).text, (await ringer.settled("b")).text) == ("Heard.", "Rang.")
        assert [message.text for message in await listener.messages() if message.role == "tool"] == ["true"]
