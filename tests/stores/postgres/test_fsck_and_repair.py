"""Damage in the database is found, named and contained, and can be repaired without losing what stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.app.wiring import inspect_logs, log_stamps, repair_log
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.state import State
from lousho_cli.errors import DamagedLogError
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]


async def a_log(store: PostgresStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    batches = [batch(1, 1, r.Claimed("here"), r.Created("trip")), *(batch(seq) for seq in range(2, 7))]
    await store.append(claim, batches)
    await store.save_head(claim, head_of(fold(batches)))
    await store.save_snapshot(claim, State(seq=6, epoch=1))
    await store.release(claim)


async def found(store: PostgresStore, session: str | None = None) -> list[tuple[str, str, int | None]]:
    return [(one.session, one.kind, one.seq) for one in await inspect_logs(store, session)]


async def test_a_sound_store_has_nothing(store: PostgresStore, batch: MakeBatch) -> None:
    await a_log(store, batch)
    assert await found(store) == []


async def test_every_kind_of_damage_is_named(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    await a_log(store, batch)
    await store.post("trip", Post("p", "abort", "now"))
    sql("UPDATE {s}.records SET line = replace(line, 'text 3', 'text X') WHERE seq = 3")
    sql("DELETE FROM {s}.records WHERE seq IN (5, 6)")
    sql("UPDATE {s}.heads SET crc = 1; UPDATE {s}.snapshots SET crc = 1; UPDATE {s}.posts SET post = '{}'")
    sql("INSERT INTO {s}.records VALUES (987654, 1, 1, 'x')")
    assert await found(store, "trip") == [
        ("trip", "hole", 3), ("trip", "hole", 5), ("trip", "cache", None), ("trip", "cache", None), ("trip", "stray", None)
    ]  # fmt: skip
    assert (await found(store))[-1] == ("", "stray", None)
    assert [one.seq for one in (await store.read("trip")).batches] == [1, 2, 4]
    with pytest.raises(DamagedLogError):
        await store.claim("trip", "here")
    assert [one for one, _ in (await store.heads()).damaged] == ["trip"]
    with pytest.raises(DamagedLogError):
        await store.head("trip")


async def test_a_repair_keeps_what_stands_and_what_was(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    await a_log(store, batch)
    sql("UPDATE {s}.records SET line = replace(line, 'text 3', 'text X') WHERE seq = 3")
    sql("UPDATE {s}.snapshots SET crc = 1")
    place = await repair_log(store, "trip")
    assert place is not None
    assert "number 1" in place
    assert sql("SELECT seq FROM {s}.damaged ORDER BY seq") == [(seq,) for seq in range(1, 7)]
    batches = (await store.read("trip")).batches
    notes = [record.text for one in batches for record in one.records if isinstance(record, r.Note)]
    assert notes[:-1] == ["text 2", "text 4", "text 5", "text 6"]
    assert await found(store) == []
    assert await repair_log(store, "trip") is None
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(7, claim.epoch)])


async def test_a_stamp_changes_with_its_log(store: PostgresStore, batch: MakeBatch) -> None:
    await a_log(store, batch)
    before = log_stamps(store)
    assert before is not None
    assert log_stamps(store) == before
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(7, claim.epoch)])
    assert log_stamps(store) != before
