"""Pauses and decisions (checklist: awaiting approval, approvals)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.domain import texts
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, Question
from lousho_cli.errors import (
    ConfigurationError,
    NotFoundError,
    PropagatingToolError,
    ResumeToolMissingError,
    SDKError,
    SessionAwaitingApprovalError,
)


async def paused(stores: Any, bench: Any, box: Any, *calls: Any, **options: Any) -> str:
    """Runs one turn up to its pause; gives the approval's id."""
    result = await bench.run(stores, bench.Model(bench.Calls(*calls)), box.tools, **options)
    assert result.finish_reason == "awaiting-approval"
    return result.approval_id


async def test_de_039_execute_raises_while_a_person_must_decide(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    model, before = bench.Model(), await store.saved()
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(store.again(), model, box.tools, "hello?")
    assert (raised.value.session_id, raised.value.approval_id) == ("s", approval_id)
    assert (model.asked, box.ran, await store.saved()) == ([], [], before)
    if store.log_store:
        assert await store.checkpoints.history("s") == await store.again().checkpoints.history("s")


async def test_de_040_a_decided_session_takes_a_message(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    model = bench.Model(None, "paid", "welcome")
    await bench.decide(store.again(), approval_id, model, box.tools)
    result = await bench.run(store.again(), model, box.tools, "thanks")
    assert bench.shape(result.messages)[1:] == [
        "user:go",
        "calls:c1",
        "result:c1",
        "assistant:paid",
        "user:thanks",
        "assistant:welcome",
    ]


async def test_de_041_deciding_without_the_checkpoint_store_leaves_it_blocked(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools, keep=False)
    assert (result.text, box.ran) == ("paid", ["c1"])
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(store.again(), bench.Model(), box.tools, "hello?")
    assert raised.value.approval_id == approval_id
    with pytest.raises(NotFoundError):
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools)


async def test_de_042_deleting_the_checkpoint_unblocks_it(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    await paused(store, bench, box, "pay")
    await store.checkpoints.delete("s")
    result = await bench.run(store.again(), bench.Model("a new start"), box.tools, "hello?")
    assert result.text == "a new start"


async def test_de_043_a_pause_in_the_middle(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    await paused(store, bench, box, "book", "pay", "book")
    assert box.ran == ["c1"]
    assert bench.shape((await store.saved()).messages)[2:] == ["calls:c1+c2+c3", "result:c1"]


async def test_de_044_the_snapshot_lists_the_calls_behind_alone(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "book", ("pay", {"n": 2}), "book", "book", business_state={"k": 1})
    stored = await store.again().approvals.resolve(approval_id)
    pending, snapshot = (stored["pending"], stored["snapshot"]) if isinstance(stored, dict) else (stored.pending, stored.snapshot)
    if isinstance(snapshot, dict):
        import msgspec

        pending, snapshot = msgspec.convert(pending, PendingApproval), msgspec.convert(snapshot, ExecutionSnapshot)
    assert [call.id for call in snapshot.remaining_tool_calls] == ["c3", "c4"]
    assert (pending.tool_call_id, pending.tool_name, pending.args, pending.session_id) == ("c2", "pay", {"n": 2}, "s")
    assert (snapshot.session_id, snapshot.steps, snapshot.business_state) == ("s", 1, {"k": 1})
    assert snapshot.agent_fingerprint.model == "m-1"
    assert snapshot.agent_fingerprint.tools.keys() == {"book", "pay"}


async def test_de_045_051_approve_runs_it_and_those_behind_once(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "book", "pay", "book")
    model = bench.Model(None, "done")
    result = await bench.decide(store.again(), approval_id, model, box.tools)
    assert box.ran == ["c1", "c2", "c3"]
    assert bench.shape(model.asked[0])[2:] == ["calls:c1+c2+c3", "result:c1", "result:c2", "result:c3"]
    assert (len(model.asked), result.text) == (1, "done")
    assert next(m for m in result.messages if m.tool_call_id == "c2").metadata["approval"]["id"] == approval_id


async def test_de_046_047_reject_gives_an_error_result_and_goes_on(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay", "book")
    decision = {"id": approval_id, "approved": False, "note": "too dear"}
    result = await bench.decide(store.again(), decision, bench.Model(None, "done"), box.tools)
    refused = bench.result(result.messages, "c1")
    assert (refused["kind"], refused["note"], refused["message"]) == ("rejected", "too dear", texts.REJECTED_TOOL_RESULT)
    assert [m.is_error for m in result.messages if m.role == "tool"] == [True, False]
    assert box.ran == ["c2"]


async def test_de_048_a_later_gated_call_pauses_under_another_id(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await paused(store, bench, box, "pay", "pay")
    model = bench.Model(None, "done")
    again = await bench.decide(store.again(), first, model, box.tools)
    assert (again.finish_reason, model.asked, box.ran) == ("awaiting-approval", [], ["c1"])
    assert again.approval_id not in (first, None)
    assert (await store.saved()).approval_id == again.approval_id
    done = await bench.decide(store.again(), again.approval_id, model, box.tools)
    assert (done.text, box.ran) == ("done", ["c1", "c2"])


async def test_de_049_a_later_call_with_bad_arguments_does_not_run(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay", ("book", {"n": "many"}))
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "done"), box.tools)
    assert bench.result(result.messages, "c2")["kind"] == "validation"
    assert box.ran == ["c1"]


async def test_de_050_a_snapshot_from_before_remaining_calls(bench: Any, box: Any) -> None:
    stores = bench.custom()
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await paused(stores, bench, box, "book", "pay", "book")
    old = json.loads(stores.approvals.texts[approval_id])
    del old["snapshot"]["remaining_tool_calls"]
    stores.approvals.texts[approval_id] = json.dumps(old)
    model = bench.Model(None, "done")
    result = await bench.decide(stores.again(), approval_id, model, box.tools)
    behind = bench.result(result.messages, "c3")
    assert (behind["kind"], behind["message"]) == ("not-run", texts.NOT_RUN_TOOL_RESULT)
    assert (box.ran, result.text) == (["c1", "c2"], "done")


async def test_de_066_deciding_twice_is_refused(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    for given in (approval_id, "nobody"):
        with pytest.raises(NotFoundError) as raised:
            await bench.decide(store.again(), given, bench.Model(), box.tools)
        assert raised.value.code == "LOUSHO_APPROVAL_NOT_FOUND"
    assert box.ran == ["c1"]


async def test_of_several_who_decide_at_once_one_gets_it(store: Any, bench: Any, box: Any) -> None:
    """Whoever comes second is told that it was decided, or that somebody drives the session."""
    box.tool("pay", lambda args, ctx: asyncio.sleep(0), needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    model = bench.Model(None, "paid")
    tries = [bench.decide(store.again(), approval_id, model, box.tools) for _ in range(4)]
    ended = await asyncio.gather(*tries, return_exceptions=True)
    assert [one.text for one in ended if not isinstance(one, Exception)] == ["paid"]
    assert all(isinstance(one, SDKError) for one in ended if isinstance(one, Exception))
    assert box.ran == ["c1"]


async def test_de_068_the_approval_is_stored_before_the_mark(bench: Any, box: Any) -> None:
    order: list[str] = []

    class Checkpoints(bench.PlainCheckpoints):
        async def save(self, session_id: str, checkpoint: Any) -> None:
            order.append(checkpoint.status)
            await super().save(session_id, checkpoint)

    class Approvals(bench.PlainApprovals):
        async def save(self, pending: Any, snapshot: Any) -> None:
            order.append("approval")
            await super().save(pending, snapshot)

    stores = bench.custom(Checkpoints, Approvals)
    box.tool("pay", needs_approval=True)
    await paused(stores, bench, box, "pay")
    assert order == ["in-progress", "approval", "awaiting-approval"]


async def test_de_068_on_a_log_store_both_are_one_batch(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 3: so there is no half pause and no orphan."""
    from lousho_cli.domain import records as r

    box.tool("pay", needs_approval=True)
    await paused(log_stores, bench, box, "pay")
    batches = (await log_stores.log_store.read("s")).batches
    kinds = next(
        [type(record) for record in batch.records] for batch in batches if any(type(x) is r.WaitOpened for x in batch.records)
    )
    assert kinds == [r.WaitOpened, r.Mark]


async def test_de_070_a_gated_call_with_nowhere_to_wait(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, approval_store=None)
    assert raised.value.code == "LOUSHO_APPROVAL_STORE_MISSING"
    saved = await store.again().saved()
    assert (saved.status, box.ran) == ("in-progress", [])
    result = await bench.run(store.again(), bench.Model(), box.tools, [])
    assert result.finish_reason == "awaiting-approval"


async def test_de_071_too_late_is_denied(store: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay", approval_ttl_ms=60_000, clock=clock)
    clock.ms += 60_001
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools, options={"clock": clock})
    late = bench.result(result.messages, "c1")
    assert (late["kind"], late["message"], late["reason"]) == ("denied", texts.EXPIRED_TOOL_RESULT, "approval expired")
    assert box.ran == []


async def test_de_071_in_time_is_run(store: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay", approval_ttl_ms=60_000, clock=clock)
    clock.ms += 60_000
    await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools, options={"clock": clock})
    assert box.ran == ["c1"]


class Ask:
    """A tool that asks a person instead of running."""

    name, description, replay, needs_approval = "ask", "asks a person", None, False
    schema = {"type": "object"}

    def validate(self, args: Any) -> tuple[Any, tuple[()]]:
        return args, ()

    def question(self, args: Any) -> Question:
        return Question(text=args["text"], options=("red", "blue"))

    async def call(self, args: Any, context: Any) -> Any:
        raise AssertionError("a question is never run")

    async def reap(self, pid: int, started: str) -> bool:
        return False


@pytest.mark.parametrize(("note", "answer"), [("blue", {"answer": "blue", "option": 1}), ("green", {"answer": "green"})])
async def test_de_073_a_question_is_answered_by_the_note(store: Any, bench: Any, note: str, answer: Any) -> None:
    model = bench.Model(bench.Calls(("ask", {"text": "Which?"})), "done")
    first = await bench.run(store, model, [Ask()])
    assert (await store.saved()).approval_kind == "question"
    decision = {"id": first.approval_id, "approved": True, "note": note}
    result = await bench.decide(store.again(), decision, model, [Ask()])
    assert bench.result(result.messages, "c1") == answer


async def test_de_073_declining_is_told_from_rejecting(store: Any, bench: Any) -> None:
    model = bench.Model(bench.Calls(("ask", {"text": "Which?"})), "done")
    first = await bench.run(store, model, [Ask()])
    result = await bench.decide(store.again(), {"id": first.approval_id, "approved": False}, model, [Ask()])
    declined = bench.result(result.messages, "c1")
    assert (declined["kind"], declined["message"]) == ("rejected", texts.DECLINED_ANSWER_RESULT)


async def test_de_075_input_behind_a_pending_turn_survives_a_pause(store: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> None:
        if len(box.log) == 1:
            raise bench.Killed

    box.tool("die", die)
    box.tool("pay", needs_approval=True)
    await bench.dies(bench.run(store, bench.Model(bench.Calls("die", "pay")), box.tools))
    waits = await bench.run(store.again(), bench.Model(), box.tools, "and tea")
    assert "user:and tea" not in bench.shape(waits.messages)
    assert bench.shape((await store.saved()).messages)[-1] == "user:and tea"
    model = bench.Model(None, "done")
    await bench.decide(store.again(), waits.approval_id, model, box.tools)
    assert bench.shape(model.asked[0])[2:] == ["calls:c1+c2", "result:c1", "result:c2", "user:and tea"]


async def test_de_076_usage_goes_on_from_the_pause(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    before = (await store.saved()).usage
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "done"), box.tools)
    assert result.usage.model_calls == 2
    assert result.usage.total_tokens == before.total_tokens + 15


async def test_de_126_rejecting_a_call_whose_tool_is_gone_succeeds(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
    result = await bench.decide(store.again(), {"id": approval_id, "approved": False}, bench.Model(None, "fine"), [])
    assert bench.result(result.messages, "c1")["kind"] == "rejected"


@pytest.mark.parametrize("mode", ["warn", "error", "ignore"])
async def test_de_186_approving_a_call_whose_tool_is_gone(store: Any, bench: Any, box: Any, mode: str) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
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
    approval_id = await paused(store, bench, box, "pay")
    with pytest.raises(ConfigurationError) as raised:
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools, options={option: value})
    assert option in raised.value.field
    await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    assert box.ran == ["c1"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_de_156_a_later_pause_goes_to_the_same_store_or_the_one_named(store: Any, bench: Any, box: Any, elsewhere: bool) -> None:
    box.tool("pay", needs_approval=True)
    first = await paused(store, bench, box, "pay", "pay")
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
    approval_id = await paused(store, bench, box, "pay")
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
    approval_id = await paused(store, bench, box, "pay")
    await bench.dies(bench.decide(store.again(), approval_id, bench.Model(), box.tools))
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert (result.text, box.ran) == ("done", ["c1", "c1"])
    with pytest.raises(NotFoundError):
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools)


async def test_the_ring_survives_an_approval(ringed: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.4."""
    box.tool("pay", needs_approval=True)
    approval_id = await paused(ringed, bench, box, "pay")
    before = await ringed.checkpoints.history("s")
    await bench.decide(ringed.again(), approval_id, bench.Model(None, "paid"), box.tools)
    after = await ringed.again().checkpoints.history("s")
    assert list(after)[-len(before) :] == list(before)


async def test_an_approved_call_is_bound_to_its_arguments(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.4: what was approved is what runs; a tool that now reads the arguments otherwise does not."""
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, ("pay", {"n": 5}))

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
    approval_id = await paused(store, bench, box, ("pay", {"n": 500}))
    with pytest.raises(ConfigurationError):
        await bench.decide(store.again(), {"id": approval_id, "approved": True, "args": {"n": "x"}}, bench.Model(), box.tools)
    decision = {"id": approval_id, "approved": True, "args": {"n": 5}}
    result = await bench.decide(store.again(), decision, bench.Model(None, "done"), box.tools)
    assert box.log == [("pay", {"n": 5}, "c1")]
    assert json.loads(result.tool_calls[0].arguments) == {"n": 500}
    assert next(m for m in result.messages if m.tool_call_id == "c1").metadata["approval"]["edited"] is True


async def test_a_digest_of_another_call_is_refused(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await paused(store, bench, box, "pay")
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
    approval_id = await paused(store, bench, box, "pay")
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
    approval_id = await paused(store, bench, box, "pay")
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
