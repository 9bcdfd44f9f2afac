"""What a tool is told: its call's id, its keys, its run, also where the tool runs somewhere else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from lousho_cli import create_agent, define_tool


class Charge(BaseModel):
    amount: int


def agent_on(stores: Any, model: Any, tools: Any, **options: Any) -> Any:
    return create_agent(model, store={"checkpoints": stores.checkpoints, "approvals": stores.approvals}, tools=tools, **options)


@pytest.mark.parametrize("described", [Charge, {"properties": {"amount": {"type": "integer"}}}, None])
async def test_de_158_a_defined_tool_gets_the_same_call_id_through_a_sandbox_also_again(store: Any, bench: Any, described: Any) -> None:
    through: list[tuple[Any, Any]] = []
    inside: list[Any] = []

    async def run(amount: int, ctx: Any) -> str:
        inside.append((amount, ctx.tool_call_id, ctx.idempotency_key, ctx.rerun))
        if len(inside) == 1:
            raise bench.Killed
        return "charged"

    async def whole(args: Any, ctx: Any) -> str:
        return await run(args.amount if isinstance(args, Charge) else args["amount"], ctx)

    async def by_name(amount: int, ctx: Any) -> str:
        return await run(amount, ctx)

    by_name.__annotations__ = {"amount": int}
    tool = define_tool(name="charge", input=described, execute=by_name if described is None else whole)

    async def sandbox(tool: Any, args: Any, context: Any) -> Any:
        through.append((args, context.tool_call_id))
        return await tool.call(args, context)

    calls = bench.Calls(("charge", {"amount": 5}))
    await bench.dies(agent_on(store, bench.Model(calls), [tool], sandbox_execute=sandbox).send("go", "s"))
    agent = agent_on(store.again(), bench.Model(None, "done"), [tool], sandbox_execute=sandbox)
    assert (await agent.resume("s")).text == "done"
    assert inside == [(5, "c1", "s:c1:charge", False), (5, "c1", "s:c1:charge", True)]
    assert through == [({"amount": 5}, "c1"), ({"amount": 5}, "c1")], "a sandbox gets plain data"


async def test_a_sandbox_that_is_no_coroutine_gives_the_result(bench: Any, box: Any) -> None:
    """It did its work: an error would have the model do it again."""
    options = {"sandbox_execute": lambda tool, args, context: f"{tool.name} elsewhere"}
    result = await bench.run(bench.custom(), bench.Model(bench.Calls("book"), "done"), [box.tool("book")], **options)
    assert (bench.result(result.messages, "c1"), box.ran) == ("book elsewhere", [])


async def test_ds_217_the_keys_of_a_run_are_the_same_in_every_attempt(store: Any, bench: Any, box: Any) -> None:
    seen: list[tuple[int, str, str, str]] = []

    def note(args: Any, ctx: Any) -> str:
        run = ctx.context.run
        seen.append((run.epoch, run.idempotency_key("charge"), run.idempotency_key("charge", ctx.tool_call_id), ctx.idempotency_key))
        if len(seen) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", note)
    model = bench.Model(bench.Calls("die"), "done", bench.Calls("die"), "done")
    await bench.dies(agent_on(store, model, box.tools).send("go", "s", input_id="in-1"))
    agent = agent_on(store.again(), model, box.tools)
    await agent.resume("s")
    await agent.send("once more", "s")
    first, again, next_run = seen
    assert first[1:] == again[1:] == ("s:in-1:charge", "s:c1:charge", "s:c1:die")
    if store.log_store:
        assert first[0] < again[0], "but the epoch tells the owners apart"
    assert next_run[1] != first[1], "another run of the session has another id"


async def test_ds_121_two_calls_have_two_keys_and_a_fork_has_others(log_stores: Any, bench: Any, box: Any) -> None:
    keys: list[tuple[str, str]] = []
    box.tool("pay", lambda args, ctx: keys.append((ctx.idempotency_key, ctx.context.run.idempotency_key("x"))))
    agent = agent_on(log_stores, bench.Model(bench.Calls("pay", "pay"), "done"), box.tools)
    await agent.send("go", "s", input_id="in-1")
    assert [key for key, _ in keys] == ["s:c1:pay", "s:c2:pay"]
    fork = await agent.fork("s", "1.1")
    await agent.resume(fork.session_id)
    assert [key for key, _ in keys[2:]] == ["s.fork-1:c1:pay", "s.fork-1:c2:pay"]
    assert keys[2][1] == "s.fork-1:in-1:x"
