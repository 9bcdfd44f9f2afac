"""What a run leaves on every store, and that it goes on from there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, NotFoundError, SessionAwaitingApprovalError, StorageError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.histories import get_checkpoint_history

SEQUENCE = [
    (1, "in-progress"),
    (1, "in-progress"),
    (2, "in-progress"),
    (2, "in-progress"),
    (2, "awaiting-approval"),
    (2, "in-progress"),
    (2, "in-progress"),
    (3, "finished"),
    (1, "finished"),
]


async def whole(kind: Any, bench: Any) -> Any:
    """A run that pauses, is approved, and gets another message; each by a process of its own."""
    first = await bench.run(kind)
    with pytest.raises(SessionAwaitingApprovalError):
        await bench.run(kind.again(), "hello?")
    await bench.approve(kind.again(), first.approval_id)
    return await bench.run(kind.again(), "Thanks")


async def test_de_147_the_same_script_leaves_the_same_sequence(any_store: Any, bench: Any) -> None:
    result = await whole(any_store, bench)
    assert result.text == "You are welcome."
    if any_store.name == "custom":
        saves = [json.loads(text) for text in any_store.checkpoints.rings["s"]]
        assert [(save["step"], save["status"]) for save in saves] == SEQUENCE
    else:
        entries = await get_checkpoint_history(any_store.again().checkpoints, "s")
        assert [(entry.step, entry.status) for entry in reversed(entries)] == SEQUENCE
    assert bench.ran == ["weather", "note", "book"]
    assert bench.shape(result.messages)[-6:] == ["n+b", "n", "b", "Booked.", "Thanks", "You are welcome."]


async def test_de_148_three_methods_are_enough(any_store: Any, bench: Any) -> None:
    result = await whole(any_store, bench)
    await any_store.checkpoints.delete("s")
    assert result.text == "You are welcome."
    assert await any_store.again().saved() is None
    again = await bench.run(any_store)
    assert (again.finish_reason, again.steps) == ("awaiting-approval", 2)


async def test_de_083_105_without_history_there_is_none_and_no_fork(ringless: Any, bench: Any) -> None:
    await bench.run(ringless)
    assert await get_checkpoint_history(ringless.checkpoints, "s") is None
    with pytest.raises(ConfigurationError):
        await AgentExecutor.fork("s", 1, ringless.checkpoints)


async def test_de_013_a_save_that_fails_is_an_error_and_the_last_good_one_stands(plain: Any, bench: Any) -> None:
    save = plain.checkpoints.save
    seen: list[int] = []

    async def failing(session_id: str, checkpoint: Any) -> None:
        seen.append(checkpoint.step_index)
        if len(seen) == 2:
            raise StorageError("the disk is full")
        await save(session_id, checkpoint)

    plain.checkpoints.save = failing
    with pytest.raises(StorageError):
        await bench.run(plain)
    assert bench.shape((await plain.again().saved()).messages) == ["Be brief.", "go", "w"]
    result = await bench.run(plain, [])
    assert result.finish_reason == "awaiting-approval"
    assert bench.ran == ["weather", "weather", "note"]


# Forks


async def forkable(kind: Any, bench: Any) -> None:
    first = await bench.run(kind)
    await bench.approve(kind, first.approval_id)
    kind.again()


async def test_de_094_095_096_a_fork_is_a_session_of_its_own(ringed: Any, bench: Any) -> None:
    await forkable(ringed, bench)
    before = [await ringed.saved(), await get_checkpoint_history(ringed.checkpoints, "s")]
    fork = await AgentExecutor.fork("s", 2, ringed.checkpoints)
    assert (fork.session_id, fork.step) == ("s.fork-1", 2)
    kept = await ringed.again().saved("s.fork-1")
    assert (kept.status, kept.approval_id, kept.step_index) == ("in-progress", None, 2)
    assert bench.shape(kept.messages)[-2:] == ["n", "b"]
    again = await AgentExecutor.fork("s", 2, ringed.checkpoints)
    assert again.session_id == "s.fork-2"
    assert [await ringed.saved(), await get_checkpoint_history(ringed.checkpoints, "s")] == before


async def test_de_097_another_result_leads_to_another_answer(ringed: Any, bench: Any) -> None:
    await forkable(ringed, bench)
    patch = {"tool_result": {"tool_call_id": "w", "result": {"forecast": "rain"}}}
    fork = await AgentExecutor.fork("s", 2, ringed.checkpoints, patch, "rainy")
    assert bench.shape(fork.checkpoint.messages) == ["Be brief.", "go", "w", "w", "n+b", "n", "b"]
    result = await bench.run(ringed.again(), [], "rainy")
    assert result.text == "Stay in."
    assert bench.ran == ["weather", "note", "book"]
    assert (await ringed.saved("s")).messages[-1].text == "Booked."


async def test_de_106_a_fork_of_a_pause_asks_again(ringed: Any, bench: Any) -> None:
    first = await bench.run(ringed)
    fork = await AgentExecutor.fork("s", 2, ringed.again().checkpoints)
    paused = await bench.run(ringed.again(), [], fork.session_id)
    assert paused.finish_reason == "awaiting-approval"
    assert paused.approval_id != first.approval_id
    assert (await bench.approve(ringed.again(), paused.approval_id)).text == "Booked."
    assert (await ringed.saved("s")).approval_id == first.approval_id


async def test_addresses_name_any_kept_entry(ringed: Any, bench: Any) -> None:
    await forkable(ringed, bench)
    ends = {}
    for address in ("1", "1.1", "1.2", "2.1", "1/2.2", "3"):
        fork = await AgentExecutor.fork("s", address, ringed.checkpoints)
        ends[address] = bench.shape(fork.checkpoint.messages)[2:]
    assert ends["1"] == ends["1.2"] == ["w", "w"]
    assert ends["1.1"] == ["w"]
    assert ends["2.1"] == ["w", "w", "n+b"]
    assert ends["1/2.2"] == ["w", "w", "n+b", "n"]
    assert ends["3"][-1] == "Booked."


async def test_de_172_a_step_that_is_not_kept_lists_those_that_are(ours: Any, bench: Any) -> None:
    ours.again(history_limit=3)
    for step in (1, 2, 3, 4, 5):
        await ours.checkpoints.save("s", bench.checkpoint(step))
    for step in (2, "9", "3.7", "2/3"):
        with pytest.raises(NotFoundError) as raised:
            await AgentExecutor.fork("s", step, ours.checkpoints)
        assert (raised.value.code, raised.value.kept) == ("LOUSHO_CHECKPOINT_NOT_FOUND", ("3", "4", "5"))
    with pytest.raises(NotFoundError) as raised:
        await AgentExecutor.fork("nobody", 1, ours.checkpoints)
    assert raised.value.code == "LOUSHO_CHECKPOINT_NOT_FOUND"


async def test_de_103_an_id_that_is_taken_is_refused(ringed: Any, bench: Any) -> None:
    await forkable(ringed, bench)
    await AgentExecutor.fork("s", 1, ringed.checkpoints, None, "other")
    for taken in ("s", "other"):
        with pytest.raises(ConfigurationError) as raised:
            await AgentExecutor.fork("s", 1, ringed.checkpoints, None, taken)
        assert raised.value.field == "new_session_id"
