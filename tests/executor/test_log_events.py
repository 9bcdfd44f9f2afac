"""The events of a log: those its runs told, field by field, whoever reads them and whenever."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from warm_process import Popen, run

from lousho_cli import FileStore, session_events
from lousho_cli.domain.events import Event
from lousho_cli.errors import ConfigurationError, ProviderError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.input_queue import InputQueue
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.stores.file import sync

OF_THE_MOMENT = ("step.start", "reasoning.delta", "text.delta")
"""Told live and in no log; a log has larger pieces of text."""

PROCESS = Path(__file__).with_name("telling_process.py")


def without_moment(events: list[Any]) -> list[Any]:
    return [msgspec.structs.replace(event, seq=0) for event in events if event.type not in OF_THE_MOMENT]


async def read(stores: Any, **options: Any) -> list[Any]:
    return [event async for event in session_events(stores.checkpoints, "s", **options)]


async def the_same(stores: Any, live: list[Any]) -> list[Any]:
    """The events of the log, which are those that were told."""
    found = await read(stores.again())
    assert without_moment(found) == without_moment(live)
    return found


# Live and from the log


async def test_a_run_with_everything_that_tools_and_models_do(log_stores: Any, bench: Any, box: Any, clock: Any) -> None:
    def fails(args: Any, ctx: Any) -> None:
        clock.ms += 250
        raise ValueError("no")

    box.tool("book")
    box.tool("fail", fails)
    left = iter([ProviderError("busy", category="rate-limit", retryable=True)])
    model = bench.Model(lambda request: next(left, bench.Calls("book", "fail", "unknown", text="I look.")), bench.Calls("fail"), "done")
    live: list[Any] = []
    options = {"clock": clock, "on_event": live.append, "on_model_error": lambda error, count, chance: 1500}
    await bench.run(log_stores, model, box.tools, **options)
    found = await the_same(log_stores, live)
    assert [event.duration_ms for event in found if event.type == "tool.error" and event.name == "fail"] == [250, 250]
    assert [event.step for event in found if event.type == "step.saved"] == [1, 2, 3]
    texts = {step: "".join(e.text for e in found if e.type == "text.delta" and e.step == step) for step in (1, 3)}
    assert texts == {1: "I look.", 3: "done"}


async def test_a_pause_a_decision_and_the_next_message(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    live: list[Any] = []
    model = bench.Model(bench.Calls("pay", ("pay", {"n": 2})), "paid", "more")
    first = await bench.run(log_stores, model, box.tools, on_event=live.append)
    second = await bench.decide(log_stores.again(), first.approval_id, model, box.tools, options={"on_event": live.append})
    rejected = {"id": second.approval_id, "approved": False, "note": "too dear", "by": "ann"}
    await bench.decide(log_stores.again(), rejected, model, box.tools, options={"on_event": live.append})
    await bench.run(log_stores.again(), model, box.tools, "and?", on_event=live.append)
    found = await the_same(log_stores, live)
    assert [(event.run, event.attempt) for event in found if event.type == "run.start"] == [(1, 1), (1, 1), (1, 1), (2, 1)]
    assert [event.finish_reason for event in found if event.type == "run.done"] == [
        "awaiting-approval",
        "awaiting-approval",
        "stop",
        "stop",
    ]
    assert [(event.approved, event.by) for event in found if event.type == "approval.decided"] == [(True, None), (False, "ann")]


async def test_an_abort_a_failure_and_going_on(log_stores: Any, bench: Any, box: Any) -> None:
    controller, live = AbortController(), []

    async def stop(args: Any, ctx: Any) -> str:
        controller.abort()
        return "late"

    box.tool("stop", stop)
    model = bench.Model(bench.Calls("stop", "stop"), ProviderError("down", category="server"))
    await bench.run(log_stores, model, box.tools, signal=controller.signal, on_event=live.append)
    with pytest.raises(ProviderError):
        await bench.run(log_stores.again(), model, box.tools, [], on_event=live.append)
    await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [], on_event=live.append)
    found = await the_same(log_stores, live)
    ends = [(event.finish_reason, event.outcome) for event in found if event.type == "run.done"]
    assert ends == [("aborted", "aborted"), ("error", "failed"), ("stop", "completed")]
    assert [event.message for event in found if event.type == "error"] == ["down"]


async def test_a_run_that_was_cut_and_goes_on_with_another_agent(log_stores: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    live: list[Any] = []
    await bench.dies(bench.run(log_stores, bench.Model(bench.Calls("die")), box.tools, on_event=live.append))
    assert [event.type for event in live[-2:]] == ["error", "run.done"]
    del live[-2:]  # what the dying process told of its end is in no log
    changed = {"name": "agent", "prompt": "Be long."}
    await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, "and?", agent=changed, on_event=live.append)
    found = await the_same(log_stores, live)
    again = [event.type for event in found][
        [event.cursor for event in found].index(next(e.cursor for e in found if e.type == "agent.drift")) :
    ]
    assert again[:5] == ["run.start", "agent.drift", "input.queued", "input.applied", "tool.resume"]
    assert next(event for event in found if event.type == "agent.drift").instructions


async def test_input_that_joins_a_run_and_input_that_waits(log_stores: Any, bench: Any, box: Any) -> None:
    queue, live = InputQueue(), []

    async def send(args: Any, ctx: Any) -> str:
        await queue.send("and a boat", input_id="boat", by="ann")
        return "done"

    box.tool("work", send)
    model = bench.Model(bench.Calls("work"), "with a boat")
    await bench.run(log_stores, model, box.tools, input_queue=queue, on_event=live.append)
    found = await the_same(log_stores, live)
    assert [(event.type, event.joins) for event in found if event.type == "input.queued" and event.by] == [("input.queued", True)]
    assert [event.input_id for event in found if event.type == "input.applied"][-1] == "boat"


async def test_sub_agents_that_run_beside_each_other_and_one_that_waits(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("book", needs_approval=True)
    scout = SubAgent({"name": "scout"}, provider=bench.Model(bench.Calls("book", text="I look."), "sandy"), tools=box.tools)
    clerk = SubAgent({"name": "clerk"}, provider=bench.Model("noted"))
    lead = bench.Model(bench.Calls(("scout", {"input": "look"}), ("clerk", {"input": "note"})), "done")
    live: list[Any] = []
    options = {"subagents": {"scout": scout, "clerk": clerk}, "on_event": live.append}
    first = await bench.run(log_stores, lead, **options)
    await bench.decide(log_stores.again(), first.approval_id, lead, [], options=options)
    found = await the_same(log_stores, live)
    assert {event.path for event in found} == {(), ("scout",), ("clerk",)}
    assert {event.path for event in live if event.type == "step.start"} == {(), ("scout",), ("clerk",)}
    resumed = [(event.path, event.name) for event in found if event.type == "tool.resume"]
    assert resumed == [((), "scout")]
    assert [event.seq for event in live if event.seq == 0] and [event.seq for event in found] == list(range(len(found)))


# Readers


@pytest.fixture
async def told(log_stores: Any, bench: Any, box: Any) -> list[Any]:
    box.tool("book")
    box.tool("pay", needs_approval=True)
    model = bench.Model(bench.Calls("book", "book", text="I look."), bench.Calls("pay"), "done")
    first = await bench.run(log_stores, model, box.tools)
    await bench.decide(log_stores.again(), first.approval_id, model, box.tools)
    return await read(log_stores)


async def test_who_goes_on_behind_any_event_gets_exactly_the_rest(log_stores: Any, told: list[Any]) -> None:
    for number, event in enumerate(told, 1):
        rest = await read(log_stores, after=(event.cursor, event.index))
        assert [msgspec.structs.replace(one, seq=one.seq + number) for one in rest] == told[number:]


async def test_a_reader_of_a_finished_run_ends(log_stores: Any, told: list[Any]) -> None:
    async with asyncio.timeout(30):
        assert await read(log_stores.again(), follow=True) == told
    assert (told[0].type, told[-1].type) == ("run.start", "run.done")


@pytest.mark.parametrize("how", ["waits", "failed", "aborted"])
async def test_a_reader_of_a_run_that_may_go_on_waits_for_it(log_stores: Any, bench: Any, box: Any, how: str) -> None:
    controller = AbortController()
    box.tool("pay", lambda args, ctx: controller.abort() if how == "aborted" else None, needs_approval=how == "waits")
    broken = ProviderError("down", category="server") if how == "failed" else bench.Calls("pay")
    first = asyncio.ensure_future(bench.run(log_stores, bench.Model(broken), box.tools, signal=controller.signal))
    await asyncio.wait({first})
    events: list[Any] = []

    async def follow() -> None:
        async for event in session_events(log_stores.again().checkpoints, "s", follow=True):
            events.append(event)

    reader = asyncio.ensure_future(follow())
    await bench.until(lambda: events and events[-1].type == "run.done")
    known = len(events)
    assert not reader.done()
    if how == "waits":
        await bench.decide(log_stores.again(), first.result().approval_id, bench.Model(None, "done"), box.tools)
    else:
        await bench.run(log_stores.again(), bench.Model("done", "done"), box.tools, [])
    async with asyncio.timeout(30):
        await reader
    (done,) = [event for event in events[known:] if event.type == "run.done"]
    assert done.finish_reason == "stop"
    assert events[-1].type in ("run.done", "step.saved"), "what is durable may be known only behind the end"


async def test_a_log_that_is_deleted_has_ended(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools)
    async with asyncio.timeout(30):
        async for event in session_events(log_stores.again().checkpoints, "s", follow=True):
            if event.type == "run.done":
                assert await log_stores.log_store.delete("s")


async def test_an_unknown_session_has_no_events(log_stores: Any) -> None:
    assert [event async for event in session_events(log_stores.log_store, "nobody")] == []


async def test_a_store_without_logs_is_refused(bench: Any) -> None:
    with pytest.raises(ConfigurationError, match="keeps no log"):
        await anext(session_events(bench.PlainCheckpoints(), "s"))


async def test_what_is_damaged_is_named_where_it_is_missing(tmp_path: Path, bench: Any, box: Any) -> None:
    stores = bench.file(tmp_path)
    box.tool("book")
    await bench.run(stores, bench.Model(bench.Calls("book"), "done"), box.tools)
    before = await read(stores)
    log = tmp_path / ".lousho" / "sessions" / "s" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:1], b"x" + lines[1][1:], *lines[2:]]))
    events = await read(stores.again())
    (damage,) = [event for event in events if event.type == "warning"]
    assert (damage.about, damage.cursor, damage.session) == ("damage", 2, "s")
    places = [(event.cursor, event.index) for event in events]
    assert places == sorted(set(places))
    assert [event.type for event in events if event.cursor == 1] == [event.type for event in before if event.cursor == 1]


# What a second reader sees


async def test_an_answer_that_is_not_yet_durable_is_seen_and_not_called_saved(
    tmp_path: Path, bench: Any, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line stands in the file before it is synced, so another process reads it; that it is saved is told once it is."""
    stores, syncing, go = bench.file(tmp_path), threading.Event(), threading.Event()
    really, answered = sync.sync_data, []

    def slow(file: int) -> None:
        if answered and not go.is_set():
            syncing.set()
            assert go.wait(20)
        really(file)

    monkeypatch.setattr(sync, "sync_data", slow)
    monkeypatch.setattr(sync, "is_quick", lambda claims: False)
    box.tool("book")

    def answer(request: Any) -> Any:
        answered.append(True)
        return bench.Calls("book", text="I look.")

    live: list[Any] = []
    running = asyncio.ensure_future(bench.run(stores, bench.Model(answer, "done"), box.tools, on_event=live.append))
    await bench.until(syncing.is_set)
    seen = [event.type for event in await read(stores.again())]
    assert ("step.done" in seen, "step.saved" in seen, box.ran) == (True, False, [])
    assert not {"step.done", "step.saved"} & {event.type for event in live}
    go.set()
    await running
    saved = [event.step for event in await read(stores.again()) if event.type == "step.saved"]
    assert saved == [event.step for event in live if event.type == "step.saved"] == [1, 2]


