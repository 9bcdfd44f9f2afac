"""How a host leaves: for good, or for another to go on at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.texts import RUN_CANCEL_REASON, SHUTDOWN_REASON
from lousho_cli.domain.times import later
from lousho_cli.errors import AbortedError
from lousho_cli.executor.clock import SystemClock
from lousho_cli.host.harness import GRACE_MS
from lousho_cli.host.host import create_harness_host
from lousho_cli.tools.define import define_tool
from tests.host.left import Model, calling, harness, records, state


class Tools:
    """A tool that runs until it is told to end, and says when it began."""

    def __init__(self, replay: Any = None) -> None:
        self.begun, self.go, self.ran = asyncio.Event(), asyncio.Event(), 0
        self.tool = define_tool(name="work", description="Works.", execute=self._work, replay=replay)

    async def _work(self) -> str:
        self.ran += 1
        self.begun.set()
        await self.go.wait()
        return f"done {self.ran}"


def host_of(store: Any) -> Any:
    return create_harness_host({"log": store})


async def test_ds_093_a_plain_close_ends_the_running_turn_aborted_for_good(store: Any, gated: Any) -> None:
    first, model = host_of(store), gated("One.")
    session = await first.open(harness(model), "t")
    await session.send("1", input_id="a")
    await session.send("2", input_id="b")
    await model.begun.wait()
    await first.close()
    assert {key: one.outcome for key, one in (await state(store)).inputs.items()} == {"a": "aborted", "b": None}
    second, later = host_of(store), Model("Two.")
    again = await second.open(harness(later), "t")
    assert (await again.settled("a")).outcome == "aborted"
    assert (await again.settled("b")).text == "Two."  # what was queued had not begun, so it stayed
    assert len(later.asked) == 1
    await second.close()


async def test_a_host_that_is_told_to_stop_begins_nothing_more_however_quick_the_run_is(store: Any) -> None:
    host, model = host_of(store), Model(calling("work"), "One.")

    async def work() -> str:
        host.stop()  # as a Ctrl-C in the moment in which a tool ends
        return "done"

    session = await host.open(harness(model, tools=[define_tool(name="work", description="Works.", execute=work)]), "t")
    await session.send("1", input_id="a")
    await host.idle("t")
    await host.close()
    assert (await state(store)).inputs["a"].outcome == "aborted"
    assert len(model.asked) == 1


async def test_ds_094_a_recoverable_close_writes_no_end_and_the_next_host_goes_on_at_once(store: Any, gated: Any) -> None:
    first, model = host_of(store), gated("One.")
    session = await first.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await first.close(recoverable=True)
    assert await records(store, r.InputSettled) == []
    head = await store.head("t")
    assert head.wake_at is not None and await store.owner("t") is None
    second = host_of(store)
    (taken,) = await second.resume_pending([harness(Model("Two."))])
    assert taken.thread_id == "t"
    again = await second.open(harness(Model()), "t")
    assert (await again.settled("a")).text == "Two."
    await second.close()


class Ahead(SystemClock):
    """The clock of a host that is wrong by an hour."""

    def now(self) -> str:
        return later(super().now(), 3_600_000)


async def test_what_a_host_whose_clock_is_ahead_gives_back_is_taken_at_once(store: Any, gated: Any) -> None:
    first, model = create_harness_host({"log": store}, clock=Ahead()), gated("One.")
    session = await first.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await first.close(recoverable=True)
    second = host_of(store)
    assert [one.thread_id for one in await second.resume_pending([harness(Model("Two."))])] == ["t"]
    await second.close()


async def test_ds_185_a_stop_for_a_deploy_uses_up_no_attempt(store: Any, gated: Any) -> None:
    for _ in range(3):
        host, model = host_of(store), gated("One.")
        session = await host.open(harness(model, durability={"max_attempts": 1}), "t")
        await session.send("1", input_id="a")
        await model.begun.wait()
        await host.close(recoverable=True)
    assert (await state(store)).attempts == 1
    last = host_of(store)
    again = await last.open(harness(Model("Two."), durability={"max_attempts": 1}), "t")
    assert (await again.settled("a")).text == "Two."
    await last.close()


@pytest.mark.parametrize("recoverable", [False, True])
async def test_ds_095_a_turn_that_a_user_cancelled_ends_aborted_whatever_the_close(store: Any, gated: Any, recoverable: bool) -> None:
    host, model = host_of(store), gated("One.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.cancel()
    await host.close(recoverable=recoverable)
    assert (await state(store)).inputs["a"].outcome == "aborted"


@pytest.mark.parametrize(("how", "reason"), [("cancel", RUN_CANCEL_REASON), ("plain", RUN_CANCEL_REASON), ("recoverable", SHUTDOWN_REASON)])
async def test_ds_096_abort_hooks_hear_why(store: Any, gated: Any, how: str, reason: str) -> None:
    heard: list[Any] = []
    host, model = host_of(store), gated("One.")
    session = await host.open(harness(model, hooks=[{"on_abort": heard.append}]), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    if how == "cancel":
        await session.cancel()
        await host.idle("t")
    await host.close(recoverable=how == "recoverable")
    assert [(abort.reason, abort.recoverable) for abort in heard] == [(reason, how == "recoverable")]


def test_ds_190_the_reasons_can_be_imported() -> None:
    import lousho_cli

    assert (lousho_cli.SHUTDOWN_REASON, lousho_cli.RUN_CANCEL_REASON) == (SHUTDOWN_REASON, RUN_CANCEL_REASON)
    assert SHUTDOWN_REASON != RUN_CANCEL_REASON


async def test_ds_097_a_closed_host_refuses_what_comes_later(store: Any) -> None:
    host = host_of(store)
    session = await host.open(harness(Model()), "t")
    await host.close()
    await host.close(recoverable=True)  # twice is the same as once
    with pytest.raises(AbortedError):
        await host.open(harness(Model()), "u")
    with pytest.raises(AbortedError):
        await session.send("Hi")
    with pytest.raises(AbortedError):
        await host.resume_pending([])
    assert (await store.read("t")).head == 0


async def test_two_closes_at_once_both_return_when_it_is_closed(store: Any, gated: Any) -> None:
    host, model = host_of(store), gated("One.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()

    async def close() -> Any:
        await host.close()
        return await store.owner("t")

    assert await asyncio.gather(close(), close()) == [None, None]


async def test_ds_191_letting_go_of_a_handle_leaves_its_turn_running(store: Any, gated: Any) -> None:
    host, model = host_of(store), gated("One.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    session.close()
    model.go.set()
    again = await host.open(harness(model), "t")
    assert (await again.settled("a")).text == "One."
    await host.close()


@pytest.mark.parametrize("replay", ["never", "safe"])
async def test_ds_188_a_call_that_a_recoverable_close_cut_is_as_after_a_crash(store: Any, replay: Any) -> None:
    tools, first = Tools(replay), host_of(store)
    told = {"tools": [tools.tool], "abort_grace_ms": 0}
    session = await first.open(harness(Model(calling("work")), **told), "t")
    await session.send("Hi", input_id="a")
    await tools.begun.wait()
    await first.close(recoverable=True)
    before = (await store.read("t")).head
    tools.go.set()
    await asyncio.sleep(0)
    assert (await store.read("t")).head == before  # nothing is written behind the hand-over
    second, model = host_of(store), Model("Done.")
    again = await second.open(harness(model, **told), "t")
    assert (await again.settled("a")).text == "Done."
    result = model.asked[0][-1]
    assert (tools.ran, result.is_error) == ((1, True) if replay == "never" else (2, False))
    await second.close()


async def test_a_tool_that_ends_in_time_keeps_its_result_over_a_recoverable_close(store: Any) -> None:
    tools, first = Tools(), host_of(store)
    session = await first.open(harness(Model(calling("work")), tools=[tools.tool]), "t")
    await session.send("Hi", input_id="a")
    await tools.begun.wait()
    closing = asyncio.ensure_future(first.close(recoverable=True))
    await asyncio.sleep(0)
    tools.go.set()
    await closing
    second, model = host_of(store), Model("Done.")
    again = await second.open(harness(model, tools=[tools.tool]), "t")
    assert (await again.settled("a")).outcome == "completed"
    assert (tools.ran, model.asked[0][-1].content) == (1, '"done 1"')
    await second.close()


def test_a_tool_that_does_not_stop_is_waited_for_no_longer_than_five_seconds() -> None:
    assert harness(Model()).source._agent.settings.abort_grace_ms == GRACE_MS == 5_000


async def test_ds_219_what_a_host_that_lost_a_thread_cancelled_is_run_by_the_new_owner(store: Any, gated: Any) -> None:
    first, model = host_of(store), gated("One.")
    session = await first.open(harness(model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await first.close(recoverable=True)
    assert (await state(store)).outcome is None
    second = host_of(store)
    again = await second.open(harness(Model("Two.")), "t")
    assert (await again.settled("a")).text == "Two."
    await second.close()
