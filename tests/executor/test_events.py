"""The stream of events: in order, without gaps, and never ahead of what it tells of."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import msgspec
import pytest

from lousho_cli.core.telling import Teller
from lousho_cli.domain import events as e
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ProviderError, SDKError, SessionAwaitingApprovalError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.provider import Answer, TextDelta
from lousho_cli.ports.sessions import read_session


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
    assert [event.type for event in events] == [
        "run.start",
        "input.queued",
        "input.applied",
        "step.start",
        "text.delta",
        "step.done",
        "step.saved",
        "tool.start",
        "tool.done",
        "step.start",
        "text.delta",
        "step.done",
        "step.saved",
        "run.done",
    ]
    assert [event.step for event in events if event.type == "step.done"] == [1, 2]
    done = next(event for event in events if event.type == "tool.done")
    assert (done.id, done.name, done.content, done.step) == ("c1", "book", '"book"', 1)


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
    told = [(event.type, event.name, event.step) for event in events if event.type.startswith("tool.")]
    assert told == [("tool.resume", "die", 1), ("tool.done", "die", 1)]


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
    assert asked.approval.args == {"n": 2}
    assert asked.approval.id == (await store.saved()).approval_id == events[-1].approval_id


async def test_an_error_comes_out_of_the_iteration_and_of_the_result(store: Any, bench: Any) -> None:
    run = stream(store, bench.Model(ProviderError("down", category="server")))
    seen = []
    with pytest.raises(ProviderError):
        async for event in run:
            seen.append(event)
    assert [event.message for event in seen if event.type == "error"] == ["down"]
    assert [event.type for event in seen].count("run.done") == 1
    assert (seen[0].type, seen[-1].type, seen[-1].finish_reason) == ("run.start", "run.done", "error")
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
    assert (retry.count, retry.wait_ms, retry.error, retry.step) == (1, 1500, "busy", 1)


# Refused, failed, left and aborted


async def test_a_run_that_is_refused_is_told_from_its_start_to_its_end(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    await bench.paused(store, box, "pay")
    seen: list[Any] = []
    with pytest.raises(SessionAwaitingApprovalError):
        await bench.run(store.again(), bench.Model(), box.tools, "more", on_event=seen.append)
    assert [event.type for event in seen] == ["run.start", "error", "run.done"]
    assert (seen[0].run, seen[1].code, seen[2].finish_reason) == (None, "LOUSHO_SESSION_AWAITING_APPROVAL", "error")


async def test_an_input_that_has_its_answer_is_told_as_a_run_too(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model("done"), input_id="i1")
    seen: list[Any] = []
    await bench.run(log_stores.again(), bench.Model(), input_id="i1", on_event=seen.append)
    assert [event.type for event in seen] == ["run.start", "run.done"]
    assert (seen[0].run, seen[1].finish_reason, seen[1].outcome) == (1, "stop", "completed")


async def test_a_stop_is_told_as_an_end_that_is_to_go_on(log_stores: Any, bench: Any, box: Any) -> None:
    controller, seen = AbortController(), []
    box.tool("book", lambda args, ctx: controller.stop())
    await bench.run(log_stores, bench.Model(bench.Calls("book")), box.tools, signal=controller.signal, on_event=seen.append)
    assert (seen[-1].type, seen[-1].status, seen[-1].outcome) == ("run.done", "in-progress", None)
    assert [event.type for event in seen].count("run.done") == 1


async def test_a_run_that_serves_another_input_tells_both_runs_from_start_to_end(log_stores: Any, bench: Any, box: Any) -> None:
    async def leave(args: Any, ctx: Any) -> str:
        body = [msgspec.to_builtins(user("more"))]
        await log_stores.log_store.post("s", Post("in-2", "input", "2026-01-01T00:00:00.000Z", body=body))
        return "left"

    box.tool("leave", leave)
    seen: list[Any] = []
    await bench.run(log_stores, bench.Model(bench.Calls("leave"), "one", "two"), box.tools, on_event=seen.append)
    ends = [(event.type, event.run if event.type == "run.start" else event.finish_reason) for event in seen if event.type[:4] == "run."]
    assert ends == [("run.start", 1), ("run.done", "stop"), ("run.start", 2), ("run.done", "stop")]
    assert (seen[0].type, seen[-1].type) == ("run.start", "run.done")
    assert [event.input_id for event in seen if event.type == "input.applied"][-1] == "in-2"
    assert [event.seq for event in seen] == list(range(len(seen)))


async def test_what_comes_behind_the_end_of_a_run_and_begins_no_other_is_not_told(log_stores: Any, bench: Any, box: Any) -> None:
    """The last event is the end of the run; what waits behind it stands in the log."""
    seen: list[Any] = []

    async def leave(args: Any) -> bool:
        body = [msgspec.to_builtins(user("more"))]
        await log_stores.log_store.post("s", Post("in-2", "input", "2026-01-01T00:00:00.000Z", body=body))
        return True  # a person must decide, so the input waits behind the pause

    box.tool("pay", needs_approval=leave)
    await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools, on_event=lambda event: seen.append(event.type))
    assert (await read_session(log_stores.again().log_store, "s")).waiting == ("in-2",)
    assert (seen[-1], seen.count("run.done")) == ("run.done", 1)


async def test_a_listener_that_fails_stops_nothing_and_misses_nothing(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    box.tool("book")
    heard: list[str] = []

    def listen(event: Any) -> None:
        heard.append(event.type)
        raise RuntimeError("the screen is gone")

    run = stream(store, bench.Model(bench.Calls("book"), "done"), box.tools, on_event=listen)
    seen = [event.type async for event in run]
    assert (await run.result()).text == "done"
    assert heard == seen
    assert [record.name for record in caplog.records] == ["lousho"], "it is said once"


async def test_a_stream_that_is_left_goes_on_and_is_saved(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    run = stream(store, bench.Model(bench.Calls("book"), "done"), box.tools)
    async for event in run:
        if event.type == "step.start":
            break
    assert (await run.result()).text == "done"
    assert (await store.again().saved()).status == "finished"


async def test_a_stream_that_nobody_holds_any_more_goes_on(store: Any, bench: Any, box: Any) -> None:
    go = asyncio.Event()
    box.tool("late", lambda args, ctx: go.wait())
    async for _ in stream(store, bench.Model(bench.Calls("late"), "done"), box.tools):
        break
    gc.collect()
    await bench.until(lambda: box.ran)
    gc.collect()
    go.set()
    async with asyncio.timeout(30):
        while (saved := await store.again().saved()) is None or saved.status != "finished":
            await asyncio.sleep(0)


async def test_a_stream_is_aborted_and_saved(store: Any, bench: Any, box: Any) -> None:
    box.tool("late", lambda args, ctx: ctx.signal.wait())
    run = stream(store, bench.Model(bench.Calls("late")), box.tools)
    events = []
    async for event in run:
        events.append(event.type)
        if event.type == "tool.start":
            result = await run.abort()
    assert (result.finish_reason, result.outcome) == ("aborted", "aborted")
    assert (await store.again().saved()).finish_reason == "aborted"
    assert events[-1] == "run.done"
    assert await run.abort() == result, "it has ended"


async def test_a_signal_of_the_callers_own_still_stops_a_stream(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("book", lambda args, ctx: controller.abort())
    run = stream(store, bench.Model(bench.Calls("book", "book")), box.tools, signal=controller.signal)
    assert (await run.result()).outcome == "aborted"


async def test_nothing_is_told_where_nobody_listens(store: Any, bench: Any, box: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events cost nothing then."""
    made: list[Any] = []
    monkeypatch.setattr(Teller, "of", lambda *args: made.append(args))
    box.tool("book")
    assert (await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools)).text == "done"
    assert made == []


