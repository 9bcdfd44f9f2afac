"""A record of a known type in a shape it never had: damage of that record, not a newer version."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import DamagedLogError, LogVersionError
from lousho_cli.ports.log_store import LogStore

MakeBatch = Callable[..., r.Batch]
BROKEN = r.WaitAnswered("a", "no")  # type: ignore[arg-type]


async def test_a_log_with_an_unreadable_record_is_read_but_not_claimed(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2, 1, BROKEN), batch(3)])
    await store.release(claim)
    with pytest.raises(DamagedLogError) as raised:
        await store.claim("trip", "here")
    assert not isinstance(raised.value, LogVersionError)
    assert "record 2" in raised.value.detail
    assert "lousho.wait_answered" in raised.value.detail
    assert await store.owner("trip") is None
    found = await store.read("trip")
    assert [one.seq for one in found.batches] == [1, 2, 3]
    broken = found.batches[1].records[0]
    assert isinstance(broken, r.Foreign)
    assert broken.damaged


async def test_a_newer_version_is_named_before_what_only_it_can_read(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, BROKEN), batch(2, 1, r.Claimed("h", format=r.FORMAT + 1))])
    await store.release(claim)
    with pytest.raises(LogVersionError):
        await store.claim("trip", "here")
