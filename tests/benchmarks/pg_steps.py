"""Steps a second of 1, 2, 4 and 8 processes over one PostgreSQL server, beside the bare cost of the same inserts.

    python tests/benchmarks/pg_steps.py [--sessions 32] [--steps 30] [--blocks 3] [--workers 1,2,4,8] [--prepare] [--real]

A step is that of ``step_cost.py``: a model turn with one call and its 1 KiB result. Each process drives so many sessions at once, all
in one store object, as a worker does. The server is a real one with fsync on, and shares the processors with all that is measured.

The bare side is as many processes, which were told what lousho wrote in the block before: the same batches, byte for byte, into a
table like its own, each in a transaction of its own with the same wish to be durable, through a pool of as many connections with a
thread for each; where a process drives one session, one behind the other, as each waits for the one before. ``grouped`` is a
stricter one: it knows beforehand which batches lousho wrote as one statement, and does the same.

``worker`` is the same by real ``lousho worker`` processes: from the moment their sessions are let go until the last is given back, so
with the claims, the agent files and all else that a worker does.

Blocks are interleaved. Prints one JSON object, medians of the blocks: steps a second, lousho's as a part of the bare ones, and the
processor time a step takes of the processes and of the server, which is what there is less of than of anything else with as many
processes as processors.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from pg_workers import Workers, begin, hold, let_go, listening  # type: ignore[import-not-found]  # noqa: E402
from step_cost import Model, t_async  # type: ignore[import-not-found]  # noqa: E402

from lousho_cli import Agent, AgentExecutor  # noqa: E402
from lousho_cli.stores.postgres import appending  # noqa: E402
from lousho_cli.stores.postgres.schema import PARTS  # noqa: E402
from lousho_cli.stores.postgres.store import PostgresStore  # noqa: E402
from lousho_cli.tools.function import function_tool  # noqa: E402
from tests.shared.pg_server import Server  # noqa: E402

Row = tuple[int, int, int, str]
Statement = tuple[bool, list[Row]]
CONNECTIONS = 6
INSERT = "INSERT INTO bare.records (no, seq, epoch, line)"
QUICK = "set_config('synchronous_commit', 'off', true)"
ONE = {True: f"{INSERT} VALUES (%b, %b, %b, %b)", False: f"{INSERT} SELECT %b, %b, %b, %b FROM {QUICK}"}
SOME = f"{INSERT} SELECT v.* FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::text[]) v"
LEFT = "SELECT count(*) FROM lousho.logs WHERE id = ANY(%s) AND (owner IS NOT NULL OR head < 3 OR due_ms IS NOT NULL)"
MANY = {True: SOME, False: f"{SOME}, {QUICK}"}


# What is measured


async def lousho(store: PostgresStore, sessions: int, steps: int, name: str) -> None:
    """Drives sessions to their ends, all at once."""
    tools = [function_tool(t_async, name="t")]
    options: dict[str, Any] = {"agent": Agent("bench"), "tool_registry": tools, "checkpoint_store": store.checkpoints, "max_steps": 10**9}

    async def one(session: str) -> None:
        await AgentExecutor.execute(input="go on", provider=Model(steps), session_id=session, **options)

    await asyncio.gather(*(one(f"{name}-{number}") for number in range(sessions)))


def bare(pool: Any, statements: list[Statement], threads: int) -> None:
    """Carries statements out, in order, by some threads."""
    left: Iterator[Statement] = iter(statements)
    turn = threading.Lock()

    def run() -> None:
        while True:
            with turn:
                durable, rows = next(left, (True, []))
            if not rows:
                return
            with pool.connection() as connection:
                if len(rows) == 1:
                    connection.execute(ONE[durable], rows[0])
                else:
                    connection.execute(MANY[durable], [list(column) for column in zip(*rows, strict=True)])

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


AGENT = """name: bench
prompt: You do things.
tools: [{ python: tools.py:t }]
provider: { type: scripted, turns: [{ tool_calls: [{ name: t, args: { k: 1 }, id: c }] }], repeat_last: true }
policy: { limits: { max_steps: STEPS } }
"""
TOOLS = 'async def t(k: int) -> str:\n    """Gives 1 KiB."""\n    return "x" * 1024\n'


def worked(connection: Any, url: str, workers: int, options: argparse.Namespace) -> float:
    """Seconds that real workers take."""
    agent = AGENT.replace("STEPS", str(options.steps))
    names = [f"w{time.monotonic_ns()}-{number}" for number in range(workers * options.sessions)]
    with tempfile.TemporaryDirectory() as place:
        crew = Workers(url, Path(place), agent, TOOLS)
        try:
            begin(url, names)
            hold(connection)
            before = listening(connection)
            for number in range(workers):
                crew.start(options.sessions, machine=f"m{number}")
            crew.until_there(connection, before)
            begun = time.perf_counter()
            let_go(connection)
            while connection.execute(LEFT, (names,)).fetchall() != [(0,)]:
                time.sleep(0.02)
            return time.perf_counter() - begun
        finally:
            crew.end()


# One process


def noted() -> list[Statement]:
    """From now on, what this process appends."""
    statements: list[Statement] = []
    send = appending._send

    def noting(hand: Any, appends: Any, *, durable: bool) -> set[int]:
        rows = [(one.claim.held.no, seq, one.claim.epoch, text) for one in appends for seq, text in one.lines]
        if rows:
            statements.append((durable, rows))
        return send(hand, appends, durable=durable)

    appending._send = noting
    return statements


def child(options: argparse.Namespace) -> None:
    """Does what it is told, a line each, and says when it is done."""
    import psycopg_pool

    store = PostgresStore(f"{options.child}?connections={CONNECTIONS}{'&prepare=1' if options.prepare else ''}")
    settings = {"autocommit": True, "prepare_threshold": 5 if options.prepare else None}
    pool = psycopg_pool.ConnectionPool(options.child, min_size=CONNECTIONS, max_size=CONNECTIONS, open=True, kwargs=settings)
    pool.wait()
    statements = noted()
    asyncio.run(lousho(store, options.sessions, 2, f"warm-{os.getpid()}"))
    print("ready", flush=True)
    for line in sys.stdin:
        kind, _, number = line.strip().partition(" ")
        begun = time.process_time()
        if kind == "lousho":
            statements.clear()
            asyncio.run(lousho(store, options.sessions, options.steps, f"{os.getpid()}-{number}"))
        elif kind == "bare":
            each = [(durable, [row]) for durable, rows in statements for row in rows]
            bare(pool, each, CONNECTIONS if options.sessions > 1 else 1)
        else:
            bare(pool, statements, 1)
        print(f"{len(statements)} {time.process_time() - begun}", flush=True)
    pool.close()
    store.close()


class Block(NamedTuple):
    """What came of one block: seconds, those of the processors that the processes and the server took, and statements."""

    took: float
    clients: float
    server: float
    statements: int


class Processes:
    """Processes that wait to be told what to do."""

    def __init__(self, server: Server, options: argparse.Namespace, many: int) -> None:
        words = [sys.executable, __file__, "--child", server.url, "--sessions", str(options.sessions), "--steps", str(options.steps)]
        words += ["--prepare"] if options.prepare else []
        self._server = server
        self.all = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(many)]
        for one in self.all:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"

    def timed(self, many: int, kind: str, number: int = 0) -> Block:
        """What it took until the first ``many`` of them had done something."""
        some = self.all[:many]
        before, begun = self._of_server(), time.perf_counter()
        for one in some:
            assert one.stdin is not None
            one.stdin.write(f"{kind} {number}\n")
            one.stdin.flush()
        said = [one.stdout.readline().split() for one in some if one.stdout is not None]
        took = time.perf_counter() - begun
        return Block(took, sum(float(cpu) for _, cpu in said), self._of_server() - before, sum(int(sent) for sent, _ in said))

    def _of_server(self) -> float:
        import psutil  # comes with the server

        assert self._server.process is not None
        took = 0.0
        for one in psutil.Process(self._server.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                took += sum(one.cpu_times()[:2])
        return took

    def end(self) -> None:
        """Ends them."""
        for one in self.all:
            assert one.stdin is not None
            one.stdin.close()
        for one in self.all:
            one.wait()


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=32)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--real", action="store_true", help="real workers, too")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    server = Server()
    processes = None
    try:
        prepare_tables(server.url)
        counts = [int(count) for count in options.workers.split(",")]
        processes = Processes(server, options, max(counts))
        figures = {str(count): measure(processes, server.url, count, options) for count in counts}
    finally:
        if processes is not None:
            processes.end()
        server.remove()
    print(json.dumps({"sessions_each": options.sessions, "workers": figures}))


def prepare_tables(url: str) -> None:
    """Makes lousho's tables, and one like that of its records."""
    import psycopg

    asyncio.run(lousho(store := PostgresStore(url), 1, 1, "first"))
    store.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA bare")
        columns = 'no bigint NOT NULL, seq bigint NOT NULL, epoch bigint NOT NULL, line text COLLATE "C" NOT NULL'
        connection.execute(f"CREATE TABLE bare.records ({columns}, PRIMARY KEY (no, seq)) PARTITION BY HASH (no)")
        for part in range(PARTS):
            values = f"FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {part})"
            connection.execute(f"CREATE TABLE bare.records_{part} PARTITION OF bare.records {values}")


