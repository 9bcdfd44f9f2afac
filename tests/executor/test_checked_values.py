"""One value of the wrong kind, from a caller, a provider, a tool or a store, never makes a session that nobody can write to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.core.retry import retry_transient_errors
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Agent, agent_from
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ConfigurationError, NotFoundError, ProviderError, RangeError, StorageError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import decision_from, record_decision, resume_after_approval
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.executor.run_agent import LONGEST_MS
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.stores.memory import memory_store


async def records_of(stores: Any) -> list[Any]:
    """What the log holds, all of it readable and the log still one to write to."""
    claim = await stores.log_store.claim("s", "test")
    await stores.log_store.release(claim)
    records = [record for batch in (await stores.log_store.read("s")).batches for record in batch.records]
    assert not [record for record in records if isinstance(record, r.Foreign)]
    return records


WRONG: list[tuple[str, Any]] = [
    ("replay", "rerun"),
    ("replay", None),
    ("interrupted", "safe"),
    ("on_agent_drift", "never"),
    ("max_steps", 0),
    ("max_steps", 1.0),
    ("max_steps", True),
    ("max_steps", 10**5000),
    ("tool_concurrency", "x"),
    ("tool_concurrency", 0),
    ("max_tokens", "100"),
    ("max_tokens", 0),
    ("approval_ttl_ms", "3d"),
    ("approval_ttl_ms", 0),
    ("approval_ttl_ms", LONGEST_MS + 1),
    ("max_duration_ms", 1.5),
    ("max_duration_ms", 10**30),
    ("abort_grace_ms", -1),
    ("requires_approval", 5),
    ("requires_approval", "pay"),
    ("requires_approval", [5]),
    ("interrupted_tool_result", 5),
    ("truncated_tool_result", b"x"),
    ("on_model_error", "retry"),
    ("sandbox_execute", 5),
]
EXECUTE_ALONE: list[tuple[str, Any]] = [
    ("input_id", 5),
    ("input_id", "\udcff"),
    ("by", 5),
    ("agent_path", 5),
    ("agent_path", b"a.yaml"),
    ("session_id", 5),
    ("agent", {"name": 5}),
    ("agent", Agent(5)),  # type: ignore[arg-type]
    ("agent", Agent("a", prompt=None)),  # type: ignore[arg-type]
    ("agent", Agent("a", tools=(5,))),  # type: ignore[arg-type]
    ("agent", 5),
]


def names(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize(("option", "value"), WRONG + EXECUTE_ALONE, ids=names)
async def test_an_option_of_the_wrong_kind_is_refused_before_anything_is_written(bench: Any, option: str, value: Any) -> None:
    stores, model = bench.memory(), bench.Model("ok")
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(stores, model, **{option: value})
    assert raised.value.field == option
    assert model.asked == []
    assert (await stores.log_store.read("s")).head == 0


@pytest.mark.parametrize(("option", "value"), WRONG, ids=names)
async def test_an_option_of_a_decision_is_looked_at_before_the_approval_is_taken(bench: Any, box: Any, option: str, value: Any) -> None:
    stores = bench.custom()
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(stores, box, "pay")
    kept = dict(stores.approvals.texts)
    stores.approvals.resolve = pytest.fail
    with pytest.raises(ConfigurationError) as raised:
        await bench.decide(stores, approval_id, bench.Model(None, "paid"), box.tools, options={option: value})
    assert raised.value.field == option
    assert (stores.approvals.texts, box.ran) == (kept, [])
    result = await bench.decide(stores.again(), approval_id, bench.Model(None, "paid"), box.tools)
    assert result.text == "paid"


async def test_a_whole_store_in_place_of_a_part_of_it_is_refused(bench: Any) -> None:
    """Its history would be none, although it keeps one."""
    whole, model = memory_store(), bench.Model("ok")
    run = {"agent": {"name": "a"}, "input": "go", "provider": model, "session_id": "s"}
    decision = {"id": "x", "approved": True}
    wrong = [
        ("checkpoint_store", "store.checkpoints", AgentExecutor.execute(**run, checkpoint_store=whole)),
        ("checkpoint_store", "save, load, delete", AgentExecutor.execute(**run, checkpoint_store=".lousho")),
        ("approval_store", "store.approvals", AgentExecutor.execute(**run, checkpoint_store=whole.checkpoints, approval_store=whole)),
        ("checkpoint_store", "store.checkpoints", get_checkpoint_history(whole, "s")),
        ("checkpoint_store", "store.checkpoints", AgentExecutor.fork("s", 1, whole)),
        ("approval_store", "store.approvals", resume_after_approval(decision, whole, None, model)),
        ("approval_store", "", resume_after_approval(decision, None, None, model)),
        ("checkpoint_store", "store.checkpoints", resume_after_approval(decision, whole.approvals, None, model, None, whole)),
    ]
    for field, hint, call in wrong:
        with pytest.raises(ConfigurationError) as raised:
            await call
        assert raised.value.field == field
        assert hint in raised.value.hint
    assert model.asked == []


async def test_what_is_shared_without_end_stops_nobody(log_stores: Any, bench: Any, box: Any) -> None:
    shared: Any = {"x": 1}
    for _ in range(60):
        shared = {"left": shared, "right": shared}
    box.tool("look", does=lambda args, ctx: shared)
    with pytest.raises(ConfigurationError, match="metadata"):
        await bench.run(log_stores, bench.Model("never"), box.tools, metadata=shared)
    said = Message("user", "go", metadata=shared)
    result = await bench.run(log_stores, bench.Model(bench.Calls("look"), "seen"), box.tools, [said], business_state=shared)
    assert result.text == "seen"
    ended = [record for record in await records_of(log_stores) if isinstance(record, r.ToolFinished)]
    assert [(one.altered, one.is_error, one.content.count("[again]")) for one in ended] == [(True, False, 60)]


async def test_the_widest_options_are_taken(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    options = dict.fromkeys(("approval_ttl_ms", "max_duration_ms", "abort_grace_ms"), LONGEST_MS)
    options |= {"max_steps": 2**53, "max_tokens": 2**53, "tool_concurrency": "unbounded", "on_model_error": retry_transient_errors()}
    approval_id = await bench.paused(log_stores, box, "pay", **options)
    result = await bench.decide(log_stores.again(), approval_id, bench.Model(None, "paid"), box.tools, options=options)
    assert result.text == "paid"
    await records_of(log_stores)


@pytest.mark.parametrize("model", [5, "m\ud800"], ids=["number", "surrogate"])
async def test_a_provider_whose_model_has_no_name_is_refused(bench: Any, model: Any) -> None:
    stores = bench.memory()
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(stores, bench.Model("ok", model=model))
    assert raised.value.field == "provider"
    with pytest.raises(ConfigurationError):
        await bench.run(stores, object())
    assert (await stores.log_store.read("s")).head == 0


@pytest.mark.parametrize("name", [5, "", "t\ud800"], ids=["number", "empty", "surrogate"])
async def test_a_tool_without_a_name_is_refused(bench: Any, box: Any, name: Any) -> None:
    box.tool("pay").name = name
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), bench.Model("ok"), box.tools)
    assert raised.value.field == "tools"


async def test_paths_and_texts_of_a_caller_are_kept_as_text(log_stores: Any, bench: Any) -> None:
    agent = Agent("a\ud800", prompt="p\ud800")
    state = {"n": 10**5000, "o": object, "x": float("inf")}
    result = await bench.run(
        log_stores, bench.Model("ok"), text="\udcff hi", agent=agent, agent_path=Path("a/b.yaml"), by="\udcff", business_state=state
    )
    assert result.text == "ok"
    records = await records_of(log_stores)
    created, received = (next(x for x in records if isinstance(x, kind)) for kind in (r.Created, r.InputReceived))
    assert (created.agent, created.path) == ("a\ufffd", "a/b.yaml")
    assert (received.messages, received.by) == ((user("\ufffd hi"),), "\ufffd")
    assert (await log_stores.saved()).business_state == {"n": "1" + "0" * 5000, "o": "<class 'object'>", "x": "Infinity"}


@pytest.mark.parametrize(
    "message", [Message("bot", "x"), Message("user", 5), {"role": "user", "content": 5}], ids=["role", "struct", "dict"]
)  # type: ignore[arg-type]
async def test_an_input_of_the_wrong_kind_is_refused_before_anything_is_written(bench: Any, message: Any) -> None:
    stores = bench.memory()
    with pytest.raises(ConfigurationError):
        await bench.run(stores, bench.Model("ok"), text=message)
    assert (await stores.log_store.read("s")).head == 0


ANSWERS: list[Any] = [
    Answer(Message("assistant", "x"), None),  # type: ignore[arg-type]
    Answer(Message("assistant", None)),  # type: ignore[arg-type]
    Answer(Message("assistant", None, (ToolCall("c", "pay"),)), "tool_calls", CallUsage(1, 1)),  # type: ignore[arg-type]
    Answer(Message("assistant", "x"), usage=CallUsage(1.5, 2.0)),  # type: ignore[arg-type]
    Answer(Message("assistant", "", (ToolCall(None, "pay"), ToolCall(7, "pay"))), None),  # type: ignore[arg-type]
    Answer(Message("assistant", "", (ToolCall("c\ud800", "pay", '{"n":1}'),)), "tool_calls"),
    Answer(Message("assistant", "", (ToolCall("c", "pay", {"n": 1}),)), "tool_calls"),  # type: ignore[arg-type]
]


class Gives:
    """A provider that gives these answers and looks at none of them."""

    name, model = "gives", None

    def __init__(self, *answers: Answer) -> None:
        self.answers = answers

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        yield self.answers[request.turns]


DONE = Answer(Message("assistant", "done"))


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: repr(answer)[:80])
async def test_what_a_provider_gives_of_the_wrong_kind_is_put_right(log_stores: Any, bench: Any, box: Any, answer: Any) -> None:
    box.tool("pay")
    result = await bench.run(log_stores, Gives(answer, DONE), box.tools)
    assert result.finish_reason == "stop"
    turn = next(x for x in await records_of(log_stores) if isinstance(x, r.Turn))
    assert len(set(box.ran)) == len(turn.message.tool_calls) == len(answer.message.tool_calls)


async def test_an_answer_that_is_none_is_a_failed_call_that_may_be_tried_again(log_stores: Any, bench: Any) -> None:
    wrong = Answer(Message("user", "x"))
    with pytest.raises(ProviderError):
        await bench.run(log_stores, bench.Model(wrong))
    await records_of(log_stores)
    answers = iter([wrong, "fine"])
    result = await bench.run(
        log_stores.again(), bench.Model(lambda _: next(answers)), text=[], on_model_error=retry_transient_errors(), clock=bench.FakeClock()
    )
    assert result.text == "fine"


# Decisions


@pytest.mark.parametrize(
    "wrong",
    [
        ApprovalDecision("a", "no"),  # type: ignore[arg-type]
        ApprovalDecision("a", 1),  # type: ignore[arg-type]
        ApprovalDecision("a", None),  # type: ignore[arg-type]
        ApprovalDecision(5, True),  # type: ignore[arg-type]
        ApprovalDecision("a", True, note=5),  # type: ignore[arg-type]
        ApprovalDecision("a", True, by=5),  # type: ignore[arg-type]
        {"id": "a"},
        {"approved": True},
        {"id": "a", "approved": "yes"},
        "a",
        None,
    ],
    ids=repr,
)
def test_a_decision_of_the_wrong_kind_is_refused_whatever_it_is_made_of(wrong: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        decision_from(wrong)
    assert raised.value.field == "decision"


@pytest.mark.parametrize(
    "made", [ApprovalDecision, lambda *args, **rest: {"id": args[0], "approved": args[1]} | rest], ids=["struct", "dict"]
)
def test_a_decision_can_be_stored_as_it_is(made: Any) -> None:
    given = made("a", False, note="n\udcff", args={"n": 10**5000, "x": float("inf"), "b": b"b"}, by="\udcff")
    assert decision_from(given) == ApprovalDecision(
        "a", False, note="n\ufffd", args={"n": "1" + "0" * 5000, "x": "Infinity", "b": {"$bytes": "Yg=="}}, by="\ufffd"
    )


async def test_approved_that_is_no_truth_value_approves_nothing(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(log_stores, box, "pay")
    wrong: Any = ApprovalDecision(approval_id, "no")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        await bench.decide(log_stores.again(), wrong, bench.Model(), box.tools)
    with pytest.raises(ConfigurationError):
        await record_decision(wrong, "s", log_stores.again().checkpoints)
    assert box.ran == []
    await records_of(log_stores)
    assert (await bench.decide(log_stores.again(), approval_id, bench.Model(None, "paid"), box.tools)).text == "paid"


async def test_a_note_may_be_any_text(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(log_stores, box, "pay")
    no = {"id": approval_id, "approved": False, "note": "no \udcff"}
    result = await bench.decide(log_stores.again(), no, bench.Model(None, "ok"), box.tools)
    assert result.text == "ok"
    assert bench.result(result.messages, "c1")["note"] == "no \ufffd"
    await records_of(log_stores)


@pytest.mark.parametrize("load", [False, True])
async def test_an_approval_that_can_not_be_read_stays_where_it_is(bench: Any, box: Any, load: bool) -> None:
    stores = bench.custom(approvals=bench.PlainWithLoad if load else bench.PlainApprovals)
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(stores, box, "pay")
    good = stores.approvals.texts[approval_id]
    broken = json.loads(good)
    broken["pending"]["digest"] = 5
    stores.approvals.texts[approval_id] = json.dumps(broken)
    with pytest.raises(StorageError) as raised:
        await bench.decide(stores, approval_id, bench.Model(None, "paid"), box.tools)
    assert "digest" in raised.value.detail
    assert json.loads(stores.approvals.texts[approval_id])["pending"]["digest"] == 5
    assert box.ran == []
    stores.approvals.texts[approval_id] = good
    assert (await bench.decide(stores, approval_id, bench.Model(None, "paid"), box.tools)).text == "paid"


async def test_what_is_no_approval_at_all_is_said_to_be_none(bench: Any, box: Any) -> None:
    stores = bench.custom()

    async def resolve(_approval_id: str) -> Any:
        return ("pending", "snapshot")

    stores.approvals.resolve = resolve
    with pytest.raises(StorageError):
        await bench.decide(stores, "a", bench.Model(), box.tools)
    with pytest.raises(NotFoundError):
        await bench.decide(stores.again(), "a", bench.Model(), box.tools)


# Others


def test_an_agent_of_dictionaries_and_structs_is_read_alike() -> None:
    assert agent_from({"instructions": "p\ud800", "tools": ["a"]}) == Agent("agent", "p\ufffd", tools=("a",))
    assert agent_from(Agent("a", tools=["x"])) == Agent("a", tools=("x",))  # type: ignore[arg-type]


def test_the_range_of_a_number_is_named() -> None:
    from lousho_cli.executor.run_agent import RunSettings, check_settings

    with pytest.raises(RangeError) as raised:
        check_settings(RunSettings(approval_ttl_ms=10**5000))
    assert raised.value.field == "approval_ttl_ms"
    assert str(LONGEST_MS) in raised.value.hint
    assert len(raised.value.detail) < 100


TURN = r.Turn(Message("assistant", "ok"), "stop", "m")


@pytest.mark.parametrize(
    "records",
    [
        (r.Turn(Message("assistant", None)),),  # type: ignore[arg-type]
        (r.Turn(Message("assistant", "ok"), "stop", "m", CallUsage(1.5)),),  # type: ignore[arg-type]
        (TURN, r.Turn(Message("assistant", "ok"), None)),  # type: ignore[arg-type]
        (TURN, r.Mark(1), r.PermissionDecided("c", "deny", "rule", "half \ud800")),
        (TURN, r.InputSettled("i", "failed", "x", 42)),  # type: ignore[arg-type]
        (r.Within(("c",), (TURN, r.Turn(Message("bot", "x")))),),  # type: ignore[arg-type]
    ],
    ids=["content", "usage", "second", "reason", "settled", "within"],
)
async def test_only_the_turn_that_was_vouched_for_is_not_tried(bench: Any, records: Any) -> None:
    store = bench.memory().log_store
    log = await SessionLog.open(store, "s", "host", SYSTEM_CLOCK)
    await log.record(r.Created("a"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
    log.vouch(TURN)
    head = (await store.read("s")).head
    log._waiting.append(r.Batch(head + 1, 1, "2026-01-01T00:00:00.000Z", records))
    with pytest.raises(StorageError) as caught:
        await log.write(log._waiting[-1:])
    assert caught.value.code == "LOUSHO_RECORD_INVALID"
    await log.abandon()
    assert (await store.read("s")).head == head


class Unknown:
    """Of a kind no record can hold."""


async def test_a_turn_that_a_guardrail_still_holds_is_tried_before_it_is_written(log_stores: Any, bench: Any) -> None:
    def change(output: Any) -> None:
        output.message.metadata["kept"] = Unknown()

    model = bench.Model(Answer(Message("assistant", "hm", metadata={"from": "us"}), "pause"), "ok")
    with pytest.raises(StorageError) as caught:
        await bench.run(log_stores, model, guardrails=[{"kind": "output", "check": change}])
    assert caught.value.code == "LOUSHO_RECORD_INVALID"
    assert not [one for one in await records_of(log_stores) if isinstance(one, r.Turn)]


class Rates:
    """Prices that depend on the provider, of a kind nobody checked."""

    def __init__(self, cost: Any) -> None:
        self.cost = cost

    def for_provider(self, provider: Any) -> Any:
        return lambda name: self

    def cost_of(self, *tokens: int) -> Any:
        return self.cost


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), "1", -1.0, 10**5000], ids=["nan", "inf", "text", "negative", "huge"])
async def test_a_price_that_is_none_leaves_the_cost_unknown(log_stores: Any, bench: Any, cost: Any) -> None:
    result = await bench.run(log_stores, bench.Model("ok"), prices=Rates(cost))
    assert (result.text, result.usage.cost_usd) == ("ok", None)
    assert [one.usage.cost_usd for one in await records_of(log_stores) if isinstance(one, r.Turn) and one.usage] in ([None], [])


async def test_a_model_whose_name_turned_into_something_else_is_kept_as_text(log_stores: Any, bench: Any) -> None:
    model = bench.Model("ok")

    def renamed(request: ModelRequest) -> Any:
        model.model = 5
        return stream(request)

    stream, model.stream = model.stream, renamed
    assert (await bench.run(log_stores, model)).text == "ok"
    assert [one.model for one in await records_of(log_stores) if isinstance(one, r.Turn)] == ["5"]
