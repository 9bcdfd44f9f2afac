"""Taking up again what a host that is gone left open, when asked to."""

from __future__ import annotations

import asyncio
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.host.host import create_harness_host
from tests.host.owning import Work, closing, nobody_owns, says, until


async def left_open(store: Any, thread_id: str) -> None:
    """A turn whose host went in the middle of a call."""
    work = Work()
    host = create_harness_host({"log": store})
    session = await host.open(work.harness(abort_grace_ms=0), thread_id)
    await session.send("Go", input_id="a")
    await work.begun.wait()
    await host.close(recoverable=True)


async def attempts(store: Any, thread_id: str) -> list[int]:
    batches = (await store.read(thread_id)).batches
    return [one.attempt for batch in batches for one in batch.records if isinstance(one, r.RunResumed)]


async def test_ds_078_a_turn_whose_owner_lives_is_left_alone_and_runs_once_that_is_gone(store: Any) -> None:
    work, other = Work(), Work()
    other.go.set()
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(second):
        await (await first.open(work.harness(abort_grace_ms=0), "t")).send("Go", input_id="a")
        await work.begun.wait()
        again = await second.open(other.harness(), "t")
        await second.recover()
        assert not other.begun.is_set()
        await first.close(recoverable=True)
        await second.recover()
        assert (await again.settled("a")).text == "Done."
        assert await attempts(store, "t") == [1]


async def test_ds_079_two_recoveries_at_once_run_a_turn_once(store: Any) -> None:
    work = Work()
    work.go.set()
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(work.harness(), "t")
        await left_open(store, "t")
        await asyncio.gather(host.recover(), host.recover("t"), session.recover_pending_work())
        assert (await session.settled("a")).text == "Done."
        assert await attempts(store, "t") == [1]


async def test_ds_080_recovery_leaves_what_runs_and_waits_here(store: Any) -> None:
    work = Work()
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(work.harness({"tool_calls": [{"name": "work", "args": {}, "id": "w"}]}, "One.", "Two."), "t")
        await session.send("Go", input_id="a")
        await session.send("And", input_id="b")
        await work.begun.wait()
        assert await session.recover_pending_work()
        await host.recover()
        work.go.set()
        assert [(await session.settled(one)).text for one in "ab"] == ["One.", "Two."]
        assert await attempts(store, "t") == []


async def test_ds_081_recovery_sees_what_others_wrote_and_left(store: Any) -> None:
    work = Work()
    work.go.set()
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(work.harness(), "t")
        assert not await session.recover_pending_work(), "there is nothing yet"
        assert await store.owner("t") is None
        await left_open(store, "t")
        assert await session.recover_pending_work()
        assert (await session.settled("a")).text == "Done."
        await nobody_owns(store, "t")
        post = Post("b", "input", "2026-01-01T00:00:00.000Z", None, [{"role": "user", "content": "Left"}])
        await store.post("t", post)
        assert await session.recover_pending_work()
        await until(lambda: _is_known(store, "b"))


async def _is_known(store: Any, input_id: str) -> bool:
    return any(isinstance(one, r.InputReceived) and one.id == input_id for b in (await store.read("t")).batches for one in b.records)


async def test_ds_220_recover_covers_all_open_threads_or_the_one_named(store: Any) -> None:
    work = Work()
    work.go.set()
    host = create_harness_host({"log": store})
    async with closing(host):
        sessions = {name: await host.open(work.harness(), name) for name in ("t1", "t2", "t3")}
        for name in sessions:
            await left_open(store, name)
        await host.recover("t2")
        assert (await sessions["t2"].settled("a")).text == "Done."
        assert (await attempts(store, "t1"), await attempts(store, "t3")) == ([], [])
        assert await sessions["t3"].recover_pending_work()
        assert (await sessions["t3"].settled("a")).text == "Done."
        assert await attempts(store, "t1") == []
        await host.recover()
        assert (await sessions["t1"].settled("a")).text == "Done."


async def test_an_input_left_before_its_owner_wrote_anything_runs_when_the_thread_is_opened(store: Any) -> None:
    await store.post("t", Post("a", "input", "2026-01-01T00:00:00.000Z", None, [{"role": "user", "content": "Hi"}]))
    host = create_harness_host({"log": store})
    async with closing(host):
        assert (await (await host.open(says("Hello."), "t")).settled("a")).text == "Hello."
