"""The one writer: group commits, their order, what a failure leaves, and what is synced when."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import InputRejectedError, OwnershipLostError, StorageError
from lousho_cli.ports.log_store import Claim
from lousho_cli.stores.sqlite import appending, heads, logs, opening, writer
from lousho_cli.stores.sqlite.job import Job
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


class Counting:
    """A connection that notes what it is told, and may fail at a word."""

    def __init__(self, real: sqlite3.Connection) -> None:
        self.real = real
        self.said: list[str] = []
        self.failing: dict[str, sqlite3.Error | BaseException] = {}

    def execute(self, sql: str, *arguments: Any) -> Any:
        self.said.append(sql)
        for word, error in list(self.failing.items()):
            if sql.startswith(word):
                del self.failing[word]
                raise error
        return self.real.execute(sql, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    @property
    def commits(self) -> int:
        return self.said.count("COMMIT")


def error_of(name: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(name)
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name
    return error


@pytest.fixture
def counting(store: SqliteStore) -> Counting:
    made = Counting(store.database.writer())
    store.database._writer = made  # type: ignore[assignment]
    return made


async def test_what_waits_shares_one_transaction(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    claims = [await store.claim(f"s{number}", "here") for number in range(40)]
    before = counting.commits
    await asyncio.gather(*(store.append(claim, [batch(1)]) for claim in claims))
    assert counting.commits - before <= 4
    assert "lousho-sqlite" in {thread.name for thread in threading.enumerate()}
    for claim in claims:
        assert (await store.read(claim.log_id)).head == 1
        await store.release(claim)


async def test_a_single_session_needs_no_thread(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    for seq in range(1, 20):
        store.writer.average = 0.0
        await store.append(claim, [batch(seq)], durable=seq % 2 == 0)
    assert store.writer._thread is None
    store.writer.average = writer.INLINE_BELOW_S  # a slow disk must not hold the event loop up
    await store.append(claim, [batch(20)])
    assert store.writer._thread is not None


async def test_what_is_not_durable_is_committed_without_a_sync_and_the_next_sync_covers_it(
    store: SqliteStore, counting: Counting, batch: MakeBatch, place: Path
) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    assert (await store.read("trip")).synced is None
    counting.said.clear()
    await store.append(claim, [batch(2)], durable=False)
    assert counting.said == ["PRAGMA synchronous = NORMAL", appending._APPEND], "one statement is a transaction"
    other = SqliteStore(place)
    found = await other.read("trip")
    assert (found.head, found.synced) == (2, 1)
    counting.said.clear()
    await store.flush(claim)
    assert counting.said[0] == "PRAGMA synchronous = FULL"
    assert (await other.read("trip")).synced is None
    counting.said.clear()
    await store.flush(claim)
    assert "PRAGMA synchronous = FULL" not in counting.said, "there is nothing left to sync"
    await store.append(claim, [batch(3)], durable=False)
    await store.release(claim)
    assert "PRAGMA synchronous = FULL" in counting.said
    assert (await other.read("trip")).synced is None
    other.close()


async def test_sessions_that_begin_together_are_taken_together(store: SqliteStore, counting: Counting) -> None:
    store.writer.average = 0.0
    await asyncio.gather(*(store.claim(f"s{number}", "here") for number in range(20)))
    assert (counting.said.count("BEGIN IMMEDIATE"), counting.commits) == (1, 1), "none of them ran ahead"


async def test_a_session_whose_log_is_durable_is_closed_without_a_sync(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    claims = [await store.claim(name, "here") for name in ("one", "two")]
    for claim in claims:
        await store.append(claim, [batch(1)])
    counting.said.clear()

    async def close(claim: Claim) -> None:
        await store.save_head(claim, head_of(fold([batch(1)])))
        await store.release(claim)

    await asyncio.gather(*map(close, claims))
    assert [sql for sql in counting.said if sql.startswith("PRAGMA synchronous")] == ["PRAGMA synchronous = NORMAL"]
    assert counting.commits == 1, "what is cached and who gives back"
    assert store.database.query("SELECT count(*) FROM logs WHERE head IS NOT NULL AND owner IS NULL") == [(2,)]


async def test_a_session_that_is_closed_while_an_append_fails_is_not_said_to_be_durable_beyond_its_end(
    store: SqliteStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, other = await store.claim("trip", "here"), await store.claim("other", "here")  # two, so that writes are queued
    await store.append(claim, [batch(1)])
    monkeypatch.setattr(appending, "_APPEND", "INSERT INTO full")
    appended = asyncio.ensure_future(store.append(claim, [batch(2)]))
    await asyncio.sleep(0)
    appended.cancel()
    await store.release(claim)
    monkeypatch.undo()
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, 2)], durable=False)
    assert (await store.read("trip")).synced == 1
    for each in (again, other):
        await store.release(each)


async def test_a_head_that_can_not_be_cached_is_nobodys_error(
    store: SqliteStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise StorageError("not now")

    monkeypatch.setattr(heads, "save", refuse)
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    for claim in [await store.claim(name, "here") for name in ("one", "two")]:
        await store.append(claim, [batch(1)])
        await store.save_head(claim, head_of(fold([batch(1)])))
        await store.release(claim)
    gc.collect()
    assert not complaints
    assert {head.id: head.seq for head in (await store.heads()).heads} == {"one": 1, "two": 1}


async def test_a_refusal_takes_nobody_with_it(store: SqliteStore, batch: MakeBatch) -> None:
    one, two = await store.claim("one", "here"), await store.claim("two", "here")
    await store.post("one", Post("p", "abort", "now", body="this"))
    store.writer.run_now(Job(lambda connection: connection.execute("UPDATE logs SET epoch = 9 WHERE id = 'one'")))
    outcomes = await asyncio.gather(
        store.append(one, [batch(1)]),
        store.append(two, [batch(1)]),
        store.post("one", Post("p", "abort", "now", body="that")),
        store.post("two", Post("q", "abort", "now")),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], OwnershipLostError)
    assert isinstance(outcomes[2], InputRejectedError)
    assert (outcomes[1], outcomes[3]) == (None, None)
    assert (await store.read("one")).head == 0
    assert (await store.read("two")).head == 1


async def test_what_many_sessions_append_at_once_is_one_statement(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    claims = [await store.claim(f"s{n}", "here") for n in range(70)]
    for claim in claims:
        await store.append(claim, [batch(1)])
    counting.said.clear()
    await asyncio.gather(*(store.append(claim, [batch(2), batch(3)] if n % 7 == 0 else [batch(2)]) for n, claim in enumerate(claims)))
    appended = [sql for sql in counting.said if sql.startswith("INSERT INTO batches")]
    assert (len(appended), counting.commits) == (2, 1), "80 rows, 64 at most in one"
    for n, claim in enumerate(claims):
        found = await store.read(f"s{n}")
        assert [one.seq for one in found.batches] == ([1, 2, 3] if n % 7 == 0 else [1, 2])
        await store.append(claim, [batch(found.head + 1)])


async def test_among_what_is_appended_at_once_only_what_fits_goes_in_and_that_whole(store: SqliteStore, batch: MakeBatch) -> None:
    logs_of = {name: await store.claim(name, "here") for name in ("good", "deposed", "behind", "ahead", "dead", "last")}
    for claim in logs_of.values():
        await store.append(claim, [batch(1)])
    take_over = "UPDATE logs SET epoch = 9 WHERE id = 'deposed'"
    store.writer.run_now(Job(lambda connection: connection.execute(take_over)))
    extra = logs.lines_of(logs_of["behind"].held.no, [batch(2, 1, r.Note("n", "from elsewhere"))])
    store.writer.run_now(Job(lambda connection: logs.insert(connection, extra)))
    no = logs_of["ahead"].held.no
    store.writer.run_now(Job(lambda connection: logs.clear(connection, no)))
    waiting = [asyncio.ensure_future(store.append(claim, [batch(2), batch(3)])) for claim in logs_of.values()]
    await asyncio.sleep(0)
    logs_of["dead"].fail(StorageError("it failed meanwhile"))
    outcomes = dict(zip(logs_of, await asyncio.gather(*waiting, return_exceptions=True), strict=True))
    assert (outcomes["good"], outcomes["last"]) == (None, None)
    assert isinstance(outcomes["deposed"], OwnershipLostError)
    for name in ("behind", "ahead", "dead"):
        assert isinstance(outcomes[name], StorageError), name
    heads = {name: (await store.read(name)).head for name in logs_of}
    assert heads == {"good": 3, "deposed": 1, "behind": 2, "ahead": 0, "dead": 1, "last": 3}


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_IOERR_FSYNC", "SQLITE_READONLY"])
@pytest.mark.parametrize(("word", "batches"), [("COMMIT", 2), ("BEGIN", 2), ("INSERT INTO batches", 2), ("INSERT INTO batches", 1)])
async def test_an_append_that_fails_is_an_error_and_the_writer_dead(
    store: SqliteStore, counting: Counting, batch: MakeBatch, name: str, word: str, batches: int
) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    counting.failing[word] = error_of(name)
    with pytest.raises(StorageError) as caught:
        await store.append(claim, [batch(seq) for seq in range(2, 2 + batches)])
    assert caught.value.code == "LOUSHO_STORAGE_FAILED"
    assert str(store.path) in caught.value.detail
    for call in (lambda: store.append(claim, [batch(2)]), lambda: store.append(claim, [batch(3)]), lambda: store.flush(claim)):
        with pytest.raises(StorageError):
            await call()
    assert (await store.read("trip")).head == 1
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, again.epoch)])
    assert (await store.read("trip")).head == 2


@pytest.mark.parametrize("batches", [1, 2])
async def test_a_commit_that_fails_behind_its_work_is_settled_by_reading_back(
    store: SqliteStore, counting: Counting, batch: MakeBatch, batches: int
) -> None:
    claim = await store.claim("trip", "here")
    execute = counting.real.execute

    def commits_and_fails(sql: str, *arguments: Any) -> Any:
        counting.said.append(sql)
        done = execute(sql, *arguments)
        if sql == ("COMMIT" if batches > 1 else appending._APPEND):
            counting.execute = type(counting).execute.__get__(counting)  # type: ignore[method-assign]
            raise error_of("SQLITE_IOERR")
        return done

    counting.execute = commits_and_fails  # type: ignore[method-assign]
    await store.append(claim, [batch(seq) for seq in range(1, 1 + batches)])
    await store.append(claim, [batch(1 + batches)])
    assert (await store.read("trip")).head == 1 + batches


async def test_claims_whose_commit_did_not_tell_are_ours(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    execute = counting.real.execute

    def commits_and_fails(sql: str, *arguments: Any) -> Any:
        counting.said.append(sql)
        done = execute(sql, *arguments)
        if sql == "COMMIT":
            counting.execute = type(counting).execute.__get__(counting)  # type: ignore[method-assign]
            raise error_of("SQLITE_IOERR")
        return done

    counting.execute = commits_and_fails  # type: ignore[method-assign]
    for claim in await asyncio.gather(store.claim("trip", "here"), store.claim("tour", "here")):
        await store.append(claim, [batch(1)])
        assert claim.epoch == 1


async def test_a_dropped_claim_that_never_counted_does_not_free_who_got_its_number(store: SqliteStore, batch: MakeBatch) -> None:
    dropped = [await store.claim("trip", "here")]
    await asyncio.sleep(0)  # nobody else holds it now
    taken: list[SqliteClaim] = []

    def take(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM logs")  # as if its commit had failed
        dropped.clear()
        assert len(store._keeper._to_free) == 1
        taken.append(store._take(connection, "tour", "here", 30_000, None))

    await store.writer.run(Job(take))
    assert (taken[0].held.no, taken[0].epoch) == (1, 1)
    async with asyncio.timeout(30):
        while store._keeper._to_free:
            await asyncio.sleep(0.01)
    await store.append(taken[0], [batch(1)])
    assert (await store.read("tour")).head == 1


async def test_a_log_that_could_not_be_given_back_is_given_back_as_soon_as_that_can_be(store: SqliteStore, counting: Counting) -> None:
    claim, kept = await store.claim("trip", "here"), await store.claim("kept", "here")  # with which the lease is renewed
    counting.failing["UPDATE logs SET owner = NULL"] = error_of("SQLITE_FULL")
    with pytest.raises(StorageError):
        await store.release(claim)
    async with asyncio.timeout(20):
        while await store.owner("trip") is not None:
            await asyncio.sleep(0.01)
    assert await store.owner("kept") is not None
    await store.release(kept)


@pytest.mark.parametrize(("word", "batches"), [("COMMIT", 2), ("INSERT INTO batches", 1)])
async def test_an_append_that_was_interrupted_is_settled_or_dead(
    store: SqliteStore, counting: Counting, batch: MakeBatch, word: str, batches: int
) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    store.writer.average = 0.0
    counting.failing[word] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        await store.append(claim, [batch(seq) for seq in range(2, 2 + batches)])
    with pytest.raises(StorageError, match="interrupted"):
        await store.append(claim, [batch(2 + batches)])
    assert (await store.read("trip")).head == 1


async def test_what_is_written_behind_an_interrupted_beginning_is_not_part_of_it(
    store: SqliteStore, place: Path, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await store.claim("a", "here"), await store.claim("b", "here")
    begin = store.writer._patiently

    def interrupted(*arguments: Any, **named: Any) -> bool:
        begin(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(store.writer, "_patiently", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.writer.run_now(appending.Append(first, [batch(1), batch(2)], durable=True))
    monkeypatch.setattr(store.writer, "_patiently", begin)
    await store.append(second, [batch(1)])
    elsewhere = SqliteStore(place)
    assert (await elsewhere.read("b")).head == 1
    elsewhere.close()
    await store.release(first)
    await store.release(second)


async def test_a_failed_sync_leaves_no_claim_that_thinks_its_own_was_synced(
    store: SqliteStore, counting: Counting, batch: MakeBatch
) -> None:
    one, two = await store.claim("one", "here"), await store.claim("two", "here")
    await store.append(one, [batch(1)], durable=False)
    counting.failing["INSERT INTO batches"] = error_of("SQLITE_IOERR_FSYNC")
    with pytest.raises(StorageError):
        await store.append(two, [batch(1)])
    with pytest.raises(StorageError):
        await store.flush(one)


async def test_a_group_that_fails_is_tried_one_by_one(store: SqliteStore, counting: Counting, batch: MakeBatch) -> None:
    claims = [await store.claim(f"s{number}", "here") for number in range(6)]
    counting.failing["COMMIT"] = error_of("SQLITE_FULL")
    outcomes = await asyncio.gather(*(store.append(claim, [batch(1)]) for claim in claims), return_exceptions=True)
    assert sum(outcome is not None for outcome in outcomes) <= 1
    for claim, outcome in zip(claims, outcomes, strict=True):
        assert (await store.read(claim.log_id)).head == (outcome is None)


async def test_a_call_that_is_cancelled_leaves_the_order_of_the_others(store: SqliteStore, batch: MakeBatch) -> None:
    claim, other = await store.claim("trip", "here"), await store.claim("other", "here")
    calls = [asyncio.ensure_future(store.append(claim, [batch(seq)], durable=seq % 2 == 0)) for seq in range(1, 11)]
    await asyncio.sleep(0)
    calls[4].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(outcomes[4], asyncio.CancelledError)
    assert [outcome for number, outcome in enumerate(outcomes) if number != 4] == [None] * 9
    assert [one.seq for one in (await store.read("trip")).batches] == list(range(1, 11))
    await store.release(other)


async def test_a_database_that_others_hold_is_waited_for_beside_the_event_loop(
    store: SqliteStore, place: Path, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await store.claim("trip", "here")
    holder = sqlite3.connect(place, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    appending = asyncio.ensure_future(store.append(claim, [batch(1)]))
    for _ in range(20):
        await asyncio.sleep(0.005)  # the loop goes on
    assert not appending.done()
    holder.execute("COMMIT")
    await appending
    monkeypatch.setattr(writer, "BUSY_S", 0.05)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another process keeps it locked"):
        await store.append(claim, [batch(2)])
    holder.execute("COMMIT")
    holder.close()
    assert opening.BUSY_S >= 5


async def test_a_log_that_another_hand_changed_is_not_written_behind(store: SqliteStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    extra = logs.lines_of(claim.held.no, [batch(2, 1, r.Note("n", "from elsewhere"))])
    store.writer.run_now(Job(lambda connection: logs.insert(connection, extra)))
    with pytest.raises(StorageError, match="its owner did not write"):
        await store.append(claim, [batch(2)])
    other = await store.claim("other", "here")
    await store.append(other, [batch(1), batch(2)])
    store.writer.run_now(Job(lambda connection: logs.clear(connection, other.held.no)))
    with pytest.raises(StorageError, match="does not end at 2"):
        await store.append(other, [batch(3)])


async def test_two_event_loops_may_use_one_store(store: SqliteStore, batch: MakeBatch) -> None:
    def elsewhere(name: str) -> None:
        async def fill() -> None:
            claim = await store.claim(name, "here")
            for seq in range(1, 31):
                await store.append(claim, [batch(seq)], durable=seq % 5 == 0)
            await store.release(claim)

        asyncio.run(fill())

    await asyncio.gather(*(asyncio.to_thread(elsewhere, f"s{number}") for number in range(4)))
    assert {head.id: head.seq for head in (await store.heads()).heads} == {f"s{number}": 30 for number in range(4)}


async def test_a_loop_that_finds_what_another_asked_for_tells_that_one_in_its_own_thread(store: SqliteStore) -> None:
    queued, seen, told = threading.Event(), threading.Event(), list[int]()

    def elsewhere() -> None:
        async def ask() -> None:
            asked = asyncio.ensure_future(store.writer.run_with_others(Job(lambda connection: 7)))
            await asyncio.sleep(0)  # it stands in the queue, and what this loop would see to it with stands behind us
            queued.set()
            seen.wait()
            told.append(await asked)

        # Told from another thread, a loop that sleeps would not wake; in this mode it says so.
        asyncio.run(ask(), debug=True)

    other = threading.Thread(target=elsewhere, daemon=True)
    other.start()
    queued.wait()
    store.writer._wake()  # as a loop does whose own request was taken by the thread meanwhile
    seen.set()
    other.join(30)
    assert told == [7]


async def test_what_was_written_is_read_also_while_another_thread_reads(store: SqliteStore, batch: MakeBatch) -> None:
    many = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT (SELECT count(*) FROM logs) FROM n"
    claim, over, begun = await store.claim("trip", "here"), threading.Event(), threading.Barrier(4)

    def elsewhere() -> None:
        begun.wait()
        while not over.is_set():
            store.database.query(many)

    reading = asyncio.gather(*(asyncio.to_thread(elsewhere) for _ in range(3)))
    try:
        await asyncio.to_thread(begun.wait)
        for seq in range(1, 21):
            await store.append(claim, [batch(seq)], durable=False)
            assert (await store.read("trip", after=seq - 1)).head == seq
    finally:
        over.set()
        await reading
    await store.release(claim)


async def test_who_asks_while_another_thread_closes_the_store_does_not_wait_for_ever(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.writer, "average", 1.0)  # so slow that its thread has to do it
    look = store.writer._loop

    def closed_behind() -> asyncio.AbstractEventLoop | None:
        loop = look()
        store.close()
        return loop

    monkeypatch.setattr(store.writer, "_loop", closed_behind)
    async with asyncio.timeout(10):
        with pytest.raises(StorageError):
            await store.claim("trip", "here")


async def test_whoever_uses_a_closed_store_is_told_so_and_does_not_wait_for_ever(place: Path, batch: MakeBatch) -> None:
    store = SqliteStore(place)
    first, second = await store.claim("a", "h"), await store.claim("b", "h")  # two, so that writes go through the thread
    await asyncio.gather(store.append(first, [batch(1)], durable=True), store.append(second, [batch(1)], durable=True))
    writing = asyncio.ensure_future(store.append(first, [batch(2)], durable=True))
    await asyncio.sleep(0)  # it waits for the thread
    store.close()
    async with asyncio.timeout(30):
        await writing
        for claim in (first, second):
            with pytest.raises(StorageError):
                await store.release(claim)
    again = SqliteStore(place)
    assert (await again.read("a")).head == 2, "what waited when it was closed was written"
    again.close()


def test_closing_waits_for_what_another_thread_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a full disk kept is given back on such a thread; a connection closed in the middle of its statement ended the process."""
    store = SqliteStore(tmp_path / "db")
    begun, go, written = threading.Event(), threading.Event(), []

    def slow(connection: sqlite3.Connection) -> int:
        begun.set()
        go.wait(30)
        return int(connection.execute("SELECT 1").fetchone()[0])

    def write() -> None:
        written.append(store.writer.run_now(Job(slow)))

    writing, close = threading.Thread(target=write), store._parts.presence.close

    def behind_all_else() -> None:
        close()
        writing.start()
        assert begun.wait(30)

    monkeypatch.setattr(store._parts.presence, "close", behind_all_else)
    closing = threading.Thread(target=store.close)
    closing.start()
    assert begun.wait(30)
    closing.join(0.2)
    go.set()
    for thread in (writing, closing):
        thread.join(30)
    assert written == [1]
