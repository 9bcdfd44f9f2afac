"""A server that its administrator has set otherwise, or that hangs: it works, or says in one sentence why not; nothing is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pg_server import new_schema, run_url

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import ConfigurationError, LogVersionError, StorageError
from lousho_cli.stores.postgres import database, driver, schema
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]
AT = "2026-01-01T00:00:00.000Z"
WAITING = """SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"{s}"%'"""


def at_once(monkeypatch: pytest.MonkeyPatch, patience_s: float, statement_s: float = 30.0) -> None:
    """Nothing is tried for long."""
    monkeypatch.setattr(database.Database.now, "__kwdefaults__", {"writes": True, "patience_s": patience_s, "limit_s": None})
    monkeypatch.setattr(driver, "STATEMENT_S", statement_s)


def with_settings(url: str, *settings: str) -> str:
    return f"{url}&options=" + "%20".join(f"-c%20{one.replace('=', '%3D')}" for one in settings)


async def seqs(store: PostgresStore, log_id: str = "trip") -> list[int]:
    return [one.seq for one in (await store.read(log_id)).batches]


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation=serializable",
        "default_transaction_isolation=repeatable\\ read",
        "search_path=nowhere",
        "standard_conforming_strings=off",
        "bytea_output=escape",
        "enable_indexscan=off",
    ],
)
async def test_settings_of_a_server_change_nothing(url: str, opened: Open, batch: MakeBatch, setting: str) -> None:
    stores = [opened(with_settings(url, setting)) for _ in range(2)]
    held = [await stores[n % 2].claim(f"s{n}", "here") for n in range(6)]

    async def drive(number: int) -> None:
        for seq in range(1, 9):
            await stores[number % 2].append(held[number], [batch(seq)], durable=seq % 2 > 0)
            await stores[1 - number % 2].post(f"s{number}", Post(f"p{seq}", "abort", AT))
            assert [post.id for post in await stores[number % 2].inbox(f"s{number}")] == [f"p{seq}"]
            await stores[number % 2].discard(f"s{number}", [f"p{seq}"])

    await asyncio.gather(*(drive(number) for number in range(6)))
    for number in range(6):
        assert await seqs(stores[0], f"s{number}") == list(range(1, 9))
        await stores[number % 2].release(held[number], AT)
    taken = await asyncio.gather(*(stores[n % 2].claim("s0", "there") for n in range(4)), return_exceptions=True)
    assert sum(not isinstance(one, BaseException) for one in taken) == 1
    assert await stores[0].delete("s1")
    assert len((await stores[1].heads()).heads) == 5


async def test_an_append_that_could_not_be_put_in_order_is_tried_again(url: str, opened: Open, batch: MakeBatch, sql: Any) -> None:
    """A real conflict: another transaction changes the row between the look of this one and its write."""
    store = opened(with_settings(url, "default_transaction_isolation=serializable"))
    claim = await store.claim("trip", "here")
    place, _, name = url.partition("?schema=")
    with psycopg.connect(place) as other:
        other.execute(f"UPDATE {name}.logs SET followed_ms = followed_ms + 1 WHERE id = 'trip'")
        waiting = asyncio.create_task(store.append(claim, [batch(1)]))
        await waits_for_a_lock(sql)
        other.commit()
    await waiting
    assert await seqs(store) == [1]


async def waits_for_a_lock(sql: Any) -> None:
    async with asyncio.timeout(20):
        while sql(WAITING) == [(0,)]:
            await asyncio.sleep(0.01)


