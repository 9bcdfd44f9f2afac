"""Aborts, stops and cancelled tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import texts
from lousho_cli.errors import SessionBusyError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.aborts import abort_session
from lousho_cli.executor.approvals import record_decision


async def test_de_057_an_abort_in_a_batch_answers_every_call(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("book")
    box.tool("stop", lambda args, ctx: controller.abort())
    model = bench.Model(bench.Calls("book", "stop", "book", "book"), "never")
    result = await bench.run(store, model, box.tools, signal=controller.signal, tool_concurrency=1)
    assert bench.shape(result.messages)[3:] == [f"result:c{n}" for n in (1, 2, 3, 4)]
    assert bench.result(result.messages, "c1") == "book"
    cancelled = [bench.result(result.messages, call) for call in ("c3", "c4")]
    assert {(one["kind"], one["message"]) for one in cancelled} == {("not-run", texts.CANCELLED_TOOL_RESULT)}
    assert (result.finish_reason, result.outcome, box.ran, len(model.asked)) == ("aborted", "aborted", ["c1", "c2"], 1)


async def test_de_136_an_aborted_signal_at_the_start(store: Any, bench: Any) -> None:
    controller, model = AbortController(), bench.Model("never")
    controller.abort("why not")
    result = await bench.run(store, model, signal=controller.signal)
    assert (result.steps, result.finish_reason, model.asked) == (0, "aborted", [])
    assert bench.shape(result.messages) == ["system:Be brief.", "user:go"]
    assert (await store.saved()).status == "in-progress"


@pytest.mark.parametrize("calls", [1, 2])
async def test_de_137_a_tool_that_ignores_the_abort_is_awaited(store: Any, bench: Any, box: Any, calls: int) -> None:
    controller, release = AbortController(), asyncio.Event()

    async def deaf(args: Any, ctx: Any) -> str:
        await release.wait()
        return "ended all the same"

    box.tool("deaf", deaf)
    model = bench.Model(bench.Calls(*["deaf"] * calls), "never")
    running = asyncio.ensure_future(bench.run(store, model, box.tools, signal=controller.signal))
    await bench.until(lambda: len(box.ran) == calls)
    controller.abort()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    release.set()
    result = await running
    assert (result.finish_reason, len(model.asked)) == ("aborted", 1)
    assert bench.result(result.messages, "c1") == "ended all the same"


@pytest.mark.parametrize("calls", [1, 2])
async def test_with_a_grace_a_deaf_tool_is_given_up(store: Any, bench: Any, box: Any, calls: int) -> None:
    controller = AbortController()
    box.tool("deaf", lambda args, ctx: asyncio.Event().wait())
    model = bench.Model(bench.Calls(*["deaf"] * calls))
    running = asyncio.ensure_future(bench.run(store, model, box.tools, signal=controller.signal, abort_grace_ms=10))
    await bench.until(lambda: len(box.ran) == calls)
    controller.abort()
    result = await running
    assert bench.result(result.messages, "c1")["message"] == texts.CANCELLED_TOOL_RESULT


async def test_a_tool_that_stops_for_the_abort_counts_as_cancelled(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()

    async def polite(args: Any, ctx: Any) -> None:
        controller.abort("enough")
        await ctx.signal.wait()
        raise RuntimeError(str(ctx.signal.reason))

    box.tool("polite", polite)
    result = await bench.run(store, bench.Model(bench.Calls("polite")), box.tools, signal=controller.signal)
    assert bench.result(result.messages, "c1")["kind"] == "not-run"


async def test_a_model_that_ignores_the_abort_is_left(store: Any, bench: Any) -> None:
    controller = AbortController()

    async def hang(request: Any) -> str:
        controller.abort()
        await asyncio.Event().wait()
        return "too late"

    result = await bench.run(store, bench.Model(hang), signal=controller.signal)
    assert (result.finish_reason, result.text, result.steps) == ("aborted", "", 1)
    again = await bench.run(store.again(), bench.Model("hello"), text=[])
    assert (again.text, again.steps) == ("hello", 2)


async def test_cancelling_the_task_is_an_abort_that_is_saved_first(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 8."""
    started = asyncio.Event()

    async def slow(args: Any, ctx: Any) -> None:
        started.set()
        await ctx.signal.wait()
        raise RuntimeError("gave up")

    box.tool("slow", slow)
    task = asyncio.ensure_future(bench.run(store, bench.Model(bench.Calls("slow", "slow")), box.tools, tool_concurrency=1))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    saved = await store.again().saved()
    assert (saved.status, saved.finish_reason) == ("in-progress", "aborted")
    assert bench.shape(saved.messages)[3:] == ["result:c1", "result:c2"]
    model = bench.Model(None, "done")
    result = await bench.run(store.again(), model, box.tools, "go on")
    assert (result.text, box.ran) == ("done", ["c1"])