async def test_the_last_answer_of_a_killed_owner_is_saved_once_the_next_one_says_so(tmp_path: Path, environ: dict[str, str]) -> None:
    store = FileStore(tmp_path / ".lousho")
    owner = Popen([sys.executable, str(PROCESS), str(tmp_path), "hang"], env=environ)
    events: list[Any] = []
    async with asyncio.timeout(20):
        async for event in session_events(store, "s", follow=True):
            events.append(event)
            if event.type == "tool.start" and owner.poll() is None:
                owner.send_signal(signal.SIGKILL)
                owner.wait()
                assert [one.type for one in [e async for e in session_events(store, "s")]].count("step.saved") == 0
                run([sys.executable, str(PROCESS), str(tmp_path), "run"], env=environ, check=True, timeout=20)
    assert [event.step for event in events if event.type == "step.saved"] == [1, 2]
    assert [(event.attempt) for event in events if event.type == "run.start"] == [1, 2]
    assert [event.type for event in events if event.type.startswith("tool.")] == ["tool.start", "tool.resume", "tool.done"]
    places = [(event.cursor, event.index) for event in events]
    assert places == sorted(set(places))


async def test_a_second_process_sees_each_step_once_and_the_text_as_it_comes(tmp_path: Path, environ: dict[str, str]) -> None:
    store = FileStore(tmp_path / ".lousho")
    writer = Popen([sys.executable, str(PROCESS), str(tmp_path), "talk"], env=environ, stdout=subprocess.PIPE)
    events: list[Any] = []
    async with asyncio.timeout(30):
        async for event in _until_done(store):
            events.append(event)
            if event.type == "step.saved" and event.step == 1:
                assert writer.poll() is None, "it goes on while it is read"
    out, _ = writer.communicate(timeout=20)
    live = [json.loads(line) for line in out.splitlines()]
    for step, text in ((1, "one piece after another, " * 8), (2, "and then the end. " * 8)):
        pieces = [event.text for event in events if event.type == "text.delta" and event.step == step]
        assert "".join(pieces) == text
        assert len(pieces) > 1, "it was seen while it was written"
    assert [event.step for event in events if event.type == "step.saved"] == [1, 2]
    told = [(event.type, event.step, event.timestamp) for event in events if event.type not in OF_THE_MOMENT]
    kept = [(line["type"], line.get("step"), line["timestamp"]) for line in live if line["type"] not in OF_THE_MOMENT]
    assert sorted(told, key=str) == sorted(kept, key=str)
    assert [one for one in told if one[0] != "step.saved"] == [one for one in kept if one[0] != "step.saved"]
    whole = [event async for event in session_events(store, "s")]
    assert [(event.type, event.step, event.timestamp) for event in whole if event.type not in OF_THE_MOMENT] == kept


async def _until_done(store: FileStore) -> AsyncIterator[Event]:
    async for event in session_events(store, "s", follow=True):
        yield event


@pytest.fixture
def environ() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
