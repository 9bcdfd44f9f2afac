"""What a person with a SQL shell sees: a row a kept save, and the records behind it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


def rows(place: Path, sql: str) -> list[Any]:
    """What the shell shows, beside a store that has the file open."""
    connection = sqlite3.connect(place)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def shown(store: SqliteStore, session_id: str) -> list[tuple[Any, ...]]:
    """The ring as the view shows it, oldest first; the same as the checkpoint store gives."""
    found = rows(
        Path(store.path),
        f"SELECT step, status, saved_at, seq FROM checkpoint_history WHERE session_id = '{session_id}' ORDER BY seq",
    )
    ring = [(one.step, one.status, one.saved_at, one.seq) for one in await store.checkpoints.history(session_id)]
    assert found == ring[::-1]
    return [row[:2] for row in found]


async def run_of(store: SqliteStore, batch: MakeBatch, *marks: r.Mark) -> Any:
    claim = await store.claim("trip", "here")
    begin = (r.Claimed("here"), r.Created("trip"), r.InputReceived("in", (user("hi"),)), r.InputApplied("in"), r.RunStarted("in"))
    await store.append(claim, [batch(1, claim.epoch, *begin)])
    for seq, mark in enumerate(marks, 2):
        await store.append(claim, [batch(seq, claim.epoch, r.Turn(Message("assistant", f"turn {seq}")), mark)])
    return claim


async def test_de_169_one_row_a_kept_save(store: SqliteStore, batch: MakeBatch, place: Path) -> None:
    await run_of(store, batch, r.Mark(1), r.Mark(2, "awaiting-approval", "awaiting-approval", "ap-1"), r.Mark(3, "finished", "stop"))
    assert await shown(store, "trip") == [(1, "in-progress"), (2, "awaiting-approval"), (3, "finished")]
    ((finish, approval),) = rows(place, "SELECT finish_reason, approval_id FROM checkpoint_history WHERE step = 2")
    assert (finish, approval) == ("awaiting-approval", "ap-1")
    ((payload,),) = rows(place, "SELECT payload FROM checkpoint_history WHERE step = 3")
    assert json.loads(payload)["status"] == "finished"
    said = rows(place, "SELECT json_extract(record, '$.message.content') FROM records WHERE type = 'lousho.turn' AND seq <= 3 ORDER BY seq")
    assert said == [("turn 2",), ("turn 3",)]


async def test_the_ring_is_as_long_as_its_marks_say(store: SqliteStore, batch: MakeBatch) -> None:
    limits = [3, 3, 3, 2, 2, 50, 50]
    await run_of(store, batch, *(r.Mark(step, limit=limit) for step, limit in enumerate(limits, 1)))
    assert await shown(store, "trip") == [(step, "in-progress") for step in (4, 5, 6, 7)]


async def test_a_ring_that_keeps_nothing_shows_nothing(store: SqliteStore, batch: MakeBatch) -> None:
    await run_of(store, batch, r.Mark(1, limit=0), r.Mark(2, limit=0))
    assert await shown(store, "trip") == []


@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_saves_through_the_checkpoint_store_are_rows_too(place: Path, limit: int) -> None:
    store = SqliteStore(place, history_limit=limit)
    for step in range(1, 8):
        messages = (user("hi"), *(Message("assistant", f"turn {n}") for n in range(step)))
        await store.checkpoints.save("saved", Checkpoint("saved", messages, step_index=step))
        assert await shown(store, "saved") == [(n, "in-progress") for n in range(max(step - limit, 0) + 1, step + 1)]
    store.close()


async def test_a_trim_and_a_history_that_was_kept_change_nothing(store: SqliteStore, batch: MakeBatch) -> None:
    from lousho_cli.executor.trimming import trim_session

    await store.release(await run_of(store, batch, *(r.Mark(step, limit=3) for step in range(1, 6))))
    expected = [(3, "in-progress"), (4, "in-progress"), (5, "in-progress")]
    assert await shown(store, "trip") == expected
    await trim_session("trip", store)
    assert len((await store.read("trip")).batches) == 1
    assert await shown(store, "trip") == expected
    await store.checkpoints.delete("trip", keep_history=True)
    assert await shown(store, "trip") == expected
    claim = await store.claim("trip", "here")
    head = (await store.read("trip")).head
    await store.append(claim, [batch(head + 1, claim.epoch, r.Claimed("here"), r.Mark(1, limit=3))])
    assert [step for step, _ in await shown(store, "trip")] == [4, 5, 1]
    await store.release(claim)
    await store.delete("trip")
    assert await shown(store, "trip") == []


async def test_a_damaged_line_hides_no_other(store: SqliteStore, batch: MakeBatch, place: Path) -> None:
    await store.release(await run_of(store, batch, r.Mark(1), r.Mark(2)))
    store.close()
    connection = sqlite3.connect(place)
    connection.execute("UPDATE batches SET line = '{broken' WHERE key & 16777215 = 2")
    connection.commit()
    connection.close()
    assert rows(place, "SELECT step FROM checkpoint_history") == [(2,)]