def emptied(url: str) -> None:
    """Empties the bare table, for the same rows to be put there again."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE bare.records")


def measure(processes: Processes, url: str, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of so many processes."""
    import psycopg

    steps = count * options.sessions * options.steps
    blocks: dict[str, list[Block]] = {"lousho": [], "bare": [], "grouped": []}
    for number in range(options.blocks):
        for kind, done in blocks.items():
            done.append(processes.timed(count, kind, count * 1000 + number))
            if kind != "lousho":
                emptied(url)
    ours = blocks["lousho"]
    with psycopg.connect(url, autocommit=True) as connection:
        real = [worked(connection, url, count, options) for _ in range(options.blocks if options.real else 0)]

    def middle(values: Iterable[float]) -> float:
        return statistics.median(values)

    rates = {kind: middle(steps / one.took for one in done) for kind, done in blocks.items()}
    rates |= {"worker": middle(steps / took for took in real)} if real else {}
    return {
        "steps_per_s": {kind: round(rate) for kind, rate in rates.items()},
        "of_bare": round(middle(bare.took / mine.took for bare, mine in zip(blocks["bare"], ours, strict=True)), 2),
        "of_grouped": round(middle(bare.took / mine.took for bare, mine in zip(blocks["grouped"], ours, strict=True)), 2),
        "client_cpu_us": {kind: round(middle(one.clients / steps * 1e6 for one in done)) for kind, done in blocks.items()},
        "server_cpu_us": {kind: round(middle(one.server / steps * 1e6 for one in done)) for kind, done in blocks.items()},
        "statements_per_step": round(middle(one.statements / steps for one in ours), 2),
    }


if __name__ == "__main__":
    main()
