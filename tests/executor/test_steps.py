"""Named steps within a call: done once, kept, keyed; and the records a call stages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli import ConfigurationError, SubAgent, ToolContext, create_agent, define_tool
from lousho_cli.domain import records as r


async def records_of(stores: Any, kind: type) -> list[Any]:
    batches = (await stores.log_store.read("s")).batches
    flat = [one for batch in batches for x in batch.records for one in (x.records if isinstance(x, r.Within) else (x,))]
    return [record for record in flat if isinstance(record, kind)]


async def test_ds_115_finished_steps_give_their_values_after_a_crash(log_stores: Any, bench: Any, box: Any) -> None:
    done: list[str] = []

    async def book(args: Any, ctx: Any) -> Any:
        train = await ctx.step.do("train", lambda: done.append("train") or {"seats": [3, 4]})
        if len(box.ran) == 1:
            raise bench.Killed
        hotel = await ctx.step.do("hotel", lambda: done.append("hotel") or "h1")
        return [train, hotel]

    box.tool("book", book)
    model = bench.Model(bench.Calls("book"), "done")
    await bench.dies(bench.run(log_stores, model, box.tools))
    result = await bench.run(log_stores.again(), model, box.tools, [])
    assert bench.result(result.messages, "c1") == [{"seats": [3, 4]}, "h1"]
    assert done == ["train", "hotel"]


async def test_ds_116_a_value_is_in_the_log_before_the_step_returns(log_stores: Any, bench: Any, box: Any) -> None:
    seen: list[Any] = []

    async def book(args: Any, ctx: Any) -> None:
        await ctx.step.do("pay", lambda: 7)
        seen.extend((x.id, x.name, x.value) for x in await records_of(log_stores.again(), r.StepDone))

    box.tool("book", book)
    await bench.run(log_stores, bench.Model(bench.Calls("book"), "done"), box.tools)
    assert seen == [("c1", "pay", 7)]


async def test_ds_117_a_name_is_used_once_in_a_call(log_stores: Any, bench: Any, box: Any) -> None:
    async def book(args: Any, ctx: Any) -> str:
        await ctx.step.do("pay", lambda: 1)
        with pytest.raises(ConfigurationError, match="has had a step pay"):
            await ctx.step.do("pay", lambda: 2)
        with pytest.raises(ConfigurationError, match="has had a step pay"):
            await ctx.step.ask("pay", "How much?")
        with pytest.raises(ConfigurationError, match="JSON can not hold"):
            await ctx.step.do("odd", lambda: {1, 2})
        return "checked"

    box.tool("book", book)
    result = await bench.run(log_stores, bench.Model(bench.Calls("book", "book"), "done"), box.tools)
    assert [bench.result(result.messages, call) for call in ("c1", "c2")] == ["checked", "checked"]


async def test_ds_118_a_step_that_was_not_stored_runs_again(log_stores: Any, bench: Any, box: Any) -> None:
    done: list[str] = []

    def pay(key: str) -> int:
        done.append(key)
        if len(done) == 1:
            raise bench.Killed  # what it did is done; that it did is in no log
        return len(done)

    box.tool("book", lambda args, ctx: ctx.step.do("pay", pay))
    model = bench.Model(bench.Calls("book"), "done")
    await bench.dies(bench.run(log_stores, model, box.tools))
    result = await bench.run(log_stores.again(), model, box.tools, [])
    assert bench.result(result.messages, "c1") == 2
    assert done == ["s:c1:pay", "s:c1:pay"]


async def test_ds_119_a_durable_tool_that_must_not_repeat_is_not_run_again(log_stores: Any, bench: Any) -> None:
    ran: list[str] = []

    @define_tool(durable=True, replay="never")
    async def book(ctx: ToolContext) -> str:
        ctx.append({"type": "acme.booked", "id": ctx.tool_call_id})
        await ctx.step.do("pay", lambda: ran.append("paid"))
        if len(ran) == 1:
            raise bench.Killed
        return "booked"

    model = bench.Model(bench.Calls("book"), bench.Calls("book"), "done")
    await bench.dies(bench.run(log_stores, model, [book]))
    result = await bench.run(log_stores.again(), model, [book], [])
    assert (ran, bench.result(result.messages, "c2")) == (["paid", "paid"], "booked")
    assert "error" in bench.result(result.messages, "c1")
    assert [json.loads(x.raw) for x in await records_of(log_stores, r.Foreign)] == [{"type": "acme.booked", "id": "c2"}]


def test_a_durable_tool_may_run_again_unless_it_says_not() -> None:
    async def book() -> None: ...

    assert define_tool(name="book", execute=book, durable=True).replay == "safe"
    assert define_tool(name="book", execute=book, durable=True, replay="never").replay == "never"
    assert define_tool(name="book", execute=book).replay is None


async def test_ds_120_staged_records_land_with_the_result_of_their_call(log_stores: Any, bench: Any, box: Any) -> None:
    first = asyncio.Event()

    async def slow(args: Any, ctx: Any) -> str:
        ctx.append({"type": "acme.note", "n": 1}, {"type": "acme.note", "n": 2})
        await first.wait()
        await ctx.step.do("look", lambda: None)
        assert await records_of(log_stores.again(), r.Foreign) == [], "nothing that was written meanwhile took them along"
        return "slow"

    async def fast(args: Any, ctx: Any) -> str:
        with pytest.raises(ConfigurationError, match="reserved"):
            ctx.append({"type": "lousho.note"})
        first.set()
        return "fast"

    box.tool("slow", slow)
    box.tool("fast", fast)
    await bench.run(log_stores, bench.Model(bench.Calls("slow", "fast"), "done"), box.tools)
    batches = (await log_stores.log_store.read("s")).batches
    (batch,) = [batch for batch in batches if any(isinstance(x, r.Foreign) for x in batch.records)]
    kinds = [type(x).__name__ for x in batch.records]
    assert kinds[:3] == ["Foreign", "Foreign", "ToolFinished"]
    assert batch.records[2].id == "c1"


async def test_ds_121_keys_differ_for_two_calls_and_are_the_same_again(log_stores: Any, bench: Any, box: Any) -> None:
    keys: list[str] = []

    async def pay(args: Any, ctx: Any) -> None:
        keys.append(ctx.context.run.idempotency_key("pay", ctx.tool_call_id))
        if len(keys) == 2:
            raise bench.Killed

    box.tool("pay", pay)
    model = bench.Model(bench.Calls("pay"), bench.Calls("pay"), "done")
    await bench.dies(bench.run(log_stores, model, box.tools))
    await bench.run(log_stores.again(), model, box.tools, [])
    assert keys == ["s:c1:pay", "s:c2:pay", "s:c2:pay"]


async def test_ds_218_each_step_has_a_key_of_its_own(log_stores: Any, bench: Any, box: Any) -> None:
    keys: list[str] = []

    async def book(args: Any, ctx: Any) -> None:
        await asyncio.gather(ctx.step.do("train", keys.append), ctx.step.do("hotel", keys.append))
        assert ctx.step.idempotency_key("train") == keys[0]

    box.tool("book", book)
    await bench.run(log_stores, bench.Model(bench.Calls("book", "book"), "done"), box.tools)
    assert sorted(keys) == ["s:c1:hotel", "s:c1:train", "s:c2:hotel", "s:c2:train"]


async def test_steps_of_a_sub_agent_are_kept_within_its_part_of_the_log(log_stores: Any, bench: Any) -> None:
    done: list[str] = []

    @define_tool(durable=True)
    async def dig(ctx: ToolContext) -> Any:
        value = await ctx.step.do("dig", lambda key: done.append(key) or "gold")
        if len(done) == 1 and not ctx.rerun:
            raise bench.Killed
        return value

    def agent(stores: Any, child: Any, lead: Any) -> Any:
        scout = SubAgent({"name": "scout", "prompt": "You dig."}, provider=child, tools=[dig])
        store = {"checkpoints": stores.checkpoints, "approvals": stores.approvals}
        return create_agent(lead, store=store, subagents={"scout": scout})

    child, lead = bench.Model(bench.Calls("dig"), "found gold"), bench.Model(bench.Calls(("scout", {"input": "dig"})), "done")
    await bench.dies(agent(log_stores, child, lead).send("go", "s"))
    assert (await agent(log_stores.again(), child, lead).resume("s")).text == "done"
    assert done == ["s:c1/c1:dig"]


async def test_on_a_plain_store_steps_only_run(bench: Any, box: Any) -> None:
    done: list[str] = []

    async def book(args: Any, ctx: Any) -> Any:
        await ctx.step.do("pay", lambda: done.append("paid"))
        with pytest.raises(ConfigurationError, match="nobody could answer"):
            await ctx.step.ask("name", "Who?")
        if len(done) == 1:
            raise bench.Killed
        return "booked"

    box.tool("book", book)
    stores, model = bench.custom(), bench.Model(bench.Calls("book"), "done")
    await bench.dies(bench.run(stores, model, box.tools))
    result = await bench.run(stores.again(), model, box.tools, [])
    assert (result.text, done) == ("done", ["paid", "paid"])


async def test_a_step_behind_the_end_of_its_call_keeps_nothing(log_stores: Any, bench: Any, box: Any) -> None:
    kept: list[Any] = []

    async def book(args: Any, ctx: Any) -> str:
        kept.append(ctx)
        return "booked"

    box.tool("book", book)
    await bench.run(log_stores, bench.Model(bench.Calls("book"), "done"), box.tools)
    with pytest.raises(Exception, match="is over"):
        await kept[0].step.do("late", lambda: 1)
    assert await records_of(log_stores, r.StepDone) == []
