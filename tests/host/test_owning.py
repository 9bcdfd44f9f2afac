"""Who owns a thread, how it is lost, and how it comes back."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pg_server
import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.host.options import Ownership, ownership_from
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.stores.sqlite.store import SqliteStore
from tests.host.owning import CALLS_WORK, SHORT, Work, at_work, closing, nobody_owns, says, stop_renewing, until


@pytest.fixture(params=["file", "sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Two store objects on one place, as two processes have them."""
    make: dict[str, Any] = {
        "file": lambda: FileStore(tmp_path),
        "sqlite": lambda: SqliteStore(tmp_path / "db"),
        "postgres": lambda: PostgresStore(pg_server.place_url(tmp_path)),
    }
    stores: list[Any] = [make[request.param]() for _ in range(2)]
    yield stores
    for store in stores:
        if request.param != "file":
            store.close()


async def records_of(store: Any, thread_id: str, kind: type) -> list[Any]:
    return [one for batch in (await store.read(thread_id)).batches for one in batch.records if isinstance(one, kind)]


def test_ds_155_a_renewal_that_comes_too_late_is_refused_at_once() -> None:
    with pytest.raises(RangeError) as caught:
        create_harness_host(ownership={"expires_after_ms": 1000, "renew_every_ms": 1000})
    assert caught.value.field == "ownership.renew_every_ms"
    assert ownership_from({"expires_after_ms": 9000}).renews_ms == 3000


@pytest.mark.parametrize("option", ["persistence", "log", "lifecycle", "agents", "commands"])
def test_an_option_that_is_no_mapping_is_named(option: str, tmp_path: Path) -> None:
    make = (
        create_harness_host
        if option in ("persistence", "log", "lifecycle")
        else lambda **given: define_harness("h", ScriptedProvider(["Hi."]), **given)
    )
    with pytest.raises(ConfigurationError) as caught:
        make(**{option: FileStore(tmp_path)})
    assert (caught.value.field, "must be a mapping, not FileStore" in caught.value.detail) == (option, True)


def test_ds_205_ownership_lasts_30_s_and_is_renewed_every_10() -> None:
    assert (Ownership().expires_after_ms, Ownership().renews_ms) == (30_000, 10_000)


async def test_ds_156_an_idle_thread_is_given_back(store: Any, host: HarnessHost) -> None:
    session = await host.open(says("One.", "Two."), "t")
    assert await store.owner("t") is None, "opening takes nothing"
    await session.send("Hi", input_id="a")
    await session.settled("a")
    await nobody_owns(store, "t")
    other = create_harness_host({"log": store})
    async with closing(other):
        again = await other.open(says("One.", "Two."), "t")
        assert (await again.send("More", input_id="b")).status == "accepted"
        assert (await again.settled("b")).outcome == "completed"


async def test_ds_011_each_owner_has_a_larger_epoch(store: Any) -> None:
    for number in range(3):
        host = create_harness_host({"log": store})
        async with closing(host):
            session = await host.open(says("One.", "Two.", "Three."), "t")
            await session.send("Hi", input_id=f"i{number}")
            await session.settled(f"i{number}")
            await nobody_owns(store, "t")
    epochs = [batch.epoch for batch in (await store.read("t")).batches]
    assert epochs == sorted(epochs)
    assert len(set(epochs)) == 3


