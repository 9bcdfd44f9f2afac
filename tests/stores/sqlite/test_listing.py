"""Lists read heads and the batches behind them, and no more; reading needs no event loop."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lousho_cli.app.sync import run_now
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.stores.sqlite.store import SqliteStore

MakeBatch = Callable[..., r.Batch]


async def fill(store: SqliteStore, batch: MakeBatch, names: list[str], *, size: int = 10) -> None:
    for name in names:
        claim = await store.claim(name, "here")
        batches = [
            batch(1, claim.epoch, r.Claimed("here"), r.Created(f"agent of {name}")),
            batch(2, claim.epoch, r.InputReceived("i", (user("x" * size),)), r.InputApplied("i"), r.RunStarted("i")),
        ]
        await store.append(claim, batches)
        await store.save_head(claim, head_of(fold(batches)))
        await store.release(claim)


async def test_a_list_reads_no_batch_of_a_session_at_rest(store: SqliteStore, batch: MakeBatch) -> None:
    await fill(store, batch, ["one", "two", "Three"])
    await store.head("one")
    reader = store.database._reader
    assert reader is not None
    asked: list[str] = []
    reader.set_trace_callback(asked.append)
    heads = (await store.heads()).heads
    assert {head.id: head.agent for head in heads} == {name: f"agent of {name}" for name in ("one", "two", "Three")}
    assert len(asked) == 1
    claim = await store.claim("two", "here")
    await store.append(claim, [batch(3, claim.epoch, r.Claimed("here"), r.Note("n", "more"))])
    asked.clear()
    assert {head.id: head.seq for head in (await store.heads()).heads} == {"one": 2, "two": 3, "Three": 2}
    assert sum("batches WHERE key >" in sql for sql in asked) == 1
    reader.set_trace_callback(None)


async def test_a_head_that_is_damaged_or_ahead_is_made_anew(store: SqliteStore, batch: MakeBatch) -> None:
    await fill(store, batch, ["trip"])
    right = await store.head("trip")
    assert right is not None
    from lousho_cli.stores.sqlite import heads
    from lousho_cli.stores.sqlite.job import Job

    for wrong in (msgspec.structs.replace(right, seq=9, agent="nobody"), msgspec.structs.replace(right, seq=1, agent="agent of trip")):
        store.writer.run_now(Job(lambda connection, wrong=wrong: heads.put(connection, 1, wrong)))  # type: ignore[misc]
        head = await store.head("trip")
        assert head is not None
        assert (head.seq, head.agent) == (2, "agent of trip")
    store.writer.run_now(Job(lambda connection: connection.execute("UPDATE logs SET head = replace(head, 'agent of', 'no agent of')")))
    assert await store.head("trip") == right


def test_reading_needs_no_event_loop(tmp_path: Path, batch: MakeBatch) -> None:
    import asyncio

    store = SqliteStore(tmp_path / "lousho.db")
    asyncio.run(fill(store, batch, ["trip"]))
    again = SqliteStore(tmp_path / "lousho.db")
    assert [head.id for head in run_now(again.heads).heads] == ["trip"]
    assert run_now(lambda: again.read("trip")).head == 2
    assert run_now(lambda: again.owner("trip")) is None
    assert run_now(lambda: again.inbox("trip")) == ()
    store.close()
    again.close()


LISTS = """
import sys
from lousho_cli.__main__ import main
code = main(["list", "--store", "sqlite:" + sys.argv[1]])
print(code, "asyncio" in sys.modules, "pydantic" in sys.modules, "httpx" in sys.modules, file=sys.stderr)
"""


async def test_list_loads_no_more_over_a_database_than_over_files(
    store: SqliteStore, place: Path, batch: MakeBatch, environment: dict[str, str], tmp_path: Path
) -> None:
    await fill(store, batch, ["trip"])
    store.close()
    env = {name: value for name, value in environment.items() if not name.startswith(("LOUSHO_", "COV"))} | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LISTS, str(place)], env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "trip" in done.stdout
    assert done.stderr.splitlines()[-1] == "0 False False False"
    assert os.listdir(place.parent) == [place.name], "it left nothing beside the file"


async def test_ten_thousand_sessions_are_listed_from_one_table(store: SqliteStore, batch: MakeBatch) -> None:
    await fill(store, batch, ["first"])
    from lousho_cli.stores.sqlite.job import Job

    copies = """WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
        INSERT INTO logs (no, id, epoch, head_crc, head) SELECT n, 's' || n, 1, head_crc, head FROM numbers, logs WHERE no = 1"""
    lines = """INSERT INTO batches (key, epoch, durable, line) SELECT (logs.no << 24) | (first.key & 16777215), epoch, durable, line
        FROM (SELECT key, line, durable FROM batches) AS first, logs WHERE logs.no > 1"""

    def fill_up(connection: Any) -> None:
        connection.execute(copies)
        connection.execute(lines)

    store.writer.run_now(Job(fill_up))
    plan = [row[-1] for row in store.database.query("EXPLAIN QUERY PLAN SELECT max(key) FROM batches WHERE key BETWEEN 1 AND 2")]
    assert any("SEARCH" in step for step in plan)
    heads = (await store.heads()).heads
    assert len(heads) == 10_000
    assert {head.seq for head in heads} == {2}
