"""The host: which threads are open here, what it looks after, and how it leaves."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core.pending import has_work
from lousho_cli.domain.heads import Head
from lousho_cli.errors import AbortedError, ConfigurationError, SDKError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.harness import Harness
from lousho_cli.host.options import lifecycle_from, ownership_from, snapshots_from
from lousho_cli.host.persistence import persistence_from
from lousho_cli.host.session import HostSession
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.clock import Clock

log_to = logging.getLogger("lousho")


class Resumed(msgspec.Struct, frozen=True):
    """A thread that a sweep took."""

    thread_id: str
    harness: str
    tenant_id: str | None = None


class HarnessHost:
    """Opens threads and drives those it owns. Make it with ``create_harness_host``."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._threads: dict[str, Thread] = {}
        self._closings: set[asyncio.Task[None]] = set()
        self._closed = False

    async def open(self, harness: Harness, thread_id: str, *, tenant_id: str | None = None, user: str | None = None) -> HostSession:
        """A handle on a thread. Takes up what a host that is gone left open; a thread another host drives is only read.

        Raises:
            AbortedError: this host is closed.
            ConfigurationError: the id can not name a thread, or the thread is another harness's or tenant's.
            StorageError: it can not be read.
        """
        self._must_be_open()
        thread = await self._thread(harness, thread_id, tenant_id)
        thread.handles += 1
        return HostSession(thread, self._terms, user, lambda: self._let_go(thread))

    async def recover(self, thread_id: str | None = None) -> None:
        """Takes up what hosts that are gone left open: in one thread, or in all that are open here."""
        self._must_be_open()
        threads = self._threads.values() if thread_id is None else [t for t in self._threads.values() if t.id == thread_id]
        for thread in list(threads):
            await self._go_on(thread)

    async def resume_pending(
        self, harnesses: Iterable[Harness], *, close: Literal["when_idle", "never"] = "when_idle", limit: int = 100
    ) -> list[Resumed]:
        """Finds threads with work that nobody drives, and drives them.

        Args:
            harnesses: all that this host serves; threads of others are left alone.
            close: when a thread that only this sweep opened is closed again.
            limit: how many it looks at.

        Returns:
            those it took. Two sweeps at once share nothing.
        """
        self._must_be_open()
        by_name = {harness.name: harness for harness in harnesses}
        now = self._terms.clock.now()
        found = [head for head in (await self._terms.store.heads()).heads if head.harness in by_name and has_work(head, now)]
        oldest = sorted(found, key=lambda head: head.updated_at)[:limit]
        return [
            Resumed(head.id, str(head.harness), head.tenant)
            for head in oldest
            if head.id not in self._threads and await self._sweep(by_name[str(head.harness)], head, close)
        ]

    async def close(self, *, recoverable: bool = False) -> None:
        """Closes every thread and refuses later opens. Safe to call twice.

        Args:
            recoverable: what runs is not ended: another host goes on with it at once. Else it ends aborted, for good.
        """
        self._closed = True
        threads, self._threads = list(self._threads.values()), {}
        await asyncio.gather(*(thread.close(recoverable=recoverable) for thread in threads))

    def _must_be_open(self) -> None:
        if self._closed:
            raise AbortedError("this host is closed", hint="Make a new one.")

    async def _thread(self, harness: Harness, thread_id: str, tenant_id: str | None) -> Thread:
        known = self._threads.get(thread_id)
        if known is not None:
            _same(known.harness.name, known.tenant, harness, tenant_id, thread_id)
            return known
        head = await self._terms.store.head(thread_id)
        if head is not None:
            _same(head.harness, head.tenant, harness, tenant_id, thread_id)
        thread = self._threads.setdefault(thread_id, Thread(self._terms, harness, thread_id, tenant_id))
        if head is not None and has_work(head, self._terms.clock.now()):
            await self._go_on(thread)
        return thread

    async def _go_on(self, thread: Thread) -> bool:
        try:
            return await thread.go_on()
        except SDKError as error:
            log_to.warning("%s: it could not be taken up: %s", thread.id, error)
            return False

    async def _sweep(self, harness: Harness, head: Head, close: str) -> bool:
        thread = self._threads.setdefault(head.id, Thread(self._terms, harness, head.id, head.tenant))
        thread.handles += 1
        if not await self._go_on(thread):
            self._let_go(thread)
            return False
        if close == "when_idle":
            closing = asyncio.ensure_future(self._close_when_idle(thread))
            self._closings.add(closing)
            closing.add_done_callback(self._closings.discard)
        else:
            self._let_go(thread)
        return True

    async def _close_when_idle(self, thread: Thread) -> None:
        await thread.idle()
        self._let_go(thread)

    def _let_go(self, thread: Thread) -> None:
        thread.handles -= 1
        if thread.handles <= 0 and not thread.busy:
            self._threads.pop(thread.id, None)


def create_harness_host(
    persistence: Mapping[str, Any] | None = None,
    *,
    log: Mapping[str, Any] | None = None,
    lifecycle: Mapping[str, Any] | None = None,
    ownership: Any = None,
    clock: Clock = SYSTEM_CLOCK,
) -> HarnessHost:
    """A host over one log store.

    Args:
        persistence: ``log`` and perhaps ``metadata``; None keeps all in memory.
        log: ``save_snapshot_after``. lifecycle: ``close_idle_sessions_after_ms`` and ``retention``.
        ownership: see ``Ownership``.

    Raises:
        ConfigurationError, RangeError: an option makes no sense; ``field`` names it.
    """
    owns = ownership_from(ownership)
    snapshots_from(log)
    lifecycle_from(lifecycle)
    store = persistence_from(persistence).log
    return HarnessHost(Terms(store, clock, owns.host_id or socket.gethostname(), owns.expires_after_ms))


def _same(name: str | None, tenant: str | None, harness: Harness, tenant_id: str | None, thread_id: str) -> None:
    if name is not None and name != harness.name:
        raise ConfigurationError(
            f"thread {thread_id} is one of {name}, not of {harness.name}", field="harness", code="LOUSHO_OTHER_HARNESS"
        )
    if tenant != tenant_id:
        raise ConfigurationError(f"thread {thread_id} is another tenant's", field="tenant_id", code="LOUSHO_OTHER_TENANT")
