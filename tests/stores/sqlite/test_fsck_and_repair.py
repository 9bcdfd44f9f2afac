"""Damage in a database is found, named and contained; what still stands can be written again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.state import State
from lousho_cli.errors import DamagedLogError, LogVersionError, SessionBusyError, StorageError
from lousho_cli.stores.sqlite.fsck import check, check_session
from lousho_cli.stores.sqlite.repair import repair
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


def change(store: SqliteStore, *statements: str) -> None:
    """What somebody does to the file behind our back."""
    connection = sqlite3.connect(store.path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


async def log_of(store: SqliteStore, batch: MakeBatch, name: str = "trip", batches: int = 6) -> None:
    claim = await store.claim(name, "here")
    await store.append(claim, [batch(1, claim.epoch, r.Claimed("here"), r.Created(name)), *(batch(seq) for seq in range(2, batches + 1))])
    await store.release(claim)


def found(store: SqliteStore) -> list[tuple[Any, ...]]:
    return [(one.session, one.kind, one.seq, one.serious) for one in check(store)]


async def test_a_sound_store_has_no_findings(store: SqliteStore, batch: MakeBatch) -> None:
    assert check(store) == []
    await log_of(store, batch)
    claim = await store.claim("trip", "here")
    await store.save_head(claim, Head(seq=6))
    await store.save_snapshot(claim, State(seq=6, epoch=1))
    await store.post("trip", Post("p", "abort", "now"))
    assert check(store) == []
    assert check_session(store, "trip") == []


DAMAGE = {
    "a row is gone": ("DELETE FROM batches WHERE key & 16777215 = 3", [(3, 3)], "missing"),
    "two rows are gone": ("DELETE FROM batches WHERE key & 16777215 IN (3, 4)", [(3, 4)], "missing"),
    "the first row is gone": ("DELETE FROM batches WHERE key & 16777215 = 1", [(1, 1)], "missing"),
    "a line was changed": ("UPDATE batches SET line = replace(line, 'text 3', 'text 8') WHERE key & 16777215 = 3", [(3, 3)], "checksum"),
    "a line is no text": ("UPDATE batches SET line = x'00ff' WHERE key & 16777215 = 6", [(6, 6)], "checksum"),
    "a line stands in the place of another": (
        "UPDATE batches SET line = (SELECT line FROM batches AS other WHERE other.key = batches.key + 1) WHERE key & 16777215 = 4",
        [(4, 4)],
        "checksum",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
async def test_damage_is_a_hole_and_repair_mends_it(store: SqliteStore, batch: MakeBatch, what: str) -> None:
    statement, holes, why = DAMAGE[what]
    await log_of(store, batch)
    await log_of(store, batch, "other")
    change(store, f"{statement} AND key >> 24 = 1")
    read = await store.read("trip")
    assert [(hole.first, hole.last) for hole in read.holes] == holes
    assert why in read.holes[0].detail
    lost = set(range(holes[0][0], holes[0][1] + 1))
    assert [one.seq for one in read.batches] == [seq for seq in range(1, 7) if seq not in lost]
    with pytest.raises(DamagedLogError, match="fsck --repair"):
        await store.claim("trip", "here")
    assert await store.owner("trip") is None
    assert found(store) == [("trip", "hole", holes[0][0], True)]
    assert [head.id for head in (await store.heads()).heads] == ["other"]
    ((damaged, detail),) = (await store.heads()).damaged
    assert damaged == "trip"
    assert f"records {holes[0][0]} to {holes[0][1]}" in detail

    kept = await repair(store, "trip")
    assert kept == f"{store.database.path}-damaged-trip-1.jsonl"
    lines = Path(kept).read_bytes().splitlines()
    assert len(lines) == (6 - len(lost) if "gone" in what else 6)
    assert check(store) == []
    after = await store.read("trip")
    assert [one.seq for one in after.batches] == list(range(1, 8 - len(lost)))
    note = after.batches[-1].records[-1]
    assert isinstance(note, r.Note)
    assert f"{holes[0][0]} to {holes[0][1]}" in note.text
    assert kept.rsplit("/", 1)[1] in note.text
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(after.head + 1, claim.epoch)])
    assert len((await store.read("other")).batches) == 6


async def test_a_sound_session_is_not_repaired(store: SqliteStore, batch: MakeBatch) -> None:
    await log_of(store, batch)
    before = await store.read("trip")
    assert await repair(store, "trip") is None
    assert await store.read("trip") == before
    claim = await store.claim("trip", "here")
    with pytest.raises(SessionBusyError):
        await repair(store, "trip")
    await store.release(claim)


async def test_what_a_newer_version_wrote_is_not_repaired(store: SqliteStore, batch: MakeBatch) -> None:
    await log_of(store, batch)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(7, claim.epoch, r.Claimed("h", format=r.FORMAT + 1))])
    await store.release(claim)
    change(store, "DELETE FROM batches WHERE key & 16777215 = 3")
    assert found(store) == [("trip", "hole", 3, True), ("trip", "version", None, True)]
    with pytest.raises(LogVersionError):
        await repair(store, "trip")


async def test_a_log_of_which_nothing_stands_is_not_repaired(store: SqliteStore, batch: MakeBatch) -> None:
    await log_of(store, batch)
    change(store, "UPDATE batches SET line = 'nothing'")
    with pytest.raises(StorageError, match="no record that can be read"):
        await repair(store, "trip")
    assert await store.delete("trip") is True


async def test_a_record_in_a_shape_that_no_version_writes_is_named_and_mended(store: SqliteStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    broken: Any = r.WaitAnswered("a", "no")  # type: ignore[arg-type]
    await store.append(claim, [batch(1), batch(2, 1, broken), batch(3)])
    await store.release(claim)
    assert found(store) == [("trip", "hole", 2, True)]
    kept = await repair(store, "trip")
    assert kept is not None
    assert decode_line(Path(kept).read_bytes().splitlines()[0]) is not None
    assert [one.seq for one in (await store.read("trip")).batches] == [1, 2, 3]


async def test_caches_and_posts_of_no_use_are_named_and_passed_over(store: SqliteStore, batch: MakeBatch) -> None:
    await log_of(store, batch)
    claim = await store.claim("trip", "here")
    head = await store.head("trip")
    assert head is not None
    await store.save_head(claim, head)
    await store.save_snapshot(claim, State(seq=6, epoch=1))
    await store.post("trip", Post("p", "abort", "now"))
    change(
        store,
        "UPDATE logs SET head = replace(head, '6', '7')",
        "UPDATE snapshots SET state = replace(state, '6', '5')",
        "UPDATE posts SET post = '{}'",
        "INSERT INTO batches VALUES (NULL, 9 << 24 | 1, 1, 1, 'lost')",
    )
    assert found(store) == [
        ("trip", "cache", None, False),
        ("trip", "cache", None, False),
        ("trip", "stray", None, False),
        ("", "stray", None, False),
    ]
    assert await store.head("trip") == head
    assert await store.load_snapshot("trip") is None
    assert await store.inbox("trip") == ()
    await store.post("trip", Post("p", "abort", "now"))
    assert len((await store.read("trip")).batches) == 6


async def test_pages_that_do_not_fit_together_are_named(store: SqliteStore, batch: MakeBatch, place: Path) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(seq, 1, r.Note("n", "x" * 7000)) for seq in range(1, 700)])
    await store.release(claim)
    store.close()
    data = bytearray(place.read_bytes())
    middle = len(data) // 2 // 8192 * 8192
    data[middle : middle + 4096] = b"\x5a" * 4096
    place.write_bytes(data)
    damaged = SqliteStore(place)
    findings = check(damaged)
    assert {one.kind for one in findings} == {"unreadable"}
    assert [one.session for one in findings][-1] == "trip"
    assert all(one.serious for one in findings)
    damaged.close()


async def test_a_small_file_whose_pages_do_not_fit_is_one_finding(store: SqliteStore, batch: MakeBatch, place: Path) -> None:
    await log_of(store, batch)
    store.close()
    data = bytearray(place.read_bytes())
    data[8192:12288] = b"\x5a" * 4096
    place.write_bytes(data)
    damaged = SqliteStore(place)
    ((session, kind, _, serious),) = found(damaged)
    assert (session, kind, serious) == ("", "unreadable", True)
    damaged.close()
