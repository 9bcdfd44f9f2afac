"""Forks."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.domain.messages import Message, user
from lousho_cli.errors import ConfigurationError, NotFoundError, SDKError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.histories import get_checkpoint_history


async def fork(stores: Any, step: Any = 1, patch: Any = None, new: Any = None, session_id: str = "s") -> Any:
    return await AgentExecutor.fork(session_id, step, stores.checkpoints, patch, new)


async def trip(stores: Any, bench: Any, box: Any, **options: Any) -> Any:
    """A run of two tool turns and an answer."""
    box.tool("book")
    model = bench.Model(bench.Calls("book", "book"), bench.Calls("book"), "done")
    return await bench.run(stores, model, box.tools, tool_concurrency=1, **options)


async def frozen(stores: Any, session_id: str = "s") -> Any:
    """Everything that is stored of a session."""
    kept = [await get_checkpoint_history(stores.checkpoints, session_id), await stores.saved(session_id)]
    if stores.log_store:
        kept.append((await stores.log_store.read(session_id)).batches)
    return kept


async def test_de_094_default_ids_are_numbered(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    assert [(await fork(ringed)).session_id for _ in range(3)] == ["s.fork-1", "s.fork-2", "s.fork-3"]


async def test_de_095_the_source_stays_as_it_was(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    before = await frozen(ringed)
    patch = {"tool_result": {"tool_call_id": "c1", "result": "rain"}, "append_input": "pack a coat", "business_state": 1}
    made = await fork(ringed, 1, patch)
    await bench.run(ringed, bench.Model(None, bench.Calls("book"), "else"), box.tools, [], session_id=made.session_id)
    assert await frozen(ringed.again()) == before


async def test_de_095_not_by_a_byte(bench: Any, box: Any, tmp_path: Any) -> None:
    stores = bench.file(tmp_path)
    await trip(stores, bench, box)
    folder = tmp_path / ".lousho" / "sessions" / "s"
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    made = await fork(stores.again())
    await bench.run(stores, bench.Model(None, "else"), box.tools, [], session_id=made.session_id)
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


async def test_de_096_a_fork_is_in_progress_and_keeps_step_and_usage(ringed: Any, bench: Any, box: Any) -> None:
    result = await trip(ringed, bench, box, business_state={"k": 1})
    made = await fork(ringed, 2)
    saved = await ringed.again().saved(made.session_id)
    assert (saved.status, saved.step_index, saved.approval_id, saved.session_id) == ("in-progress", 2, None, "s.fork-1")
    assert (saved.usage.model_calls, saved.business_state) == (2, {"k": 1})
    assert saved.step_usage == result.step_usage[:2]
    assert saved.agent_fingerprint == (await ringed.saved()).agent_fingerprint


async def test_de_097_a_result_is_replaced_in_place(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    made = await fork(ringed, 1, {"tool_result": {"tool_call_id": "c1", "result": {"forecast": "rain"}}})
    source = next(entry for entry in await get_checkpoint_history(ringed.checkpoints, "s") if entry.step == 1).checkpoint
    changed = [(a, b) for a, b in zip(source.messages, made.checkpoint.messages, strict=True) if a != b]
    ((old, new),) = changed
    assert (new.role, new.tool_call_id, new.tool_name, new.content) == ("tool", "c1", "book", '{"forecast":"rain"}')
    assert old.tool_call_id == "c1"


async def test_de_098_a_result_for_an_open_call_keeps_the_tool_from_running(ringed: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> None:
        raise bench.Killed

    box.tool("die", die)
    box.tool("book")
    await bench.dies(bench.run(ringed, bench.Model(bench.Calls("die", "book")), box.tools, tool_concurrency=1))
    made = await fork(ringed, 1, {"tool_result": {"tool_call_id": "c1", "result": "patched"}})
    model = bench.Model(None, "done")
    result = await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id)
    assert bench.result(result.messages, "c1") == "patched"
    assert box.ran == ["c1", "c2"]
    assert bench.shape(model.asked[0])[3:] == ["result:c1", "result:c2"]


async def test_de_099_an_unknown_call_is_refused(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    with pytest.raises(ConfigurationError) as raised:
        await fork(ringed, 1, {"tool_result": {"tool_call_id": "c9", "result": 1}})
    assert raised.value.field == "patch.tool_result"
    assert "c1" in raised.value.hint
    assert await ringed.saved("s.fork-1") is None


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"tool_results": 1}, "patch.tool_results"),
        ({"tool_result": {"tool_call_id": "c1"}}, "patch.tool_result"),
        ({"append_input": 5}, "patch.append_input"),
        ({"messages": lambda messages: [{"role": "robot"}]}, "input"),
    ],
)
async def test_a_wrong_patch_is_refused(ringed: Any, bench: Any, box: Any, patch: Any, field: str) -> None:
    await trip(ringed, bench, box)
    with pytest.raises(ConfigurationError) as raised:
        await fork(ringed, 1, patch)
    assert raised.value.field == field
    assert await ringed.saved("s.fork-1") is None


async def test_de_100_appended_input_comes_behind_pending_results(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    first = (await get_checkpoint_history(ringed.checkpoints, "s"))[-1]
    assert bench.shape(first.checkpoint.messages)[-1] == "calls:c1+c2"
    made = await fork(ringed, "1.1", {"append_input": "hurry"})
    model = bench.Model(None, "done")
    await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id)
    assert bench.shape(model.asked[0])[2:] == ["calls:c1+c2", "result:c1", "result:c2", "user:hurry"]


async def test_de_101_the_parts_of_a_patch_come_in_their_order(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    patch = {
        "append_input": "last",
        "tool_result": {"tool_call_id": "c2", "result": "two"},
        "business_state": {"k": 2},
        "messages": lambda messages: [user("first"), *[m for m in messages if m.role != "user"]],
    }
    made = await fork(ringed, 1, patch)
    assert bench.shape(made.checkpoint.messages) == [
        "user:first",
        "system:Be brief.",
        "calls:c1+c2",
        "result:c1",
        "result:c2",
        "user:last",
    ]
    assert bench.result(made.checkpoint.messages, "c2") == "two"
    assert made.checkpoint.business_state == {"k": 2}


async def test_de_102_a_null_state_in_the_patch_replaces(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box, business_state={"k": 1})
    assert (await fork(ringed)).checkpoint.business_state == {"k": 1}
    assert (await fork(ringed, 1, {"business_state": None})).checkpoint.business_state is None


@pytest.mark.parametrize("taken", ["other", "s", "s.fork-1"])
async def test_de_103_a_taken_id_is_refused(ringed: Any, bench: Any, box: Any, taken: str) -> None:
    await trip(ringed, bench, box)
    await bench.run(ringed, bench.Model("hello"), session_id="other")
    await fork(ringed)
    before = await frozen(ringed, taken)
    with pytest.raises(ConfigurationError) as raised:
        await fork(ringed, 1, None, taken)
    assert raised.value.field == "new_session_id"
    assert await frozen(ringed, taken) == before


async def test_de_103_a_free_id_is_taken(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    assert (await fork(ringed, 1, None, "mine")).session_id == "mine"
    assert (await ringed.again().saved("mine")).step_index == 1


@pytest.mark.parametrize(("session_id", "step", "kept"), [("s", 9, ("1", "2", "3")), ("nobody", 1, ())])
async def test_de_104_a_missing_step_lists_those_kept(ringed: Any, bench: Any, box: Any, session_id: str, step: int, kept: Any) -> None:
    await trip(ringed, bench, box)
    with pytest.raises(NotFoundError) as raised:
        await fork(ringed, step, session_id=session_id)
    assert (raised.value.code, raised.value.kept) == ("LOUSHO_CHECKPOINT_NOT_FOUND", kept)
    assert (", ".join(kept) or "none") in str(raised.value)


async def test_de_105_a_store_without_history_can_not_fork(bench: Any, box: Any) -> None:
    stores = bench.custom()
    await trip(stores, bench, box)
    with pytest.raises(ConfigurationError) as raised:
        await fork(stores)
    assert raised.value.field == "checkpoint_store"


async def test_de_106_a_fork_of_a_pause_gates_the_call_again(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    first = await bench.run(ringed, bench.Model(bench.Calls("pay")), box.tools)
    made = await fork(ringed)
    assert (made.checkpoint.status, made.checkpoint.approval_id) == ("in-progress", None)
    again = await bench.run(ringed.again(), bench.Model(), box.tools, [], session_id=made.session_id)
    assert again.finish_reason == "awaiting-approval"
    assert again.approval_id != first.approval_id
    done = await bench.decide(ringed.again(), again.approval_id, bench.Model(None, "forked"), box.tools)
    assert (done.text, done.session_id, box.ran) == ("forked", "s.fork-1", ["c1"])
    assert (await ringed.saved()).status == "awaiting-approval"


async def test_a_decision_is_not_carried_into_a_fork(log_stores: Any, bench: Any, box: Any) -> None:
    """A fork has no open waits and no answers to them: the call is gated again there."""

    def die(args: Any, ctx: Any) -> None:
        raise bench.Killed

    box.tool("pay", die, needs_approval=True)
    first = await bench.run(log_stores, bench.Model(bench.Calls("pay")), box.tools)
    await bench.dies(bench.decide(log_stores, first.approval_id, bench.Model(), box.tools))
    made = await fork(log_stores.again())
    again = await bench.run(log_stores.again(), bench.Model(), box.tools, [], session_id=made.session_id)
    assert again.finish_reason == "awaiting-approval"


async def test_de_107_the_forks_budget_is_what_was_left(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    made = await fork(ringed, 1)
    model = bench.Model(None, bench.Calls("book"), "too late")
    result = await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id, max_steps=2)
    assert (len(model.asked), result.steps, result.finish_reason) == (1, 2, "max-steps")


async def test_de_108_the_newest_entry_of_the_step_is_used(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    made = await fork(ringed, 1)
    assert bench.shape(made.checkpoint.messages)[2:] == ["calls:c1+c2", "result:c1", "result:c2"]


async def test_fork_points_are_addresses(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.5: an entry of a step, a step of a run, any seq; also between the calls of one batch."""
    await trip(log_stores, bench, box)
    await bench.run(log_stores, bench.Model(None, None, None, bench.Calls("book"), "two"), box.tools, "next")
    between = await fork(log_stores, "1/1.2")
    assert bench.shape(between.checkpoint.messages)[2:] == ["calls:c1+c2", "result:c1"]
    newest = await fork(log_stores, 1)
    assert bench.shape(newest.checkpoint.messages)[-1] == "result:c4"
    earlier = await fork(log_stores, "1/1")
    assert bench.shape(earlier.checkpoint.messages)[-1] == "result:c2"
    seq = next(entry.seq for entry in await log_stores.checkpoints.history("s") if entry.address == "1/2.1")
    assert (await fork(log_stores, f"#{seq}")).checkpoint.messages == (await fork(log_stores, "1/2.1")).checkpoint.messages
    box.log.clear()
    result = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [], session_id=between.session_id)
    assert (box.ran, result.text) == (["c2"], "done")


