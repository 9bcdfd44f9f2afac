"""Resuming with a changed agent."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from lousho_cli.core.fingerprint import fingerprint
from lousho_cli.core.originals import approval_from
from lousho_cli.domain.agent import ModelChange
from lousho_cli.errors import AgentDriftError, ConfigurationError, ResumeToolMissingError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.executor.sub_agents import SubAgent

CHANGED = {"name": "agent", "prompt": "Be long."}


async def cut(stores: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die")), box.tools))


async def test_de_118_every_checkpoint_and_every_pause_carries_one(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(ringed, box, "book", "pay")
    expected = fingerprint("m-1", {tool.name: tool.schema for tool in box.tools}, "Be brief.")
    stored = await ringed.again().approvals.load(approval_id)
    await bench.decide(ringed.again(), approval_id, bench.Model(None, "done"), box.tools)
    entries = await get_checkpoint_history(ringed.again().checkpoints, "s")
    assert {entry.status for entry in entries} == {"in-progress", "awaiting-approval", "finished"}
    found = [approval_from(stored).snapshot.agent_fingerprint, *(entry.checkpoint.agent_fingerprint for entry in entries)]
    assert found == [expected] * len(found)


async def test_de_119_120_other_code_and_another_order_are_no_change(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await cut(store, bench, box)
    other = bench.Box()
    other.tool("die", lambda args, ctx: "by other code")
    other.tool("book")
    result = await bench.run(store.again(), bench.Model(None, "done"), other.tools, [], on_agent_drift="error")
    assert (result.text, bench.result(result.messages, "c1")) == ("done", "by other code")


async def test_de_121_a_warning_and_an_event_say_what_changed(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    await cut(store, bench, box)
    other = bench.Box()
    other.tool("die")
    other.tool("new")
    events: list[Any] = []
    result = await bench.run(store.again(), bench.Model(None, "done", model="m-2"), other.tools, [], agent=CHANGED, on_event=events.append)
    assert result.text == "done"
    assert [event.type for event in events][:2] == ["run.start", "agent.drift"]
    drift = events[1]
    assert (drift.model.from_, drift.model.to) == ("m-1", "m-2")
    assert (drift.tools_added, drift.instructions) == (("new",), True)
    assert (drift.tools_removed, drift.tools_changed) == ((), ())


@pytest.mark.parametrize("listens", [True, False])
async def test_de_121_one_warning_is_logged_whoever_listens(store: Any, bench: Any, box: Any, caplog: Any, listens: bool) -> None:
    await cut(store, bench, box)
    with caplog.at_level(logging.WARNING, "lousho"):
        listener = (lambda event: None) if listens else None
        await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], agent=CHANGED, on_event=listener)
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("lousho", "s: the agent changed since the run was saved: instructions changed")
    ]


async def test_de_121_every_kind_of_change_is_in_the_event(store: Any, bench: Any, box: Any) -> None:
    box.tool("gone")
    await cut(store, bench, box)
    other = bench.Box()
    other.tool("die", lambda args, ctx: "ran")
    other.tool("new")
    changed = other.tools[0]
    changed.schema["properties"]["n"]["minimum"] = 0
    events: list[Any] = []
    await bench.run(store.again(), bench.Model(None, "done", model="m-2"), other.tools, [], agent=CHANGED, on_event=events.append)
    drift = next(event for event in events if event.type == "agent.drift")
    assert drift.model == ModelChange("m-1", "m-2")
    assert (drift.tools_added, drift.tools_removed, drift.tools_changed, drift.instructions) == (("new",), ("gone",), ("die",), True)


async def test_de_121_it_warns_once(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    """The agent of the resume is the one that is stored then."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) < 4:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    box.tool("book")
    await bench.dies(bench.run(store, bench.Model(bench.Calls("book", "die")), box.tools, tool_concurrency=1))
    await bench.dies(bench.run(store.again(), bench.Model(), box.tools, [], agent=CHANGED))
    events: list[str] = []
    if store.log_store:
        await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], agent=CHANGED, on_event=lambda e: events.append(e.type))
        assert "agent.drift" not in events


async def test_de_122_error_refuses_before_anything(store: Any, bench: Any, box: Any) -> None:
    await cut(store, bench, box)
    before, model = await store.saved(), bench.Model()
    log = (await store.log_store.read("s")).batches if store.log_store else None
    with pytest.raises(AgentDriftError) as raised:
        await bench.run(store.again(), model, box.tools, [], agent=CHANGED, on_agent_drift="error")
    assert (raised.value.code, model.asked, box.ran) == ("LOUSHO_AGENT_DRIFT", [], ["c1"])
    assert "instructions changed" in raised.value.detail
    assert await store.saved() == before
    if store.log_store:
        assert (await store.log_store.read("s")).batches == log
    assert (await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], on_agent_drift="error")).text == "done"


