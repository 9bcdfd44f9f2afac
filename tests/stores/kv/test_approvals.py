"""Approvals in KV."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.stores.kv.approvals import KVApprovalStore
from lousho_cli.stores.kv.store import KVStore


async def test_a_pause_is_stored_looked_at_listed_and_taken(workerd: Any, bench: Any, prefix: str) -> None:
    store = KVStore(workerd, prefix).approvals
    for name in ("b", "a"):
        await store.save(*bench.pause(name))
    assert [pending.id for pending in await store.list()] == ["a", "b"]
    looked = await store.load("a")
    assert (looked.pending, looked.snapshot) == bench.pause("a")
    assert await store.resolve("a") == looked
    assert (await store.resolve("a"), await store.load("a")) == (None, None)
    assert [pending.id for pending in await store.list()] == ["b"]
    await store.save(*bench.pause("a"))
    assert (await store.resolve("a")).pending.id == "a"


async def test_two_places_may_both_take_one_and_the_docstring_says_so(workerd: Any, bench: Any, prefix: str) -> None:
    """KV has no transactions: what one place has just deleted, another still shows."""
    await KVApprovalStore(workerd, prefix).save(*bench.pause("a"))
    far = bench.Elsewhere(workerd)
    await KVApprovalStore(far, prefix).load("a")
    took = [await KVApprovalStore(place, prefix).resolve("a") for place in (workerd, far)]
    assert None not in took
    assert "best effort" in KVApprovalStore.__doc__
    far.catch_up()
    assert await KVApprovalStore(far, prefix).resolve("a") is None


async def test_one_after_the_other_only_one_takes_it(workerd: Any, bench: Any, prefix: str) -> None:
    store = KVApprovalStore(workerd, prefix)
    await store.save(*bench.pause("a"))
    assert [await store.resolve("a") is not None for _ in range(3)] == [True, False, False]


async def test_what_is_no_pause_stays_and_is_named(noted: Any) -> None:
    noted.values["approvals/a"] = "{"
    for call in (KVApprovalStore(noted).load("a"), KVApprovalStore(noted).resolve("a")):
        with pytest.raises(StorageError, match="approval in approvals/a can not be read"):
            await call
    assert noted.values == {"approvals/a": "{"}


async def test_a_namespace_that_can_not_list_says_so(noted: Any) -> None:
    class NoList:
        get, put, delete = noted.get, noted.put, noted.delete

    with pytest.raises(ConfigurationError, match="can not list"):
        await KVApprovalStore(NoList()).list()


async def test_one_taken_while_it_is_listed_is_left_out(noted: Any, bench: Any) -> None:
    store = KVApprovalStore(noted)
    for name in ("a", "b"):
        await store.save(*bench.pause(name))
    read = noted.get

    async def get(key: str) -> Any:
        noted.values.pop("approvals/b", None)
        await asyncio.sleep(0)
        return await read(key)

    noted.get = get
    assert [pending.id for pending in await store.list()] == ["a"]
