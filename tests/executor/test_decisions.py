"""What a decision does to the run that goes on: budget, edits, refusals, crashes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, NotFoundError, PropagatingToolError, ResumeToolMissingError


async def test_de_126_rejecting_a_call_whose_tool_is_gone_succeeds(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    result = await bench.decide(store.again(), {"id": approval_id, "approved": False}, bench.Model(None, "fine"), [])
    assert bench.result(result.messages, "c1")["kind"] == "rejected"


@pytest.mark.parametrize("mode", ["warn", "error", "ignore"])
async def test_de_186_approving_a_call_whose_tool_is_gone(store: Any, bench: Any, box: Any, mode: str) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    before = await store.saved()
    with pytest.raises(ResumeToolMissingError) as raised:
        await bench.decide(store.again(), approval_id, bench.Model(), [], options={"on_agent_drift": mode})
    assert (raised.value.code, raised.value.tools) == ("LOUSHO_RESUME_TOOL_MISSING", ("pay",))
    assert await store.saved() == before
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_de_154_an_approval_resume_has_the_steps_that_were_left(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, max_steps=2)
    model = bench.Model(None, bench.Calls("book"), "too late")
    result = await bench.decide(store.again(), first.approval_id, model, box.tools)
    assert (len(model.asked), result.steps, result.finish_reason) == (1, 2, "max-steps")


async def test_de_154_an_option_can_allow_more_steps(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, max_steps=2)
    model = bench.Model(None, bench.Calls("book"), "in time")
    result = await bench.decide(store.again(), first.approval_id, model, box.tools, options={"max_steps": 3})
    assert (result.text, result.steps) == ("in time", 3)


@pytest.mark.parametrize(("option", "value"), [("max_steps", 0), ("tool_concurrency", 0), ("max_stepz", 3)])
async def test_a_wrong_option_is_refused_and_the_approval_waits(store: Any, bench: Any, box: Any, option: str, value: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    with pytest.raises(ConfigurationError) as raised:
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools, options={option: value})
    assert option in raised.value.field
    await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    assert box.ran == ["c1"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_de_156_a_later_pause_goes_to_the_same_store_or_the_one_named(store: Any, bench: Any, box: Any, elsewhere: bool) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.paused(store, box, "pay", "pay")
    other = bench.PlainApprovals()
    options = {"approval_store": other} if elsewhere else {}
    second = await bench.decide(store.again(), first, bench.Model(), box.tools, options=options)
    where = other if elsewhere else store.again().approvals
    assert await where.resolve(second.approval_id) is not None
    assert len(other.texts) == 0


async def test_de_157_deciding_clears_the_mark_while_the_rest_runs(store: Any, bench: Any, box: Any) -> None:
    seen: list[Any] = []

    async def look(args: Any, ctx: Any) -> None:
        seen.append(await store.again().saved())

    box.tool("pay", look, needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    await bench.decide(store, approval_id, bench.Model(None, "paid"), box.tools)
    (during,) = seen
    assert (during.session_id, during.status, during.approval_id) == ("s", "in-progress", None)
    assert during.decisions["c1"].approved


async def test_a_decision_survives_a_crash_of_the_approved_tool(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.4: while an approved tool runs, the decision is stored; nobody is asked twice."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "paid"

    box.tool("pay", die, needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    await bench.dies(bench.decide(store.again(), approval_id, bench.Model(), box.tools))
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert (result.text, box.ran) == ("done", ["c1", "c1"])
    with pytest.raises(NotFoundError):
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools)


async def test_the_ring_survives_an_approval(ringed: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.4."""
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(ringed, box, "pay")
    before = await ringed.checkpoints.history("s")
    await bench.decide(ringed.again(), approval_id, bench.Model(None, "paid"), box.tools)
    after = await ringed.again().checkpoints.history("s")
    assert list(after)[-len(before) :] == list(before)


async def test_an_approved_call_is_bound_to_its_arguments(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.4: what was approved is what runs; a tool that now reads the arguments otherwise does not."""
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, ("pay", {"n": 5}))

    class Doubling:
        def __getattr__(self, name: str) -> Any:
            return getattr(box.tools[0], name)

        name = "pay"

        def validate(self, args: Any) -> Any:
            return {"n": args["n"] * 2}, ()

    result = await bench.decide(store.again(), approval_id, bench.Model(None, "done"), [Doubling()])
    assert bench.result(result.messages, "c1")["kind"] == "validation"
    assert box.ran == []


async def test_an_edit_is_what_runs_and_the_models_text_stays(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, ("pay", {"n": 500}))
    with pytest.raises(ConfigurationError):
        await bench.decide(store.again(), {"id": approval_id, "approved": True, "args": {"n": "x"}}, bench.Model(), box.tools)
    decision = {"id": approval_id, "approved": True, "args": {"n": 5}}
    result = await bench.decide(store.again(), decision, bench.Model(None, "done"), box.tools)
    assert box.log == [("pay", {"n": 5}, "c1")]
    assert json.loads(result.tool_calls[0].arguments) == {"n": 500}
    assert next(m for m in result.messages if m.tool_call_id == "c1").metadata["approval"]["edited"] is True


async def test_a_digest_of_another_call_is_refused(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    with pytest.raises(ConfigurationError) as raised:
        await bench.decide(store.again(), {"id": approval_id, "approved": True, "digest": "0" * 16}, bench.Model(), box.tools)
    assert raised.value.code == "LOUSHO_DIGEST_MISMATCH"
    await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools)
    assert box.ran == ["c1"]


async def test_a_run_without_a_session_can_pause_and_go_on(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, session_id=None, checkpoint_store=None)
    result = await bench.decide(store.again(), first.approval_id, bench.Model(None, "paid"), box.tools, keep=False)
    assert (result.text, box.ran, result.steps) == ("paid", ["c1"], 2)


async def test_a_fatal_error_of_the_approved_tool_rejects_and_keeps_the_decision(store: Any, bench: Any, box: Any) -> None:
    def stop(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise PropagatingToolError("stop")
        return "paid"

    box.tool("pay", stop, needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    with pytest.raises(PropagatingToolError):
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert (result.text, box.ran) == ("done", ["c1", "c1"])


async def test_cancelling_a_decision_is_an_abort_that_is_saved(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 8: cancelling the task is the same abort, saved first."""
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(args: Any, ctx: Any) -> None:
        started.set()
        await ctx.signal.wait()
        raise RuntimeError("gave up")

    box.tool("pay", slow, needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    task = asyncio.ensure_future(bench.decide(store, approval_id, bench.Model(), box.tools))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    saved = await store.again().saved()
    assert (saved.status, saved.finish_reason) == ("in-progress", "aborted")
    assert bench.result(saved.messages, "c1")["kind"] == "not-run"


async def test_a_wait_is_not_opened_before_the_calls_in_front_have_ended(store: Any, bench: Any, box: Any) -> None:
    gate = asyncio.Event()
    box.tool("late", lambda args, ctx: gate.wait())
    box.tool("pay", needs_approval=True)
    events: list[str] = []
    running = asyncio.ensure_future(
        bench.run(store, bench.Model(bench.Calls("late", "pay")), box.tools, on_event=lambda event: events.append(event.type))
    )
    await bench.until(lambda: box.ran == ["c1"])
    await asyncio.sleep(0)
    assert "approval.requested" not in events
    gate.set()
    assert (await running).finish_reason == "awaiting-approval"
    assert events.index("tool.done") < events.index("approval.requested")
