"""One turn that asks for several tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import texts
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import PropagatingToolError, RangeError


class Gates:
    """Lets each call end when the test says so."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Event] = {}
        self.running: list[str] = []
        self.most = 0

    async def wait(self, args: Any, ctx: Any) -> str:
        self.running.append(ctx.tool_call_id)
        self.most = max(self.most, len(self.running))
        await self.open.setdefault(ctx.tool_call_id, asyncio.Event()).wait()
        self.running.remove(ctx.tool_call_id)
        return str(ctx.tool_call_id)

    def end(self, call_id: str) -> None:
        self.open.setdefault(call_id, asyncio.Event()).set()


@pytest.fixture
def gates() -> Gates:
    return Gates()


async def test_de_052_results_ending_in_reverse_are_stored_in_call_order(store: Any, bench: Any, box: Any, gates: Gates) -> None:
    box.tool("wait", gates.wait)
    events: list[Any] = []
    model = bench.Model(bench.Calls("wait", "wait", "wait"), "done")
    running = asyncio.ensure_future(bench.run(store, model, box.tools, on_event=events.append))
    for number in (3, 2, 1):
        await bench.until(lambda: len(gates.running) == number)
        gates.end(f"c{number}")
        await bench.until(lambda: f"c{number}" in [event.id for event in events if event.type == "tool.done"])
    await running
    assert bench.shape(model.asked[1])[3:] == ["result:c1", "result:c2", "result:c3"]
    assert [event.id for event in events if event.type == "tool.done"] == ["c3", "c2", "c1"]
    assert [event.id for event in events if event.type == "tool.start"] == ["c1", "c2", "c3"]


async def test_de_053_no_more_calls_run_at_once_than_allowed(store: Any, bench: Any, box: Any, gates: Gates) -> None:
    box.tool("wait", gates.wait)
    model = bench.Model(bench.Calls(*["wait"] * 5), "done")
    running = asyncio.ensure_future(bench.run(store, model, box.tools, tool_concurrency=2))
    for number in range(1, 6):
        await bench.until(lambda: f"c{number}" in gates.running)
        gates.end(f"c{number}")
    await running
    assert gates.most == 2


async def test_without_a_limit_all_run_at_once(store: Any, bench: Any, box: Any, gates: Gates) -> None:
    box.tool("wait", gates.wait)
    running = asyncio.ensure_future(bench.run(store, bench.Model(bench.Calls(*["wait"] * 5), "done"), box.tools))
    await bench.until(lambda: len(gates.running) == 5)
    for number in range(1, 6):
        gates.end(f"c{number}")
    assert (await running).text == "done"


async def test_de_054_one_at_a_time_is_strictly_one_after_the_other(store: Any, bench: Any, box: Any) -> None:
    story: list[str] = []

    async def tell(args: Any, ctx: Any) -> None:
        story.append(f"start {ctx.tool_call_id}")
        await asyncio.sleep(0)
        story.append(f"end {ctx.tool_call_id}")

    box.tool("tell", tell)
    await bench.run(store, bench.Model(bench.Calls("tell", "tell"), "done"), box.tools, tool_concurrency=1)
    assert story == ["start c1", "end c1", "start c2", "end c2"]


async def test_de_055_a_raising_tool_leaves_its_siblings_alone(store: Any, bench: Any, box: Any) -> None:
    def fail(args: Any, ctx: Any) -> None:
        raise ValueError("no such city")

    box.tool("book")
    box.tool("fail", fail)
    result = await bench.run(store, bench.Model(bench.Calls("book", "fail", "book"), "done"), box.tools)
    error = bench.result(result.messages, "c2")
    assert (error["error"], error["message"], error["kind"]) == ("ValueError", "no such city", "execution")
    assert [bench.result(result.messages, call) for call in ("c1", "c3")] == ["book", "book"]
    assert result.text == "done"


async def test_de_056_a_fatal_error_waits_for_siblings_and_starts_nothing(store: Any, bench: Any, box: Any, gates: Gates) -> None:
    def stop(args: Any, ctx: Any) -> None:
        raise PropagatingToolError("stop")

    box.tool("wait", gates.wait)
    box.tool("stop", stop)
    model = bench.Model(bench.Calls("wait", "stop", "wait"), "done")
    running = asyncio.ensure_future(bench.run(store, model, box.tools, tool_concurrency=2))
    await bench.until(lambda: box.ran == ["c1", "c2"])
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    gates.end("c1")
    with pytest.raises(PropagatingToolError):
        await running
    assert box.ran == ["c1", "c2"]
    assert bench.shape((await store.saved()).messages)[3:] == ["result:c1"]
    assert len(model.asked) == 1


