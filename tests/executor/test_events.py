"""The stream of events: in order, without gaps, and never ahead of what it tells of."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.errors import ProviderError, SDKError
from lousho_cli.executor.agent_executor import AgentExecutor


def stream(stores: Any, model: Any, tools: Any = (), text: Any = "go", **options: Any) -> Any:
    return AgentExecutor.stream(
        {"name": "agent"},
        text,
        model,
        tools,
        session_id="s",
        checkpoint_store=stores.checkpoints,
        approval_store=stores.approvals,
        **options,
    )


async def test_events_are_numbered_from_0_without_gaps(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    run = stream(store, bench.Model(bench.Calls("book", "book"), bench.Calls("pay")), box.tools)
    events = [event async for event in run]
    assert [event.seq for event in events] == list(range(len(events)))
    assert {event.v for event in events} == {1}
    assert {event.session for event in events} == {"s"}
    types = [event.type for event in events]
    assert (types[0], types[-1], types.count("run.start"), types.count("run.done")) == ("run.start", "run.done", 1, 1)
    assert (await run.result()).finish_reason == "awaiting-approval"


async def test_the_story_of_a_run(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    events = [event async for event in stream(store, bench.Model(bench.Calls("book", text="I look."), "done"), box.tools)]
    told = [event.type for event in events if event.type not in ("step.saved", "input.queued")]
    assert told == [
        "run.start",
        "step.start",
        "text.delta",
        "step.done",
        "tool.start",
        "tool.done",
        "step.start",
        "text.delta",
        "step.done",
        "run.done",
    ]
    assert [event.step for event in events if event.type == "step.done"] == [1, 2]
    done = next(event for event in events if event.type == "tool.done")
    assert (done.data["id"], done.data["name"], done.data["content"], done.step) == ("c1", "book", '"book"', 1)


async def test_a_later_run_counts_its_steps_from_1(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("one"), text="first")
    events = [event async for event in stream(store.again(), bench.Model(None, "two"), text="second")]
    assert [event.step for event in events if event.type in ("step.start", "step.done")] == [1, 1]


async def test_a_resumed_call_is_told_with_its_name_and_step(store: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> None:
        if len(box.log) == 1:
            raise bench.Killed

    box.tool("die", die)
    await bench.dies(bench.run(store, bench.Model(bench.Calls("die")), box.tools))
    events = [event async for event in stream(store.again(), bench.Model(None, "done"), box.tools, [])]
    told = [(event.type, event.data["name"], event.step) for event in events if event.type.startswith("tool.")]
    assert told == [("tool.start", "die", 1), ("tool.done", "die", 1)]


async def test_saved_is_told_only_once_it_is(store: Any, bench: Any, box: Any) -> None:
    """Whatever an event names stands in the log that another process reads at that moment."""
    box.tool("book")
    told: list[Any] = []

    async def look(request: Any) -> str:
        told.append(len(events))
        return "done"

    events: list[Any] = []
    await bench.run(store, bench.Model(bench.Calls("book"), look), box.tools, on_event=events.append)
    if store.log_store:
        head = (await store.again().log_store.read("s")).head
        assert max(event.cursor for event in events if event.type == "step.saved") == head
    assert "step.saved" in [event.type for event in events]


async def test_an_approval_is_told_once_it_can_be_decided(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    events = [event async for event in stream(store, bench.Model(bench.Calls(("pay", {"n": 2}))), box.tools)]
    asked = next(event for event in events if event.type == "approval.requested")
    assert asked.data["approval"]["args"] == {"n": 2}
    assert asked.data["approval"]["id"] == (await store.saved()).approval_id


async def test_an_error_comes_out_of_the_iteration_and_of_the_result(store: Any, bench: Any) -> None:
    run = stream(store, bench.Model(ProviderError("down", category="server")))
    seen = []
    with pytest.raises(ProviderError):
        async for event in run:
            seen.append(event)
    assert [event.data["message"] for event in seen if event.type == "error"] == ["down"]
    assert [event.seq for event in seen] == list(range(len(seen)))
    with pytest.raises(ProviderError):
        await run.result()


async def test_a_stream_is_read_once(store: Any, bench: Any) -> None:
    run = stream(store, bench.Model("done"))
    assert [event async for event in run]
    with pytest.raises(SDKError) as raised:
        [event async for event in run]
    assert raised.value.code == "LOUSHO_RUN_ALREADY_ITERATED"


async def test_a_stream_runs_without_being_read(store: Any, bench: Any) -> None:
    heard: list[str] = []
    run = stream(store, bench.Model("done"), on_event=lambda event: heard.append(event.type))
    assert (await run.result()).text == "done"
    assert heard[0] == "run.start"


async def test_a_retry_is_told(store: Any, bench: Any, clock: Any) -> None:
    left = iter([ProviderError("busy", category="rate-limit", retryable=True)])
    model = bench.Model(lambda request: next(left, "done"))
    options = {"clock": clock, "on_model_error": lambda error, count, chance: 1500}
    events = [event async for event in stream(store, model, **options)]
    (retry,) = [event for event in events if event.type == "provider.retry"]
    assert (retry.data["count"], retry.data["wait_ms"], retry.data["error"]) == (1, 1500, "busy")
