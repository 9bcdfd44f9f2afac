"""Hosts that lose what they own, and tools that wait until they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from lousho_cli.errors import SDKError
from lousho_cli.host.harness import define_harness
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.define import define_tool

SHORT: dict[str, Any] = {"expires_after_ms": 300, "renew_every_ms": 100}

CALLS_WORK = {"tool_calls": [{"name": "work", "args": {}, "id": "w"}]}


class Work:
    """A tool that says when it began and ends once it is let go; ``ended`` tells how."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.ended: list[str] = []

    def tool(self, **options: Any) -> Any:
        async def work() -> str:
            """Works."""
            self.begun.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                raise
            self.ended.append("done")
            return "worked"

        return define_tool(name="work", execute=work, **{"replay": "safe", **options})

    def harness(self, *turns: Any, **options: Any) -> Any:
        return define_harness(
            "acme/worker", ScriptedProvider([*(turns or (CALLS_WORK, "Done."))]), tools=[self.tool()], **{"abort_grace_ms": 0, **options}
        )


def says(*answers: Any, name: str = "acme/worker", **options: Any) -> Any:
    return define_harness(name, ScriptedProvider([*answers]), **options)


async def until(condition: Callable[[], Any]) -> None:
    """Waits until ``condition``, which may be async, holds."""
    async with asyncio.timeout(30):
        while True:
            held = condition()
            if await held if hasattr(held, "__await__") else held:
                return
            await asyncio.sleep(0.005)


async def at_work(work: Work, *sessions: Any) -> None:
    """Waits until the tool of one of the sessions has begun. A ``SHORT`` lease may end before on a busy machine; it is taken up again."""

    async def begun() -> bool:
        if not work.begun.is_set():
            for session in sessions:
                with suppress(SDKError):  # its lease is not over yet, or it is taken up this moment
                    await session.recover_pending_work()
        return work.begun.is_set()

    await until(begun)


async def nobody_owns(store: Any, thread_id: str) -> None:
    """Waits until anybody may claim a thread, a lease looked at a few times: the clock of a disk, by which one claims, ticks coarsely."""
    seen = 0

    async def free() -> bool:
        nonlocal seen
        seen = seen + 1 if await store.owner(thread_id) is None else 0
        return seen == 4

    await until(free)


def stop_renewing(monkeypatch: Any) -> None:
    """What a process that stands still does not do."""
    from lousho_cli.stores.file import keeper as of_files
    from lousho_cli.stores.postgres.keeper import Keeper as OnServer
    from lousho_cli.stores.sqlite.keeper import Keeper

    monkeypatch.setattr(of_files, "renew", lambda claim: True)
    for keeper in (Keeper, OnServer):
        monkeypatch.setattr(keeper, "renew", lambda self: 3600.0)


@asynccontextmanager
async def closing(*hosts: Any) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for host in hosts:
            await host.close()
