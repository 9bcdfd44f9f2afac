"""How large the file gets: what a ring no longer holds, and what was deleted, gives its space to what comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, user
from lousho_cli.stores.sqlite.store import SqliteStore

MB = 1_000_000


async def largest(place: Path, saves: int, text: str) -> int:
    """Saves over and over; gives the most bytes the file and its log ever had."""
    store = SqliteStore(place, history_limit=5)
    most = 0
    for step in range(1, saves + 1):
        content = text or f"{step:08}" * (MB // 8)
        await store.checkpoints.save("s", Checkpoint("s", (user(content), Message("assistant", f"{step}")), step_index=step))
        most = max(most, sum(Path(f"{place}{end}").stat().st_size for end in ("", "-wal")))
    assert [one.step for one in await store.checkpoints.history("s")] == list(range(saves, saves - 5, -1))
    store.close()
    assert place.stat().st_size < 20 * MB
    return most


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x" * MB, ""], ids=["the same text", "another text each time"])
async def test_case_168_saves_of_a_megabyte_keep_the_file_small(place: Path, text: str) -> None:
    """Each save writes megabytes; the sweep has a thousand of them."""
    assert await largest(place, 25, text) < 30 * MB


@pytest.mark.sweep
async def test_case_168_a_thousand_saves_of_a_megabyte(place: Path) -> None:
    assert await largest(place, 1_000, "") < 30 * MB


async def test_the_space_of_a_deleted_session_is_used_again(store: SqliteStore, place: Path) -> None:
    async def fill() -> int:
        claim = await store.claim("trip", "here")
        batches = [r.Batch(seq, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Note("n", "x" * 9_000),)) for seq in range(1, 101)]
        await store.append(claim, batches)
        await store.release(claim)
        assert await store.delete("trip") is True
        store.database.query("PRAGMA wal_checkpoint")
        return place.stat().st_size

    first = await fill()
    for _ in range(5):
        assert await fill() <= first * 1.1
