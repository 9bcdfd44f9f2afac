"""Resuming with a changed agent (checklist: drift of agents)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from lousho_cli.errors import AgentDriftError, ConfigurationError, ResumeToolMissingError

CHANGED = {"name": "agent", "prompt": "Be long."}


async def cut(stores: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    await bench.dies(bench.run(stores, bench.Model(bench.Calls("die")), box.tools))


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


async def test_de_121_without_a_listener_it_is_logged(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    await cut(store, bench, box)
    with caplog.at_level(logging.WARNING, "lousho"):
        await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], agent=CHANGED)
    assert "instructions changed" in caplog.text


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


async def test_de_124_ignore_says_nothing(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    await cut(store, bench, box)
    events: list[str] = []
    with caplog.at_level(logging.WARNING, "lousho"):
        for listen in (lambda event: events.append(event.type), None):
            await bench.run(
                store.again(), bench.Model(None, "done"), box.tools, [], agent=CHANGED, on_agent_drift="ignore", on_event=listen
            )
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
