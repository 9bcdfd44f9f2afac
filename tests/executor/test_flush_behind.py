"""What stands in front of a model call is made durable behind it, where that takes long."""

from __future__ import annotations

import asyncio
from typing import Any

from lousho_cli.executor.model_calls import FlushBehind


class Log:
    def __init__(self) -> None:
        self.flushed = asyncio.Event()

    def flush_soon(self) -> None:
        assert not self.flushed.is_set()
        self.flushed.set()


async def test_one_timer_serves_the_long_calls_of_many_and_leaves_out_the_short_ones() -> None:
    logs: list[Any] = [Log() for _ in range(4)]
    first, short, again, late = (FlushBehind(log) for log in logs)
    for call in (first, short, again):
        call.begin()
    short.end()
    again.end()
    await asyncio.wait_for(logs[0].flushed.wait(), 20)
    late.begin()
    again.begin()  # a second call of it is as good as a first
    await asyncio.wait_for(asyncio.gather(logs[2].flushed.wait(), logs[3].flushed.wait()), 20)
    for call in (first, again, late):
        call.end()
    assert [log.flushed.is_set() for log in logs] == [True, False, True, True]


def test_each_event_loop_has_its_own() -> None:
    async def flushed() -> None:
        log: Any = Log()
        FlushBehind(log).begin()
        await asyncio.wait_for(log.flushed.wait(), 20)

    asyncio.run(flushed())
    asyncio.run(flushed())
