"""What is stored, and when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.errors import PropagatingToolError, ProviderError, StorageError
from lousho_cli.executor.abort import AbortController


async def test_de_001_a_tool_starts_with_its_turn_stored(store: Any, bench: Any, box: Any) -> None:
    seen: list[Any] = []

    async def look(args: Any, ctx: Any) -> str:
        seen.append(await store.again().saved())
        return "ok"

    box.tool("look", look)
    await bench.run(store, bench.Model(bench.Calls("look"), "done"), box.tools)
    (at_start,) = seen
    assert (at_start.status, at_start.step_index) == ("in-progress", 1)
    assert bench.shape(at_start.messages) == ["system:Be brief.", "user:go", "calls:c1"]


async def test_de_002_each_recorded_result_is_stored_in_progress(store: Any, bench: Any, box: Any) -> None:
    seen: list[Any] = []

    async def look(args: Any, ctx: Any) -> str:
        seen.append(await store.saved())
        return ctx.tool_call_id

    box.tool("look", look)
    model = bench.Model(bench.Calls("look", "look", "look"), "done")
    await bench.run(store, model, box.tools, tool_concurrency=1)
    assert [bench.shape(at.messages)[3:] for at in seen] == [[], ["result:c1"], ["result:c1", "result:c2"]]
    assert {at.status for at in seen} == {"in-progress"}


async def test_de_003_a_finished_run_is_stored_as_its_result(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools)
    saved = await store.again().saved()
    assert saved.status == "finished"
    assert saved.messages == result.messages
    assert (saved.step_index, saved.usage, saved.tool_calls) == (result.steps, result.usage, result.tool_calls)
    assert result.text == "done"


async def test_de_004_a_spent_budget_is_stored_as_finished(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("book"), bench.Calls("book")), box.tools, max_steps=2)
    saved = await store.saved()
    assert (saved.status, saved.finish_reason) == ("finished", "max-steps")
    assert (result.finish_reason, result.steps, box.ran) == ("max-steps", 2, ["c1", "c2"])


async def test_de_005_an_aborted_run_is_stored_in_progress(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("stop", lambda args, ctx: controller.abort())
    result = await bench.run(store, bench.Model(bench.Calls("stop"), "never"), box.tools, signal=controller.signal)
    saved = await store.saved()
    assert (result.finish_reason, saved.finish_reason, saved.status) == ("aborted", "aborted", "in-progress")


async def test_de_006_a_paused_run_is_stored_with_its_approval(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    result = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools)
    saved = await store.again().saved()
    assert (saved.status, saved.approval_id, saved.approval_kind) == ("awaiting-approval", result.approval_id, "tool")
    assert result.approval_id
    assert (result.finish_reason, result.text, box.ran) == ("awaiting-approval", "", [])


async def test_de_007_a_provider_error_leaves_the_record_as_it_was(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    before: list[Any] = []

    async def fail(request: Any) -> Any:
        before.append(await store.saved())
        return ProviderError("down", category="server", retryable=True)

    with pytest.raises(ProviderError):
        await bench.run(store, bench.Model(bench.Calls("book"), fail), box.tools)
    assert await store.saved() == before[0]
    assert before[0].status == "in-progress"


async def test_de_009_a_fatal_tool_error_rejects_and_keeps_earlier_results(store: Any, bench: Any, box: Any) -> None:
    def stop(args: Any, ctx: Any) -> None:
        raise PropagatingToolError("stop here")

    box.tool("book")
    box.tool("stop", stop)
    model = bench.Model(bench.Calls("book", "stop", "book"), "done")
    with pytest.raises(PropagatingToolError, match="stop here"):
        await bench.run(store, model, box.tools, tool_concurrency=1)
    saved = await store.saved()
    assert saved.status == "in-progress"
    assert bench.shape(saved.messages)[3:] == ["result:c1"]
    assert box.ran == ["c1", "c2"]


async def test_de_010_a_run_that_fails_at_once_leaves_no_checkpoint(store: Any, bench: Any) -> None:
    """The log holds the input by then (DESIGN 6.7), but that is no mark: load is None, history is []."""
    with pytest.raises(ProviderError):
        await bench.run(store, bench.Model(ProviderError("down")))
    assert await store.saved() is None
    if store.log_store:
        assert await store.checkpoints.history("s") == []
        head = await store.log_store.head("s")
        assert (head.step, head.status, head.outcome) == (0, "in-progress", "failed")


async def test_de_011_without_id_or_store_nothing_is_stored(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    model = bench.Model(bench.Calls("book"), "done")
    no_id = await bench.run(store, model, box.tools, session_id=None)
    no_store = await bench.run(store, model, box.tools, checkpoint_store=None, session_id="s")
    assert (no_id.text, no_store.text) == ("done", "done")
    assert await store.saved() is None
    if store.log_store:
        assert (await store.log_store.heads()).heads == ()


async def test_de_012_saves_arrive_in_order_on_a_slow_store(bench: Any, box: Any) -> None:
    class Slow(bench.PlainCheckpoints):
        async def save(self, session_id: str, checkpoint: Any) -> None:
            for _ in range(len(self.saved) % 3 * 5):
                await asyncio.sleep(0)
            await super().save(session_id, checkpoint)

    stores = bench.custom(Slow)
    box.tool("book")
    turns = [bench.Calls("book", "book") for _ in range(4)]
    result = await bench.run(stores, bench.Model(*turns, "done"), box.tools)
    lengths = [len(checkpoint.messages) for checkpoint in stores.checkpoints.saved]
    assert lengths == sorted(lengths)
    assert (await stores.saved()).messages == result.messages


@pytest.mark.parametrize("error", [StorageError("disk full"), OSError("connection lost")])
async def test_de_013_a_failed_save_rejects_and_the_turn_is_not_asked_again(bench: Any, box: Any, error: Exception) -> None:
    class Failing(bench.PlainCheckpoints):
        broken = False

        async def save(self, session_id: str, checkpoint: Any) -> None:
            if checkpoint.messages[-1].role == "tool" and Failing.broken:
                raise error
            await super().save(session_id, checkpoint)

    stores = bench.custom(Failing)
    box.tool("book")
    model = bench.Model(bench.Calls("book"), "done")
    Failing.broken = True
    with pytest.raises(type(error)):
        await bench.run(stores, model, box.tools)
    assert bench.shape((await stores.saved()).messages)[-1] == "calls:c1"
    Failing.broken = False
    result = await bench.run(stores, model, box.tools, [])
    assert (result.text, len(model.asked), box.ran) == ("done", 2, ["c1", "c1"])


async def test_de_013_a_failed_append_rejects_and_the_next_run_goes_on(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    model = bench.Model(bench.Calls("book"), "done")
    real, count = log_stores.log_store.append, 0

    async def append(*args: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise StorageError("disk full")
        await real(*args, **options)

    log_stores.log_store.append = append
    with pytest.raises(StorageError):
        await bench.run(log_stores, model, box.tools)
    log_stores.log_store.append = real
    result = await bench.run(log_stores.again(), model, box.tools, [])
    assert (result.text, len(model.asked)) == ("done", 2)


async def test_de_141_a_loaded_checkpoint_has_all_its_parts(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    result = await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools, business_state={"cart": [1]})
    saved = await store.again().saved()
    assert saved.messages == result.messages
    assert (saved.step_index, saved.status, saved.business_state) == (2, "finished", {"cart": [1]})
    assert saved.usage == result.usage
    assert saved.usage.model_calls == 2
    assert [used.step for used in saved.step_usage] == [1, 2]
    assert saved.agent_fingerprint.model == "m-1"
    assert sorted(saved.agent_fingerprint.tools) == ["book"]
    assert saved.agent_id == "agent"


async def test_de_147_the_same_script_leaves_the_same_saves_everywhere(bench: Any, tmp_path: Any) -> None:
    sequences = {}
    kinds = {
        "memory": bench.memory(),
        "file": bench.file(tmp_path),
        "custom": bench.custom(bench.PlainWithHistory, bench.PlainWithLoad),
    }
    for name, stores in kinds.items():
        box = bench.Box()
        box.tool("book")
        box.tool("pay", needs_approval=True)
        model = bench.Model(bench.Calls("book", "book"), bench.Calls("pay", "book"), "done", "and more")
        paused = await bench.run(stores, model, box.tools, tool_concurrency=1)
        await bench.decide(stores, paused.approval_id, model, box.tools, options={"tool_concurrency": 1})
        await bench.run(stores, model, box.tools, "next")
        ring = await stores.checkpoints.history("s")
        sequences[name] = [(entry["step"], entry["status"]) if isinstance(entry, dict) else (entry.step, entry.status) for entry in ring]
    assert sequences["memory"] == sequences["file"] == sequences["custom"]
    assert sequences["memory"][::-1] == [
        (1, "in-progress"),
        (1, "in-progress"),
        (1, "in-progress"),
        (2, "in-progress"),
        (2, "awaiting-approval"),
        (2, "in-progress"),  # the decision, before the tool runs
        (2, "in-progress"),
        (2, "in-progress"),
        (3, "finished"),
        (1, "finished"),
    ]


async def test_de_148_three_plain_methods_are_enough(bench: Any, box: Any) -> None:
    """``delete`` takes nothing but the id: a keyword would be a TypeError."""
    stores = bench.custom()
    box.tool("book")
    box.tool("pay", needs_approval=True)
    model = bench.Model(bench.Calls("book"), bench.Calls("pay"), "done", "and more")
    paused = await bench.run(stores, model, box.tools)
    done = await bench.decide(stores.again(), paused.approval_id, model, box.tools)
    more = await bench.run(stores.again(), model, box.tools, "next")
    assert (done.text, more.text, box.ran) == ("done", "and more", ["c1", "c2"])
    await stores.checkpoints.delete("s")
    assert await stores.saved() is None


async def test_a_failed_pause_leaves_no_list_that_shows_one(log_stores: Any, bench: Any, box: Any) -> None:
    """What was decided but never written is in no cache either: a list shows what the log says."""
    box.tool("pay", needs_approval=True)
    with pytest.raises(Exception, match="nowhere to wait"):
        await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools, approval_store=None)
    head = await log_stores.again().log_store.head("s")
    assert (head.status, head.waits_for) == ("in-progress", None)