async def test_cancelling_while_the_model_answers_is_saved_too(store: Any, bench: Any) -> None:
    asked = asyncio.Event()

    async def hang(request: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.ensure_future(bench.run(store, bench.Model(hang)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await store.again().saved()).finish_reason == "aborted"


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_recoverable_stop_cancels_and_settles_nothing(log_stores: Any, bench: Any, box: Any, calls: int) -> None:
    """DESIGN 6.8: running calls may end; no end is written; whoever comes next goes on."""
    controller, release = AbortController(), asyncio.Event()

    async def slow(args: Any, ctx: Any) -> str:
        await release.wait()
        return "ended"

    box.tool("slow", slow)
    box.tool("book")
    turn = bench.Calls(*["slow"] * calls, "book")
    running = asyncio.ensure_future(bench.run(log_stores, bench.Model(turn), box.tools, signal=controller.signal, tool_concurrency=calls))
    await bench.until(lambda: len(box.ran) == calls)
    controller.stop()
    await asyncio.sleep(0)
    release.set()
    result = await running
    assert (result.stopped, result.outcome, result.status) == (True, None, "in-progress")
    assert box.ran == [f"c{n}" for n in range(1, calls + 1)]
    done = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [])
    assert (done.text, box.ran) == ("done", [f"c{n}" for n in range(1, calls + 2)])
    assert bench.result(done.messages, "c1") == "ended"


async def test_a_stopped_session_has_a_wake(log_stores: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("stop", lambda args, ctx: controller.stop())
    await bench.run(log_stores, bench.Model(bench.Calls("stop")), box.tools, signal=controller.signal)
    assert (await log_stores.log_store.head("s")).wake_at is not None


async def test_a_session_that_is_driven_refuses_a_second_owner(log_stores: Any, bench: Any, box: Any) -> None:
    release = asyncio.Event()
    box.tool("slow", lambda args, ctx: release.wait())
    running = asyncio.ensure_future(bench.run(log_stores, bench.Model(bench.Calls("slow"), "done"), box.tools))
    await bench.until(lambda: box.ran == ["c1"])
    with pytest.raises(SessionBusyError):
        await bench.run(log_stores.again(), bench.Model(), box.tools, [])
    release.set()
    assert (await running).text == "done"


async def test_an_abort_during_a_wait_for_a_retry_ends_it(store: Any, bench: Any, clock: Any) -> None:
    from lousho_cli.errors import ProviderError

    controller = AbortController()

    async def forever(seconds: float) -> None:
        controller.abort()
        await asyncio.Event().wait()

    clock.sleep = forever
    model = bench.Model(ProviderError("busy", category="rate-limit", retryable=True))
    result = await bench.run(store, model, signal=controller.signal, clock=clock, on_model_error=lambda error, count, chance: 1000)
    assert (result.finish_reason, len(model.asked)) == ("aborted", 1)


async def test_a_command_without_an_agent_leaves_the_ring_as_long_as_it_is(bench, tmp_path) -> None:
    box = bench.Box()
    tools = [box.tool("work"), box.tool("book", needs_approval=True)]
    long = bench.file(tmp_path, history_limit=80)
    model = bench.Model(*[bench.Calls("work")] * 30, bench.Calls("book"), "done")
    paused = await bench.run(long, model, tools, max_steps=50)
    kept = len(await long.checkpoints.history("s"))
    assert kept > 50

    short = bench.file(tmp_path)
    await record_decision({"id": paused.approval_id, "approved": False}, "s", short.checkpoints, tools)
    await abort_session("s", short.checkpoints)

    assert len(await long.checkpoints.history("s")) == kept + 2
