"""Checkpoints and approvals over somebody's get, set and remove."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.stores.local_storage import LocalStorageApprovalStore, LocalStorageCheckpointStore


class Storage:
    """Plain methods over a dictionary."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def remove(self, key: str) -> None:
        self.values.pop(key, None)


class SlowStorage:
    """The same, async, with a turn of the loop before each answer, so that others come in between."""

    def __init__(self) -> None:
        self.inner = Storage()
        self.values = self.inner.values

    async def get(self, key: str) -> Any:
        await asyncio.sleep(0)
        return self.inner.get(key)

    async def set(self, key: str, value: str) -> None:
        await asyncio.sleep(0)
        self.inner.set(key, value)

    async def remove(self, key: str) -> None:
        await asyncio.sleep(0)
        self.inner.remove(key)


@pytest.fixture(params=[Storage, SlowStorage])
def storage(request: pytest.FixtureRequest) -> Any:
    return request.param()


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint("s", (user(f"step {step}"),), step_index=step)


def pause() -> tuple[PendingApproval, ExecutionSnapshot]:
    pending = PendingApproval("ap1", "c1", "pay", {}, "0" * 16, "2026-01-01T00:00:00.000Z")
    return pending, ExecutionSnapshot(Agent("agent"), (user("go"),), pending, 1)


async def steps(store: Any) -> list[int]:
    return [entry.step for entry in await store.history("s")]


async def test_the_keys(storage: Any) -> None:
    store = LocalStorageCheckpointStore(storage)
    await store.save("s", checkpoint(1))
    await LocalStorageApprovalStore(storage).save(*pause())
    assert sorted(storage.values) == ["approvals/ap1.json", "checkpoint-history/s.json", "checkpoints/s.json"]
    assert json.loads(storage.values["checkpoints/s.json"])["step_index"] == 1
    assert [entry["step"] for entry in json.loads(storage.values["checkpoint-history/s.json"])] == [1]
    await store.delete("s", keep_history=True)
    assert sorted(storage.values) == ["approvals/ap1.json", "checkpoint-history/s.json"]
    await store.delete("s")
    assert sorted(storage.values) == ["approvals/ap1.json"]


async def test_without_history_one_key_is_touched(storage: Any) -> None:
    await LocalStorageCheckpointStore(storage, history_limit=0).save("s", checkpoint(1))
    assert sorted(storage.values) == ["checkpoints/s.json"]


async def test_saves_at_once_lose_no_entry(storage: Any) -> None:
    store = LocalStorageCheckpointStore(storage)
    await asyncio.gather(*(store.save("s", checkpoint(step)) for step in range(1, 21)))
    assert await steps(store) == list(range(20, 0, -1))
    assert (await store.load("s")).step_index == 20


async def test_sessions_do_not_wait_for_one_another() -> None:
    """While one session's storage hangs, another is saved."""
    storage: Any = SlowStorage()
    hangs, inner = asyncio.Event(), storage.set

    async def put(key: str, value: str) -> None:
        if "slow" in key:
            await hangs.wait()
        await inner(key, value)

    storage.set = put
    store = LocalStorageCheckpointStore(storage)
    slow = asyncio.ensure_future(store.save("slow", checkpoint(1)))
    await asyncio.wait_for(store.save("s", checkpoint(1)), 30)
    assert not slow.done()
    hangs.set()
    await slow


async def test_of_many_who_take_an_approval_at_once_one_gets_it(storage: Any) -> None:
    store = LocalStorageApprovalStore(storage)
    for _ in range(3):
        await store.save(*pause())
        took = await asyncio.gather(*(store.resolve("ap1") for _ in range(8)))
        assert sum(one is not None for one in took) == 1
    assert storage.values == {}


@pytest.mark.parametrize("damage", ["", "[{", "7", b"\xff", {"a": 1}, 7])
async def test_a_damaged_history_is_none_and_is_rebuilt(storage: Any, damage: Any) -> None:
    store = LocalStorageCheckpointStore(storage)
    await store.save("s", checkpoint(1))
    storage.values["checkpoint-history/s.json"] = damage
    assert await steps(store) == []
    await store.save("s", checkpoint(2))
    assert await steps(store) == [2]


@pytest.mark.parametrize("damage", ["{", {}, True])
async def test_a_damaged_checkpoint_and_a_damaged_approval_are_named(storage: Any, damage: Any) -> None:
    storage.values |= {"checkpoints/s.json": damage, "approvals/ap1.json": damage}
    with pytest.raises(StorageError, match=r"checkpoint in checkpoints/s\.json"):
        await LocalStorageCheckpointStore(storage).load("s")
    approvals = LocalStorageApprovalStore(storage)
    for call in (approvals.load("ap1"), approvals.resolve("ap1")):
        with pytest.raises(StorageError, match=r"approval in approvals/ap1\.json"):
            await call
    assert "approvals/ap1.json" in storage.values


async def test_what_the_storage_raises_is_a_storage_error(storage: Any) -> None:
    async def full(key: str, value: str) -> None:
        raise OSError("quota exceeded")

    storage.set = full
    with pytest.raises(StorageError, match=r"could not set checkpoints/s\.json: OSError: quota exceeded"):
        await LocalStorageCheckpointStore(storage).save("s", checkpoint(1))


@pytest.mark.parametrize("make", [LocalStorageCheckpointStore, LocalStorageApprovalStore])
def test_an_object_that_lacks_a_method_is_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="no set and no remove") as raised:
        make({})
    assert raised.value.field == "storage"
