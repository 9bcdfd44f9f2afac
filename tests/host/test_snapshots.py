"""When an owner caches the fold of a thread, what a new host reads then, and what is dropped."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from lousho_cli.core.snapshot_timing import snapshot_due
from lousho_cli.core.trimming import has_base
from lousho_cli.domain.times import later
from lousho_cli.errors import StorageError
from lousho_cli.executor.clock import SystemClock
from lousho_cli.host.host import create_harness_host
from lousho_cli.host.options import SnapshotTiming, snapshots_from
from lousho_cli.ports.sessions import read_session
from tests.host.owning import Work, closing, nobody_owns, says, until

SMALL = {"save_snapshot_after": {"bytes": 1, "ms": 300_000}}


class Late(SystemClock):
    """A clock that can be put forward."""

    ahead_ms = 0

    def now(self) -> str:
        return later(super().now(), self.ahead_ms)

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


async def ran(host: Any, store: Any, *answers: str) -> Any:
    """A thread in which each answer was given."""
    session = await host.open(says(*answers), "t")
    for number, _ in enumerate(answers):
        await session.send(f"Say {number}", input_id=f"i{number}")
        await session.settled(f"i{number}")
    await nobody_owns(store, "t")
    return session


async def test_ds_165_a_snapshot_is_written_after_so_many_bytes(store: Any) -> None:
    large = create_harness_host({"log": store})
    async with closing(large):
        await ran(large, store, "One.")
        assert await store.load_snapshot("t") is None
    before = (await store.read("t")).head
    small = create_harness_host({"log": store}, log=SMALL)
    async with closing(small):
        session = await small.open(says("One.", "Two."), "t")
        await session.send("More", input_id="b")
        await session.settled("b")
        await nobody_owns(store, "t")
    snapshot = await store.load_snapshot("t")
    assert snapshot is not None
    assert snapshot.seq > before


async def test_ds_165_or_so_long_after_the_first_record_that_none_has(store: Any) -> None:
    clock = Late()
    host = create_harness_host({"log": store}, log={"save_snapshot_after": {"bytes": 10**9, "ms": 60_000}}, clock=clock)
    async with closing(host):
        work = Work()
        session = await host.open(work.harness(), "t")
        await session.send("Go", input_id="a")
        await work.begun.wait()
        assert await store.load_snapshot("t") is None
        clock.ahead_ms = 60_000

        async def cached() -> bool:
            return await store.load_snapshot("t") is not None

        await until(cached)  # in the middle of a call that takes long
        work.go.set()
        assert (await session.settled("a")).text == "Done."


async def test_the_time_counts_from_the_first_record_though_its_owner_is_gone(store: Any) -> None:
    first = create_harness_host({"log": store})
    async with closing(first):
        await ran(first, store, "One.")
    clock = Late()
    clock.ahead_ms = 300_000
    second = create_harness_host({"log": store}, clock=clock)
    async with closing(second):
        session = await second.open(says("One.", "Two."), "t")
        await session.send("More", input_id="b")
        await session.settled("b")
        await nobody_owns(store, "t")
        assert await store.load_snapshot("t") is not None


async def test_ds_166_a_new_host_reads_only_what_no_snapshot_has(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    host = create_harness_host({"log": store}, log=SMALL)
    async with closing(host):
        await ran(host, store, "One.", "Two.", "Three.")
    snapshot = await store.load_snapshot("t")
    asked: list[int] = []
    read = store.read

    async def counted(log_id: str, after: int = 0) -> Any:
        asked.append(after)
        return await read(log_id, after)

    monkeypatch.setattr(store, "read", counted)
    session = await read_session(store, "t")
    assert asked == [snapshot.seq]
    assert session.answer == "Three."


async def test_ds_167_one_that_only_reads_writes_no_snapshot(store: Any) -> None:
    work = Work()
    owner, reader = (
        create_harness_host({"log": store}),
        create_harness_host({"log": store}, log={"save_snapshot_after": {"bytes": 1, "ms": 1}}),
    )
    async with closing(owner, reader):
        one, two = await owner.open(work.harness(), "t"), await reader.open(work.harness(), "t")
        await one.send("Go", input_id="a")
        await work.begun.wait()
        work.go.set()
        assert (await two.settled("a")).text == "Done."
        await nobody_owns(store, "t")
        assert await store.load_snapshot("t") is None


async def test_ds_168_a_snapshot_past_the_end_of_the_log_is_passed_over(store: Any) -> None:
    host = create_harness_host({"log": store}, log=SMALL)
    async with closing(host):
        session = await ran(host, store, "One.")
        state = await store.load_snapshot("t")
        claim = await store.claim("t", "here")
        await store.save_snapshot(claim, msgspec.structs.replace(state, seq=state.seq + 100, outcome="failed"))
        await store.release(claim)
        assert (await session.settled("i0")).text == "One."


async def test_ds_169_a_snapshot_that_can_not_be_written_fails_nothing(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any) -> None:
        raise StorageError("no space left on device")

    monkeypatch.setattr(store, "save_snapshot", full)
    host = create_harness_host({"log": store}, log=SMALL)
    async with closing(host):
        session = await ran(host, store, "One.", "Two.")
        assert (await session.settled("i1")).text == "Two."
        assert await store.load_snapshot("t") is None


async def test_ds_170_old_records_go_and_the_thread_opens_with_the_same_state(store: Any) -> None:
    trimming = {"retention": {"keep_log_records": "since-snapshot"}}
    host = create_harness_host({"log": store}, log=SMALL, lifecycle=trimming)
    async with closing(host):
        session = await ran(host, store, "One.", "Two.")
        found = await store.read("t")
        assert has_base(found.batches[0])
        assert (len(found.batches) < found.head, found.holes) == (True, ())
        assert (await session.settled("i0")).outcome == "completed"
        await session.send("Say 0", input_id="i0")
        assert (await store.read("t")).head == found.head, "what it knew it knows still"
    again = create_harness_host({"log": store})
    async with closing(again):
        session = await again.open(says("One.", "Two.", "Three."), "t")
        await session.send("More", input_id="c")
        assert (await session.settled("c")).text == "Three."
    messages = (await read_session(store, "t")).messages
    assert [message.text for message in messages if message.role == "assistant"] == ["One.", "Two.", "Three."]


async def test_a_log_is_trimmed_in_the_middle_of_a_turn_and_the_turn_goes_on(store: Any) -> None:
    trimming = {"retention": {"keep_log_records": "since-snapshot"}}
    host = create_harness_host({"log": store}, log={"save_snapshot_after": {"bytes": 1, "ms": 1}}, lifecycle=trimming)
    async with closing(host):
        work = Work()
        session = await host.open(work.harness(), "t")
        await session.send("Go", input_id="a")
        await work.begun.wait()

        async def trimmed() -> bool:
            return len((await store.read("t")).batches) == 1

        await until(trimmed)
        work.go.set()
        assert (await session.settled("a")).text == "Done."


def test_ds_184_a_snapshot_is_due_after_a_million_bytes_or_five_minutes() -> None:
    assert snapshots_from(None) == SnapshotTiming(bytes=1_000_000, ms=300_000)
    assert not snapshot_due(999_999, 0, 299_999)
    assert snapshot_due(1_000_000, 0, 0)
    assert snapshot_due(1, 0, 300_000)
    assert not snapshot_due(0, 0, 300_000), "there is nothing new"


async def test_ds_181_without_persistence_all_is_in_memory_and_one_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "lousho"):
        host, other = create_harness_host(), create_harness_host()
    assert len([one.message for one in caplog.records if "in memory" in one.message]) == 2, "one for each host"
    async with closing(host, other):
        session = await host.open(says("One."), "t")
        await session.send("Hi", input_id="a")
        assert (await session.settled("a")).text == "One."
        assert await other.resume_pending([says("One.")]) == []
        assert (await (await other.open(says("One."), "t")).inputs()) == ()
