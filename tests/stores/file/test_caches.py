"""Snapshots and what a claim reads: caches that are right or read as none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.heads import Head
from lousho_cli.domain.messages import user
from lousho_cli.domain.state import State
from lousho_cli.stores.file import reading
from lousho_cli.stores.file.scan import START, Position, Scan, scan
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


async def filled(store: FileStore, batch: MakeBatch) -> State:
    claim = await store.claim("trip", "here")
    for seq in range(1, 51):
        await store.append(claim, [batch(seq, 1, r.Note("n", "x" * 200))], durable=False)
    state = State(seq=40, epoch=1, messages=(user("hi"),))
    await store.save_snapshot(claim, state)  # not possible any more: the log went on
    assert await store.load_snapshot("trip") is None
    state = State(seq=50, epoch=1, messages=(user("hi"),))
    await store.save_snapshot(claim, state)
    for seq in range(51, 61):
        await store.append(claim, [batch(seq)], durable=False)
    await store.release(claim)
    return state


async def test_a_bad_snapshot_reads_as_none(store: FileStore, place: Path, batch: MakeBatch) -> None:
    state = await filled(store, batch)
    path = place / "sessions/trip/snapshot.json"
    data = path.read_bytes()
    for bad in (b"", data[:-20], data.replace(b'"seq":50', b'"seq":51'), bytes(len(data)), b"[]", b"\xef\xbb\xbf" + data):
        path.write_bytes(bad)
        fresh = FileStore(place)
        assert await fresh.load_snapshot("trip") is None
        claim = await fresh.claim("trip", "here")
        assert len((await fresh.read("trip")).batches) == 60
        await fresh.release(claim)
    path.write_bytes(data)
    assert await FileStore(place).load_snapshot("trip") == state


async def test_a_snapshot_of_another_log_is_none(store: FileStore, place: Path, batch: MakeBatch) -> None:
    await filled(store, batch)
    log = place / "sessions/trip/log.jsonl"
    data = log.read_bytes()
    lines = data.split(b"\n")
    log.write_bytes(b"\n".join([*lines[:30], b""]))  # put back from an older copy
    assert await FileStore(place).load_snapshot("trip") is None
    assert (await FileStore(place).read("trip", 20)).head == 30
    log.write_bytes(data.replace(b"x" * 200, b"y" * 200))
    assert await FileStore(place).load_snapshot("trip") is None


async def test_a_claim_with_a_snapshot_reads_the_tail_alone_and_once(
    store: FileStore, place: Path, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(store, batch)
    scanned: list[int] = []

    def counted(data: bytes, start: Position = START) -> Scan:
        scanned.append(len(data))
        return scan(data, start)

    monkeypatch.setattr(reading, "scan", counted)
    fresh = FileStore(place)
    claim = await fresh.claim("trip", "here")
    state = await fresh.load_snapshot("trip")
    assert state is not None
    assert [one.seq for one in (await fresh.read("trip", state.seq)).batches] == list(range(51, 61))
    tail = scanned[0]
    assert tail < 5_000
    assert sum(scanned) <= 2 * tail
    await fresh.append(claim, [batch(61, claim.epoch)])
    scanned.clear()
    assert len((await fresh.read("trip", 60)).batches) == 1
    assert sum(scanned) < 5_000
    (place / "sessions/trip/snapshot.json").unlink()
    await fresh.release(claim)
    scanned.clear()
    fresh = FileStore(place)
    await fresh.claim("trip", "here")
    assert len((await fresh.read("trip")).batches) == 61
    assert len(scanned) == 1


async def test_a_late_line_of_a_replaced_owner_is_never_counted_twice(store: FileStore, place: Path, batch: MakeBatch) -> None:
    """A reader that had seen it reads the log anew once a later owner has taken its seq."""
    from lousho_cli.domain.codec import encode_line

    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2)])
    reader = FileStore(place)
    log = place / "sessions/trip/log.jsonl"
    with log.open("ab") as file:
        file.write(encode_line(batch(3, sync=2)))
    assert (await reader.read("trip")).head == 3
    with log.open("ab") as file:
        file.write(b"\n" + encode_line(batch(3, 2)) + encode_line(batch(4, 2)))
    found = await reader.read("trip", 3)
    assert (found.head, [(one.seq, one.epoch) for one in found.batches]) == (4, [(4, 2)])
    assert [(one.seq, one.epoch) for one in (await reader.read("trip")).batches] == [(1, 1), (2, 1), (3, 2), (4, 2)]


async def test_caches_hold_when_a_replaced_owner_writes_between_the_lines_of_the_next(
    store: FileStore, place: Path, batch: MakeBatch
) -> None:
    claim = await store.claim("trip", "here")
    for seq in (1, 2, 3):
        await store.append(claim, [batch(seq)])
    with open(place / "sessions/trip/log.jsonl", "ab") as late:
        late.write(encode_line(batch(3, 0, r.Note("n", "late " * 50))))
    for seq in (4, 5):
        await store.append(claim, [batch(seq)], durable=False)
    state = State(seq=5, epoch=1, messages=(user("hi"),))
    await store.save_head(claim, Head(seq=5, step=7))
    await store.save_snapshot(claim, state)
    fresh = FileStore(place)
    assert ((await fresh.head("trip")) or Head()).step == 7
    assert await fresh.load_snapshot("trip") == state
    await store.append(claim, [batch(6)], durable=False)
    await store.save_snapshot(claim, state)  # of the line before the newest
    await store.release(claim)
    again = FileStore(place)
    assert ((await again.head("trip")) or Head()).step == 7
    assert await again.load_snapshot("trip") == state
    assert [one.seq for one in (await again.read("trip", 5)).batches] == [6]