async def test_of_several_fatal_errors_the_first_in_call_order_is_raised(store: Any, bench: Any, box: Any, gates: Gates) -> None:
    """Also when calls in front of both were recorded in between."""

    async def stop(args: Any, ctx: Any) -> None:
        await gates.wait(args, ctx)
        raise PropagatingToolError(f"stop {ctx.tool_call_id}")

    box.tool("wait", gates.wait)
    box.tool("stop", stop)
    model = bench.Model(bench.Calls("wait", "wait", "stop", "stop"), "done")
    running = asyncio.ensure_future(bench.run(store, model, box.tools))
    await bench.until(lambda: len(gates.running) == 4)
    for call_id in ("c3", "c1", "c2", "c4"):
        gates.end(call_id)
        await bench.until(lambda: call_id not in gates.running)
        for _ in range(10):
            await asyncio.sleep(0)
    with pytest.raises(PropagatingToolError, match="stop c3"):
        await running


async def test_de_058_an_unknown_tool_gets_a_not_found_result(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("bok"), "done"), box.tools)
    error = bench.result(result.messages, "c1")
    assert error["kind"] == "not-found"
    assert 'Did you mean "book"?' in error["message"]
    assert result.text == "done"


@pytest.mark.parametrize("text", ["{not json", "", "[1"])
async def test_de_059_bad_json_is_a_validation_result_at_the_root(store: Any, bench: Any, box: Any, text: str) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls(("book", text)), "done"), box.tools)
    error = bench.result(result.messages, "c1")
    assert (error["kind"], error["issues"][0]["path"]) == ("validation", "(root)")
    assert (box.ran, result.tool_calls[0].arguments) == ([], text)


async def test_de_060_issues_list_dotted_paths(store: Any, bench: Any) -> None:
    from pydantic import BaseModel

    from lousho_cli.tools.function import function_tool

    class Place(BaseModel):
        city: str

    def book(place: Place) -> str:
        return place.city

    book.__annotations__ = {"place": Place, "return": str}
    result = await bench.run(store, bench.Model(bench.Calls(("book", {"place": {"city": 5}})), "done"), [function_tool(book)])
    assert [issue["path"] for issue in bench.result(result.messages, "c1")["issues"]] == ["place.city"]


@pytest.mark.parametrize("value", [0, -1, 1.5, "all", True])
async def test_de_063_a_wrong_tool_concurrency_is_refused(bench: Any, value: Any) -> None:
    model = bench.Model("done")
    with pytest.raises(RangeError) as raised:
        await bench.run(None, model, tool_concurrency=value)
    assert (raised.value.field, model.asked) == ("tool_concurrency", [])


async def test_de_063_unbounded_is_a_word_for_no_limit(bench: Any) -> None:
    assert (await bench.run(None, bench.Model("done"), tool_concurrency="unbounded")).text == "done"


@pytest.mark.parametrize("value", [0, 1.5, -1, "3", False])
async def test_de_064_a_wrong_max_steps_is_refused(bench: Any, value: Any) -> None:
    model = bench.Model("done")
    with pytest.raises(RangeError) as raised:
        await bench.run(None, model, max_steps=value)
    assert (raised.value.field, model.asked) == ("max_steps", [])


async def test_de_065_a_text_on_the_last_step_is_stop(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools, max_steps=2)
    assert (result.finish_reason, result.steps) == ("stop", 2)


@pytest.mark.parametrize("arguments", ['{"n": 1', '{"n": 1}'])
async def test_case_135_a_call_of_a_cut_off_answer_does_not_run(store: Any, bench: Any, box: Any, arguments: str) -> None:
    box.tool("write")
    model = bench.Model(bench.Calls(("write", arguments), finish_reason="length"), "shorter")
    result = await bench.run(store, model, box.tools)
    error = bench.result(result.messages, "c1")
    assert (error["kind"], error["message"], box.ran) == ("not-run", texts.TRUNCATED_TOOL_RESULT, [])
    assert (result.text, result.finish_reason) == ("shorter", "stop")


async def test_case_135_nor_behind_a_crash(store: Any, bench: Any, box: Any) -> None:
    """The turn is stored and the process dies before its calls are answered."""
    box.tool("write")
    stores = store
    target, name = (store.log_store, "append") if store.log_store else (store.checkpoints, "save")
    real, seen = getattr(target, name), []

    async def die_behind_the_turn(*args: Any, **options: Any) -> None:
        await real(*args, **options)
        seen.append(1)
        if bench.shape((await stores.saved()).messages if await stores.saved() else ())[-1:] == ["calls:c1"]:
            raise bench.Killed

    if store.log_store:

        async def one_by_one(claim: Any, batches: Any, **options: Any) -> None:
            for batch in batches:
                await die_behind_the_turn(claim, (batch,), **options)

        setattr(target, name, one_by_one)
    else:
        setattr(target, name, die_behind_the_turn)
    await bench.dies(bench.run(store, bench.Model(bench.Calls("write", finish_reason="length")), box.tools))
    setattr(target, name, real)
    result = await bench.run(store.again(), bench.Model(None, "shorter"), box.tools, [])
    assert bench.result(result.messages, "c1")["message"] == texts.TRUNCATED_TOOL_RESULT
    assert box.ran == []