async def test_de_123_a_refused_approval_waits_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools)
    options = {"on_agent_drift": "error", "agent": CHANGED}
    with pytest.raises(AgentDriftError):
        await bench.decide(store.again(), first.approval_id, bench.Model(), box.tools, options=options)
    result = await bench.decide(store.again(), first.approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_de_123_also_without_the_checkpoint_store(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools)
    options = {"on_agent_drift": "error", "agent": CHANGED}
    with pytest.raises(AgentDriftError):
        await bench.decide(store.again(), first.approval_id, bench.Model(), box.tools, keep=False, options=options)
    result = await bench.decide(store.again(), first.approval_id, bench.Model(None, "paid"), box.tools)
    assert result.text == "paid"
    assert (await store.saved()).status == "finished"


@pytest.mark.parametrize("listens", [True, False])
async def test_de_124_ignore_says_nothing(store: Any, bench: Any, box: Any, caplog: Any, listens: bool) -> None:
    await cut(store, bench, box)
    events: list[str] = []
    listener = (lambda event: events.append(event.type)) if listens else None
    options = {"agent": CHANGED, "on_agent_drift": "ignore", "on_event": listener}
    with caplog.at_level(logging.WARNING, "lousho"):
        assert (await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], **options)).text == "done"
    assert "agent.drift" not in events
    assert caplog.text == ""


@pytest.mark.parametrize("mode", ["warn", "error", "ignore"])
async def test_de_125_a_pending_call_without_its_tool_is_refused(store: Any, bench: Any, box: Any, mode: str) -> None:
    await cut(store, bench, box)
    before, model = await store.saved(), bench.Model()
    with pytest.raises(ResumeToolMissingError) as raised:
        await bench.run(store.again(), model, [], [], on_agent_drift=mode)
    assert (raised.value.tools, model.asked, await store.saved()) == (("die",), [], before)


