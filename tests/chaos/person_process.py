"""A person who decides whatever waits, as ``lousho approve --no-resume`` and ``lousho reject --no-resume`` do, and who sends each
session one more input, as ``lousho run --queue`` does, until stopped: ``python person_process.py STORE``.

What was acknowledged is told in a line: ``decided ID`` or ``sent SESSION``. What is decided follows from the call, and an input has
an id, so a person who is killed and comes back decides the same and sends the same.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec
from witness import SENT, rejects

from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.deciding import DecisionOrder, carry_out
from lousho_cli.app.pending import pending_of
from lousho_cli.app.results import PendingItem
from lousho_cli.app.wiring import open_store
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import SDKError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.log_store import LogStore

EVERY_S, AT_ONCE = 0.2, 2
"""How often it looks, and to how many sessions it sends something then."""


class Person:
    """Somebody at a command line."""

    def __init__(self, url: str) -> None:
        store = open_store(url, create=False)
        assert store is not None, "a database is always there to be asked"
        self._store: LogStore = store
        self._url = url
        self._sent: set[str] = set()

    async def act(self) -> None:
        """Decides and sends, for ever."""
        while True:
            try:
                heads = (await self._store.heads()).heads
                for item in pending_of(heads):
                    await self._decide(item)
                for name in sorted({head.id for head in heads} - self._sent)[:AT_ONCE]:
                    await self._send(name)
            except SDKError as error:
                print("again", error.code, flush=True)  # the server is away, or somebody else was in the way
            await asyncio.sleep(EVERY_S)

    async def _decide(self, item: PendingItem) -> None:
        unwanted = rejects(item.session, item.tool_call_id or "")
        order = DecisionOrder(item.id, "reject" if unwanted else "approve", resume=False, choice=AgentChoice(store=self._url))
        await carry_out(order, lambda event: None, lambda text: None, lambda check: None)
        print("decided", item.id, flush=True)

    async def _send(self, name: str) -> None:
        await self._store.post(name, Post(SENT, "input", SYSTEM_CLOCK.now(), body=[msgspec.to_builtins(user("And more."))]))
        self._sent.add(name)
        print("sent", name, flush=True)


if __name__ == "__main__":
    asyncio.run(Person(sys.argv[1]).act())
