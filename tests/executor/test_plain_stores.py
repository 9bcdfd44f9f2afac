"""What holds on a store of three plain methods, row by row (DESIGN 4)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lousho_cli import create_agent, get_checkpoint_history, resume_after_approval
from lousho_cli.core.transcript import check
from lousho_cli.errors import AgentDriftError, NotFoundError, ProviderError, SDKError, SessionAwaitingApprovalError


@pytest.fixture
def stores(bench: Any) -> Any:
    return bench.custom()


@pytest.fixture
def looked(bench: Any) -> Any:
    """An approval store that can be looked into without taking."""
    return bench.custom(bench.PlainCheckpoints, bench.PlainWithLoad)


def deadly(bench: Any, box: Any, lives: int = 1) -> None:
    def die(args: Any, ctx: Any) -> str:
        if [name for name, _, _ in box.log].count("die") <= lives:
            raise bench.Killed
        return "survived"

    box.tool("die", die)


# Kept


async def test_kept_every_call_has_one_result_in_call_order(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box, 2)
    box.tool("book")
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("book", "die", "book")), box.tools, tool_concurrency=1))
    await bench.dies(bench.run(stores.again(), bench.Model(), box.tools, [], tool_concurrency=1))
    result = await bench.run(stores.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.shape(result.messages)[3:6] == ["result:c1", "result:c2", "result:c3"]


async def test_kept_a_recorded_result_is_never_made_again(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box, 2)
    box.tool("book")
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("book", "die")), box.tools, tool_concurrency=1))
    await bench.dies(bench.run(stores.again(), bench.Model(), box.tools, []))
    await bench.run(stores.again(), bench.Model(None, "done"), box.tools, [])
    assert box.ran == ["c1", "c2", "c2", "c2"]


async def test_kept_a_stored_turn_is_never_asked_for_again(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    first = bench.Model(bench.Calls("die"))
    await bench.dies(bench.run(stores, first, box.tools))
    second = bench.Model("another plan", "done")
    await bench.run(stores.again(), second, box.tools, [])
    assert [bench.shape(asked)[-1] for asked in second.asked] == ["result:c1"]


async def test_kept_the_provider_gets_a_valid_transcript(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die", "die")), box.tools))
    model = bench.Model(None, "done")
    await bench.run(stores.again(), model, box.tools, "and tea")
    assert [check(asked) for asked in model.asked] == [None]
    assert bench.shape(model.asked[0])[-1] == "user:and tea"


async def test_kept_step_budget_usage_and_business_state(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die")), box.tools, business_state={"k": 1}))
    model = bench.Model(None, bench.Calls("die"), "too late")
    result = await bench.run(stores.again(), model, box.tools, [], max_steps=2)
    assert (result.steps, result.finish_reason, result.usage.model_calls, result.business_state) == (2, "max-steps", 2, {"k": 1})


async def test_kept_drift(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die")), box.tools))
    with pytest.raises(AgentDriftError):
        await bench.run(stores.again(), bench.Model(model="m-2"), box.tools, [], on_agent_drift="error")


# Not kept


async def test_not_kept_input_before_the_first_save(stores: Any, bench: Any) -> None:
    with pytest.raises(ProviderError):
        await bench.run(stores, bench.Model(ProviderError("down")), text="hello")
    assert await stores.saved() is None
    result = await bench.run(stores.again(), bench.Model("hi"), text="hello")
    assert bench.shape(result.messages)[1:] == ["user:hello", "assistant:hi"]


async def test_not_kept_input_ids(stores: Any, bench: Any) -> None:
    await bench.run(stores, bench.Model("one"), text="go", input_id="i1")
    result = await bench.run(stores.again(), bench.Model(None, "two"), text="go", input_id="i1")
    assert result.text == "two"


async def test_not_kept_the_retry_count(stores: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("book")
    options = {"clock": clock, "on_model_error": lambda error, count, chance: 1000 if count < 1 else None}
    busy = ProviderError("busy", category="rate-limit", retryable=True)
    clock.at_sleep = lambda seconds: (_ for _ in ()).throw(bench.Killed())
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("book"), busy), box.tools, **options))
    clock.at_sleep = lambda seconds: None
    left = iter([busy])
    result = await bench.run(stores.again(), bench.Model(None, lambda request: next(left, "done")), box.tools, [], **options)
    assert result.text == "done"


async def test_not_kept_what_was_started_so_every_open_call_counts(stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    box.tool("charge", replay="never")
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die", "charge")), box.tools, tool_concurrency=1))
    result = await bench.run(stores.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.result(result.messages, "c2")["error"] == "ToolInterruptedError"
    assert box.ran == ["c1", "c1"]


async def test_but_a_call_behind_a_pause_was_never_begun(stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True, replay="never")
    box.tool("charge", replay="never")
    first = await bench.run(stores, bench.Model(bench.Calls("pay", "charge")), box.tools)
    result = await bench.decide(stores.again(), first.approval_id, bench.Model(None, "done"), box.tools)
    assert (box.ran, result.text) == (["c1", "c2"], "done")


# Two separate stores


async def test_a_decision_is_resolved_then_saved_then_the_tool_runs(bench: Any, box: Any) -> None:
    order: list[str] = []

    class Checkpoints(bench.PlainCheckpoints):
        async def save(self, session_id: str, checkpoint: Any) -> None:
            order.append(f"save {checkpoint.status} {sorted(checkpoint.decisions)}")
            await super().save(session_id, checkpoint)

    class Approvals(bench.PlainApprovals):
        async def resolve(self, approval_id: str) -> Any:
            order.append("resolve")
            return await super().resolve(approval_id)

    stores = bench.custom(Checkpoints, Approvals)
    box.tool("pay", lambda args, ctx: order.append("run"), needs_approval=True)
    first = await bench.run(stores, bench.Model(bench.Calls("pay")), box.tools)
    order.clear()
    await bench.decide(stores, first.approval_id, bench.Model(None, "done"), box.tools)
    assert order[:3] == ["resolve", "save in-progress ['c1']", "run"]


class DiesSavingThePause:
    """Mixed into a checkpoint store: the process dies between the two writes of a pause."""

    deadly = True

    async def save(self, session_id: str, checkpoint: Any) -> None:
        if checkpoint.status == "awaiting-approval" and type(self).deadly:
            raise self.killed
        await super().save(session_id, checkpoint)


async def test_de_069_a_crash_between_approval_and_checkpoint(bench: Any, box: Any) -> None:
    """The session is in progress; going on gates the call again under a new id. The old one decides nothing."""

    class Checkpoints(DiesSavingThePause, bench.PlainCheckpoints):
        killed = bench.Killed

    stores = bench.custom(Checkpoints, bench.PlainWithLoad)
    box.tool("pay", needs_approval=True)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("pay")), box.tools))
    (orphan,) = stores.approvals.texts
    assert (await stores.saved()).status == "in-progress"
    Checkpoints.deadly = False
    with pytest.raises(NotFoundError):
        await bench.decide(stores.again(), orphan, bench.Model(), box.tools)
    again = await bench.run(stores.again(), bench.Model(), box.tools, [])
    assert again.finish_reason == "awaiting-approval"
    assert again.approval_id != orphan
    with pytest.raises(NotFoundError):
        await bench.decide(stores.again(), orphan, bench.Model(), box.tools)
    assert box.ran == []
    result = await bench.decide(stores.again(), again.approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def orphaned(stores: Any, bench: Any, box: Any) -> str:
    """A pause whose approval is gone: the process died between taking it and saving the decision."""
    box.tool("pay", needs_approval=True)
    first = await bench.run(stores, bench.Model(bench.Calls("pay")), box.tools)
    await stores.approvals.resolve(first.approval_id)
    return first.approval_id


async def test_an_orphaned_pause_keeps_refusing_a_message(looked: Any, bench: Any, box: Any) -> None:
    gone = await orphaned(looked, bench, box)
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(looked.again(), bench.Model(), box.tools, "hello?")
    assert raised.value.approval_id == gone


async def test_an_orphaned_pause_is_gated_again_with_a_warning(looked: Any, bench: Any, box: Any, caplog: Any) -> None:
    gone = await orphaned(looked, bench, box)
    with caplog.at_level(logging.WARNING, "lousho"):
        again = await bench.run(looked.again(), bench.Model(), box.tools, [])
    assert "LOUSHO_APPROVAL_ORPHANED" in caplog.text
    assert (again.finish_reason, box.ran) == ("awaiting-approval", [])
    assert again.approval_id != gone
    result = await bench.decide(looked.again(), again.approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_an_orphaned_pause_of_a_log_store_beside_another_approval_store(log_stores: Any, bench: Any, box: Any, caplog: Any) -> None:
    beside = bench.PlainWithLoad()
    box.tool("pay", needs_approval=True)
    first = await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools, approval_store=beside)
    with pytest.raises(SessionAwaitingApprovalError):
        await bench.run(log_stores, bench.Model(), box.tools, [], approval_store=beside)
    await beside.resolve(first.approval_id)
    with caplog.at_level(logging.WARNING, "lousho"):
        again = await bench.run(log_stores.again(), bench.Model(), box.tools, [], approval_store=beside)
    assert "LOUSHO_APPROVAL_ORPHANED" in caplog.text
    assert again.approval_id not in (None, first.approval_id)


async def test_a_pause_that_still_waits_is_not_gated_again(looked: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(looked, bench.Model(bench.Calls("pay")), box.tools)
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(looked.again(), bench.Model(), box.tools, [])
    assert raised.value.approval_id == first.approval_id


@pytest.mark.parametrize("error", [OSError("lost"), RuntimeError("driver")])
async def test_a_decision_that_could_not_be_saved_waits_again(bench: Any, box: Any, error: Exception) -> None:
    class Checkpoints(bench.PlainCheckpoints):
        broken = False

        async def save(self, session_id: str, checkpoint: Any) -> None:
            if Checkpoints.broken:
                raise error
            await super().save(session_id, checkpoint)

    stores = bench.custom(Checkpoints)
    box.tool("pay", needs_approval=True)
    first = await bench.run(stores, bench.Model(bench.Calls("pay")), box.tools)
    Checkpoints.broken = True
    with pytest.raises(type(error)):
        await bench.decide(stores.again(), first.approval_id, bench.Model(), box.tools)
    Checkpoints.broken = False
    assert box.ran == []
    result = await bench.decide(stores.again(), first.approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_any_id_that_is_not_empty_will_do(stores: Any, bench: Any) -> None:
    """DESIGN 5: a custom store takes any non-empty id; a log store does not."""
    result = await bench.run(stores, bench.Model("hello"), session_id="../über uns/1")
    assert result.session_id == "../über uns/1"
    with pytest.raises(SDKError):
        await bench.run(stores, bench.Model("hello"), session_id="")


async def test_a_record_that_can_not_be_read_is_a_storage_error(stores: Any, bench: Any) -> None:
    stores.checkpoints.texts["s"] = '{"session_id": "s", "messages": "none"}'
    with pytest.raises(SDKError) as raised:
        await bench.run(stores, bench.Model("hello"))
    assert raised.value.code == "LOUSHO_STORAGE_FAILED"


@pytest.fixture(params=["custom", "other log store"])
def mixed(request: pytest.FixtureRequest, bench: Any) -> Any:
    """Checkpoints kept in one place and approvals in a log store that is another."""
    kept, paused = (bench.custom() if request.param == "custom" else bench.memory()), bench.memory()

    def again() -> Any:
        stores = kept.again()
        stores.approvals, stores.again = paused.approvals, again
        return stores

    return again()


async def test_approvals_in_another_log_store_lead_back_to_their_session(mixed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    first = await bench.run(mixed, bench.Model(bench.Calls("book", "pay", "book")), box.tools, max_steps=2, business_state={"k": 1})
    (pending,) = await mixed.approvals.list()
    assert (pending.id, pending.session_id) == (first.approval_id, "s")
    model = bench.Model(None, bench.Calls("book"), "too late")
    result = await bench.decide(mixed.again(), first.approval_id, model, box.tools)
    assert (result.session_id, result.finish_reason, result.business_state) == ("s", "max-steps", {"k": 1})
    assert box.ran == ["c1", "c2", "c3", "c4"]
    assert (await mixed.saved()).status == "finished"
    assert await mixed.approvals.list() == []


async def test_an_approval_in_another_log_store_waits_again_when_refused(mixed: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(mixed, bench.Model(bench.Calls("pay")), box.tools)
    options = {"on_agent_drift": "error"}
    other = options | {"agent": {"name": "agent", "prompt": "Be long."}}
    with pytest.raises(AgentDriftError):
        await bench.decide(mixed.again(), first.approval_id, bench.Model(), box.tools, options=other)
    assert [one.id for one in await mixed.approvals.list()] == [first.approval_id]
    result = await bench.decide(mixed.again(), first.approval_id, bench.Model(None, "paid"), box.tools, options=options)
    assert (result.text, (await mixed.saved()).status) == ("paid", "finished")
    with pytest.raises(NotFoundError):
        await bench.decide(mixed.again(), first.approval_id, bench.Model(), box.tools)


async def test_a_run_without_a_session_keeps_its_budget_over_a_pause(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    options = {"session_id": None, "checkpoint_store": None, "max_steps": 2}
    first = await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools, **options)
    model = bench.Model(None, bench.Calls("pay"), "too late")
    second = await bench.decide(log_stores.again(), first.approval_id, model, box.tools, keep=False)
    result = await bench.decide(log_stores.again(), second.approval_id, model, box.tools, keep=False)
    assert (result.finish_reason, result.steps, box.ran) == ("max-steps", 2, ["c1", "c2"])


async def test_a_store_that_is_not_async_is_as_good_as_one_that_is(bench: Any, box: Any) -> None:
    """A dictionary behind three and two methods is what somebody writes first."""

    class Checkpoints:
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

        def save(self, session_id: str, checkpoint: Any) -> None:
            self.kept[session_id] = checkpoint

        def load(self, session_id: str) -> Any:
            return self.kept.get(session_id)

        def delete(self, session_id: str) -> None:
            self.kept.pop(session_id, None)

        def history(self, session_id: str, limit: int | None = None) -> Any:
            return [{"step": 2, "saved_at": "2026-01-01T00:00:00.000Z", "status": "finished", "checkpoint": self.kept[session_id]}]

    class Approvals:
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

        def save(self, pending: Any, snapshot: Any) -> None:
            self.kept[pending.id] = {"pending": pending, "snapshot": snapshot}

        def resolve(self, approval_id: str) -> Any:
            return self.kept.pop(approval_id, None)

    box.tool("pay", needs_approval=True)
    store = {"checkpoints": Checkpoints(), "approvals": Approvals()}
    agent = create_agent(bench.Model(bench.Calls("pay"), "paid", bench.Calls("pay"), "again"), store=store, tools=box.tools)
    paused = await agent.send("go", "s")
    assert [waiting.id for waiting in await agent.approvals.list()] == [paused.approval_id]
    assert (await agent.approvals.resolve(paused.approval_id, True)).text == "paid"
    second = await agent.send("more", "s")
    decision = {"id": second.approval_id, "approved": True}
    options = (store["approvals"], box.tools, bench.Model(None, None, None, "again"), None, store["checkpoints"])
    assert (await resume_after_approval(decision, *options)).text == "again"
    assert [entry.step for entry in await get_checkpoint_history(store["checkpoints"], "s")] == [2]
    fork = await agent.fork("s", 2, {"append_input": "else"})
    assert (fork.session_id, store["checkpoints"].load("s.fork-1")) == ("s.fork-1", fork.checkpoint)
    assert box.ran == ["c1", "c2"]


async def test_a_store_is_used_though_it_is_an_empty_mapping_and_though_one_method_alone_is_not_async(bench: Any, box: Any) -> None:
    class Checkpoints(dict[str, Any]):
        async def save(self, session_id: str, checkpoint: Any) -> None:
            self[session_id] = checkpoint

        async def load(self, session_id: str) -> Any:
            return self.get(session_id)

        async def delete(self, session_id: str) -> None:
            self.pop(session_id, None)

    class Approvals(dict[str, Any]):
        async def save(self, pending: Any, snapshot: Any) -> None:
            self[pending.id] = {"pending": pending, "snapshot": snapshot}

        async def resolve(self, approval_id: str) -> Any:
            return self.pop(approval_id, None)

        def load(self, approval_id: str) -> Any:
            return self.get(approval_id)

        def list(self) -> Any:
            return [kept["pending"] for kept in self.values()]

    box.tool("pay", needs_approval=True)
    store = {"checkpoints": Checkpoints(), "approvals": Approvals()}
    model = bench.Model(bench.Calls("pay"), bench.Calls("pay"), "paid")
    agent = create_agent(model, store=store, tools=box.tools)
    paused = await agent.send("go", "s")
    assert list(store["checkpoints"]) == ["s"]
    assert [waiting.id for waiting in await agent.approvals.list()] == [paused.approval_id]
    decision, later = {"id": paused.approval_id, "approved": True}, Approvals()
    options = (store["approvals"], box.tools, model, {"approval_store": later}, store["checkpoints"])
    second = await resume_after_approval(decision, *options)
    assert (list(store["approvals"]), list(later)) == ([], [second.approval_id])
    assert (await resume_after_approval({"id": second.approval_id, "approved": True}, later, *options[1:])).text == "paid"
    assert box.ran == ["c1", "c2"]