@pytest.mark.parametrize("point", ["#0", "#9999", "9/1", "1.9"])
async def test_a_point_that_is_not_there_says_so(log_stores: Any, bench: Any, box: Any, point: str) -> None:
    await trip(log_stores, bench, box)
    with pytest.raises(NotFoundError) as raised:
        await fork(log_stores, point)
    assert raised.value.code == "LOUSHO_CHECKPOINT_NOT_FOUND"


async def test_a_cut_in_front_of_the_first_turn_can_be_forked(log_stores: Any, bench: Any, box: Any) -> None:
    await trip(log_stores, bench, box)
    made = await fork(log_stores, "#1", {"append_input": "and quickly"})
    result = await bench.run(log_stores.again(), bench.Model("done"), box.tools, [], session_id=made.session_id)
    assert bench.shape(result.messages) == ["system:Be brief.", "user:go", "user:and quickly", "assistant:done"]


async def test_de_171_a_fork_runs_its_open_calls_first_and_no_other(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    box.log.clear()
    made = await fork(ringed, "1.2")
    model = bench.Model(None, "done")
    await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id)
    assert (box.ran, len(model.asked)) == (["c2"], 1)


async def test_de_172_a_step_dropped_from_the_ring_lists_the_rest(bench: Any, box: Any) -> None:
    stores = bench.memory(history_limit=2)
    await trip(stores, bench, box)
    with pytest.raises(SDKError) as raised:
        await fork(stores, 1)
    assert raised.value.code == "LOUSHO_CHECKPOINT_NOT_FOUND"
    assert "Kept steps: 2, 3." in raised.value.hint


