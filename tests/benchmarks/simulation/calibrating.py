"""Measures ``Costs`` on a real server of its own: what its processes use of a processor, through the store's own operations."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
from pg_server import Server  # type: ignore[import-not-found]

from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.host.posting import input_post
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.stores.postgres import posts
from lousho_cli.stores.postgres.database import Operation
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.tools.function import function_tool

from .costs import Costs

RESULT = "x" * 1024

_IDLE = 100_000  # so many sessions stand in the tables and wait
_SESSIONS, _STEPS = 40, (1, 21)
_OWNERS, _FOUND, _LISTENERS = 1_000, 40, 100
_LATER = "2100-01-01T00:00:00.000Z"


class Steps:
    """A model that asks for one call a turn, and answers behind ``steps``."""

    name, model = "steps", "steps"

    def __init__(self, steps: int) -> None:
        self._left = steps

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self._left -= 1
        if self._left < 0:
            yield Answer(Message("assistant", "done"), "stop")
        else:
            yield Answer(Message("assistant", tool_calls=(ToolCall(f"c{request.turns}", "t", "{}"),)), "tool_calls")


async def t() -> str:
    """Gives 1 KiB."""
    return RESULT


def bench(steps: int) -> Harness:
    """An agent whose next run has so many steps."""
    return define_harness("bench", Steps(steps), tools=[function_tool(t, name="t")])


def input_for(name: str) -> Post:
    """An input as somebody leaves it."""
    return input_post(SYSTEM_CLOCK, None, (user("Go"),), name, "queue", {})


class Meter:
    """What a server and all its processes use of a processor."""

    def __init__(self, server: Server) -> None:
        self._root = psutil.Process(server.process.pid)

    def used_us(self) -> float:
        """Microseconds since it was started, of the processes that still run."""
        total = 0.0
        for process in (self._root, *self._root.children()):
            with contextlib.suppress(psutil.NoSuchProcess):
                spent = process.cpu_times()
                total += spent.user + spent.system
        return total * 1e6

    def each(self, times: int, what: Callable[[], object]) -> float:
        """Microseconds of each of so many times."""
        begun = self.used_us()
        for _ in range(times):
            what()
        return (self.used_us() - begun) / times


def calibrate() -> Costs:
    """Starts a server, and measures it for about a minute."""
    calibration = Calibration()
    try:
        return calibration.measure()
    finally:
        calibration.close()


class Calibration:
    """A store in a server of its own, and what is measured of it."""

    def __init__(self) -> None:
        self.server = Server("max_connections=400")
        self.store = PostgresStore(self.server.url)
        self._meter = Meter(self.server)
        self._sql = psycopg.connect(self.server.url, autocommit=True)

    def close(self) -> None:
        """Ends the server."""
        self._sql.close()
        self.store.close()
        self.server.remove()

    def measure(self) -> Costs:
        """One after the other; what some leave in the tables is taken out again."""
        asyncio.run(self._made())
        self._run("INSERT INTO {s}.logs (id, head) SELECT 'w' || g, 2 FROM generate_series(1, %s) g", _IDLE)
        self._run("VACUUM ANALYZE")
        asyncio.run(self._drives(1))
        drives = [asyncio.run(self._drives(steps)) for steps in _STEPS]
        step = (drives[1] - drives[0]) / (_STEPS[1] - _STEPS[0])
        claim, release = self._claims()
        presence, channel = self.store._parts.presence, self.store._parts.channel
        post = self._posts(channel)
        find, per_found = self._finds()
        tidy, per_owner = self._tidying()
        return Costs(
            renew=self._each(2000, presence.enter),
            claim=claim,
            step=step,
            rest=drives[0] - step * _STEPS[0] - claim,
            posted=self._each(2000, posts.posted),
            post=post,
            told=(self._told(channel) - post) / _LISTENERS,
            find=find,
            per_found=per_found,
            tidy=tidy,
            per_owner=per_owner,
            flush=self._flush(),
        )

    def _run(self, statement: str, *arguments: Any) -> None:
        self._sql.execute(statement.replace("{s}", "lousho"), arguments or None)

    def _each(self, times: int, operation: Operation[Any]) -> float:
        return self._meter.each(times, lambda: self.store.database.now(operation))

    async def _made(self) -> None:
        """Sessions that ran once, and wait for what comes."""
        host = create_harness_host({"log": self.store})
        for number in range(_SESSIONS):
            session = await host.open(bench(1), f"s{number}")
            await session.send("Go", input_id="first")
            await session.settled("first")
        await host.close()

    async def _drives(self, steps: int) -> float:
        """What an input costs that was found: it takes so many steps, and the session is given back."""
        for number in range(_SESSIONS):
            await self.store.post(f"s{number}", input_for(f"{steps}-{time.monotonic_ns()}"))
        host = create_harness_host({"log": self.store})
        begun = self._meter.used_us()
        for number in range(_SESSIONS):
            taken = await host.resume_pending([bench(steps)], only=[f"s{number}"])
            assert taken, "it was left an input"
            await host.idle(f"s{number}")
        used = self._meter.used_us() - begun
        await host.close()
        return used / _SESSIONS

    def _claims(self) -> tuple[float, float]:
        """What taking a session costs, and giving it back."""

        async def all_of_them() -> tuple[float, float]:
            begun = self._meter.used_us()
            claims = [await self.store.claim(f"s{number}", "here") for number in range(_SESSIONS)]
            taken = self._meter.used_us()
            for claim in claims:
                await self.store.release(claim)
            return (taken - begun) / _SESSIONS, (self._meter.used_us() - taken) / _SESSIONS

        some = [asyncio.run(all_of_them()) for _ in range(10)]
        return sum(one[0] for one in some) / len(some), sum(one[1] for one in some) / len(some)

    def _posts(self, channel: str, times: int = 1000) -> float:
        names = iter(range(times))

        def put(hand: Any) -> None:
            posts.put(hand, "w1", input_for(f"p{next(names)}"), channel)

        cost = self._each(times, put)
        self._run("DELETE FROM {s}.posts")
        self._run("UPDATE {s}.logs SET due_ms = NULL WHERE due_ms IS NOT NULL")
        return cost

    def _told(self, channel: str) -> float:
        """What a post costs while many listen."""
        listeners = [psycopg.connect(self.server.url, autocommit=True) for _ in range(_LISTENERS)]
        for one in listeners:
            one.execute(f'LISTEN "{channel}"')
        try:
            return self._posts(channel, 200)
        finally:
            for one in listeners:
                one.close()

    def _finds(self) -> tuple[float, float]:
        """What asking for work costs where there is none; and each session that is found."""
        self.store._pending._tidied_at = math.inf
        find = self._find(300, 4)
        self._run("INSERT INTO {s}.posts (no, id, post) SELECT no, 'p', '' FROM {s}.logs WHERE id LIKE 's%%'")
        found = self._find(20, _FOUND, "UPDATE {s}.logs SET due_ms = 0, offered_ms = 0 WHERE id LIKE 's%%'")
        self._run("DELETE FROM {s}.posts; UPDATE {s}.logs SET due_ms = NULL WHERE due_ms IS NOT NULL")
        return find, (found - find) / _FOUND

    def _find(self, times: int, limit: int, before: str = "") -> float:
        """Microseconds of asking once. before: what is done first each time, and not measured."""
        used = 0.0
        for _ in range(times if before else 1):
            if before:
                self._run(before)
            used += self._meter.each(1 if before else times, lambda: asyncio.run(self.store.pending(limit, _LATER)))
        return used / (times if before else 1)

    def _tidying(self) -> tuple[float, float]:
        """What it costs to see that no owner is dead, and each owner beside it, who drives a session."""

        def tidy(hand: Hand) -> None:
            self.store._pending._tidy(hand, 1)

        alone = self._each(300, tidy)
        token = "'1-' || md5(g::text)"
        count = "FROM generate_series(1, %s) g"
        self._run(f"INSERT INTO {{s}}.owners (token, pid, place, renewed_ms) SELECT {token}, 1, 'x', {NOW_MS} {count}", _OWNERS)
        self._run(f"INSERT INTO {{s}}.logs (id, owner, ttl_ms, due_ms, head) SELECT 'd' || g, {token}, 600000, 0, 2 {count}", _OWNERS)
        self._run("VACUUM ANALYZE")
        many = self._each(300, tidy)
        self._run("DELETE FROM {s}.owners; DELETE FROM {s}.logs WHERE id LIKE 'd%%'")
        return alone, (many - alone) / _OWNERS

    def _flush(self) -> float:
        """A commit's wait for the disk: what one takes that waits, above one that does not."""
        self._run("CREATE TABLE {s}.flush (n int); INSERT INTO {s}.flush VALUES (0)")
        took = []
        for waits in ("off", "on"):
            self._run(f"SET synchronous_commit = {waits}")
            begun = time.perf_counter()
            for _ in range(500):
                self._run("UPDATE {s}.flush SET n = n + 1")
            took.append((time.perf_counter() - begun) / 500 * 1e6)
        self._run("RESET synchronous_commit")
        return took[1] - took[0]
