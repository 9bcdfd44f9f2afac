"""What comes while a session that a sweep opened is closing, and what a thread that nobody holds is still to wake for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain.heads import Post
from lousho_cli.host.host import create_harness_host
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from tests.host.left import THEN, Model, begun, harness, left, state
from tests.host.owning import closing, until


class SlowToGiveBack:
    """Holds up the next time a thread is given back, until it is let go."""

    begun: asyncio.Event
    go: asyncio.Event

    async def release(self, claim: Any, wake_at: str | None = None) -> None:
        self.begun.set()
        await self.go.wait()
        await super().release(claim, wake_at)  # type: ignore[misc]


class SlowMemory(SlowToGiveBack, MemoryStore):
    pass


class SlowFiles(SlowToGiveBack, FileStore):
    pass


@pytest.fixture(params=["memory", "file"])
def slow(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store: Any = SlowMemory() if request.param == "memory" else SlowFiles(tmp_path / ".lousho")
    store.begun, store.go = asyncio.Event(), asyncio.Event()
    return store


async def swept(slow: Any, host: Any, agent: Any) -> None:
    """Has a sweep take a thread that was left, up to where it gives it back."""
    slow.go.set()
    await left(slow, begun())
    slow.go.clear()
    slow.begun.clear()
    assert [one.thread_id for one in await host.resume_pending([agent])] == ["t"]
    await slow.begun.wait()


@pytest.mark.parametrize("opened", ["before", "meanwhile"])
async def test_ds_162_a_prompt_of_this_host_while_a_swept_session_closes_is_answered(slow: Any, opened: str) -> None:
    host, agent = create_harness_host({"log": slow}), harness(Model("One.", "Two."))
    async with closing(host):
        await swept(slow, host, agent)
        session = await asyncio.wait_for(opening(host, agent, slow, opened), 30)
        assert (await session.settled("a")).text == "One."
        assert (await session.settled("b")).text == "Two."


async def answered(store: Any, input_id: str) -> bool:
    known = (await state(store)).inputs.get(input_id)
    return known is not None and known.status == "settled"


async def opening(host: Any, agent: Any, slow: Any, opened: str) -> Any:
    """A handle through which the prompt was sent, while the thread is given back or just as that ends."""
    task = asyncio.ensure_future(host.open(agent, "t"))
    if opened == "before":
        session = await task
        sending = asyncio.ensure_future(session.send("More", input_id="b"))
        await asyncio.sleep(0)
        slow.go.set()
    else:
        slow.go.set()
        session = await task
        sending = asyncio.ensure_future(session.send("More", input_id="b"))
    assert (await sending).status in ("accepted", "queued")
    return session


async def test_ds_162_a_prompt_left_by_others_while_a_swept_session_closes_is_answered(slow: Any) -> None:
    host, agent = create_harness_host({"log": slow}), harness(Model("One.", "Two."))
    async with closing(host):
        await swept(slow, host, agent)
        await slow.post("t", Post("b", "input", THEN, None, [{"role": "user", "content": "More"}]))
        slow.go.set()
        await until(lambda: answered(slow, "b"))
        assert (await state(slow)).answer == "Two."


async def test_who_waits_until_a_swept_thread_rests_waits_for_what_was_left_meanwhile(slow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = slow.owner

    async def owner(thread_id: str) -> Any:
        for _ in range(50):  # as one that is asked over a network
            await asyncio.sleep(0)
        return await asked(thread_id)

    monkeypatch.setattr(slow, "owner", owner)
    host, agent = create_harness_host({"log": slow}), harness(Model("One.", "Two."))
    async with closing(host):
        await swept(slow, host, agent)
        await slow.post("t", Post("b", "input", THEN, None, [{"role": "user", "content": "More"}]))
        slow.go.set()
        await host.idle("t")
        assert await answered(slow, "b")


async def test_a_thread_that_nobody_holds_any_more_is_still_woken_by_its_host(store: Any) -> None:
    host = create_harness_host({"log": store}, lifecycle={"close_idle_sessions_after_ms": 1})
    async with closing(host):
        session = await host.open(harness(Model("Good morning.")), "t")
        await session.wake_at(datetime.now(UTC) + timedelta(milliseconds=60), "Up", input_id="up")
        session.close()
        await until(lambda: answered(store, "up"))
        assert (await state(store)).answer == "Good morning."
        await until(lambda: not host._threads)  # and then it is closed as any other