async def test_ds_157_a_host_that_lost_a_thread_stops_reads_and_takes_it_back(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, others = shared
    work = Work()
    first, second = create_harness_host({"log": mine}, ownership=SHORT), create_harness_host({"log": others})
    async with closing(first, second):
        one = await first.open(work.harness(CALLS_WORK, "Mine.", "Mine too.", "Back."), "t")
        await one.send("Go", input_id="a")
        await one.send("And", input_id="b")
        await at_work(work, one)
        with monkeypatch.context() as standing_still:
            stop_renewing(standing_still)
            await nobody_owns(others, "t")
            took = Work()
            took.go.set()
            two = await second.open(took.harness(CALLS_WORK, "Theirs.", "Theirs too."), "t")
            assert await two.recover_pending_work() or await others.owner("t") is None
            assert (await one.settled("a")).text == "Theirs.", "it reads on"
            assert (await one.settled("b")).text == "Theirs too.", "what waited was run by the new owner"
            await until(lambda: work.ended)
            assert work.ended == ["cancelled"]
            await nobody_owns(others, "t")
        assert (await one.send("Again", input_id="c")).status == "accepted"
        assert (await one.settled("c")).text == "Back."


async def test_ds_219_what_a_host_that_lost_a_thread_stopped_gets_no_settlement_from_it(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = shared
    work = Work()
    first = create_harness_host({"log": mine}, ownership=SHORT)
    async with closing(first):
        one = await first.open(work.harness(), "t")
        await one.send("Go", input_id="a")
        await one.send("And", input_id="b")
        await at_work(work, one)
        stop_renewing(monkeypatch)
        await nobody_owns(others, "t")
        claim = await others.claim("t", "elsewhere")
        before = (await others.read("t")).head
        await until(lambda: work.ended)
        work.go.set()
        await asyncio.wait_for(first.idle("t"), 20)
        assert (await others.read("t")).head == before, "it wrote nothing more"
        assert await records_of(others, "t", r.InputSettled) == []
        await others.release(claim)


async def test_ds_012_a_late_write_of_a_lost_claim_is_refused(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from lousho_cli.errors import OwnershipLostError
    from lousho_cli.executor.clock import SYSTEM_CLOCK
    from lousho_cli.executor.keeping import Keeping
    from lousho_cli.executor.session_log import SessionLog

    stop_renewing(monkeypatch)
    mine, others = shared
    log = await SessionLog.open(mine, "t", "here", SYSTEM_CLOCK, Keeping(50))
    await log.record(r.Note("n", "in time"))
    await nobody_owns(others, "t")
    claim = await others.claim("t", "there")
    with pytest.raises(OwnershipLostError):
        await log.record(r.Note("n", "late"))
    await log.abandon()
    assert [note.text for note in await records_of(others, "t", r.Note)] == ["in time"]
    await others.release(claim)


async def test_ds_206_one_timer_renews_fifty_threads(shared: Any) -> None:
    work, store = Work(), shared[0]
    there = set(threading.enumerate())  # databases that other tests left to the garbage collector
    host = create_harness_host({"log": store}, ownership={"expires_after_ms": 60_000, "renew_every_ms": 50})
    async with closing(host):
        for number in range(50):
            session = await host.open(work.harness(), f"t{number}")
            await session.send("Go")
        claims = [thread._owned.log.claim for thread in host._threads.values() if thread._owned is not None]
        first = [claim._deadline for claim in claims]
        assert len(first) == 50
        await until(lambda: all(claim._deadline > before for claim, before in zip(claims, first, strict=True)))
        assert [n for n in range(50) if await shared[1].owner(f"t{n}") is None] == []
        timers = [thread for thread in threading.enumerate() if thread.name == "lousho-renew" and thread not in there]
        assert len(timers) <= 1, "one of all files of this process, or of each database"
        work.go.set()


async def test_ds_191_closing_a_handle_leaves_its_turn_running(store: Any, host: HarnessHost) -> None:
    work = Work()
    session = await host.open(work.harness(), "t")
    await session.send("Go", input_id="a")
    await work.begun.wait()
    session.close()
    work.go.set()
    again = await host.open(work.harness(), "t")
    assert (await again.settled("a")).text == "Done."


async def test_ds_092_a_failed_open_blocks_nothing(host: HarnessHost) -> None:
    await (await host.open(says("One."), "t", tenant_id="a")).send("Hi", input_id="i")
    with pytest.raises(ConfigurationError):
        await host.open(says("One."), "t", tenant_id="b")
    with pytest.raises(ConfigurationError):
        await host.open(says("One.", name="acme/other"), "t", tenant_id="a")
    assert (await (await host.open(says("One."), "t", tenant_id="a")).settled("i")).text == "One."


async def test_a_thread_whose_agent_can_not_be_made_is_given_back_and_tried_later(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def instructions(_context: Any) -> str:
        asked.append(1)
        raise ValueError("no instructions today")

    broken = define_harness("acme/worker", ScriptedProvider(["One."]), instructions=instructions)
    host, other = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(host, other):
        with caplog.at_level(logging.WARNING, "lousho"):
            session = await host.open(broken, "t")
            await session.send("Hi", input_id="a")
            await host.idle("t")
        assert "it could not go on" in caplog.text
        assert await store.owner("t") is None
        tried = len(asked)
        assert (await host.resume_pending([broken]), await other.resume_pending([broken])) == ([], [])
        assert len(asked) == tried, "nobody tries it again at once"
        mended = await other.open(says("One."), "t")
        await mended.recover_pending_work()
        assert (await mended.settled("a")).text == "One."


async def test_ds_154_another_host_streams_the_turn_that_the_owner_runs(store: Any) -> None:
    work = Work()
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(first, second):
        one, two = await first.open(work.harness(), "t"), await second.open(work.harness(), "t")
        await one.send("Go", input_id="a")
        await work.begun.wait()
        seen: list[str] = []
        async with asyncio.timeout(30):
            async for event in two.events():
                seen.append(event.type)
                if event.type == "tool.start":
                    assert await store.owner("t") is not None
                    work.go.set()
                if event.type == "run.done":
                    break
        assert seen.index("tool.start") < seen.index("tool.done") < seen.index("run.done")
        assert (await one.settled("a")).text == "Done."


async def test_ds_182_a_host_without_metadata_does_all_that_concerns_one_thread(store: Any) -> None:
    work = Work()
    work.go.set()
    first, second = create_harness_host({"log": store, "metadata": None}), create_harness_host({"log": store})
    async with closing(first, second):
        one = await first.open(work.harness(), "t")
        await one.set_setting("colour", "red")
        await one.send("Go", input_id="a")
        assert (await one.settled("a")).text == "Done."
        two = await second.open(work.harness(), "t")
        assert (await two.settings())["colour"] == "red"
        assert (await two.settled("a")).outcome == "completed"
