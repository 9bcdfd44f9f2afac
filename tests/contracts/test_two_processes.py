"""Stores that several processes share: who owns a log when the other one is killed, stopped or slow."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.ports.log_store import Claim, LogStore

Shared = tuple[LogStore, Callable[[], Any]]
MakeBatch = Callable[..., r.Batch]

SHORT_MS = 300


async def claim_when_free(store: LogStore, log_id: str) -> Claim:
    """Claims as soon as the store allows it."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await store.claim(log_id, "here")
            except SessionBusyError:
                await asyncio.sleep(0.01)


async def test_a_second_process_is_busy_and_says_who(shared: Shared) -> None:
    store, start = shared
    other = start()
    assert other.ask("claim", log="trip") == 1
    with pytest.raises(SessionBusyError) as caught:
        await store.claim("trip", "here")
    owner = await store.owner("trip")
    assert owner is not None
    assert (owner.host, owner.pid) == ("other-host", other.pid)
    assert f"pid {other.pid}, since {owner.since}" in str(caught.value)
    other.ask("append", text="saved")
    other.ask("release")
    assert (await store.claim("trip", "here")).epoch == 2


async def test_case_186_a_killed_owner_blocks_nobody(shared: Shared, batch: MakeBatch) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip")
    assert other.ask("append", text="saved", durable=False) == 1
    other.kill()
    assert await store.owner("trip") is None
    claim = await store.claim("trip", "here")
    assert claim.epoch == 2
    await store.append(claim, [batch(2, 2)])
    assert [one.epoch for one in (await store.read("trip")).batches] == [1, 2]


async def test_case_183_a_stopped_owner_is_replaced_and_its_late_write_refused(shared: Shared, batch: MakeBatch) -> None:
    store, start = shared
    other, began = start(), time.monotonic()
    other.ask("claim", log="trip", ttl_ms=SHORT_MS)
    assert other.ask("append", text="saved") == 1
    os.kill(other.pid, signal.SIGSTOP)
    claim = await claim_when_free(store, "trip")
    assert time.monotonic() - began > SHORT_MS / 1000, "not before its lease is over"
    await store.append(claim, [batch(2, claim.epoch)])
    os.kill(other.pid, signal.SIGCONT)
    assert other.ask("append", text="late")["error"] == "OwnershipLostError"
    assert other.ask("overdue") is True
    assert other.ask("append", text="later still")["error"] == "OwnershipLostError"
    await store.append(claim, [batch(3, claim.epoch)])
    assert [(one.seq, one.epoch) for one in (await store.read("trip")).batches] == [(1, 1), (2, 2), (3, 2)]


async def test_a_stopped_owner_that_nobody_replaced_goes_on(shared: Shared) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip", ttl_ms=SHORT_MS)
    os.kill(other.pid, signal.SIGSTOP)
    async with asyncio.timeout(30):
        while await store.owner("trip") is not None:  # its lease runs out
            await asyncio.sleep(0.01)
    os.kill(other.pid, signal.SIGCONT)
    assert other.ask("append", text="still mine") == 1


async def test_of_several_processes_one_gets_the_log(shared: Shared) -> None:
    _, start = shared
    others = [start() for _ in range(3)]
    for _ in range(10):
        for other in others:
            other.send("claim", log="trip")
        answers = [other.answer() for other in others]
        winners = [other for other, answer in zip(others, answers, strict=True) if isinstance(answer, int)]
        assert len(winners) == 1, answers
        assert all(answer["error"] == "SessionBusyError" for answer in answers if not isinstance(answer, int))
        winners[0].ask("release")


async def test_a_deleted_session_is_lost_to_its_stopped_owner(shared: Shared, batch: MakeBatch) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip", ttl_ms=SHORT_MS)
    other.ask("append", text="saved")
    os.kill(other.pid, signal.SIGSTOP)
    async with asyncio.timeout(30):
        while await store.owner("trip") is not None:
            await asyncio.sleep(0.01)
    assert await store.delete("trip") is True
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, claim.epoch)])
    os.kill(other.pid, signal.SIGCONT)
    assert other.ask("append", text="late")["error"] == "OwnershipLostError"
    assert len((await store.read("trip")).batches) == 1


async def test_another_process_sees_each_append(shared: Shared) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip")
    seen = 0
    for number in range(5):
        watching = asyncio.create_task(store.watch("trip", seen, 10_000))
        await asyncio.sleep(0)
        other.ask("append", text=str(number))
        assert await watching is True
        found = await store.read("trip", after=seen)
        assert [one.seq for one in found.batches] == [seen + 1]
        seen = found.head


async def test_a_lost_claim_can_be_released(shared: Shared) -> None:
    store, start = shared
    other = start()
    other.ask("claim", log="trip", ttl_ms=SHORT_MS)
    os.kill(other.pid, signal.SIGSTOP)
    claim = await claim_when_free(store, "trip")
    os.kill(other.pid, signal.SIGCONT)
    assert other.ask("release") is None
    owner = await store.owner("trip")
    assert owner is not None
    assert owner.epoch == claim.epoch
    with pytest.raises(OwnershipLostError):
        await store.release(claim)
        await store.flush(claim)