class InPieces:
    """A sub-agent's model that tells its answer in a piece, and ends once all that it was asked has begun."""

    name, model = "in pieces", None

    def __init__(self) -> None:
        self.all = asyncio.Event()
        self.asked = 0

    async def stream(self, request: Any) -> Any:
        said, self.asked = request.messages[-1].text, self.asked + 1
        if said.startswith("told"):
            yield TextDelta(said)
        if self.asked == 3:
            self.all.set()
        await self.all.wait()
        yield Answer(Message(role="assistant", content=said), usage=CallUsage(1, 1))


async def test_the_texts_of_one_sub_agent_called_twice_are_told_once_each(log_stores: Any, bench: Any) -> None:
    seen: list[Any] = []
    lead = bench.Model(bench.Calls(("scout", {"input": "told one"}), ("scout", {"input": "whole two"}), ("scout", {"input": "told"})), "ok")
    sub = {"scout": SubAgent({"name": "scout"}, provider=InPieces())}
    await bench.run(log_stores, lead, subagents=sub, on_event=seen.append)
    assert sorted(event.text for event in seen if isinstance(event, e.TextDelta)) == ["ok", "told", "told one", "whole two"]


async def test_an_answer_whose_only_piece_is_empty_is_told(log_stores: Any, bench: Any) -> None:
    class Empty:
        name, model = "empty", None

        async def stream(self, request: Any) -> Any:
            yield TextDelta("")
            yield Answer(Message(role="assistant", content="all of it"), usage=CallUsage(1, 1))

    seen: list[Any] = []
    await bench.run(log_stores, Empty(), on_event=seen.append)
    assert "".join(event.text for event in seen if isinstance(event, e.TextDelta)) == "all of it"
