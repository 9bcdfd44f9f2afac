"""Every log store can be trimmed: its log becomes one batch that holds the whole state, and goes on from there."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.snapshot_timing import snapshot_due
from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.errors import LogVersionError, OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.ports.log_store import Claim, LogRead, LogStore
from lousho_cli.ports.sessions import read_session

MakeBatch = Callable[..., r.Batch]
Shared = tuple[LogStore, Callable[[], Any]]


async def run_of(store: LogStore, batch: MakeBatch, steps: int = 4, size: int = 10) -> Claim:
    """A log with a run in it: one batch that begins it, one a step with its mark. Gives its claim."""
    claim = await store.claim("trip", "here")
    begin = (r.Claimed("here"), r.Created("trip"), r.InputReceived("in", (user("hi"),)), r.InputApplied("in"), r.RunStarted("in"))
    await store.append(claim, [batch(1, claim.epoch, *begin)])
    for step in range(1, steps + 1):
        turn = r.Turn(Message("assistant", f"{step}" * size))
        await store.append(claim, [batch(step + 1, claim.epoch, turn, r.Mark(step))])
    return claim


async def trim(store: LogStore, claim: Claim, *, announced: bool = True) -> r.Batch:
    session = await read_session(store, claim.log_id)
    base = base_batch(trimmed_state(session), claim.epoch, None if announced else claim.host)
    await store.trim(claim, base)
    return base


def seqs(found: LogRead) -> list[int]:
    return [one.seq for one in found.batches]


async def test_a_trimmed_log_is_one_batch_with_the_same_session(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    before, full = await read_session(store, "trip"), await store.read("trip")
    await trim(store, claim)
    found = await store.read("trip")
    assert (seqs(found), found.head, found.epoch, found.holes) == ([5], full.head, full.epoch, ())
    assert fold(found.batches) == before
    assert await read_session(store, "trip") == before
    assert [mark.address for mark in before.marks] == ["1/1.1", "1/2.1", "1/3.1", "1/4.1"]


async def test_who_had_read_the_whole_log_has_nothing_to_read_and_others_get_the_base(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    await store.read("trip")
    await trim(store, claim)
    assert seqs(await store.read("trip", after=5)) == []
    for after in range(5):
        assert seqs(await store.read("trip", after=after)) == [5]


async def test_a_trimmed_log_goes_on(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    await trim(store, claim)
    await store.append(claim, [batch(6, claim.epoch)], durable=False)
    await store.flush(claim)
    await store.release(claim)
    again = await store.claim("trip", "there")
    assert again.epoch > claim.epoch
    await store.append(again, [batch(7, again.epoch, r.Claimed("there"), r.Note("n", "behind"))])
    assert seqs(await store.read("trip")) == [5, 6, 7]
    assert seqs(await store.read("trip", after=6)) == [7]
    await trim(store, again)
    assert seqs(await store.read("trip")) == [7]
    with pytest.raises(StorageError, match="does not follow"):
        await store.append(again, [batch(7, again.epoch)])
    await store.append(again, [batch(8, again.epoch)])
    await store.release(again)
    assert (await store.read("trip")).head == 8


async def test_a_new_owner_may_trim_before_it_writes(store: LogStore, batch: MakeBatch) -> None:
    await store.release(await run_of(store, batch))
    claim = await store.claim("trip", "there")
    base = await trim(store, claim, announced=False)
    assert base.records[0] == r.Claimed("there")
    await store.append(claim, [batch(6, claim.epoch)])
    found = await store.read("trip")
    assert [(one.seq, one.epoch) for one in found.batches] == [(5, claim.epoch), (6, claim.epoch)]
    await store.release(claim)
    assert (await store.claim("trip", "here")).epoch > claim.epoch


async def test_a_base_may_stand_behind_the_head_with_more_in_its_batch(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    waiting = asyncio.ensure_future(store.watch("trip", 5, 10_000))
    await asyncio.sleep(0)
    state = trimmed_state(await read_session(store, "trip"))
    await store.trim(claim, batch(6, claim.epoch, r.Base(state), r.Mark(4)))
    assert await waiting is True
    assert seqs(await store.read("trip", after=5)) == [6]
    session = await read_session(store, "trip")
    assert session.seq == 6
    assert [mark.address for mark in session.marks][-2:] == ["1/4.1", "1/4.2"]


async def test_a_trim_drops_the_snapshot_and_the_cached_head(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    session = await read_session(store, "trip")
    await store.save_snapshot(claim, trimmed_state(session))
    await store.save_head(claim, head_of(session))
    await trim(store, claim)
    assert await store.load_snapshot("trip") is None
    head = await store.head("trip")
    assert head is not None
    assert (head.seq, head.step, head.messages) == (5, 4, 5)
    await store.append(claim, [batch(6, claim.epoch, r.Turn(Message("assistant", "more")), r.Mark(5))])
    assert [(one.seq, one.step, one.messages) for one in (await store.heads()).heads] == [(6, 5, 6)]
    await store.save_snapshot(claim, trimmed_state(await read_session(store, "trip")))
    await store.save_head(claim, head_of(await read_session(store, "trip")))
    snapshot = await store.load_snapshot("trip")
    assert snapshot is not None
    assert snapshot.seq == 6


async def test_what_is_no_base_is_refused_and_the_log_stays(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    before = await store.read("trip")
    state = trimmed_state(await read_session(store, "trip"))
    wrong = (batch(5), batch(4, claim.epoch, r.Base(state)), batch(7, claim.epoch, r.Base(state)), batch(5, 9, r.Base(state)))
    for base in wrong:
        with pytest.raises(StorageError, match="no base"):
            await store.trim(claim, base)
    assert await store.read("trip") == before
    await store.append(claim, [batch(6, claim.epoch)])
    empty = await store.claim("nothing", "here")
    with pytest.raises(StorageError, match="no log"):
        await store.trim(empty, batch(1, empty.epoch, r.Base(state)))
    await store.release(empty)
    assert (await store.read("nothing")).head == 0


async def test_a_released_claim_can_not_trim(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    base = base_batch(trimmed_state(await read_session(store, "trip")), claim.epoch, None)
    await store.release(claim)
    with pytest.raises(OwnershipLostError):
        await store.trim(claim, base)
    assert seqs(await store.read("trip")) == [1, 2, 3, 4, 5]
    again = await store.claim("trip", "there")
    with pytest.raises(OwnershipLostError):
        await store.trim(claim, base)
    assert seqs(await store.read("trip")) == [1, 2, 3, 4, 5]
    await store.release(again)


async def test_a_base_is_measured_like_a_snapshot(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch, steps=3, size=500_000)
    assert snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)
    await trim(store, claim)
    assert not snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)
    await store.release(claim)
    again = await store.claim("trip", "here")
    assert not snapshot_due(again.bytes_since_snapshot, again.snapshot_size)
    await store.append(again, [batch(5, again.epoch, r.Claimed("here"), r.Note("n", "x" * 600_000))])
    assert not snapshot_due(again.bytes_since_snapshot, again.snapshot_size)  # less than half of the base
    await store.append(again, [batch(6, again.epoch, r.Note("n", "x" * 600_000))])
    assert snapshot_due(again.bytes_since_snapshot, again.snapshot_size)


async def test_posts_stay_and_a_deleted_log_begins_anew(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    await store.post("trip", Post("in-2", "input", "2026-01-01T00:00:00.000Z", body="more"))
    await trim(store, claim)
    assert [post.id for post in await store.inbox("trip")] == ["in-2"]
    await store.release(claim)
    assert await store.delete("trip") is True
    assert (await store.read("trip")).head == 0
    new = await store.claim("trip", "here")
    await store.append(new, [batch(1, new.epoch)])
    assert seqs(await store.read("trip")) == [1]


async def test_a_base_of_a_newer_version_is_not_written_to(store: LogStore, batch: MakeBatch) -> None:
    claim = await run_of(store, batch)
    state = trimmed_state(await read_session(store, "trip"))
    await store.trim(claim, batch(5, claim.epoch, r.Base(state, format=r.FORMAT + 1)))
    await store.release(claim)
    with pytest.raises(LogVersionError):
        await store.claim("trip", "here")


async def test_another_process_reads_on_through_a_trim(shared: Shared, batch: MakeBatch) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip")
    for text in ("one", "two", "three"):
        other.ask("append", text=text)
    assert seqs(await store.read("trip")) == [1, 2, 3]
    other.ask("trim")
    other.ask("append", text="four")
    assert seqs(await store.read("trip", after=3)) == [4]
    assert seqs(await store.read("trip", after=2)) == [3, 4]
    assert seqs(await store.read("trip")) == [3, 4]
    other.ask("release")
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(5, claim.epoch)])
    assert other.ask("heads") == [5]


async def test_a_stopped_owner_can_not_trim_what_another_took_over(shared: Shared, batch: MakeBatch) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip", ttl_ms=300)
    other.ask("append", text="saved")
    os.kill(other.pid, signal.SIGSTOP)
    async with asyncio.timeout(30):
        while True:
            try:
                claim = await store.claim("trip", "here")
                break
            except SessionBusyError:
                await asyncio.sleep(0.01)
    await store.append(claim, [batch(2, claim.epoch)])
    await trim(store, claim)
    await store.append(claim, [batch(3, claim.epoch)])
    os.kill(other.pid, signal.SIGCONT)
    assert other.ask("trim")["error"] == "OwnershipLostError"
    assert other.ask("append", text="late")["error"] == "OwnershipLostError"
    assert seqs(await store.read("trip")) == [2, 3]
    await store.append(claim, [batch(4, claim.epoch)])
    assert seqs(await store.read("trip")) == [2, 3, 4]
