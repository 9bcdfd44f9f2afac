"""An abort that comes from inside the run itself: from who listens to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.errors import ProviderError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.interrupts import INTERRUPTED, Interruptible


@pytest.mark.parametrize("how", ["abort", "stop"])
async def test_a_listener_may_abort_at_any_event(log_stores: Any, bench: Any, how: str) -> None:
    """The events of a run, one after the other: each abort is a result, and the session goes on."""
    box = bench.Box()
    box.tool("book")
    at, events, turns = 0, 1, (bench.Calls("book", "book"), bench.Calls("book"), "done")
    while at < events:
        controller, seen = AbortController(), []

        def listen(event: Any, controller: Any = controller, seen: Any = seen) -> None:
            seen.append(event.type)
            if len(seen) == at + 1:
                getattr(controller, how)()

        session = f"s{at}"
        options = {"session_id": session, "signal": controller.signal, "on_event": listen}
        result = await asyncio.wait_for(bench.run(log_stores, bench.Model(*turns), box.tools, **options), 30)
        assert result.finish_reason in ("aborted", "stop", "tool_calls"), (at, seen)
        again = await bench.run(log_stores.again(), bench.Model(*turns), box.tools, [], session_id=session)
        assert (again.text, again.status) == ("done", "finished"), (at, seen)
        at, events = at + 1, max(events, len(seen))
    assert events > 10


async def test_what_ends_without_another_await_is_not_interrupted_later() -> None:
    waiting: Interruptible[Any] = Interruptible()

    async def ends() -> str:
        waiting.interrupt()
        return "its value"

    async def fails() -> str:
        waiting.interrupt()
        raise ProviderError("its error")

    async def goes_on() -> str:
        waiting.interrupt()
        await asyncio.sleep(0)
        return "never"

    assert await waiting.run(ends()) == "its value"
    await asyncio.sleep(0)
    with pytest.raises(ProviderError, match="its error"):
        await waiting.run(fails())
    await asyncio.sleep(0)
    assert await waiting.run(goes_on()) == INTERRUPTED
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
