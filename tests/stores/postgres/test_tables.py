"""The tables of a store: made once whoever comes first, left alone by who is too old, and holding what was given to the byte."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pg_server
import psycopg
import pytest
from cutting_proxy import CuttingProxy

from lousho_cli.app.doctor import examine
from lousho_cli.app.wiring import describe_store, log_stamps
from lousho_cli.core.trimming import base_batch, trimmed_state
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.errors import ConfigurationError, InputRejectedError, LogVersionError, SessionBusyError, StorageError
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.postgres import claims, deleting, schema
from lousho_cli.stores.postgres.address import read_address
from lousho_cli.stores.postgres.store import PostgresStore

MakeBatch = Callable[..., r.Batch]
Open = Callable[..., PostgresStore]

AT = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def new_url() -> str:
    """A schema that is not there yet."""
    return f"{pg_server.run_url()}?schema={pg_server.new_schema()}"


async def test_case_176_ten_who_come_first_make_one_set_of_tables(new_url: str, opened: Open, batch: MakeBatch, sql: Any) -> None:
    stores = [opened(new_url) for _ in range(10)]
    held = await asyncio.gather(*(store.claim(f"s{n}", "here") for n, store in enumerate(stores)))
    await asyncio.gather(*(store.append(claim, [batch(1)]) for store, claim in zip(stores, held, strict=True)))
    assert len((await stores[0].heads()).heads) == 10
    name = stores[0].address.schema
    assert sql(f"SELECT count(*) FROM {name}.versions") == [(schema.VERSION,)]
    assert sql("SELECT count(*) FROM pg_inherits WHERE inhparent = %s::regclass", f"{name}.records") == [(16,)]


async def test_reading_makes_no_table(new_url: str, opened: Open, sql: Any) -> None:
    store = opened(new_url)
    assert (await store.heads()).heads == ()
    assert (await store.read("trip")).head == 0
    assert await store.posted() == frozenset()
    assert await store.delete("trip") is False
    assert await store.watch("trip", 0, 1) is False
    assert await store.credentials.read("c", None) is None
    assert log_stamps(store) == ({}, 0)
    assert "no schema" in describe_store(store)
    (said,) = [check for check in await asyncio.to_thread(examine, new_url) if check.name == "store"]
    assert (said.state, "PostgreSQL 18" in said.detail) == ("ok", True)
    assert "fsync is off there" in said.detail, "as it is on the server of the tests"
    assert sql("SELECT 1 FROM pg_namespace WHERE nspname = %s", store.address.schema) == []


async def test_doctor_says_that_an_earlier_build_made_the_tables(new_url: str, opened: Open, batch: MakeBatch) -> None:
    store = opened(new_url)  # of its own: no other test may be given these tables
    await store.append(await store.claim("trip", "h"), [batch(1)])
    sql = lambda statement: store.database.now(lambda hand: hand.run(statement))  # noqa: E731
    look = lambda: next(check for check in examine(new_url) if check.name == "store")  # noqa: E731
    assert (await asyncio.to_thread(look)).state == "ok"
    sql("CREATE OR REPLACE FUNCTION {s}.rest_free(log bigint, was_due bigint, at bigint, due bigint) RETURNS void LANGUAGE sql AS ''")
    sql("ALTER TABLE {s}.logs DROP COLUMN lane")
    said = await asyncio.to_thread(look)
    assert said.state == "fail"
    assert "was made by an earlier build of lousho: it has no logs.lane, rest_free() as this one makes them" in said.detail
    assert "Name another schema with ?schema=NAME" in said.detail


async def test_a_schema_that_was_renamed_is_no_empty_one(new_url: str, opened: Open, batch: MakeBatch, sql: Any) -> None:
    store = opened(new_url)
    await store.append(await store.claim("trip", "h"), [batch(1)])
    name = store.address.schema
    sql(f"ALTER SCHEMA {name} RENAME TO {name}_old")
    old = opened(f"{new_url}_old")
    for look in (old.read("trip"), old.post("trip", Post("p", "abort", AT)), asyncio.to_thread(old.describe)):
        with pytest.raises(StorageError, match=f"{name}_old was named {name} when lousho made it"):
            await look
    sql(f"ALTER SCHEMA {name}_old RENAME TO {name}")
    assert (await opened(new_url).read("trip")).head == 1


async def test_who_frees_a_log_or_renews_makes_no_tables(new_url: str, opened: Open, sql: Any) -> None:
    store = opened(new_url)
    claim = await store.claim("trip", "h")
    name = store.address.schema
    sql(f"DROP SCHEMA {name} CASCADE")
    assert await store.head("trip") is None  # it has seen that they are gone
    store._keeper.freed([partial(claims.give_back, held=claim.held, channel="c")])
    assert store._keeper.renew() < 1, "it could not"
    assert sql("SELECT 1 FROM pg_namespace WHERE nspname = %s", name) == []


async def test_case_182_of_twenty_who_begin_a_session_one_owns_it(url: str, opened: Open, batch: MakeBatch) -> None:
    stores = [opened(url) for _ in range(4)]
    came = await asyncio.gather(*(stores[n % 4].claim("trip", f"h{n}") for n in range(20)), return_exceptions=True)
    (claim,) = [one for one in came if not isinstance(one, BaseException)]
    assert sum(isinstance(one, SessionBusyError) for one in came) == 19
    await stores[came.index(claim) % 4].append(claim, [batch(1, claim.epoch)])
    assert (await stores[0].read("trip")).head == 1


async def test_two_versions_run_beside_each_other(new_url: str, opened: Open, batch: MakeBatch, sql: Any) -> None:
    store = opened(new_url)
    claim = await store.claim("trip", "here")
    name = store.address.schema
    sql(f"ALTER TABLE {name}.logs ADD COLUMN newer text")
    sql(f"INSERT INTO {name}.versions VALUES ({schema.VERSION + 1}, {schema.VERSION})")
    await store.append(claim, [batch(1)])
    other = opened(new_url)
    assert (await other.read("trip")).head == 1
    await other.claim("more", "there")
    sql(f"UPDATE {name}.versions SET least = version")
    refused = opened(new_url)
    for call in (refused.heads, lambda: refused.claim("again", "here")):
        with pytest.raises(LogVersionError, match="newer lousho"):
            await call()


async def test_case_173_text_with_nul_is_kept_to_the_byte(store: PostgresStore) -> None:
    given = r.Batch(1, 1, AT, (r.ToolFinished("c", "a\0b"), r.ToolFinished("d", "a\\u0000b \\ 'x' %s {s}")))
    await store.append(await store.claim("trip", "here"), [given])
    assert (await store.read("trip")).batches == (given,)


async def test_case_175_arguments_keep_the_text_of_the_model(store: PostgresStore) -> None:
    call = ToolCall("c", "t", '{"zebra": 1, "alpha": 2, "alpha": 1.0, "e": 1e2}')
    given = r.Batch(1, 1, AT, (r.Turn(Message("assistant", "", (call,))),))
    await store.append(await store.claim("trip", "here"), [given])
    assert (await store.read("trip")).batches == (given,)


@pytest.mark.parametrize(
    "post_id", ["a\0b", "%s {s} \\", "x" * 201, secrets.token_hex(5000), "sha256 x"], ids=["nul", "signs", "long", "longer", "digest"]
)
async def test_any_id_of_an_input_is_kept(store: PostgresStore, post_id: str) -> None:
    for _ in range(2):
        await store.post("trip", Post(post_id, "abort", AT))
    await store.post("trip", Post("other", "abort", AT))
    assert [post.id for post in await store.inbox("trip")] == [post_id, "other"]
    with pytest.raises(InputRejectedError):
        await store.post("trip", Post(post_id, "input", AT))
    await store.discard("trip", [post_id])
    assert [post.id for post in await store.inbox("trip")] == ["other"]


async def test_each_session_lies_in_one_of_sixteen_parts(store: PostgresStore, batch: MakeBatch, sql: Any) -> None:
    for n in range(24):
        claim = await store.claim(f"s{n}", "here")
        await store.append(claim, [batch(1), batch(2)])
    parts = sql("SELECT tableoid::regclass, count(*), count(DISTINCT no) FROM {s}.records GROUP BY 1")
    assert len(parts) > 8
    assert all(rows == 2 * logs for _, rows, logs in parts)


async def test_what_a_trim_or_a_deletion_leaves_goes_in_small_parts(
    store: PostgresStore, batch: MakeBatch, sql: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "PART", 3)
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created("trip")), *(batch(seq) for seq in range(2, 11))])
    await store.trim(claim, base_batch(trimmed_state(await read_session(store, "trip")), 1, None))
    assert sql("SELECT seq FROM {s}.records") == [(10,)]
    await store.append(claim, [batch(seq) for seq in range(11, 21)])
    await store.release(claim)
    assert await store.delete("trip")
    assert sql("SELECT count(*) FROM {s}.records") == [(0,)]
    assert sql("SELECT count(*) FROM {s}.trash") == [(0,)]


async def test_what_is_left_of_a_trim_is_not_read(store: PostgresStore, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleting, "drop_before", lambda hand, no, seq: None)  # it was killed there
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1, 1, r.Claimed("here"), r.Created("trip")), batch(2), batch(3)])
    before = await read_session(store, "trip")
    await store.trim(claim, base_batch(trimmed_state(before), 1, None))
    assert [one.seq for one in (await store.read("trip")).batches] == [3]
    await store.append(claim, [batch(4)])
    assert [(one.seq, one.agent) for one in (await store.heads()).heads] == [(4, "trip")]


async def test_the_stamps_of_the_newest_are_those_that_began_last(store: PostgresStore, batch: MakeBatch) -> None:
    for n in range(5):
        claim = await store.claim(f"s{n}", "here")
        await store.append(claim, [batch(1)])
        await store.release(claim)
    stamps, left = log_stamps(store, newest=2)
    assert (list(stamps), left) == (["s4", "s3"], 3)
    everything, none_left = log_stamps(store)
    assert (list(everything), none_left) == (["s4", "s3", "s2", "s1", "s0"], 0)
    claim = await store.claim("s0", "here")
    await store.append(claim, [batch(2, 2)])
    changed, _ = log_stamps(store)
    assert [name for name in changed if changed[name] != everything[name]] == ["s0"]


FAILURES = {
    "53100": "no room on the server's disk",
    "53200": "out of memory",
    "42501": "no permission",
}


@pytest.mark.parametrize("code", list(FAILURES))
async def test_what_the_server_refuses_is_one_clear_sentence(store: PostgresStore, batch: MakeBatch, sql: Any, code: str) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    sql(
        f"CREATE FUNCTION {{s}}.fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END$$;"
        "CREATE TRIGGER fail BEFORE INSERT ON {s}.records FOR EACH ROW EXECUTE FUNCTION {s}.fail()"
    )
    try:
        with pytest.raises(StorageError, match=FAILURES[code]):
            await store.append(claim, [batch(2)])
    finally:
        sql("DROP FUNCTION {s}.fail CASCADE")
    with pytest.raises(StorageError):
        await store.append(claim, [batch(2)])
    await store.release(claim)
    again = await store.claim("trip", "here")
    await store.append(again, [batch(2, again.epoch)])
    assert (await store.read("trip")).head == 2


@pytest.mark.parametrize("code", ["40001", "40P01"])
async def test_what_can_not_be_put_in_order_is_tried_again(store: PostgresStore, batch: MakeBatch, sql: Any, code: str) -> None:
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)])
    sql(
        "CREATE SEQUENCE {s}.tries; CREATE FUNCTION {s}.fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        f" IF nextval('{{s}}.tries') < 3 THEN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END IF; RETURN NEW; END$$;"
        "CREATE TRIGGER fail BEFORE INSERT ON {s}.records FOR EACH ROW EXECUTE FUNCTION {s}.fail()"
    )
    try:
        await store.append(claim, [batch(2)])
        assert sql("SELECT last_value FROM {s}.tries") == [(3,)]
    finally:
        sql("DROP FUNCTION {s}.fail CASCADE; DROP SEQUENCE {s}.tries")
    assert (await store.read("trip")).head == 2


async def test_a_server_that_takes_no_more_connections(url: str, opened: Open, sql: Any) -> None:
    sql("DROP ROLE IF EXISTS few_{s}; CREATE ROLE few_{s} LOGIN CONNECTION LIMIT 0")
    store = opened(url.replace("postgres@", f"few_{url.partition('?schema=')[2]}:secret-word@"))
    with pytest.raises(StorageError, match="too many connections") as caught:
        store.database.now(lambda hand: hand.rows("SELECT 1"), patience_s=0.1)
    assert "secret-word" not in str(caught.value)


async def test_one_statement_renews_all_sessions_of_a_host(url: str, proxy: CuttingProxy, opened: Open) -> None:
    store = opened(proxy.url(url))
    held = [await store.claim(f"s{n}", "here", 10_000) for n in range(20)]
    deadlines = [claim._deadline for claim in held]
    proxy.cut_at("no = ANY", done=False)
    proxy.cut_at("renewed_ms", done=True)
    store._keeper.renew()
    assert proxy.cuts == 1  # each renewal is that of the host; no log is asked about
    assert all(claim._deadline > before for claim, before in zip(held, deadlines, strict=True))


async def test_nothing_of_a_session_stays_on_a_connection(store: PostgresStore, batch: MakeBatch) -> None:
    """A pooler gives each transaction another connection, so none may depend on what one before it left there."""
    claim = await store.claim("trip", "here")
    await store.append(claim, [batch(1)], durable=False)
    await store.flush(claim)
    await store.release(claim)
    await store.delete("trip")

    def left(hand: Any) -> list[Any]:
        return [
            *hand.rows("SELECT name FROM pg_prepared_statements"),
            *hand.rows("SELECT pg_listening_channels()"),
            *hand.rows("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"),
            *hand.rows("SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'client_encoding'"),
        ]

    for _ in range(4):
        assert store.database.now(left) == []


def test_a_password_is_never_shown() -> None:
    for url in (
        "postgresql://anna:pass-word@db/x?sslmode=require",
        "postgresql://anna:pass-word@one:1,two:2/x",
        "postgres://anna@db/x?password=pass-word&schema=s",
        "postgresql://anna:pass-word@pooler/x?listen=postgresql%3A%2F%2Fanna%3Apass-word%40db%2Fx",
    ):
        address = read_address(url)
        assert "pass-word" not in f"{address!r} {address.shown} {PostgresStore(url)!r}"
        assert "pass-word" not in address.masked(f'could not translate "pass-word@db" or {url}')
        assert "pass-word" in address.url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:x",
        "postgresql://h/d?schema=a.b",
        "postgresql://h/d?schema=",
        "postgresql://h/d?prepare=2",
        "postgresql://h/d?connections=2",
    ],
)
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PostgresStore(url)
    assert caught.value.field == "store"


def test_what_is_not_ours_is_the_drivers() -> None:
    address = read_address(
        "postgres://anna@db/x?sslmode=verify-full&schema=mine&prepare=1&connections=9&options=-c%20a%3Db&application_name=a+b"
    )
    assert (address.schema, address.prepare, address.connections) == ("mine", True, 9)
    assert psycopg.conninfo.conninfo_to_dict(address.url) == {
        "user": "anna", "host": "db", "dbname": "x", "sslmode": "verify-full", "options": "-c a=b", "application_name": "a+b"
    }  # fmt: skip


def test_without_the_driver_it_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from lousho_cli.__main__ import main\n"
        "sys.exit(main(['list', '--store', 'postgresql://h/d']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2
    assert "pip install 'lousho[postgres]'" in ran.stderr