async def test_a_name_that_was_never_offered_gets_a_not_found_result(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.6."""

    def die(args: Any, ctx: Any) -> None:
        if len(box.log) == 1:
            raise bench.Killed

    box.tool("die", die)
    await bench.dies(bench.run(store, bench.Model(bench.Calls("die", "invented")), box.tools, tool_concurrency=1))
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.result(result.messages, "c2")["kind"] == "not-found"


async def test_de_127_without_a_saved_fingerprint_nothing_is_compared(bench: Any, box: Any, caplog: Any) -> None:
    stores = bench.custom()
    await cut(stores, bench, box)
    old = json.loads(stores.checkpoints.texts["s"])
    del old["agent_fingerprint"]
    del old["offered"]
    stores.checkpoints.texts["s"] = json.dumps(old)
    with caplog.at_level(logging.WARNING, "lousho"):
        result = await bench.run(stores, bench.Model(None, "done"), box.tools, [], agent=CHANGED, on_agent_drift="error")
    assert (result.text, caplog.text) == ("done", "")


async def test_de_128_one_of_another_version_is_not_compared(bench: Any, box: Any, caplog: Any) -> None:
    stores = bench.custom()
    await cut(stores, bench, box)
    kept = json.loads(stores.checkpoints.texts["s"])
    kept["agent_fingerprint"]["version"] = 2
    stores.checkpoints.texts["s"] = json.dumps(kept)
    with caplog.at_level(logging.WARNING, "lousho"):
        result = await bench.run(stores, bench.Model(None, "done"), box.tools, [], agent=CHANGED, on_agent_drift="error")
    assert (result.text, caplog.text) == ("done", "")


async def test_de_180_a_stream_is_checked_as_well(store: Any, bench: Any, box: Any) -> None:
    await cut(store, bench, box)
    before, model = await store.saved(), bench.Model()
    options = {"session_id": "s", "checkpoint_store": store.again().checkpoints, "approval_store": store.again().approvals}
    stream = AgentExecutor.stream(CHANGED, [], model, box.tools, on_agent_drift="error", **options)
    with pytest.raises(AgentDriftError):
        async for _ in stream:
            pass
    with pytest.raises(AgentDriftError):
        await stream.result()
    assert (model.asked, box.ran, await store.saved()) == ([], ["c1"], before)


async def test_de_181_warn_is_the_default_of_execute_and_of_a_decision(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools)
    with caplog.at_level(logging.WARNING, "lousho"):
        await bench.decide(store.again(), first.approval_id, bench.Model(None, bench.Calls("pay")), box.tools, options={"agent": CHANGED})
    assert [record.getMessage().endswith("instructions changed") for record in caplog.records] == [True]


async def test_de_182_tools_of_sub_agents_are_no_part_of_it(store: Any, bench: Any, box: Any) -> None:
    await cut(store, bench, box)
    scout = SubAgent({"name": "scout", "instructions": "Look."}, "looks")
    events: list[str] = []
    result = await bench.run(
        store.again(),
        bench.Model(None, "done"),
        box.tools,
        [],
        subagents={"scout": scout},
        on_agent_drift="error",
        on_event=lambda event: events.append(event.type),
    )
    assert (result.text, "agent.drift" in events) == ("done", False)


async def test_de_183_a_paused_sub_agent_has_a_fingerprint_of_its_own_and_no_say(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    lead = bench.Model(bench.Calls(("scout", {"input": "look"})), "done")

    def scout(prompt: str) -> dict[str, Any]:
        agent = {"name": "scout", "instructions": prompt}
        return {"scout": SubAgent(agent, "looks", provider=bench.Model(bench.Calls("pay"), "seen"), tools=box.tools)}

    first = await bench.run(log_stores, lead, subagents=scout("Look."))
    snapshot = (await log_stores.approvals.load(first.approval_id)).snapshot
    nested = snapshot.children["c1"]["runs"][-1]["fingerprint"]
    assert list(nested["tools"]) == ["pay"]
    assert nested["instructions"] != snapshot.agent_fingerprint.instructions
    options = {"subagents": scout("Look twice."), "on_agent_drift": "error", "agent": {"name": "agent", "prompt": "Be brief."}}
    result = await bench.decide(log_stores.again(), first.approval_id, lead, options=options)
    assert (result.text, box.ran) == ("done", ["c1/c1"])


async def test_de_185_a_decision_under_new_instructions_keeps_the_old_ones(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    box.tool("new")
    first = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools[:1])
    before = (await store.saved()).agent_fingerprint
    model = bench.Model(None, bench.Calls("new"), "paid", model="m-2")
    result = await bench.decide(store.again(), first.approval_id, model, box.tools, options={"agent": CHANGED})
    assert result.text == "paid"
    assert [messages[0].text for messages in model.asked] == ["Be brief.", "Be brief."]
    saved = (await store.again().saved()).agent_fingerprint
    assert (saved.instructions, saved.model, sorted(saved.tools)) == (before.instructions, "m-2", ["new", "pay"])
    assert saved == fingerprint("m-2", {tool.name: tool.schema for tool in box.tools}, "Be brief.")


async def test_de_187_a_pending_call_of_a_sub_agent_that_is_gone_is_refused(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    scout = SubAgent({"name": "scout", "instructions": "Look."}, "looks", provider=bench.Model(bench.Calls("pay")), tools=box.tools)
    lead = bench.Model(bench.Calls(("scout", {"input": "look"})), "done")
    first = await bench.run(log_stores, lead, subagents={"scout": scout})
    assert "scout" not in (await log_stores.saved()).agent_fingerprint.tools
    for mode in ("warn", "error", "ignore"):
        with pytest.raises(ResumeToolMissingError) as raised:
            await bench.decide(log_stores.again(), first.approval_id, lead, options={"on_agent_drift": mode})
        assert (raised.value.tools, box.ran) == (("scout",), [])
    assert (await log_stores.saved()).status == "awaiting-approval"


async def test_changed_code_alone_is_no_drift(store: Any, bench: Any, box: Any) -> None:
    await cut(store, bench, box)
    other = bench.Box()
    other.tool("die", lambda args, ctx: "rewritten")
    result = await bench.run(store.again(), bench.Model(None, "done"), other.tools, [], on_agent_drift="error")
    assert bench.result(result.messages, "c1") == "rewritten"


async def test_a_finished_session_takes_any_agent(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"))
    result = await bench.run(store.again(), bench.Model(None, "fine"), text="next", agent=CHANGED, on_agent_drift="error")
    assert result.text == "fine"


async def test_a_wrong_mode_is_refused(bench: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(None, bench.Model("done"), on_agent_drift="maybe")
    assert raised.value.field == "on_agent_drift"
