"""What is done by functions on the server: their plans do for any number of sessions, and they are found and understood anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pg_server
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.trimming import trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import StorageError
from lousho_cli.stores.lease import Terms
from lousho_cli.stores.machine import steady
from lousho_cli.stores.postgres import claims, heads, logs, pending, posts, snapshots
from lousho_cli.stores.postgres.appending import Append, append_all
from lousho_cli.stores.postgres.functions import FUNCTIONS
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim
from lousho_cli.stores.postgres.schema import PARTS
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]

NOW = "2026-01-02T00:00:00.000Z"
MANY = 2000
TABLES = ("logs", "heads", "snapshots", "posts", "owners", *(f"records_{part}" for part in range(PARTS)))
ROWS_READ = " + ".join(
    f"pg_stat_get_xact_tuples_returned('{{s}}.{table}'::regclass) + pg_stat_get_xact_tuples_fetched('{{s}}.{table}'::regclass)"
    for table in TABLES
)
CROWD = (
    """INSERT INTO {s}.logs (id, epoch, head, due_ms, waits, lane) SELECT 'other-' || n, 1, 1,
        CASE WHEN n % 2 = 0 THEN 4102444800000 END, n % 2 = 0, 'bench' FROM generate_series(1, 2000) n""",
    "INSERT INTO {s}.heads (no, crc, head) SELECT no, 0, '' FROM {s}.logs WHERE id LIKE 'other-%'",
    "INSERT INTO {s}.snapshots (no, seq, crc, state) SELECT no, 1, 0, '' FROM {s}.logs WHERE id LIKE 'other-%'",
    "INSERT INTO {s}.posts (no, id, post) SELECT no, 'p', '' FROM {s}.logs WHERE id LIKE 'other-%'",
    "INSERT INTO {s}.records (no, seq, epoch, line) SELECT no, 1, 1, '' FROM {s}.logs WHERE id LIKE 'other-%'",
)


class Driven:
    """One session that is found, taken, driven and given back, all on one connection; how many rows are read for that."""

    def __init__(self, store: PostgresStore, batch: MakeBatch) -> None:
        self._store, self._batch = store, batch
        self._seq = 0

    def once(self, hand: Hand) -> None:
        """All of it."""
        store, channel = self._store, "test"
        posts.put(hand, "trip", Post(f"p{self._seq}", "abort", NOW), channel)
        store._pending._tidied_at = float("-inf")
        found = store._pending._find(hand, 4, NOW, [], [])
        assert [one.head.id for one in found] == ["trip"] * (self._seq > 0)
        taking = claims.Taking(store._parts.presence, "trip", "here", 30_000)
        taken = taking(hand)
        snapshots.load(hand, "trip")
        assert logs.scan(hand, "trip", self._seq).head == logs.end_of(hand, "trip")[0] == self._seq
        (post,) = posts.waiting(hand, "trip")[1]
        posts.discard(hand, "trip", [post.id])
        claim = PostgresClaim(Terms("trip", "here", 30_000, None, steady()), taken.held, lambda dropped: None)
        self._seq += 1
        first: tuple[Any, ...] = (r.Claimed("here"), r.Created("bench")) if self._seq == 1 else ()
        begun = (r.InputReceived(f"in-{self._seq}", (user("Go"),)), r.InputApplied(f"in-{self._seq}"), r.RunStarted(f"in-{self._seq}"))
        batch = self._batch(self._seq, taken.held.epoch, *first, *begun)
        assert append_all(hand, [Append(claim, self._seq - 1, logs.lines_of((batch,)), True)]) == [None]
        session = fold(logs.scan(hand, "trip").batches)
        data = encode_value(trimmed_state(session))
        assert snapshots.save(hand, taken.held, self._seq, data)
        heads.save(hand, taken.held, head_of(session))
        assert heads.one(hand, "trip") is not None
        assert claims.living_owner(hand, store._parts.presence, "trip") is not None
        claims.give_back(hand, taken.held, channel)
        claim.released = True

    def counted(self, hand: Hand) -> int:
        """How many rows of tables and indexes were looked at."""
        with hand.transaction():
            ((before,),) = hand.rows(f"SELECT {ROWS_READ}")
            self.once(hand)
            ((behind,),) = hand.rows(f"SELECT {ROWS_READ}")
        return int(behind - before)


async def test_a_plan_for_few_sessions_does_for_many(store: PostgresStore, batch: MakeBatch) -> None:
    await store.release(await store.claim("trip", "here"))
    driven = Driven(store, batch)

    def looked_at(hand: Hand) -> tuple[int, int]:
        for table in ("logs", "heads", "snapshots", "posts", "owners", "records"):
            hand.run(f"ANALYZE {{s}}.{table}")
        for _ in range(7):
            driven.once(hand)
        few = driven.counted(hand)
        for statement in CROWD:
            hand.run(statement)
        return few, driven.counted(hand)

    few, many = await store.database.run(looked_at)
    assert 0 < few < 100
    assert many < few + 100, f"of {MANY} others none was read"


async def test_no_function_is_compiled(store: PostgresStore, sql: Any) -> None:
    """A server of version 13 to 17 takes a tenth of a second for that, each time; the one of the tests can not."""
    await store.heartbeat("here", 1)  # makes the tables
    ours = "FROM pg_proc WHERE pronamespace = '{s}'::regnamespace"
    assert sql(f"SELECT count(*) {ours}") == [(len(FUNCTIONS),)]
    assert sql(f"SELECT proname {ours} AND NOT 'jit=off' = ANY(proconfig)") == []


async def test_to_do_without_many_costs_no_more_for_each(store: PostgresStore, sql: Any) -> None:
    await store.heartbeat("here", 1)  # makes the tables
    sql("INSERT INTO {s}.logs (id, epoch, head, due_ms, lane) SELECT 'l' || n, 1, 1, n, 'bench' FROM generate_series(1, 9000) n")
    few, many = ([f"l{n}" for n in range(1, count + 1)] for count in (800, 8000))

    def asked(hand: Hand, without: list[str]) -> float:
        hand.run("UPDATE {s}.logs SET offered_ms = 0 WHERE offered_ms > 0")
        begun = time.perf_counter()
        assert pending._walk(hand, "", 8, 1, 9000, without, []).given[0].row.id == f"l{len(without) + 1}"
        return time.perf_counter() - begun

    timed = {len(names): min([await store.database.run(partial(asked, without=names)) for _ in range(10)]) for names in (few, many)}
    assert timed[8000] < timed[800] * 30, "each with each would be a hundred times as much"


async def test_what_stands_in_the_way_of_a_search_path_is_not_used(url: str, opened: Open, batch: MakeBatch, sql: Any) -> None:
    sql("CREATE SCHEMA {s}_first")
    try:
        sql(
            "CREATE FUNCTION {s}_first.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$BEGIN RAISE 'not this one'; END$$;"
            "CREATE FUNCTION {s}_first.cardinality(text[]) RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE 'not this one'; END$$"
        )
        first = f"{url.partition('?schema=')[2]}_first"
        store = opened(f"{url}&options=-csearch_path%3D{first}%2Cpg_catalog")
        await store.post("trip", Post("p", "abort", NOW))
        claim = await store.claim("trip", "here")
        assert [post.id for post in await store.inbox("trip")] == ["p"]
        await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created("trip"))])
        await store.release(claim, NOW)
        assert [head.id for head in await store.pending(9, NOW)] == ["trip"]
    finally:
        sql("DROP SCHEMA {s}_first CASCADE")


async def test_a_schema_that_somebody_made_for_us_holds_nothing_yet(opened: Open, batch: MakeBatch, sql: Any) -> None:
    name = pg_server.new_schema()
    sql(f"CREATE SCHEMA {name}")
    store = opened(f"{pg_server.run_url()}?schema={name}")
    assert (await store.read("trip")).head == 0
    assert (await store.head("trip"), await store.owner("trip"), await store.inbox("trip")) == (None, None, ())
    assert await store.pending(4, NOW) == ()
    await store.append(await store.claim("trip", "here"), [batch(1)])
    assert (await store.read("trip")).head == 1
    sql(f"DROP FUNCTION {name}.read_log")
    with pytest.raises(StorageError, match="not as this lousho makes them"):
        await store.read("trip")
