"""Every log store keeps these promises: appending, reading, snapshots, deleting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from lousho_cli.core.snapshot_timing import snapshot_due
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.domain.state import State
from lousho_cli.errors import ConfigurationError, OwnershipLostError, RangeError, SessionBusyError, StorageError
from lousho_cli.ports.log_store import LogRead, LogStore

MakeBatch = Callable[..., r.Batch]


async def test_what_was_appended_is_read(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    batches = [batch(1, 1, r.Claimed("here"), r.Created("trip")), batch(2, 1, r.InputReceived("i", (user("hi"),)), r.InputApplied("i"))]
    await store.append(claim, batches)
    found = await store.read("trip")
    assert tuple(msgspec.structs.replace(one, sync=None) for one in found.batches) == tuple(batches)
    assert (found.head, found.epoch, found.holes) == (2, 1, ())


async def test_an_unknown_log_reads_as_empty(store: LogStore) -> None:
    assert await store.read("nothing") == LogRead()
    assert await store.load_snapshot("nothing") is None
    assert await store.head("nothing") is None
    assert await store.owner("nothing") is None
    assert await store.inbox("nothing") == ()
    assert await store.delete("nothing") is False
    assert (await store.heads()).heads == ()


async def test_read_gives_only_what_stands_behind(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    for seq in range(1, 6):
        await store.append(claim, [batch(seq)], durable=seq % 2 == 0)
        assert [one.seq for one in (await store.read("trip", after=seq - 1)).batches] == [seq]
    assert [one.seq for one in (await store.read("trip", after=3)).batches] == [4, 5]
    assert [one.seq for one in (await store.read("trip")).batches] == [1, 2, 3, 4, 5]
    assert (await store.read("trip", after=9)).batches == ()
    assert (await store.read("trip", after=9)).head == 5


async def test_batches_that_do_not_follow_are_refused(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    for wrong in ([batch(1)], [batch(3)], [batch(2), batch(2)], [batch(2, 7)]):
        with pytest.raises(StorageError, match="does not follow"):
            await store.append(claim, wrong)
    await store.append(claim, [batch(2), batch(3)])
    assert (await store.read("trip")).head == 3


async def test_a_value_given_away_changes_nothing_stored(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    value: dict[str, Any] = {"list": [1]}
    await store.append(claim, [batch(1, 1, r.BusinessState(value))])
    value["list"].append(2)
    read = (await store.read("trip")).batches[0].records[0]
    assert isinstance(read, r.BusinessState)
    assert read.value == {"list": [1]}
    read.value["list"].append(3)
    again = (await store.read("trip")).batches[0].records[0]
    assert isinstance(again, r.BusinessState)
    assert again.value == {"list": [1]}


async def test_a_users_own_record_is_kept_as_it_came(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    own: Any = r.Foreign("acme.note", b'{"type":"acme.note","n":12345678901234567890123}')
    await store.append(claim, [batch(1, 1, r.Claimed("here"), own)])
    assert (await store.read("trip")).batches[0].records[1] == own


async def test_append_without_sync_and_flush(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)], durable=False)
    assert (await store.read("trip")).head == 1
    await store.flush(claim)
    await store.append(claim, [batch(2)], durable=False)
    await store.release(claim)
    assert (await store.read("trip")).head == 2


async def test_overlapping_calls_stand_in_the_order_in_which_they_were_begun(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    other = await store.claim("other", "here")  # one of several sessions: a store may sync on threads then
    calls: list[Awaitable[None]] = []
    for seq in range(1, 61):
        calls.append(store.append(claim, [batch(seq)], durable=seq % 3 == 0))
        if seq % 5 == 0:
            calls.append(store.flush(claim))
    await asyncio.gather(*calls)
    assert [one.seq for one in (await store.read("trip")).batches] == list(range(1, 61))
    await store.release(other)
    await store.release(claim)
    assert (await store.read("trip")).head == 60


async def test_a_released_claim_can_not_append(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.release(claim)
    with pytest.raises(OwnershipLostError):
        await store.append(claim, [batch(2)])
    with pytest.raises(OwnershipLostError):
        await store.flush(claim)
    assert (await store.read("trip")).head == 1


async def test_watch_wakes_for_a_deletion(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, claim.epoch), batch(2, claim.epoch)])
    await store.release(claim)
    watching = asyncio.create_task(store.watch("trip", 2, 10_000))
    await asyncio.sleep(0)
    assert await store.delete("trip")
    async with asyncio.timeout(30):
        assert await watching is True
    async with asyncio.timeout(30):
        assert await store.watch("trip", 2, 10_000) is True


async def test_watch_wakes_for_an_append_and_for_a_post(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    assert await store.watch("trip", 0, 10_000) is True
    assert await store.watch("trip", 1, 30) is False
    watching = asyncio.create_task(store.watch("trip", 1, 10_000))
    await asyncio.sleep(0)
    await store.append(claim, [batch(2)])
    assert await watching is True
    assert await store.inbox("trip") == ()
    watching = asyncio.create_task(store.watch("trip", 2, 10_000))
    await asyncio.sleep(0)
    await store.post("trip", Post("p", "abort", "now"))
    assert await watching is True


async def test_a_snapshot_is_given_back_and_the_log_read_behind_it(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(seq) for seq in range(1, 11)])
    state = State(seq=10, epoch=1, agent="a", messages=(user("hi"),), business_state={"n": 1})
    await store.save_snapshot(claim, state)
    await store.append(claim, [batch(11)])
    await store.append(claim, [batch(12)])
    await store.release(claim)
    assert await store.load_snapshot("trip") == state
    assert [one.seq for one in (await store.read("trip", after=10)).batches] == [11, 12]
    again = await store.claim("trip", "here")
    assert await store.load_snapshot("trip") == state
    found = await store.read("trip", after=10)
    assert [one.seq for one in found.batches] == [11, 12]
    await store.append(again, [batch(13, again.epoch)])
    assert [one.seq for one in (await store.read("trip")).batches] == list(range(1, 14))


async def test_a_snapshot_past_the_end_is_none(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    await store.save_snapshot(claim, State(seq=5, epoch=1))
    assert await store.load_snapshot("trip") is None


async def test_a_snapshot_is_due_after_a_megabyte(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, r.BusinessState("x" * 600_000))])
    assert not snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)
    await store.append(claim, [batch(2, 1, r.BusinessState("x" * 600_000))])
    assert snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)
    await store.save_snapshot(claim, State(seq=2, epoch=1, business_state="x" * 4_000_000))
    await store.append(claim, [batch(3, 1, r.BusinessState("x" * 1_900_000))])
    assert not snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)
    await store.append(claim, [batch(4, 1, r.BusinessState("x" * 200_000))])
    assert snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size)


async def test_delete_removes_all_and_the_id_starts_over(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2)])
    await store.save_snapshot(claim, State(seq=2, epoch=1))
    with pytest.raises(SessionBusyError):
        await store.delete("trip")
    await store.release(claim)
    await store.post("trip", Post("p", "abort", "now"))
    assert await store.delete("trip") is True
    assert await store.delete("trip") is False
    assert await store.read("trip") == LogRead()
    assert await store.inbox("trip") == ()
    assert await store.load_snapshot("trip") is None
    again = await store.claim("trip", "here")
    await store.append(again, [batch(1, again.epoch)])
    assert (await store.read("trip")).head == 1
    with pytest.raises(OwnershipLostError):
        await store.append(claim, [batch(3)])


async def test_de_081_a_wrong_history_limit_is_refused(open_store: Callable[..., LogStore]) -> None:
    for wrong in (-1, 1.5, True, "3", None):
        with pytest.raises(RangeError, match="history_limit") as caught:
            open_store(history_limit=wrong)
        assert caught.value.field == "history_limit"
    assert open_store().history_limit == 50
    assert open_store(history_limit=0).history_limit == 0


@pytest.mark.parametrize(
    "session_id",
    ["", ".", "..", "../../x", "/etc/x", "a/b", "a\\b", "a\0b", "a b", "-a", ".a", "ä", "a\n", "x" * 129, "x" * 300, "a" * 155 + ".fork-1"],
)
async def test_case_149_an_id_never_leaves_the_store(store: LogStore, session_id: str, tmp_path: Any) -> None:
    before = sorted(tmp_path.rglob("*"))
    for call in (
        lambda: store.claim(session_id, "here"),
        lambda: store.read(session_id),
        lambda: store.head(session_id),
        lambda: store.owner(session_id),
        lambda: store.delete(session_id),
        lambda: store.inbox(session_id),
        lambda: store.post(session_id, Post("p", "abort", "now")),
        lambda: store.load_snapshot(session_id),
        lambda: store.watch(session_id, 0, 10),
    ):
        with pytest.raises(ConfigurationError) as caught:
            await call()
        assert (caught.value.field, caught.value.code) == ("session_id", "LOUSHO_SESSION_ID_INVALID")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("session_id", ["x" * 128, "X" * 128, "aB" * 64, "aB" * 58 + ".fork-1" * 5 + ".fork-2", "_a.b-c", "0"])
async def test_every_valid_id_is_a_session_of_its_own(store: LogStore, batch: MakeBatch, session_id: str) -> None:
    for number, one in enumerate((session_id, session_id.swapcase() if session_id.swapcase() != session_id else "other")):
        if one.endswith(".FORK-2"):
            continue
        claim = await store.claim(one, "here")
        await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created(f"agent {number}"))])
    heads = {head.id: head.agent for head in (await store.heads()).heads}
    assert heads[session_id] == "agent 0"


async def test_case_161_a_large_record_is_whole(store: LogStore, batch: MakeBatch) -> None:
    content = "aGVsbG8g" * 2_621_440  # 20 MB
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1), batch(2, 1, r.ToolFinished("c", content)), batch(3)])
    read = (await store.read("trip")).batches
    assert msgspec.structs.replace(read[1].records[0]).content == content  # type: ignore[union-attr]
    assert [one.seq for one in read] == [1, 2, 3]
