"""Which keys a session has in KV, in which order they are written, and what is there when that is cut short."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from warm_process import run

import lousho_cli
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, RangeError, StorageError
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.stores.kv.checkpoints import KVCheckpointStore
from lousho_cli.stores.kv.store import KVStore

SAVER = Path(__file__).with_name("saving_process.py")


async def steps(store: Any, session: str = "s", limit: int | None = None) -> list[int]:
    return [entry.step for entry in await store.history(session, limit)]


async def test_de_092_the_keys_of_a_session(workerd: Any, bench: Any, prefix: str) -> None:
    store = KVCheckpointStore(workerd, prefix)
    for step in (1, 2):
        await store.save("s", bench.checkpoint(step))
    names = await workerd.list(prefix)
    index = json.loads(await workerd.get(f"{prefix}s#history"))
    assert sorted(names) == sorted([f"{prefix}s", f"{prefix}s#history", *(f"{prefix}s#history/{entry}" for entry in index)])
    assert [re.fullmatch(r"0*\d{13}-[0-9a-f]+", entry) is not None for entry in index] == [True, True]
    assert index == sorted(index)
    assert json.loads(await workerd.get(f"{prefix}s"))["step_index"] == 2
    oldest = json.loads(await workerd.get(f"{prefix}s#history/{index[0]}"))
    assert (oldest["step"], oldest["status"], oldest["checkpoint"]["step_index"]) == (1, "in-progress", 1)


async def test_de_092_a_store_of_both_kinds_puts_them_under_names_of_their_own(workerd: Any, bench: Any, prefix: str) -> None:
    store = KVStore(workerd, prefix, history_limit=0)
    await store.checkpoints.save("s", bench.checkpoint(1))
    await store.approvals.save(*bench.pause("ap1"))
    assert sorted(await workerd.list(prefix)) == [f"{prefix}approvals/ap1", f"{prefix}checkpoints/s"]


async def test_de_093_an_entry_that_is_missing_is_passed_over(noted: Any, bench: Any) -> None:
    store = KVCheckpointStore(noted)
    for step in (1, 2, 3, 4):
        await store.save("s", bench.checkpoint(step))
    index = json.loads(noted.values["s#history"])
    del noted.values[f"s#history/{index[1]}"]
    noted.values[f"s#history/{index[2]}"] = '{"step": 3, "sav'
    assert await steps(store) == [4, 1]
    assert await steps(store, limit=2) == [4, 1]
    await store.save("s", bench.checkpoint(5))
    assert await steps(store) == [5, 4, 1]


@pytest.mark.parametrize("broken", ["", "{", "7", '{"a": 1}', "[1, 2]", '"x"', "null", ["a"], 7])
async def test_a_broken_index_is_an_empty_one(noted: Any, bench: Any, broken: Any) -> None:
    store = KVCheckpointStore(noted)
    await store.save("s", bench.checkpoint(1))
    noted.values["s#history"] = broken
    assert await steps(store) == []
    assert (await store.load("s")).step_index == 1
    await store.save("s", bench.checkpoint(2))
    assert await steps(store) == [2]


async def test_de_161_the_order_of_the_writes(noted: Any, bench: Any) -> None:
    store = KVCheckpointStore(noted, history_limit=2)
    for step in (1, 2):
        await store.save("s", bench.checkpoint(step))
    first = json.loads(noted.values["s#history"])[0]
    noted.asked.clear()
    await store.save("s", bench.checkpoint(3))
    new = json.loads(noted.values["s#history"])[-1]
    writes = [call for call in noted.asked if call[0] != "get"]
    assert writes == [("put", "s"), ("put", f"s#history/{new}"), ("put", "s#history"), ("delete", f"s#history/{first}")]


async def test_de_163_what_a_save_costs(noted: Any, bench: Any) -> None:
    without, kept = KVCheckpointStore(noted, "off/", history_limit=0), KVCheckpointStore(noted, "on/")
    await without.save("s", bench.checkpoint(1))
    assert noted.asked == [("put", "off/s")]
    noted.asked.clear()
    await kept.save("s", bench.checkpoint(1))
    assert sorted(call[0] for call in noted.asked) == ["get", "put", "put", "put"]
    assert [key for key in noted.values if key.startswith("off/")] == ["off/s"]


# Dying between two writes: a process of its own, killed for real, before its n-th write over the real KV.


def save_and_die(front: Any, prefix: str, step: int, before: int, limit: int) -> int:
    command = [sys.executable, str(SAVER), front.base_url, prefix, str(step), str(before), str(limit)]
    env = os.environ | front.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}
    return run(command, env=env, timeout=60).returncode


@pytest.mark.parametrize(("before", "loads", "kept"), [(1, 2, [2, 1]), (2, 3, [2, 1]), (3, 3, [2, 1]), (4, 3, [3, 2]), (5, 3, [3, 2])])
async def test_de_162_dying_between_any_two_writes(
    kv_front: Any, workerd: Any, bench: Any, prefix: str, before: int, loads: int, kept: list[int]
) -> None:
    store = KVCheckpointStore(workerd, prefix, history_limit=2)
    for step in (1, 2):
        await store.save("s", bench.checkpoint(step))
    died = await asyncio.to_thread(save_and_die, kv_front, prefix, 3, before, 2)
    assert died == (0 if before > 4 else -9)
    again = KVCheckpointStore(workerd, prefix, history_limit=2)
    assert (await again.load("s")).step_index == loads
    assert await steps(again) == kept
    index = json.loads(await workerd.get(f"{prefix}s#history"))
    stranded = {name.rpartition("/")[2] for name in await workerd.list(f"{prefix}s#history/")} - set(index)
    assert len(stranded) == (1 if before in (3, 4) else 0)
    await again.save("s", bench.checkpoint(4))
    assert ((await again.load("s")).step_index, (await steps(again))[0]) == (4, 4)


async def test_de_164_all_that_is_written_has_the_time_to_live(kv_front: Any, workerd: Any, bench: Any, prefix: str) -> None:
    store = KVCheckpointStore(workerd, prefix, ttl_seconds=3600)
    await store.save("s", bench.checkpoint(1))
    url = f"{kv_front.base_url}/accounts/acct/storage/kv/namespaces/ns1/keys"
    async with httpx.AsyncClient(trust_env=False, verify=False) as raw:
        listed = (await raw.get(url, params={"prefix": prefix}, headers={"authorization": f"Bearer {kv_front.token}"})).json()["result"]
    assert len(listed) == 3
    assert all(key["expiration"] > 0 for key in listed)


async def test_de_164_each_kind_has_its_own_time_to_live(noted: Any, bench: Any) -> None:
    store = KVStore(noted, history_limit=0, checkpoint_ttl_seconds=600, approval_ttl_seconds=60)
    await store.checkpoints.save("s", bench.checkpoint(1))
    await store.approvals.save(*bench.pause("ap1"))
    assert noted.asked == [("put", "checkpoints/s", "600"), ("put", "approvals/ap1", "60")]


@pytest.mark.parametrize("ttl", [0, 59, -1, 1.5, "60", True])
def test_a_time_to_live_that_kv_does_not_take_is_refused(noted: Any, ttl: Any) -> None:
    with pytest.raises(RangeError) as raised:
        KVCheckpointStore(noted, ttl_seconds=ttl)
    assert raised.value.field == "ttl_seconds"


async def test_de_165_a_value_from_before_there_was_a_history(workerd: Any, prefix: str) -> None:
    """As the original product wrote it: one key, its own spelling."""
    old = {"agentId": "a", "sessionId": "s", "stepIndex": 2, "messages": [{"role": "user", "content": "hi"}], "finishReason": "stop"}
    await workerd.put(f"{prefix}s", json.dumps(old))
    store = KVCheckpointStore(workerd, prefix)
    loaded = await store.load("s")
    assert (loaded.step_index, loaded.messages[0].text, loaded.status) == (2, "hi", "in-progress")
    assert await store.history("s") == []
    await store.save("s", loaded)
    assert await steps(store) == [2]


async def test_de_166_two_saves_at_once(noted: Any, bench: Any) -> None:
    """Both read the same index, so one may be missing from the history. Nothing else goes wrong."""
    waiting: list[str] = []
    both = asyncio.Event()
    read = noted.get

    async def get(key: str) -> Any:
        found = await read(key)
        if key == "s#history" and not both.is_set():
            waiting.append(key)
            if len(waiting) == 2:
                both.set()
            await both.wait()
        return found

    noted.get = get
    await asyncio.gather(KVCheckpointStore(noted).save("s", bench.checkpoint(1)), KVCheckpointStore(noted).save("s", bench.checkpoint(2)))
    store = KVCheckpointStore(noted)
    assert (await store.load("s")).step_index in (1, 2)
    assert await steps(store) in ([1], [2])
    await store.save("s", bench.checkpoint(3))
    assert (await steps(store))[0] == 3


async def test_de_167_delete_leaves_nothing_or_the_history(workerd: Any, bench: Any, prefix: str) -> None:
    store = KVCheckpointStore(workerd, prefix)
    for step in (1, 2):
        await store.save("s", bench.checkpoint(step))
    await store.delete("s", keep_history=True)
    assert await store.load("s") is None
    assert await steps(store) == [2, 1]
    assert f"{prefix}s" not in await workerd.list(prefix)
    await store.save("s", bench.checkpoint(9))
    assert await steps(store) == [9, 2, 1]
    await store.delete("s")
    assert await workerd.list(prefix) == []
    await store.delete("s")
    await store.delete("never there")


async def test_de_170_a_session_saved_before_its_store_kept_history(workerd: Any, bench: Any, prefix: str) -> None:
    await KVCheckpointStore(workerd, prefix, history_limit=0).save("s", bench.checkpoint(1))
    store = KVCheckpointStore(workerd, prefix)
    assert await store.history("s") == []
    await store.save("s", bench.checkpoint(2))
    assert await steps(store) == [2]


async def test_another_place_sees_it_later(workerd: Any, bench: Any, prefix: str) -> None:
    """An entry that can not be seen yet is passed over, and an old index is an old history: never an error."""
    here, there = KVCheckpointStore(workerd, prefix, history_limit=2), bench.Elsewhere(workerd)
    far = KVCheckpointStore(there, prefix)
    await here.save("s", bench.checkpoint(1))
    assert await steps(far) == [1]
    for step in (2, 3, 4):
        await here.save("s", bench.checkpoint(step))
    assert await steps(far) == [1]  # its index is old, and names an entry that it still holds
    there.catch_up()
    await there.get(f"{prefix}s#history")
    await here.save("s", bench.checkpoint(5))
    assert await steps(far) == [4]  # the index names 3 and 4, of which 3 was dropped since
    there.catch_up()
    assert await steps(far) == [5, 4]
    assert (await far.load("s")).step_index == 5


# Limits


async def test_a_busy_namespace_is_waited_for_inside_the_save(workerd: Any, bench: Any, prefix: str, clock: Any) -> None:
    busy = bench.OneWriteASecond(workerd, clock)
    store = KVCheckpointStore(busy, prefix, clock=clock)
    for step in (1, 2, 3):
        await store.save("s", bench.checkpoint(step))
    assert await steps(store) == [3, 2, 1]
    assert busy.refused > 0
    assert clock.slept == [1.0] * busy.refused


async def test_a_namespace_that_stays_busy_is_given_up(noted: Any, bench: Any, clock: Any) -> None:
    async def put(key: str, value: str) -> None:
        raise bench.TooManyRequests("KV PUT failed: 429 Too Many Requests")

    noted.put = put
    with pytest.raises(StorageError) as raised:
        await KVCheckpointStore(noted, clock=clock).save("s", bench.checkpoint(1))
    assert "429" in raised.value.detail
    assert 20 < sum(clock.slept) < 60


async def test_a_checkpoint_over_25_mib_is_named_before_anything_is_sent(noted: Any) -> None:
    large = Checkpoint("s", (user("x" * (25 * 1024 * 1024)),), step_index=1)
    for limit in (0, 50):
        with pytest.raises(StorageError) as raised:
            await KVCheckpointStore(noted, history_limit=limit).save("s", large)
        assert raised.value.code == "LOUSHO_CHECKPOINT_TOO_LARGE"
        assert "25.0 MiB" in raised.value.detail
    assert noted.asked == []


@pytest.mark.slow  # 50 MiB go out and 50 come back
async def test_the_largest_that_fits_is_stored(workerd: Any, prefix: str) -> None:
    """Just below 25 MiB, over the wire, and read back whole."""
    large = Checkpoint("s", (user("x" * (25 * 1024 * 1024 - 1000)),), step_index=1)
    store = KVCheckpointStore(workerd, prefix, history_limit=1)
    await store.save("s", large)
    assert await store.load("s") == large
    (entry,) = await store.history("s")
    assert entry.checkpoint == large
    await store.delete("s")


@pytest.mark.parametrize("session", ["user:42/über", "a b?c&d=e%2F", "../x", "s#1"])
async def test_ids_of_any_kind(workerd: Any, bench: Any, prefix: str, session: str) -> None:
    store = KVCheckpointStore(workerd, prefix)
    await store.save(session, bench.checkpoint(1))
    assert (await store.load(session)).step_index == 1
    assert await steps(store, session) == [1]
    assert await store.ids() == [session]


@pytest.mark.parametrize("session", ["", "s#history", "s#history/1-a", "x" * 500, "\ud800"])
async def test_ids_that_kv_has_no_key_for_are_refused(noted: Any, bench: Any, session: str) -> None:
    store = KVCheckpointStore(noted)
    for call in (store.load(session), store.save(session, bench.checkpoint(1)), store.delete(session), store.history(session)):
        with pytest.raises(ConfigurationError) as raised:
            await call
        assert (raised.value.field, raised.value.code) == ("session_id", "LOUSHO_SESSION_ID_INVALID")
    assert noted.asked == []


async def test_what_is_no_checkpoint_is_an_error_that_names_its_key(noted: Any) -> None:
    for text in ("", "{", "[]", '{"step_index": "x"}'):
        noted.values["s"] = text
        with pytest.raises(StorageError) as raised:
            await KVCheckpointStore(noted).load("s")
        assert "checkpoint in s can not be read" in raised.value.detail


async def test_a_namespace_may_be_a_plain_object_with_plain_methods(bench: Any) -> None:
    class Plain(dict[str, str]):
        def put(self, key: str, value: str) -> None:
            self[key] = value

        def delete(self, key: str) -> None:
            self.pop(key, None)

    store = KVCheckpointStore(Plain())
    await store.save("s", bench.checkpoint(1))
    assert await get_checkpoint_history(store, "s") == await store.history("s")
    with pytest.raises(ConfigurationError, match="can not list"):
        await store.ids()


def test_an_object_that_is_no_namespace_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no put and no delete"):
        KVStore({})
