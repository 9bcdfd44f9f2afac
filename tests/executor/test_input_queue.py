"""Input that enters a run while it goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, InputRejectedError, SessionAwaitingApprovalError
from lousho_cli.executor.input_queue import InputQueue
from lousho_cli.ports.log_store import Post
from lousho_cli.ports.sessions import read_session


async def test_input_sent_while_a_tool_runs_follows_its_result(store, bench) -> None:
    queue, box = InputQueue(), bench.Box()

    async def send(args: Any, ctx: Any) -> str:
        assert await queue.send("and a boat")
        return "done"

    model = bench.Model(bench.Calls("work"), "with a boat")
    result = await bench.run(store, model, [box.tool("work", send)], input_queue=queue)

    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1", "result:c1", "user:and a boat", "assistant:with a boat"]
    assert bench.shape(model.asked[1])[-2:] == ["result:c1", "user:and a boat"]


async def test_de_138_input_sent_during_the_last_answer_costs_one_more_step_and_is_answered(store, bench) -> None:
    queue = InputQueue()

    async def answer(request: Any) -> str:
        await queue.send("and a boat")
        return "first"

    model = bench.Model(answer, "with a boat")
    result = await bench.run(store, model, input_queue=queue)

    assert result.text == "with a boat"
    assert result.steps == 2
    assert bench.shape(result.messages)[1:] == ["user:go", "assistant:first", "user:and a boat", "assistant:with a boat"]


async def test_a_run_without_a_step_left_ends_and_the_input_begins_the_next(log_stores, bench) -> None:
    queue = InputQueue()

    async def answer(request: Any) -> str:
        await queue.send("and a boat")
        return "first"

    model = bench.Model(answer, "with a boat")
    result = await bench.run(log_stores, model, input_queue=queue, max_steps=1)

    assert (result.text, result.finish_reason, result.steps) == ("first", "stop", 1)
    saved = await log_stores.again().saved()
    assert saved.messages[-1].text == "with a boat"


async def test_de_075_input_behind_a_paused_turn_survives_the_pause_and_follows_the_results(store, bench) -> None:
    queue, box = InputQueue(), bench.Box()

    async def send(args: Any, ctx: Any) -> str:
        assert await queue.send("and a boat")
        return "done"

    tools = [box.tool("work", send), box.tool("book", needs_approval=True)]
    model = bench.Model(bench.Calls("work", "book"), "with a boat")
    paused = await bench.run(store, model, tools, input_queue=queue)

    assert "and a boat" not in [message.text for message in paused.messages]
    assert (await store.saved()).messages[-1].text == "and a boat"
    assert not await queue.send("too late")

    done = await bench.decide(store.again(), paused.approval_id, model, tools)
    assert bench.shape(done.messages)[2:] == ["calls:c1+c2", "result:c1", "result:c2", "user:and a boat", "assistant:with a boat"]


async def test_a_process_that_dies_keeps_what_it_had_taken(store, bench) -> None:
    queue, box = InputQueue(), bench.Box()

    async def send(args: Any, ctx: Any) -> str:
        if not ctx.rerun:
            assert await queue.send("and a boat")
            raise bench.Killed
        return "done"

    tools = [box.tool("work", send)]
    model = bench.Model(bench.Calls("work"), "with a boat")
    await bench.dies(bench.run(store, model, tools, input_queue=queue))
    result = await bench.run(store.again(), model, tools, text=[])

    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1", "result:c1", "user:and a boat", "assistant:with a boat"]


async def test_the_same_input_id_is_the_same_input(log_stores, bench) -> None:
    queue, box = InputQueue(), bench.Box()

    async def send(args: Any, ctx: Any) -> str:
        assert await queue.send("a boat", input_id="i1")
        assert await queue.send("a boat", input_id="i1")
        with pytest.raises(InputRejectedError):
            await queue.send("a ship", input_id="i1")
        with pytest.raises(ConfigurationError):
            await queue.send([])
        return "done"

    result = await bench.run(log_stores, bench.Model(bench.Calls("work"), "ok"), [box.tool("work", send)], input_queue=queue)
    assert [message.text for message in result.messages].count("a boat") == 1


async def test_what_is_sent_before_the_run_begins_waits_for_it_and_a_queue_serves_one_run(store, bench) -> None:
    queue = InputQueue()
    sending = asyncio.ensure_future(queue.send("and a boat"))
    await asyncio.sleep(0)

    async def slow(request: Any) -> str:
        await sending
        return "first"

    model = bench.Model(slow, "with a boat")
    result = await bench.run(store, model, input_queue=queue)
    assert result.text == "with a boat"
    with pytest.raises(ConfigurationError, match="another run"):
        await bench.run(store, model, text="more", input_queue=queue)


@pytest.mark.parametrize("limit", [{"max_tokens": 10}, {"max_duration_ms": 60_000}])
async def test_a_run_without_tokens_or_time_left_ends_and_the_input_begins_the_next(log_stores, bench, clock, limit) -> None:
    queue = InputQueue()

    async def answer(request: Any) -> str:
        await queue.send("and a boat")
        clock.ms += 60_000
        return "first"

    model = bench.Model(answer, "with a boat")
    result = await bench.run(log_stores, model, input_queue=queue, clock=clock, **limit)

    assert (result.text, result.finish_reason, result.steps) == ("first", "stop", 1)
    assert (await log_stores.again().saved()).messages[-1].text == "with a boat"


async def test_who_sends_to_a_run_that_could_not_begin_is_told(store, bench) -> None:
    box = bench.Box()
    box.tool("book", needs_approval=True)
    await bench.paused(store, box, "book")
    queue = InputQueue()
    sending = asyncio.ensure_future(queue.send("and a boat"))
    with pytest.raises(SessionAwaitingApprovalError):
        await bench.run(store, bench.Model("never"), box.tools, input_queue=queue)

    async with asyncio.timeout(30):
        assert not await sending


async def test_what_others_left_at_the_last_moment_is_served_behind_a_run_with_a_queue(log_stores, bench) -> None:
    store = log_stores.log_store
    release, left = store.release, []

    async def leave_then_release(claim: Any, wake_at: str | None = None) -> None:
        if not left:
            left.append("late")
            body = msgspec.to_builtins((user("and a boat"),))
            await store.post("s", Post(id="late", kind="input", body=body, at="2026-01-01T00:00:00.000Z"))
        await release(claim, wake_at)

    store.release = leave_then_release
    await bench.run(log_stores, bench.Model("first", "with a boat"), input_queue=InputQueue())

    assert (await read_session(store, "s")).answer == "with a boat"
