"""The ring."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import pytest

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import user
from lousho_cli.errors import RangeError
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore, memory_store

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def checkpoint(step: int, **more: Any) -> Checkpoint:
    return Checkpoint("s", (user(f"step {step}"),), step_index=step, **more)


async def saves(stores: Any, count: int) -> None:
    for step in range(1, count + 1):
        await stores.checkpoints.save("s", checkpoint(step))


async def test_de_077_newest_first_with_all_its_parts(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(ringed, bench.Model(bench.Calls("book"), "done"), box.tools)
    entries = await get_checkpoint_history(ringed.again().checkpoints, "s")
    assert [(entry.step, entry.status) for entry in entries] == [(2, "finished"), (1, "in-progress"), (1, "in-progress")]
    assert all(ISO.fullmatch(entry.saved_at) for entry in entries)
    assert entries[0].checkpoint == await ringed.saved()
    assert [len(entry.checkpoint.messages) for entry in entries] == [5, 4, 3]


async def test_de_078_a_status_defaults_to_in_progress(bench: Any) -> None:
    class Old(bench.PlainCheckpoints):
        async def history(self, session_id: str, limit: int | None = None) -> Any:
            return [{"step": 3, "saved_at": "2026-01-01T00:00:00.000Z", "checkpoint": {"session_id": "s", "step_index": 3}}]

    (entry,) = await get_checkpoint_history(Old(), "s")
    assert (entry.step, entry.status, entry.checkpoint.status) == (3, "in-progress", "in-progress")


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_de_079_a_limit_keeps_the_newest(bench: Any, tmp_path: Any, kind: str) -> None:
    stores = bench.memory(history_limit=3) if kind == "memory" else bench.file(tmp_path, history_limit=3)
    await saves(stores, 5)
    assert [entry.step for entry in await stores.again().checkpoints.history("s")] == [5, 4, 3]


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_de_080_fifty_when_not_said_and_none_for_0(bench: Any, tmp_path: Any, kind: str) -> None:
    stores = bench.memory() if kind == "memory" else bench.file(tmp_path)
    await saves(stores, 52)
    assert [entry.step for entry in await stores.again().checkpoints.history("s")] == list(range(52, 2, -1))
    none = bench.memory(history_limit=0) if kind == "memory" else bench.file(tmp_path / "none", history_limit=0)
    await saves(none, 2)
    assert list(await none.again().checkpoints.history("s")) == []
    assert (await none.saved()).step_index == 2


@pytest.mark.parametrize("limit", [-1, 1.5, "3", True])
@pytest.mark.parametrize("make", [memory_store, MemoryStore, lambda limit: FileStore("nowhere", history_limit=limit)])
def test_de_081_160_a_wrong_limit_is_refused(make: Any, limit: Any) -> None:
    with pytest.raises(RangeError) as raised:
        make(limit)
    assert raised.value.field == "history_limit"


async def test_de_082_an_unknown_session_has_none(ringed: Any) -> None:
    assert await get_checkpoint_history(ringed.checkpoints, "nobody") == []


async def test_de_083_a_store_without_history_gives_none(bench: Any) -> None:
    assert await get_checkpoint_history(bench.custom().checkpoints, "s") is None


async def test_a_store_that_gives_nothing_or_too_much_is_read_as_it_should_be(bench: Any) -> None:
    class Loose(bench.PlainWithHistory):
        async def history(self, session_id: str, limit: int | None = None) -> Any:
            return await super().history(session_id) if session_id in self.rings else None

    store = Loose()
    for step in (1, 2, 3):
        await store.save("s", checkpoint(step))
    assert await get_checkpoint_history(store, "nobody") == []
    assert [entry.step for entry in await get_checkpoint_history(store, "s", 2)] == [3, 2]


async def test_de_084_delete_clears_it_unless_told(log_stores: Any) -> None:
    await saves(log_stores, 2)
    await log_stores.checkpoints.delete("s", keep_history=True)
    assert await log_stores.saved() is None
    assert [entry.step for entry in await log_stores.again().checkpoints.history("s")] == [2, 1]
    await log_stores.checkpoints.delete("s")
    assert list(await log_stores.again().checkpoints.history("s")) == []


async def test_de_085_a_save_behind_a_kept_ring_extends_it(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model("hello"), text="hi")
    await log_stores.checkpoints.delete("s", keep_history=True)
    result = await bench.run(log_stores.again(), bench.Model("a new start"), text="hi")
    entries = list(await log_stores.checkpoints.history("s"))
    assert [entry.step for entry in entries] == [1, 1]
    assert [entry.checkpoint.messages[-1].text for entry in entries] == ["a new start", "hello"]
    assert bench.shape(result.messages) == ["system:Be brief.", "user:hi", "assistant:a new start"]
    assert len({entry.address for entry in entries}) == 2


async def test_de_086_an_entry_can_not_change_what_is_stored(log_stores: Any) -> None:
    await log_stores.checkpoints.save("s", checkpoint(1, business_state={"a": [1]}))
    (entry,) = await log_stores.checkpoints.history("s")
    entry.checkpoint.business_state["a"].append(2)
    with pytest.raises(AttributeError):
        entry.checkpoint.step_index = 9
    assert (await log_stores.saved()).business_state == {"a": [1]}
    assert (await log_stores.again().saved()).business_state == {"a": [1]}


async def test_de_087_one_entry_a_save(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(ringed, bench.Model(bench.Calls("book", "book"), "done"), box.tools, tool_concurrency=1)
    entries = await get_checkpoint_history(ringed.checkpoints, "s")
    assert [bench.shape(entry.checkpoint.messages)[-1] for entry in entries] == ["assistant:done", "result:c2", "result:c1", "calls:c1+c2"]


async def test_de_159_a_limit_gives_the_newest(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(ringed, bench.Model(bench.Calls("book"), "done"), box.tools)
    entries = await get_checkpoint_history(ringed.checkpoints, "s", limit=2)
    assert [(entry.step, entry.status) for entry in entries] == [(2, "finished"), (1, "in-progress")]
    assert await get_checkpoint_history(ringed.checkpoints, "s", limit=0) == []
    assert len(await get_checkpoint_history(ringed.checkpoints, "s", limit=99)) == 3


async def test_case_051_equal_times_keep_the_order_of_saving(log_stores: Any, bench: Any, box: Any, clock: Any) -> None:
    box.tool("book")
    turns = [bench.Calls("book") for _ in range(9)]
    await bench.run(log_stores, bench.Model(*turns, "done"), box.tools, clock=clock)
    entries = list(await log_stores.again().checkpoints.history("s"))
    assert len({entry.saved_at for entry in entries}) == 1
    assert [entry.step for entry in entries] == [10, *[step for step in range(9, 0, -1) for _ in (1, 2)]]
    assert (await log_stores.saved()) == entries[0].checkpoint


async def test_case_053_a_small_ring_stays_small(bench: Any, tmp_path: Any) -> None:
    """Five are kept, also behind a restart, and nothing else grows beside the log."""
    stores = bench.file(tmp_path, history_limit=5)
    await saves(stores, 60)
    again = bench.file(tmp_path, history_limit=5)
    assert [entry.step for entry in await again.checkpoints.history("s")] == [60, 59, 58, 57, 56]
    names = sorted(os.listdir(tmp_path / ".lousho" / "sessions" / "s"))
    assert [name for name in names if not name.startswith("owner.")] in (["head.json", "log.jsonl"], ["head.json", "inbox", "log.jsonl"])
    assert len(names) <= 4


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
async def test_case_058_times_are_utc_in_any_zone(log_stores: Any, bench: Any, monkeypatch: Any, zone: str) -> None:
    """Over the hour in autumn that New York has twice."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        clock = bench.FakeClock("2026-11-01T05:30:00.000+00:00")
        for number in range(4):
            await bench.run(log_stores, bench.Model(*["ok"] * (number + 1)), text=f"n{number}", clock=clock)
            clock.ms += 1_800_000
        times = [entry.saved_at for entry in await log_stores.checkpoints.history("s")]
        assert times == [f"2026-11-01T0{hour}:00Z".replace(":00Z", ":00.000Z") for hour in ("7:00", "6:30", "6:00", "5:30")]
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


async def test_saving_by_hand_keeps_the_ring_and_its_numbers(log_stores: Any, bench: Any, box: Any) -> None:
    """Numbers never move: a step lower than the one before belongs to another run."""
    box.tool("book")
    await bench.run(log_stores, bench.Model(bench.Calls("book"), "done"), box.tools)
    for step in (2, 3, 1):
        await log_stores.checkpoints.save("s", checkpoint(step))
    addresses = [entry.address for entry in await log_stores.checkpoints.history("s")]
    assert len(set(addresses)) == len(addresses) == 6


async def test_a_saved_pause_keeps_its_approval_id(log_stores: Any) -> None:
    await log_stores.checkpoints.save("s", checkpoint(1, status="awaiting-approval", approval_id="ap"))
    assert (await log_stores.again().saved()).approval_id == "ap"
