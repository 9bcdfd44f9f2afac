"""Every log store keeps these promises: one owner at a time, by epochs that only rise."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import LogVersionError, RangeError, SessionBusyError
from lousho_cli.ports.log_store import LogStore

MakeBatch = Callable[..., r.Batch]


async def test_a_second_claim_is_busy_and_says_who(store: LogStore) -> None:
    claim = await store.claim("trip", "here")
    owner = await store.owner("trip")
    assert owner is not None
    assert (owner.host, owner.pid) == ("here", os.getpid())
    with pytest.raises(SessionBusyError) as caught:
        await store.claim("trip", "there")
    assert caught.value.owner == owner.describe()
    assert f"pid {os.getpid()}" in str(caught.value)
    assert owner.since in str(caught.value)
    await store.release(claim)


async def test_a_released_log_may_be_claimed_at_once(store: LogStore, batch: MakeBatch) -> None:
    epochs = []
    for number in range(6):
        claim = await store.claim("trip", "here")
        epochs.append(claim.epoch)
        if number % 2:
            await store.append(claim, [batch(number // 2 + 1, claim.epoch)])
        await store.release(claim)
        await store.release(claim)
        assert await store.owner("trip") is None
    # Nothing was written under the first one, so its number may come again. From then on they rise.
    assert epochs[1:] == sorted(set(epochs[1:]))


async def test_two_sessions_have_owners_of_their_own(store: LogStore) -> None:
    one = await store.claim("one", "here")
    two = await store.claim("two", "here")
    await store.release(one)
    assert await store.owner("one") is None
    assert await store.owner("two") is not None
    assert not two.overdue


async def test_claiming_writes_nothing_to_the_log(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    before = await store.read("trip")
    await store.release(await store.claim("trip", "here"))
    assert await store.read("trip") == before


NEWER = [
    r.Created("a", format=r.FORMAT + 1),
    r.Claimed("h", format=r.FORMAT + 1),
    r.Foreign("lousho.new", b'{"type":"lousho.new"}'),
]


@pytest.mark.parametrize("record", NEWER)
async def test_a_log_of_a_newer_version_is_read_but_not_claimed(store: LogStore, batch: MakeBatch, record: r.Record) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2, 1, record)])
    await store.release(claim)
    with pytest.raises(LogVersionError):
        await store.claim("trip", "here")
    assert await store.owner("trip") is None
    assert (await store.read("trip")).head == 2


async def test_case_197_a_lease_without_length_is_refused(store: LogStore) -> None:
    for wrong in (0, -5, 1.5, True):
        with pytest.raises(RangeError) as caught:
            await store.claim("trip", "here", wrong)  # type: ignore[arg-type]
        assert caught.value.field == "expires_after_ms"
        assert repr(wrong) in str(caught.value)


async def test_a_living_owner_is_renewed(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here", 1200, 50)  # many renewals a lease: on a busy machine most of them may come late
    ends = time.monotonic() + 1.5
    while time.monotonic() < ends:
        with pytest.raises(SessionBusyError):
            await store.claim("trip", "there", 1200)
        await asyncio.sleep(0.02)
    await store.append(claim, [batch(1)])
    assert claim.epoch == 1
    async with asyncio.timeout(30):
        while claim.overdue:  # at most for a moment, while the disk is slow
            await asyncio.sleep(0.01)
