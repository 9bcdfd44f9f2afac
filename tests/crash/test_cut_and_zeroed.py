"""What a power cut leaves: a log cut at any byte, or with zeros in what was never synced."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.stores.file.scan import scan
from lousho_cli.stores.file.store import FileStore

AT = "2026-01-01T00:00:00.000Z"


def note(seq: int, epoch: int, size: int) -> r.Batch:
    return r.Batch(seq, epoch, AT, (r.Note("n", "x" * size), r.Mark(seq)))


async def grow(store: FileStore, sizes: Sequence[int], *, unsynced: int = 0) -> None:
    """One owner appends a batch of each size, the last ``unsynced`` of them without a sync, and dies."""
    claim = await store.claim("trip", "here")
    head = (await store.read("trip")).head
    for number, size in enumerate(sizes, 1):
        await store.append(claim, [note(head + number, claim.epoch, size)], durable=number <= len(sizes) - unsynced)
    claim.synced = claim.head  # a dead process syncs nothing when it gives its claim back
    await store.release(claim)


async def test_a_log_cut_at_any_byte_of_its_tail_opens_to_what_stood_before(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".lousho")
    for epoch in range(4):
        await grow(store, [20 + 37 * epoch + 11 * number for number in range(15)], unsynced=epoch % 3)
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    whole = scan(log.read_bytes())
    assert whole.head == 60
    assert not whole.voids
    for length in range(whole.size, whole.size - 4096, -1):
        os.truncate(log, length)
        standing = sum(end <= length for end in whole.ends)
        found = await FileStore(tmp_path / ".lousho").read("trip")
        assert found.batches == tuple(whole.batches[:standing]), length
        assert not found.holes
        head = await FileStore(tmp_path / ".lousho").head("trip")
        assert head is not None
        assert head.seq == standing


async def test_a_log_cut_anywhere_can_be_written_on(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".lousho")
    await grow(store, [50, 300, 20, 90, 200])
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    data = log.read_bytes()
    whole = scan(data)
    for length in range(len(data), len(data) - 500, -13):
        log.write_bytes(data[:length])
        standing = sum(end <= length for end in whole.ends)
        await grow(FileStore(tmp_path / ".lousho"), [10, 20])
        await grow(FileStore(tmp_path / ".lousho"), [30])
        found = await store.read("trip")
        assert found.batches[:standing] == tuple(whole.batches[:standing])
        assert found.head == standing + 3, length
        assert not found.holes


async def test_zeros_in_what_was_never_synced_lose_nothing_else(tmp_path: Path) -> None:
    chance = random.Random(7)
    for _ in range(150):
        place = tmp_path / f"{chance.getrandbits(40):x}"
        store = FileStore(place)
        sizes = [chance.randrange(10, 900) for _ in range(chance.randrange(3, 7))]
        await grow(store, sizes, unsynced=2)
        log = place / "sessions/trip/log.jsonl"
        data = log.read_bytes()
        synced = scan(data).ends[len(sizes) - 3]
        for _ in range(8):
            torn = bytearray(data)
            for _ in range(chance.randrange(1, 3)):
                begin = chance.randrange(synced, len(data))
                end = min(begin + chance.choice((1, 8, 64, 512, 4096)), len(data))
                torn[begin:end] = bytes(end - begin)
            log.write_bytes(torn)
            found = await FileStore(place).read("trip")
            assert not found.holes
            assert len(sizes) - 2 <= found.head <= len(sizes)
            assert found.batches == tuple(scan(data).batches[: found.head])
        await grow(FileStore(place), [40, 40], unsynced=1)
        after = await FileStore(place).read("trip")
        assert not after.holes
        assert after.head == found.head + 2


async def test_damage_in_what_was_synced_is_told_from_a_torn_tail(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".lousho")
    await grow(store, [200] * 8)
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    data = log.read_bytes()
    whole = scan(data)
    for index in range(1, 7):
        begin = whole.ends[index - 1]
        log.write_bytes(data[: begin + 30] + bytes(40) + data[begin + 70 :])
        found = await FileStore(tmp_path / ".lousho").read("trip")
        assert [(hole.first, hole.last) for hole in found.holes] == [(index + 1, index + 1)]
        assert [batch.seq for batch in found.batches] == [seq for seq in range(1, 9) if seq != index + 1]


async def test_damage_is_found_where_each_owner_wrote_one_batch(tmp_path: Path) -> None:
    for _ in range(6):
        await grow(FileStore(tmp_path / ".lousho"), [200])
    log = tmp_path / ".lousho/sessions/trip/log.jsonl"
    data = log.read_bytes()
    begin = scan(data).ends[2]
    log.write_bytes(data[: begin + 30] + bytes(40) + data[begin + 70 :])
    found = await FileStore(tmp_path / ".lousho").read("trip")
    assert [(hole.first, hole.last) for hole in found.holes] == [(4, 4)]
    assert [batch.seq for batch in found.batches] == [1, 2, 3, 5, 6]
    log.write_bytes(data[: scan(data).ends[2]])  # put back from an older copy, beside an owner file that knew of more
    await grow(FileStore(tmp_path / ".lousho"), [200, 200])
    again = await FileStore(tmp_path / ".lousho").read("trip")
    assert (again.head, again.holes) == (5, ())


def test_each_line_says_how_far_the_log_was_synced() -> None:
    batches = [note(1, 1, 5), r.Batch(2, 1, AT, (r.Note("n", "t"),), sync=0)]
    assert [scan(encode_line(batch)).batches[:1] for batch in batches[:1]] == [[batches[0]]]
    assert scan(b"".join(map(encode_line, batches))).synced == 0