@pytest.fixture
def locked(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Somebody holds the table of the logs, and lets it go with a rollback."""
    place, _, name = url.partition("?schema=")
    with psycopg.connect(place) as connection:
        yield connection
        connection.rollback()


def lock(connection: psycopg.Connection[Any], url: str) -> None:
    connection.execute(f"LOCK TABLE {url.partition('?schema=')[2]}.logs IN EXCLUSIVE MODE")


async def test_what_is_given_up_does_not_go_on_at_the_server(
    url: str, opened: Open, batch: MakeBatch, sql: Any, locked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(url)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    at_once(monkeypatch, 0.5, 0.2)
    lock(locked, url)
    with pytest.raises(StorageError, match="did not answer in time") as caught:
        await store.append(claim, [batch(2)])
    assert "lock" in caught.value.hint
    async with asyncio.timeout(20):
        while sql(WAITING) != [(0,)]:
            await asyncio.sleep(0.01)
    locked.rollback()
    assert await seqs(store) == [1]
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, 2)])
    assert await seqs(store) == [1, 2]


@pytest.mark.parametrize(("setting", "says"), [("statement_timeout=100", "statement_timeout"), ("lock_timeout=100", "")])
async def test_a_time_limit_of_the_server(
    url: str, opened: Open, batch: MakeBatch, locked: Any, monkeypatch: pytest.MonkeyPatch, setting: str, says: str
) -> None:
    store = opened(with_settings(url, setting))
    claim = await store.claim("trip", "here")
    at_once(monkeypatch, 0.3)
    lock(locked, url)
    with pytest.raises(StorageError) as caught:
        await store.append(claim, [batch(1)])
    assert says in caught.value.hint
    locked.rollback()
    assert await seqs(store) == []
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(1, 2)])


async def test_who_stood_still_within_a_transaction_begins_it_again(url: str, opened: Open) -> None:
    store = opened(with_settings(url, "idle_in_transaction_session_timeout=50"))
    await store.claim("trip", "here")
    stood = 0

    def stand_still(hand: Any) -> int:
        nonlocal stood
        with hand.transaction():
            before = hand.rows("SELECT pg_backend_pid()")[0][0]
            stood += 1
            if stood == 1:
                while opened(url).database.look(lambda other: other.rows("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (before,)), []):
                    threading.Event().wait(0.02)
            return int(hand.run("INSERT INTO {s}.hosts (id, until_ms) VALUES ('h', 1)"))

    assert (await store.database.run(stand_still), stood) == (1, 2)


async def test_all_connections_in_use_is_said_and_costs_no_claim(
    url: str, opened: Open, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(f"{url}&connections=3")
    claim = await store.claim("trip", "here", 60_000)
    at_once(monkeypatch, 0.3)
    pool = store.database._pool
    assert pool is not None
    taken = [pool.getconn() for _ in range(3)]
    with pytest.raises(StorageError, match="all of the 3 connections") as caught:
        await store.heads()
    assert "?connections=" in caught.value.hint
    assert not claim.overdue
    for one in taken:
        pool.putconn(one)
    await store.append(claim, [batch(1)])
    assert await seqs(store) == [1]


async def test_a_database_that_does_not_take_every_text_is_refused_at_once(opened: Open) -> None:
    name = new_schema()
    with psycopg.connect(run_url(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
        try:
            store = opened(run_url().removesuffix("/postgres") + f"/{name}")
            for call in (lambda: store.claim("trip", "here"), lambda: asyncio.to_thread(store.describe)):
                with pytest.raises(ConfigurationError, match="LATIN1"):
                    await call()
            store.close()
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def role(url: str, sql: Any) -> Iterator[Callable[[str], str]]:
    """Makes a user with some rights, and gives the address of the store for that one."""
    name = f"user_{url.partition('?schema=')[2]}"
    sql(f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN")

    def make(rights: str) -> str:
        sql(f"GRANT USAGE ON SCHEMA {{s}} TO {name}; GRANT {rights} ON ALL TABLES IN SCHEMA {{s}} TO {name}")
        return url.replace("postgres@", f"{name}@")

    yield make
    sql(f"DROP OWNED BY {name}; DROP ROLE {name}")


async def test_who_may_make_no_table_works_with_those_that_are_there(
    store: PostgresStore, opened: Open, batch: MakeBatch, role: Callable[[str], str]
) -> None:
    await store.release(await store.claim("trip", "here"))
    other = opened(role("SELECT, INSERT, UPDATE, DELETE"))
    claim = await other.claim("trip", "there")
    await other.append(claim, [batch(1, 2), batch(2, 2)])
    await other.post("trip", Post("p", "abort", AT))
    await other.release(claim)
    assert await seqs(store) == [1, 2]
    assert await other.delete("trip")


async def test_who_may_not_make_the_tables_learns_who_must(
    store: PostgresStore, opened: Open, sql: Any, role: Callable[[str], str]
) -> None:
    url = role("SELECT, INSERT, UPDATE, DELETE")
    with pytest.raises(StorageError, match="no tables in the schema") as caught:
        await opened(url.replace("?schema=", "?schema=not_yet_")).claim("trip", "here")
    assert "lousho worker --once" in caught.value.hint
    await store.release(await store.claim("trip", "here"))
    sql("UPDATE {s}.versions SET version = -version")
    try:
        with pytest.raises(StorageError, match=f"this user may not bring it to version {schema.VERSION}"):
            await opened(url).claim("trip", "here")
    finally:
        sql("UPDATE {s}.versions SET version = -version")


async def test_case_194_who_may_only_read_lists_and_shows_and_nobody_is_called_busy(
    store: PostgresStore, opened: Open, batch: MakeBatch, role: Callable[[str], str]
) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created("trip")), batch(2)])
    other = opened(role("SELECT"))
    assert ([head.id for head in (await other.heads()).heads], await seqs(other)) == (["trip"], [1, 2])
    assert await other.inbox("trip") == ()
    await other.follow("trip")
    assert await other.watch("trip", 2, 1) is False
    for call in (lambda: other.claim("more", "there"), lambda: other.post("trip", Post("p", "abort", AT)), lambda: other.delete("trip")):
        with pytest.raises(StorageError, match="no permission"):
            await call()


async def test_who_is_too_old_for_the_tables_stops_when_they_change_under_it(opened: Open, batch: MakeBatch, sql: Any) -> None:
    """A newer version takes a step that this one can not work with while this one runs."""
    store = opened(f"{run_url()}?schema={new_schema()}")
    claim = await store.claim("trip", "here", 60_000, 100)
    await store.append(claim, [batch(1)])
    name = store.address.schema
    sql(f"INSERT INTO {name}.versions VALUES ({schema.VERSION + 1}, {schema.VERSION + 1})")
    async with asyncio.timeout(20):
        while claim.failure is None:  # its lease is not renewed any more
            await asyncio.sleep(0.01)
    with pytest.raises(LogVersionError, match="newer lousho"):
        await store.append(claim, [batch(2)])
    with pytest.raises(LogVersionError):
        await store.claim("more", "here")
    sql(f"ALTER TABLE {name}.logs RENAME TO log_rows")
    for call in (store.heads, lambda: store.read("trip"), lambda: store.claim("more", "here")):
        with pytest.raises(StorageError):  # the first may only learn that its table is gone
            await call()
    with pytest.raises(LogVersionError, match="newer lousho"):
        await store.heads()
