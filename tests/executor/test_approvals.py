"""Pauses and decisions."""

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
    SDKError,
    SessionAwaitingApprovalError,
)
from lousho_cli.tools.builtin import BUILTINS


async def test_de_039_execute_raises_while_a_person_must_decide(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    model, before = bench.Model(), await store.saved()
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(store.again(), model, box.tools, "hello?")
    assert (raised.value.session_id, raised.value.approval_id) == ("s", approval_id)
    assert (model.asked, box.ran, await store.saved()) == ([], [], before)
    if store.log_store:
        assert await store.checkpoints.history("s") == await store.again().checkpoints.history("s")


async def test_de_040_a_decided_session_takes_a_message(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
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
    approval_id = await bench.paused(store, box, "pay")
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools, keep=False)
    assert (result.text, box.ran) == ("paid", ["c1"])
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(store.again(), bench.Model(), box.tools, "hello?")
    assert raised.value.approval_id == approval_id
    with pytest.raises(NotFoundError):
        await bench.decide(store.again(), approval_id, bench.Model(), box.tools)


async def test_de_042_deleting_the_checkpoint_unblocks_it(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    await bench.paused(store, box, "pay")
    await store.checkpoints.delete("s")
    result = await bench.run(store.again(), bench.Model("a new start"), box.tools, "hello?")
    assert result.text == "a new start"


async def test_de_043_a_pause_in_the_middle(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    await bench.paused(store, box, "book", "pay", "book")
    assert box.ran == ["c1"]
    assert bench.shape((await store.saved()).messages)[2:] == ["calls:c1+c2+c3", "result:c1"]


async def test_de_044_the_snapshot_lists_the_calls_behind_alone(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "book", ("pay", {"n": 2}), "book", "book", business_state={"k": 1})
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
    approval_id = await bench.paused(store, box, "book", "pay", "book")
    model = bench.Model(None, "done")
    result = await bench.decide(store.again(), approval_id, model, box.tools)
    assert box.ran == ["c1", "c2", "c3"]
    assert bench.shape(model.asked[0])[2:] == ["calls:c1+c2+c3", "result:c1", "result:c2", "result:c3"]
    assert (len(model.asked), result.text) == (1, "done")
    assert next(m for m in result.messages if m.tool_call_id == "c2").metadata["approval"]["id"] == approval_id


async def test_de_046_047_reject_gives_an_error_result_and_goes_on(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay", "book")
    decision = {"id": approval_id, "approved": False, "note": "too dear"}
    result = await bench.decide(store.again(), decision, bench.Model(None, "done"), box.tools)
    refused = bench.result(result.messages, "c1")
    assert (refused["kind"], refused["note"], refused["message"]) == ("rejected", "too dear", texts.REJECTED_TOOL_RESULT)
    assert [m.is_error for m in result.messages if m.role == "tool"] == [True, False]
    assert box.ran == ["c2"]


async def test_de_048_a_later_gated_call_pauses_under_another_id(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.paused(store, box, "pay", "pay")
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
    approval_id = await bench.paused(store, box, "pay", ("book", {"n": "many"}))
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "done"), box.tools)
    assert bench.result(result.messages, "c2")["kind"] == "validation"
    assert box.ran == ["c1"]


async def test_de_050_a_snapshot_from_before_remaining_calls(bench: Any, box: Any) -> None:
    stores = bench.custom()
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(stores, box, "book", "pay", "book")
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
    approval_id = await bench.paused(store, box, "pay")
    await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    for given in (approval_id, "nobody"):
        with pytest.raises(NotFoundError) as raised:
            await bench.decide(store.again(), given, bench.Model(), box.tools)
        assert raised.value.code == "LOUSHO_APPROVAL_NOT_FOUND"
    assert box.ran == ["c1"]


async def test_of_several_who_decide_at_once_one_gets_it(store: Any, bench: Any, box: Any) -> None:
    """Whoever comes second is told that it was decided, or that somebody drives the session."""
    box.tool("pay", lambda args, ctx: asyncio.sleep(0), needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
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
    await bench.paused(stores, box, "pay")
    assert order == ["in-progress", "approval", "awaiting-approval"]


async def test_de_068_on_a_log_store_both_are_one_batch(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 3: so there is no half pause and no orphan."""
    from lousho_cli.domain import records as r

    box.tool("pay", needs_approval=True)
    await bench.paused(log_stores, box, "pay")
    batches = (await log_stores.log_store.read("s")).batches
    kinds = next([type(record) for record in batch.records] for batch in batches if any(type(x) is r.WaitOpened for x in batch.records))
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
    approval_id = await bench.paused(store, box, "pay", approval_ttl_ms=60_000, clock=clock)
    clock.ms += 60_001
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools, options={"clock": clock})
    late = bench.result(result.messages, "c1")
    assert (late["kind"], late["message"], late["reason"]) == ("denied", texts.EXPIRED_TOOL_RESULT, "approval expired")
    assert box.ran == []


async def test_de_071_in_time_is_run(store: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay", approval_ttl_ms=60_000, clock=clock)
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
    approval_id = await bench.paused(store, box, "pay")
    before = (await store.saved()).usage
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "done"), box.tools)
    assert result.usage.model_calls == 2
    assert result.usage.total_tokens == before.total_tokens + 15


async def test_a_secret_is_kept_nowhere_whoever_decides(store: Any, bench: Any, tmp_path: Any) -> None:
    """DESIGN 6.12: also one that is given as the note of a decision."""
    tools = [BUILTINS["ask-question"](tmp_path)]
    model = bench.Model(bench.Calls(("ask-question", {"question": "Password?", "secret": True})), "thanks")
    first = await bench.run(store, model, tools)
    live: list[Any] = []
    decision = {"id": first.approval_id, "approved": True, "note": "hunter2"}
    result = await bench.decide(store.again(), decision, model, tools, options={"on_event": live.append})
    assert bench.result(result.messages, "c1") == {"answer": texts.MASKED_ANSWER}
    known = [live, model.asked, await store.again().saved()]
    if store.log_store:
        known.append((await store.log_store.read("s")).batches)
    assert "hunter2" not in repr(known)


async def test_an_answer_is_one_of_those_that_are_welcome(store: Any, bench: Any, tmp_path: Any) -> None:
    tools = [BUILTINS["ask-question"](tmp_path)]
    asked = {"question": "Which?", "options": ["red", "blue"], "allow_free_text": False}
    model = bench.Model(bench.Calls(("ask-question", asked)), "thanks")
    first = await bench.run(store, model, tools)
    for note in ("green", None):
        with pytest.raises(ConfigurationError) as raised:
            await bench.decide(store.again(), {"id": first.approval_id, "approved": True, "note": note}, model, tools)
        assert raised.value.field == "note"
    result = await bench.decide(store.again(), {"id": first.approval_id, "approved": True, "note": "blue"}, model, tools)
    assert bench.result(result.messages, "c1") == {"answer": "blue", "option": 1}
