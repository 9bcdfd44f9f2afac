"""What fsck names, and what repair makes of a damaged log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.state import State
from lousho_cli.errors import LogVersionError, SessionBusyError
from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.repair import repair
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]


async def filled(store: FileStore, place: Path, batch: MakeBatch) -> Path:
    claim = await store.claim("trip", "here")
    for seq in range(1, 9):
        await store.append(claim, [batch(seq)])
    await store.save_snapshot(claim, State(seq=8, epoch=1))
    await store.release(claim)
    return place / "sessions/trip/log.jsonl"


async def test_a_sound_store_has_no_findings(store: FileStore, place: Path, batch: MakeBatch) -> None:
    assert await check(store) == []
    await filled(store, place, batch)
    assert await check(store) == []


async def test_everything_odd_is_named(store: FileStore, place: Path, batch: MakeBatch) -> None:
    log = await filled(store, place, batch)
    with log.open("ab") as file:
        file.write(encode_line(batch(9, 3)) + encode_line(batch(10, 2)) + b'{"crc":"00000000","x"}\n' + encode_line(batch(10, 3))[:-4])
    (log.parent / "snapshot.json").write_bytes(b"{}")
    (log.parent / "notes.txt").write_text("x")
    (log.parent / "inbox").mkdir()
    (log.parent / "inbox" / "bad.json").write_text("{")
    found = [(finding.kind, finding.seq, finding.serious) for finding in await check(store)]
    assert found == [
        ("void", 10, False),
        ("torn", None, False),
        ("torn", None, False),
        ("cache", None, False),
        ("stray", None, False),
        ("stray", None, False),
    ]
    assert await store.inbox("trip") == ()


async def test_repair_keeps_all_that_can_be_read(store: FileStore, place: Path, batch: MakeBatch) -> None:
    log = await filled(store, place, batch)
    lines = log.read_bytes().split(b"\n")
    lines[2], lines[5] = b"\0" * 20, b""
    damaged = b"\n".join(lines)
    log.write_bytes(damaged)
    fresh = FileStore(place)
    assert [(f.kind, f.seq) for f in await check(fresh) if f.serious] == [("hole", 3), ("hole", 6)]
    kept = await repair(fresh, "trip")
    assert kept == str(log.with_name("log.damaged-1.jsonl"))
    assert Path(kept).read_bytes() == damaged
    assert [finding for finding in await check(fresh) if finding.serious] == []
    found = await fresh.read("trip")
    texts = [record.text for one in found.batches for record in one.records if isinstance(record, r.Note)]
    assert texts[:6] == ["text 1", "text 2", "text 4", "text 5", "text 7", "text 8"]
    assert "3 to 3, 6 to 6" in texts[6]
    assert [one.seq for one in found.batches] == list(range(1, 8))
    claim = await fresh.claim("trip", "here")
    await fresh.append(claim, [batch(8, claim.epoch)])
    assert (await FileStore(place).read("trip")).head == 8
    assert await fresh.load_snapshot("trip") is None
    await fresh.release(claim)
    assert await repair(fresh, "trip") is None
    assert os.stat(kept).st_mode & 0o777 == 0o600


async def test_repair_wants_the_log_for_itself_and_a_version_it_knows(store: FileStore, place: Path, batch: MakeBatch) -> None:
    log = await filled(store, place, batch)
    with log.open("ab") as file:
        file.write(encode_line(batch(12, 1)))
    claim_file = log.parent / "owner.5.json"
    claim_file.write_text('{"host":"far","machine":"m","boot":"b","pid":1,"since":"s"}')
    with pytest.raises(SessionBusyError):
        await repair(store, "trip")
    claim_file.unlink()
    with log.open("ab") as file:
        file.write(encode_line(batch(13, 1, r.Foreign("lousho.later", b'{"type":"lousho.later"}'))))
    with pytest.raises(LogVersionError):
        await repair(FileStore(place), "trip")
    assert [(finding.kind, finding.seq) for finding in await check(store) if finding.serious] == [("hole", 9), ("version", None)]
