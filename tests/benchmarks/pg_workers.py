"""What the measurements of many hosts share: worker processes with a lease of a given length, and sessions for them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "shared")]

from lousho_cli.core.fold import fold  # noqa: E402 - the tests' helpers are found from the root
from lousho_cli.core.heads import head_of  # noqa: E402
from lousho_cli.domain import records as r  # noqa: E402
from lousho_cli.domain.messages import user  # noqa: E402
from lousho_cli.stores.postgres.store import PostgresStore  # noqa: E402

PATIENCE_S = 60.0
AGENT = """name: bench
prompt: You do things.
provider: { type: scripted, turns: [{ tool_calls: [{ name: hold, args: {}, id: c1 }] }, { text: Done. }] }
tools: [{ python: tools.py:hold }]
"""
TOOLS = '''import asyncio
from pathlib import Path


async def hold() -> str:
    """Waits until it may go on."""
    while not Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.02)
    return "gone on"
'''


class Workers:
    """Worker processes on one store.

    Args:
        agent: the file of the agent ``bench``, which makes one call where that is not given, and it does not end before ``let_go``.
        tools: what stands in the file of its tools.
    """

    def __init__(self, url: str, folder: Path, agent: str = AGENT, tools: str = TOOLS) -> None:
        self.url, self._folder = url, folder
        self._all: list[subprocess.Popen[bytes]] = []
        self.agents = folder / "agents"
        self.agents.mkdir()
        (self.agents / "bench.yaml").write_text(agent)
        (self.agents / "tools.py").write_text(tools)

    def start(self, concurrency: int, lease_ms: int = 30_000, machine: str = "here") -> subprocess.Popen[bytes]:
        """A worker. Those whose ``machine`` is another see nothing of each other but what stands on the server."""
        place = self._folder / machine
        place.mkdir(exist_ok=True)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("LOUSHO_", "PYTHON"))}
        environ |= {"PYTHONPATH": str(ROOT), "HOME": str(place), "TMPDIR": str(place)}
        words = [
            "worker",
            "--lease",
            f"{lease_ms}ms",
            "--store",
            self.url,
            "--agents",
            str(self.agents),
            "--concurrency",
            str(concurrency),
            "--json",
        ]
        with (place / "said").open("ab") as said:
            worker = subprocess.Popen(
                [sys.executable, "-m", "lousho_cli", *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environ, cwd=place
            )
        self._all.append(worker)
        return worker

    def until_there(self, connection: Any, before: int) -> None:
        """Waits until all of them have asked for work, and listen. ``before``: how many others did before they were started."""
        ends = time.monotonic() + PATIENCE_S
        while listening(connection) < before + len(self._all):
            assert time.monotonic() < ends and all(one.poll() is None for one in self._all), self.said()
            time.sleep(0.05)

    def said(self) -> str:
        """The last of what they said."""
        return "\n".join(said.read_text()[-2000:] for said in self._folder.glob("*/said"))

    def let_go(self) -> None:
        """Lets every call of ``bench`` end."""
        (self.agents / "go").touch()

    def end(self) -> None:
        """Ends them all."""
        for worker in self._all:
            if worker.poll() is None:
                worker.terminate()
        for worker in self._all:
            try:
                worker.wait(20)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


def listening(connection: Any) -> int:
    """How many listen for work on the server."""
    ((count,),) = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"lousho%'").fetchall()
    return int(count)


def begin(url: str, names: Sequence[str]) -> None:
    """Leaves sessions of ``bench`` behind whose run had only begun."""
    asyncio.run(_begin(url, names))


async def _begin(url: str, names: Sequence[str]) -> None:
    store = PostgresStore(url)
    for name in names:
        claim = await store.claim(name, "bench")
        started = (r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
        batch = r.Batch(1, claim.epoch, "2026-01-02T03:04:05.000Z", (r.Claimed("bench"), r.Created("bench"), *started))
        await store.append(claim, [batch])
        await store.save_head(claim, head_of(fold([batch])))
        await store.release(claim)
    store.close()


def hold(connection: Any) -> None:
    """Keeps all sessions from the workers."""
    connection.execute("UPDATE lousho.logs SET owner = 'bench' WHERE owner IS NULL AND due_ms IS NOT NULL")


def let_go(connection: Any) -> None:
    """Lets those that are held go, all in one moment, and tells of it."""
    connection.execute("UPDATE lousho.logs SET owner = NULL WHERE owner = 'bench'")
    connection.execute("SELECT pg_notify('lousho_lousho', 'bench')")
