"""``fsck`` names a record that can not be read, and a repair takes its line out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import DamagedLogError, StorageError
from lousho_cli.stores.file.fsck import check
from lousho_cli.stores.file.repair import repair
from lousho_cli.stores.file.store import FileStore

MakeBatch = Callable[..., r.Batch]
BROKEN = r.RunStarted("i", replay="rerun")  # type: ignore[arg-type]


async def test_an_unreadable_record_is_named_and_can_be_taken_out(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2, 1, BROKEN, r.Note("n", "beside it")), batch(3)])
    await store.release(claim)
    log = place / "sessions" / "trip" / "log.jsonl"
    before = log.read_bytes()
    fresh = FileStore(place)
    found = [finding for finding in await check(fresh) if finding.serious]
    assert [(finding.kind, finding.seq) for finding in found] == [("hole", 2)]
    assert "lousho.run_started" in found[0].detail
    with pytest.raises(DamagedLogError):
        await fresh.claim("trip", "here")
    kept = await repair(fresh, "trip")
    assert kept is not None
    assert Path(kept).read_bytes() == before
    assert [finding for finding in await check(fresh) if finding.serious] == []
    texts = [record.text for one in (await fresh.read("trip")).batches for record in one.records if isinstance(record, r.Note)]
    assert texts[:2] == ["text 1", "text 3"]
    assert "2 to 2" in texts[2]
    claim = await fresh.claim("trip", "here")
    await fresh.append(claim, [batch(4, claim.epoch)])
    await fresh.release(claim)
    assert await repair(fresh, "trip") is None


async def test_a_log_without_any_record_that_can_be_read_is_not_repaired(store: FileStore, place: Path, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, BROKEN)])
    await store.release(claim)
    before = (place / "sessions" / "trip" / "log.jsonl").read_bytes()
    with pytest.raises(StorageError):
        await repair(FileStore(place), "trip")
    assert (place / "sessions" / "trip" / "log.jsonl").read_bytes() == before