async def test_two_calls_with_one_id_are_told_apart(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli.domain.messages import ToolCall

    box.tool("book")
    calls = [ToolCall("x", "book"), ToolCall("x", "book"), ToolCall("", "book")]
    result = await bench.run(store, bench.Model(bench.Calls(*calls), "done"), box.tools)
    assert len(set(box.ran)) == 3
    assert [m.tool_call_id for m in result.messages if m.role == "tool"] == box.ran


async def test_a_result_that_json_can_not_hold_is_altered_not_lost(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 3: not JSON."""
    box.tool("odd", lambda args, ctx: {"a": float("nan"), "b": float("-inf"), "c": b"\x00", "d": "\ud800", "e": 2**70})
    result = await bench.run(store, bench.Model(bench.Calls("odd"), "done"), box.tools)
    assert bench.result(result.messages, "c1") == {"a": "NaN", "b": "-Infinity", "c": {"$bytes": "AA=="}, "d": "\ufffd", "e": 2**70}
    assert (await store.again().saved()).messages == result.messages


async def test_a_tool_may_decide_itself_whether_a_person_is_asked(store: Any, bench: Any, box: Any) -> None:
    async def check(args: Any) -> Any:
        return {0: False, 1: {"deny": "too little"}, 2: "ask", 3: 1 / 0 if args["n"] == 3 else None}[args["n"]]

    def raising(args: Any) -> Any:
        raise KeyError("rates")

    box.tool("pay", needs_approval=lambda args: {0: False, 1: {"deny": "too little"}, 2: "ask"}[args["n"]])
    box.tool("odd", needs_approval=raising)
    turn = bench.Calls(("pay", {"n": 0}), ("pay", {"n": 1}), "odd", ("pay", {"n": 2}))
    result = await bench.run(store, bench.Model(turn), box.tools)
    assert result.finish_reason == "awaiting-approval"
    assert bench.shape(result.messages)[3:] == ["result:c1", "result:c2", "result:c3"]
    denied, failed = bench.result(result.messages, "c2"), bench.result(result.messages, "c3")
    assert (denied["kind"], denied["reason"], failed["kind"]) == ("denied", "too little", "execution")
    assert box.ran == ["c1"]


async def test_requires_approval_gates_whatever_the_tool_says(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    named = await bench.run(store, bench.Model(bench.Calls("book")), box.tools, requires_approval=["book"])
    everything = await bench.run(store, bench.Model(bench.Calls("book")), box.tools, session_id="t", requires_approval=True)
    assert (named.finish_reason, everything.finish_reason, box.ran) == ("awaiting-approval", "awaiting-approval", [])


async def test_a_spent_token_budget_ends_the_run(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli.domain.messages import Message, ToolCall
    from lousho_cli.ports.provider import Answer

    box.tool("book")
    turn = Answer(Message(role="assistant", tool_calls=(ToolCall("c1", "book"),)), "tool_calls", CallUsage(90, 10))
    result = await bench.run(store, bench.Model(turn, "too dear"), box.tools, max_tokens=100)
    assert (result.finish_reason, result.status, box.ran) == ("budget-exceeded", "finished", [])
    assert bench.result(result.messages, "c1")["kind"] == "not-run"


async def test_a_history_with_unanswered_calls_may_begin_a_run(store: Any, bench: Any, box: Any) -> None:
    """The calls of its last turn run; one of an earlier turn is repaired, so that a provider takes it."""
    box.tool("book")

    def turn(call_id: str) -> dict[str, Any]:
        return {"role": "assistant", "toolCalls": [{"id": call_id, "function": {"name": "book", "arguments": "{}"}}]}

    sent = [{"role": "user", "content": "go"}, turn("c1"), {"role": "user", "content": "well?"}, turn("c2")]
    model = bench.Model(None, None, "done")
    result = await bench.run(store, model, box.tools, sent)
    assert bench.shape(model.asked[0])[1:] == ["user:go", "calls:c1", "result:c1", "user:well?", "calls:c2", "result:c2"]
    assert (box.ran, result.text) == (["c2"], "done")
    assert bench.result(result.messages, "c1")["kind"] == "not-run"
