"""What sessions that wait cost while nothing happens: statements and rows a second on the server, and memory of the hosts.

    python tests/benchmarks/pg_idle.py [--waiting 0,1000,100000] [--workers 8] [--seconds 20]

Each session is a copy, row by row, of a real one: half of them wait for a person, half for a time to come. The workers are idle
throughout: none of these sessions is for them. What they ask is counted by the server itself, with the same workers before and behind
each lot of sessions. Prints one JSON object: for each number of sessions the statements of a second, the rows that the server looked at
for them, the milliseconds that it worked for them, and the memory of a worker that it shares with nobody.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from pg_workers import Workers  # type: ignore[import-not-found]

from lousho_cli import Agent, AgentExecutor
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.machine import due_now
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.tools.function import function_tool
from tests.shared.pg_server import Server

STATEMENTS = """SELECT coalesce(sum(calls), 0), coalesce(sum(total_plan_time + total_exec_time), 0) FROM pg_stat_statements
    WHERE query NOT LIKE '%pg_stat%'"""
ROWS = """SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE schemaname = 'lousho'"""
TAKES = "SELECT left(query, 90), calls, rows FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY calls DESC LIMIT 8"
LATER = "2100-01-01T00:00:00.000Z"
COPY = """WITH original AS (SELECT * FROM lousho.logs WHERE id = '{kind}'),
    new AS (
        INSERT INTO lousho.logs (id, {columns}) SELECT '{kind}-' || n, {columns} FROM original, generate_series({first}, {last}) n
        RETURNING no),
    lines AS (
        INSERT INTO lousho.records SELECT new.no, r.seq, r.epoch, r.line FROM new, lousho.records r, original WHERE r.no = original.no)
    INSERT INTO lousho.heads (no, {heads}) SELECT new.no, {heads} FROM new, lousho.heads h
        WHERE h.no = (SELECT no FROM original)"""


async def originals(url: str) -> None:
    """A session whose call a person must approve, and one that was given back with a wake."""

    async def pay() -> str:
        """Pays."""
        return "paid"

    store = PostgresStore(url)
    await AgentExecutor.execute(
        agent=Agent("shop"),
        input="Pay.",
        provider=ScriptedProvider([{"tool_calls": [{"name": "pay", "args": {}}]}, "Done."]),
        tool_registry=[function_tool(pay, needs_approval=True)],
        session_id="person",
        approval_store=store.approvals,
        checkpoint_store=store.checkpoints,
    )
    claim = await store.claim("wake", "bench")
    batch = r.Batch(
        1, claim.epoch, "2026-01-02T03:04:05.000Z", (r.Claimed("bench"), r.Created("shop"), r.WakeSet(LATER, "in-1", (user("Go."),)))
    )
    await store.append(claim, [batch])
    await store.save_head(claim, head_of(fold([batch])))
    await store.release(claim, LATER)
    assert not await store.pending(2, due_now(), ()), "they wait"
    store.close()


def copied(connection: Any, first: int, last: int) -> None:
    """Adds copies of them, so that there are as many as ``last``."""
    named = """SELECT string_agg(column_name, ', ') FROM information_schema.columns
        WHERE table_schema = 'lousho' AND table_name = %s AND NOT column_name = ANY(%s)"""
    ((columns,),) = connection.execute(named, ("logs", ["no", "id"])).fetchall()
    ((heads,),) = connection.execute(named, ("heads", ["no"])).fetchall()
    for kind in ("person", "wake"):
        connection.execute(COPY.format(kind=kind, columns=columns, heads=heads, first=first // 2 + 1, last=last // 2))
    connection.execute("VACUUM ANALYZE")


def memory(pid: int) -> float:
    """MB of a process that it shares with no other."""
    import psutil  # comes with the server

    return float(psutil.Process(pid).memory_full_info().uss) / 1e6


def measure(connection: Any, pids: list[int], seconds: float) -> dict[str, float]:
    """What is asked while nothing happens."""
    connection.execute("SELECT pg_stat_statements_reset()")
    rows = _rows(connection)
    time.sleep(seconds)
    ((calls, took_ms),) = connection.execute(STATEMENTS).fetchall()
    seen = _rows(connection) - rows
    return {
        "statements_per_s": round(float(calls) / seconds, 1),
        "rows_per_s": round(seen / seconds, 1),
        "server_ms_per_s": round(float(took_ms) / seconds, 2),
        "worker_mb": round(sum(map(memory, pids)) / len(pids), 1),
    }


def _rows(connection: Any) -> int:
    time.sleep(1.5)  # a connection that rests says within a second what it read
    ((rows,),) = connection.execute(ROWS).fetchall()
    return int(rows or 0)


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--waiting", default="0,1000,100000")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--takes", action="store_true", help="also which statements there were")
    options = parser.parse_args()
    server = Server("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_planning=on", "shared_buffers=256MB")
    figures: dict[str, Any] = {}
    place = tempfile.TemporaryDirectory()
    workers = Workers(server.url, Path(place.name))
    try:
        import psycopg

        asyncio.run(originals(server.url))
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            pids = [workers.start(concurrency=8).pid for _ in range(options.workers)]
            time.sleep(10.0)  # until all are there, and have asked for the first time
            there = 0
            for waiting in sorted(int(one) for one in options.waiting.split(",")):
                copied(connection, there, waiting)
                there = waiting
                figures[str(waiting)] = measure(connection, pids, options.seconds)
                if options.takes:
                    figures[str(waiting)]["takes"] = connection.execute(TAKES).fetchall()
    finally:
        workers.end()
        server.remove()
        place.cleanup()
    print(json.dumps({"workers": options.workers, "waiting": figures}))


if __name__ == "__main__":
    main()
