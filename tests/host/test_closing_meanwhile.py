"""A host that is closed, or asked for the same, while it is in the middle of something."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.errors import AbortedError, ConfigurationError
from lousho_cli.host.host import create_harness_host
from lousho_cli.stores.memory import MemoryStore
from tests.host.agents import lead, scout
from tests.host.owning import says


class Holding(MemoryStore):
    """A store that holds up one kind of call until it is let go."""

    def __init__(self, holds: str) -> None:
        super().__init__()
        self._holds = holds
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def _held_up(self, what: str) -> None:
        if what == self._holds:
            self.begun.set()
            await self.go.wait()

    async def claim(self, *args: Any, **options: Any) -> Any:
        await self._held_up("claim" if "." not in args[0] else "claim of an agent")
        return await super().claim(*args, **options)

    async def head(self, log_id: str) -> Any:
        await self._held_up("head")
        return await super().head(log_id)

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        await self._held_up("heartbeat")
        await super().heartbeat(host_id, ttl_ms)


async def closed_meanwhile(host: Any, store: Holding, doing: Any) -> Any:
    """What comes of ``doing`` where the host is closed in the middle of it."""
    task = asyncio.ensure_future(doing)
    await store.begun.wait()
    closing = asyncio.ensure_future(host.close())
    while not host._closed:
        await asyncio.sleep(0)
    store.go.set()
    await closing
    return await task


def nothing_goes_on() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_thread_that_was_being_taken_is_given_back() -> None:
    store = Holding("claim")
    host = create_harness_host({"log": store})
    session = await host.open(says("One."), "t")
    assert (await closed_meanwhile(host, store, session.send("Hi", input_id="a"))).status == "accepted"
    assert await store.owner("t") is None
    assert nothing_goes_on()
    second = create_harness_host({"log": store})
    assert (await (await second.open(says("One."), "t")).settled("a")).text == "One."
    await second.close()


async def test_an_agent_that_was_being_taken_is_given_back() -> None:
    store = Holding("claim of an agent")
    host = create_harness_host({"log": store})
    session = await host.open(lead(agent=scout("Gold.")), "t")
    key = await session.start_agent("scout", "Dig")
    (agent,) = await session.agents()
    await closed_meanwhile(host, store, asyncio.sleep(0))
    assert await store.owner(agent.session) is None
    assert nothing_goes_on()
    second = create_harness_host({"log": store})
    assert (await (await second.open(lead(agent=scout("Gold.")), "t")).agent_result(key)).text == "Gold."
    await second.close()


async def test_a_thread_that_was_being_opened_is_not() -> None:
    store = Holding("head")
    host = create_harness_host({"log": store})
    with pytest.raises(AbortedError):
        await closed_meanwhile(host, store, host.open(says("One."), "t"))
    assert nothing_goes_on()


async def test_of_two_tenants_that_open_a_new_thread_at_once_one_is_refused() -> None:
    store = Holding("head")
    host = create_harness_host({"log": store})
    opening = [asyncio.ensure_future(host.open(says("One."), "t", tenant_id=tenant)) for tenant in ("a", "b")]
    await store.begun.wait()
    store.go.set()
    first, second = await asyncio.gather(*opening, return_exceptions=True)
    assert getattr(first, "thread_id", None) == "t"
    assert isinstance(second, ConfigurationError)
    assert second.code == "LOUSHO_OTHER_TENANT"
    await host.close()


async def test_the_heart_that_was_about_to_beat_does_not() -> None:
    store = Holding("heartbeat")
    host = create_harness_host({"log": store}, ownership={"host_id": "here"})
    with pytest.raises(AbortedError):
        await closed_meanwhile(host, store, host.open(says("One."), "t"))
    assert nothing_goes_on()