async def test_de_174_without_a_patch_the_messages_are_the_sources(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    entry = next(entry for entry in await get_checkpoint_history(ringed.checkpoints, "s") if entry.step == 2)
    assert (await fork(ringed, 2)).checkpoint.messages == entry.checkpoint.messages


async def test_de_175_a_messages_patch_gets_the_transcript_and_gives_the_forks(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    given: list[Any] = []

    def rewrite(messages: list[Message]) -> Any:
        given.append(list(messages))
        messages.clear()
        return [{"role": "user", "content": "else"}]

    made = await fork(ringed, 1, {"messages": rewrite})
    assert bench.shape(given[0])[-1] == "result:c2"
    assert made.checkpoint.messages == (user("else"),)
    assert (await ringed.again().saved(made.session_id)).messages == (user("else"),)


async def test_de_176_load_gives_the_checkpoint_that_fork_returned(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box)
    made = await fork(ringed, 2, {"append_input": "more"})
    assert (made.session_id, made.step) == ("s.fork-1", 2)
    assert await ringed.again().saved("s.fork-1") == made.checkpoint


async def test_de_177_a_fork_of_the_end_ends_at_once_with_its_answer(ringed: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.5: nothing is pending, so no model is asked."""
    await trip(ringed, bench, box)
    made = await fork(ringed, 3)
    assert made.checkpoint.status == "in-progress"
    model = bench.Model()
    result = await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id)
    assert (result.text, result.status, result.finish_reason, model.asked) == ("done", "finished", "stop", [])


async def test_case_041_nothing_is_shared_with_the_source(ringed: Any, bench: Any, box: Any) -> None:
    await trip(ringed, bench, box, business_state={"a": {"b": [1]}})
    made = await fork(ringed)
    made.checkpoint.business_state["a"]["b"].append(2)
    assert (await ringed.saved()).business_state == {"a": {"b": [1]}}
    assert (await ringed.again().saved()).business_state == {"a": {"b": [1]}}


async def test_a_fork_survives_its_parent(log_stores: Any, bench: Any, box: Any) -> None:
    """It holds its whole state and never reads its parent again."""
    await trip(log_stores, bench, box)
    made = await fork(log_stores, 1)
    await log_stores.checkpoints.delete("s")
    result = await bench.run(log_stores.again(), bench.Model(None, "alone"), box.tools, [], session_id=made.session_id)
    assert result.text == "alone"


async def test_a_fork_forgets_what_was_started(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 3: a call that was cut in the parent was never begun in the fork."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("charge", die, replay="never")
    await bench.dies(bench.run(log_stores, bench.Model(bench.Calls("charge")), box.tools))
    made = await fork(log_stores)
    result = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [], session_id=made.session_id)
    assert bench.result(result.messages, "c1") == "ran"


async def test_what_a_patch_leaves_behind_is_told(log_stores: Any, bench: Any, box: Any) -> None:
    await trip(log_stores, bench, box)
    made = await fork(log_stores, 3, {"tool_result": {"tool_call_id": "c1", "result": "rain"}})
    assert (made.left_behind.messages, made.left_behind.step) == (3, 1)
    near = await fork(log_stores, 1, {"tool_result": {"tool_call_id": "c1", "result": "rain"}})
    assert near.left_behind is None


async def test_a_fork_whose_patch_breaks_the_pairing_is_repaired(ringed: Any, bench: Any, box: Any) -> None:
    """Invariant 3: the provider gets a valid transcript whatever a patch did."""
    await trip(ringed, bench, box)
    made = await fork(ringed, 2, {"messages": lambda messages: [m for m in messages if m.tool_call_id != "c1"]})
    model = bench.Model(None, None, "done")
    result = await bench.run(ringed.again(), model, box.tools, [], session_id=made.session_id)
    assert result.text == "done"
    assert bench.result(result.messages, "c1")["kind"] == "not-run"
