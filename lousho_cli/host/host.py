"""The host: which threads are open here, what it looks after, and how it leaves."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.domain.heads import Head
from lousho_cli.errors import AbortedError, ConfigurationError, RangeError, SDKError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.keeping import Keeping
from lousho_cli.host.agents import Agents, LeadCompany
from lousho_cli.host.harness import Harness
from lousho_cli.host.heart import Heart
from lousho_cli.host.observing import NOBODY, Observer
from lousho_cli.host.options import lifecycle_from, ownership_from, snapshots_from
from lousho_cli.host.persistence import persistence_from
from lousho_cli.host.session import HostSession
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.undriven import among, undriven

log_to = logging.getLogger("lousho")


class Resumed(msgspec.Struct, frozen=True):
    """A thread that a sweep took."""

    thread_id: str
    harness: str
    tenant_id: str | None = None


class HarnessHost:
    """Opens threads and drives those it owns. Make it with ``create_harness_host``."""

    def __init__(self, terms: Terms, close_idle_after_ms: int) -> None:
        self._terms, self._close_idle_after_ms = terms, close_idle_after_ms
        self._heart = Heart(terms.store, terms.host_id, terms.keeping) if terms.host_id is not None else None
        self._threads: dict[str, Thread] = {}
        self._closings: set[asyncio.Task[None]] = set()
        self._closed = False
        self._agents = Agents(terms, self._threads, self._let_go)
        self._company = LeadCompany(self._agents)

    async def open(
        self, harness: Harness, thread_id: str, *, tenant_id: str | None = None, user: str | None = None, recover: bool = True
    ) -> HostSession:
        """A handle on a thread. A thread another host drives is only read.

        Args:
            recover: take up what a host that is gone left open; False leaves that to who is going to say so.

        Raises:
            AbortedError: this host is closed.
            ConfigurationError: the id can not name a thread, or the thread is another harness's or tenant's.
            StorageError: it can not be read.
        """
        await self._begin()
        thread = await self._thread(harness, thread_id, tenant_id, recover=recover)
        return HostSession(thread, self._terms, user, lambda: self._let_go(thread))

    async def recover(self, thread_id: str | None = None) -> None:
        """Takes up what hosts that are gone left open: in one thread, or in all that are open here.

        One that is not open here is left to ``resume_pending``, which knows its harness.
        """
        await self._begin()
        threads = self._threads.values() if thread_id is None else [t for t in self._threads.values() if t.id == thread_id]
        for thread in list(threads):
            await self._recovered(thread)

    async def resume_pending(
        self,
        harnesses: Iterable[Harness],
        *,
        close: Literal["when_idle", "never"] = "when_idle",
        limit: int = 100,
        only: Collection[str] | None = None,
    ) -> list[Resumed]:
        """Finds threads with work that nobody drives, and drives them.

        Args:
            harnesses: all that this host serves; threads of others are left alone.
            close: when a thread that only this sweep opened is closed again: as soon as it has nothing to do, or
                ``never``, like any that nobody holds, after ``close_idle_sessions_after_ms``.
            limit: how many it looks at. A thread that is open here is left to ``recover``.
            only: ids of threads; no other is looked at, and they are in this order.

        Returns:
            those it took. Two sweeps at once share nothing.
        """
        if close not in ("when_idle", "never"):
            raise ConfigurationError(f"close is {close!r:.40}", field="close", hint="Use when_idle or never.")
        if limit < 1:
            raise RangeError(f"limit is {limit}", field="limit", hint="Use 1 or more.")
        await self._begin()
        serving = tuple(harnesses)
        taken: list[Resumed] = []
        looked_at = 0
        store, now = self._terms.store, self._terms.clock.now()
        # Of some that are named each is read just before it is claimed, which says whose it is: neither is asked for apart.
        async for head in undriven(store, now) if only is None else among(store, now, only):
            harness = next((one for one in serving if one.serves(head)), None)
            if harness is None or head.id in self._threads or await self._stays_elsewhere(head):
                continue
            if await self._sweep(harness, head, close, current=only is not None):
                taken.append(Resumed(head.id, harness.name, head.tenant))
            looked_at += 1
            if looked_at >= limit:
                break
        return taken

    async def idle(self, thread_id: str) -> Head | None:
        """Returns once this host has nothing more to do on a thread, nor on a background agent of it; at once where it has not.

        Returns:
            the thread's head as this host left it, None where it did not write to it last.
        """
        thread = self._threads.get(thread_id)
        while thread is not None:
            await thread.company.idle(thread)
            if thread.resting:
                return thread.left
            await thread.rests()
        return None

    def stop(self, *, recoverable: bool = False) -> None:
        """What ``close`` begins with, for who is told to stop while things go on: nothing new begins behind it. ``close`` has to follow.

        Leads are told when the background agents that run here have ended.
        """
        self._closed = True
        threads = list(self._threads.values())
        deepest = max((thread.company.depth for thread in threads), default=0)
        for thread in threads:
            if thread.company.depth == deepest:
                thread.stop(recoverable=recoverable)

    async def close(self, *, recoverable: bool = False) -> None:
        """Closes every thread and refuses later opens. Safe to call twice.

        Args:
            recoverable: what runs is not ended: another host goes on with it at once. Else it ends aborted, for good.
        """
        self.stop(recoverable=recoverable)
        if self._heart is not None:
            await self._heart.stop()
        self._agents.closed = True
        threads = list(self._threads.values())
        for depth in sorted({thread.company.depth for thread in threads}, reverse=True):  # so that leads hear of the ends of their agents
            await asyncio.gather(*(thread.close(recoverable=recoverable) for thread in threads if thread.company.depth == depth))
        await self._agents.ended()
        if self._closings:
            await asyncio.wait(self._closings)
        self._threads.clear()

    async def _begin(self) -> None:
        self._must_be_open()
        if self._heart is not None:
            await self._heart.begin()

    def _must_be_open(self) -> None:
        if self._closed:
            raise AbortedError("this host is closed", hint="Make a new one.")

    async def _stays_elsewhere(self, head: Head) -> bool:
        """Whether the tools of a thread used a folder of another host, and that one lives."""
        other = head.pinned_to
        return other not in (None, self._terms.host_id) and await self._terms.store.lives(str(other))

    async def _thread(self, harness: Harness, thread_id: str, tenant_id: str | None, *, recover: bool) -> Thread:
        """A thread with one more handle on it, from before anything is waited for: a sweep that ends meanwhile does not close it."""
        known, head = self._threads.get(thread_id), None
        if known is None:
            head = await self._terms.store.head(thread_id)
            if head is not None:
                _same(head.harness or head.agent or harness.name, head.tenant, harness, tenant_id, thread_id)
            self._must_be_open()  # it may have been closed meanwhile: what is opened now would never be closed
        thread = self._threads.setdefault(thread_id, Thread(self._terms, harness, thread_id, tenant_id, self._company))
        _same(thread.harness.name, thread.tenant, harness, tenant_id, thread_id)  # somebody else may have opened it meanwhile
        thread.handles += 1
        thread.only_swept = False
        try:
            if recover:
                if not thread.busy:  # else it is in good hands
                    await self._recovered(thread)
            elif head is not None:
                thread.wakes_later(head)
        except BaseException:  # whoever waited for it is gone
            self._let_go(thread)
            raise
        return thread

    async def _recovered(self, thread: Thread, *, held: bool = True, known: Head | None = None) -> bool:
        try:
            return await thread.recover(held=held, known=known)
        except SDKError as error:
            log_to.warning("%s: it could not be taken up: %s", thread.id, error)
            return False

    async def _sweep(self, harness: Harness, head: Head, close: str, *, current: bool) -> bool:
        self._must_be_open()
        thread = self._threads.get(head.id)
        if thread is None:
            thread = self._threads[head.id] = Thread(self._terms, harness, head.id, head.tenant, self._company)
            thread.only_swept = True
        thread.handles += 1
        taken = await self._recovered(thread, held=False, known=head if current else None)
        thread.only_swept = thread.only_swept and (close == "when_idle" or not taken)
        self._let_go(thread)
        return taken

    def _let_go(self, thread: Thread) -> None:
        thread.handles -= 1
        if thread.handles > 0 or self._closed:
            return
        if thread.only_swept:
            self._close_at_rest(thread)
        else:
            self._close_idle_later(thread)

    def _close_at_rest(self, thread: Thread) -> None:
        """Closes a thread that only a sweep opened, as soon as it rests; if it is to wake, the next sweep finds it."""
        if thread.resting:
            self._close(thread)
            return
        thread.handles += 1
        closing = asyncio.ensure_future(self._let_go_at_rest(thread))
        self._closings.add(closing)
        closing.add_done_callback(self._closings.discard)

    async def _let_go_at_rest(self, thread: Thread) -> None:
        await thread.rests()
        self._let_go(thread)

    def _close_idle_later(self, thread: Thread) -> None:
        asyncio.get_running_loop().call_later(self._close_idle_after_ms / 1000, lambda: self._close_idle(thread))

    def _close_idle(self, thread: Thread) -> None:
        """Closes a thread that nobody holds; one that has something to do, or is to wake here, later."""
        if thread.handles > 0 or self._threads.get(thread.id) is not thread:
            return
        if thread.resting and not thread.alarm.is_set:
            self._close(thread)
        else:
            self._close_idle_later(thread)

    def _close(self, thread: Thread) -> None:
        thread.alarm.cancel()
        if self._threads.get(thread.id) is thread:
            del self._threads[thread.id]


def create_harness_host(
    persistence: Mapping[str, Any] | None = None,
    *,
    log: Mapping[str, Any] | None = None,
    lifecycle: Mapping[str, Any] | None = None,
    ownership: Any = None,
    observer: Observer = NOBODY,
    credentials: Credentials | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> HarnessHost:
    """A host over one log store.

    Args:
        persistence: ``log`` and perhaps ``metadata``; None keeps all in memory.
        log: ``save_snapshot_after``. lifecycle: ``close_idle_sessions_after_ms`` and ``retention``.
        ownership: see ``Ownership``. observer: who looks on in this process.
        credentials: where secrets are kept; hosts that share one can send each other secret answers.

    Raises:
        ConfigurationError, RangeError: an option makes no sense; ``field`` names it.
    """
    owns = ownership_from(ownership)
    snapshots, lives = snapshots_from(log), lifecycle_from(lifecycle)
    keeping = Keeping(owns.expires_after_ms, owns.renews_ms, snapshots, trims=lives.keep_log_records is not None)
    kept_in = persistence_from(persistence)
    name = owns.host_id or socket.gethostname()
    terms = Terms(kept_in.log, clock, name, keeping, owns.host_id, observer, kept_in.metadata, credentials)
    return HarnessHost(terms, lives.close_idle_sessions_after_ms)


def _same(name: str | None, tenant: str | None, harness: Harness, tenant_id: str | None, thread_id: str) -> None:
    if name is not None and name != harness.name:
        raise ConfigurationError(
            f"thread {thread_id} is one of {name}, not of {harness.name}", field="harness", code="LOUSHO_OTHER_HARNESS"
        )
    if tenant != tenant_id:
        raise ConfigurationError(f"thread {thread_id} is another tenant's", field="tenant_id", code="LOUSHO_OTHER_TENANT")
