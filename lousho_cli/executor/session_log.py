"""One owned log: the only thing in this process that appends to it, and the session it adds up to.

Batches are numbered and folded in one synchronous step and appended in that same order, so
whoever records something, the driver or the watcher of the inbox, the log is what the session
says. A failed append ends everything: what was folded beyond it is thrown away with this object.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.advance import Plan, advance, with_ring
from lousho_cli.core.appending import Project, says_nothing
from lousho_cli.core.decide import AgentFacts, Live
from lousho_cli.core.fold import apply, fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.snapshot_timing import snapshot_due
from lousho_cli.core.states import session_from, state_from
from lousho_cli.core.trimming import base_batch, has_base, trimmed_state
from lousho_cli.core.unwritable import import_cut, newer_version
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import IMPORTING, Run, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.times import ms_since_1970
from lousho_cli.errors import OwnershipLostError, StorageError
from lousho_cli.executor.asks import Asks
from lousho_cli.executor.keeping import DEFAULT_KEEPING, Keeping
from lousho_cli.executor.reading_back import must_read_back
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.log_store import Claim, LogStore


class OnWritten(Protocol):
    def __call__(self, batches: Sequence[r.Batch], *, durable: bool) -> None:
        """``batches`` were written, perhaps none; ``durable``: they, and all before them, are so for certain."""


class SessionLog:
    """A claimed log. Make it with ``open``, end it with ``close``.

    ``asks`` wakes the calls of this process that asked a person; ``credentials`` is its owner's store of secrets, None for none.
    ``project`` is what a user's own record says to the model.
    A sub-agent's part of it is an object of its own (``sub_log.SubLog``), which writes through this one.
    """

    calls: tuple[str, ...] = ()
    """Leads to the agent whose log this is: it is the lead itself."""

    def __init__(
        self, store: LogStore, claim: Claim, fold: Accumulator, clock: Clock, keeping: Keeping = DEFAULT_KEEPING, since: int | None = None
    ) -> None:
        self.store, self.claim, self.clock, self.id = store, claim, clock, claim.log_id
        self._ring = store.history_limit
        self._fold = fold
        self._turn = asyncio.Lock()
        self._announced = False
        self._frozen: Session | None = None
        self._vouched: r.Turn | None = None
        self._waiting: list[r.Batch] = []
        self._written = fold.seq
        self._unsynced = False
        self._flushing: asyncio.Task[None] | None = None
        self._closed = False
        self._keeping = keeping
        self._since = since  # when the first record was written that no snapshot has, in milliseconds since 1970
        self.on_written: OnWritten | None = None
        self.asks = Asks()
        self.credentials: Credentials | None = None
        self.project: Project = says_nothing

    @classmethod
    async def open(
        cls,
        store: LogStore,
        session_id: str,
        host: str,
        clock: Clock,
        keeping: Keeping = DEFAULT_KEEPING,
        *,
        keep_ring: bool = False,
        ring: int | None = None,
    ) -> SessionLog:
        """Claims a log and reads it. Writes nothing to it.

        Args:
            ring: how many marks its ring keeps; None for as many as the store was told.
            keep_ring: its ring stays as long as it is, whatever the store was told: for who does not know the session's agent.

        Raises:
            SessionBusyError, DamagedLogError, LogVersionError, StorageError: as the store says.
            ConfigurationError: not all of it was imported.
        """
        claim = await store.claim(session_id, host, keeping.ttl_ms, keeping.renew_ms)
        try:
            known, since = await _read(store, session_id)
            if known.format > r.FORMAT or known.unknown:
                raise newer_version(session_id)
            if IMPORTING in known.settings:
                raise import_cut(session_id)
        except BaseException:
            await store.release(claim)
            raise
        log = cls(store, claim, known, clock, keeping, since)
        if ring is not None:
            log._ring = ring
        if keep_ring and known.latest is not None:
            log._ring = known.ring
        return log

    @property
    def session(self) -> Session:
        if self._frozen is None:
            self._frozen = self._fold.freeze()
        return self._frozen

    @property
    def seq(self) -> int:
        return self._fold.seq

    @property
    def run(self) -> Run:
        """The run as it stands, without freezing the session for it."""
        return self._fold.run

    @property
    def messages(self) -> Shared[Message]:
        """The transcript as it stands, without freezing the session for it."""
        return self._fold.messages.view()

    @property
    def turns(self) -> int:
        """How many whole answers of the model are in the transcript, without freezing the session for it."""
        return self._fold.turns

    def deadline(self) -> str | None:
        """When the time of the run is up, None for never."""
        return self._fold.run.deadline

    @property
    def unsynced(self) -> bool:
        """Whether something was appended that a power cut could still take."""
        return self._unsynced

    def session_at(self, calls: tuple[str, ...]) -> Session:
        """The session of the sub-agent that ``calls`` lead to; an empty one before its first record."""
        session = self.session
        for call_id in calls:
            session = session.children.get(call_id) or Session()
        return session

    def fold_at(self, calls: tuple[str, ...]) -> Accumulator:
        """What adds up to that session, to be read at once; an empty one before its first record."""
        fold = self._fold
        for call_id in calls:
            fold = fold.children.get(call_id) or Accumulator()
        return fold

    def plan(self, happened: Sequence[r.Record], agent: AgentFacts, live: Live, calls: tuple[str, ...] = ()) -> Plan:
        """Folds what happened and all that follows from it. Its batches must be written next.

        Args:
            calls: leads to the sub-agent it happened to; ``agent`` and ``live`` are that one's.
        """
        if not self._announced and not calls:
            happened = self._announcing(happened)
        plan = advance(self._fold, happened, agent, live, self.claim.epoch, self._ring, calls)
        self._frozen = None
        self._waiting += plan.batches
        return plan

    def _announcing(self, records: Sequence[r.Record]) -> Sequence[r.Record]:
        """The first batch of an epoch begins with its claim."""
        if self._announced or not records:
            return records
        self._announced = True
        return [r.Claimed(self.claim.host), *records]

    async def write(self, batches: Sequence[r.Batch], *, durable: bool = True, held: bool = False) -> None:
        """Appends batches that were folded, and with them whatever was folded before and still waits.

        One function, from the driver to the store: what a store waits for is handed back through each layer between them.

        Args:
            durable: what was appended before is made so, too, also where ``batches`` is empty.
            held: it is the caller who is ``holding`` the log.

        Raises:
            OwnershipLostError, StorageError: it does not count, and nothing can be written any more.
        """
        if not batches and not durable:
            return
        if not held:
            await self._turn.acquire()
        try:
            if self._flushing is not None:
                await self._flushed(self._flushing)
            ready = self._ready(batches[-1].seq) if batches else ()
            if ready:
                must_read_back(ready, self._vouched)
                await self.store.append(self.claim, ready, durable=durable)
                self._written, self._unsynced = ready[-1].seq, not durable
                if self._since is None:
                    self._since = ms_since_1970(ready[0].at)
            elif durable and self._unsynced:
                await self.store.flush(self.claim)
                self._unsynced = False
            self.asks.heard(ready)
            if self.on_written is not None:
                self.on_written(ready, durable=durable)
        finally:
            if not held:
                self._turn.release()

    def _ready(self, last: int) -> Sequence[r.Batch]:
        """Takes out of what waits all up to ``last``."""
        waiting = self._waiting
        if waiting and waiting[-1].seq <= last:
            self._waiting = []
            return waiting
        ready = [batch for batch in waiting if batch.seq <= last]
        del waiting[: len(ready)]
        return ready

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        """Keeps everybody else from writing while several things must happen in order; ``write(…, held=True)`` writes meanwhile."""
        async with self._turn:
            yield

    async def record(self, *records: r.Record, durable: bool = True) -> None:
        """Folds and appends one batch that nothing has to be decided on; none where there is no record for it."""
        if records:
            await self.write(self.enter(*records), durable=durable)

    def vouch(self, turn: r.Turn) -> None:
        """Takes a turn that was checked in each of its fields when it was made: it needs no trial before it is written."""
        self._vouched = turn

    def enter(self, *records: r.Record) -> tuple[r.Batch, ...]:
        """Folds one batch at once; it must be written next."""
        stamped = with_ring(records, self._ring)
        batch = r.Batch(self._fold.seq + 1, self.claim.epoch, self.clock.now(), tuple(self._announcing(stamped)))
        apply(self._fold, batch)
        self._frozen = None
        self._waiting.append(batch)
        return (batch,)

    async def flush(self) -> None:
        """Makes everything appended durable."""
        await self.write(())

    def flush_soon(self) -> None:
        """Begins to make everything durable, behind whatever else goes on."""
        if self._unsynced and self._flushing is None:
            self._flushing = asyncio.ensure_future(self.store.flush(self.claim))

    async def _flushed(self, flushing: asyncio.Task[None]) -> None:
        self._flushing = None
        await flushing
        self._unsynced = False

    def must_be_ours(self) -> None:
        """Raises OwnershipLostError when the claim could not be renewed in time: nothing new may start."""
        if self.claim.overdue:
            raise OwnershipLostError(self.id, "another owner, or nobody: the lease could not be renewed in time")

    def snapshot_due(self) -> bool:
        """Whether enough was written since the fold was cached, and all of it was: then ``snapshot`` is worth its cost.

        One that ran ahead of what was written is never cached, nor of what is durable: once another owner had made the log
        as long, such a cache would be taken for what the log says.
        """
        claim, since = self.claim, self._since
        waited_ms = self.clock.now_ms() - since if since is not None else 0
        due = snapshot_due(claim.bytes_since_snapshot, claim.snapshot_size, waited_ms, self._keeping.snapshots)
        return due and self._written == self._fold.seq

    async def snapshot(self) -> None:
        """Caches the fold, or makes it the whole log."""
        if self._keeping.trims:
            await self._trim()
            return
        state = state_from(self.session)
        await self.flush()
        with suppress(StorageError):  # a cache: the records are there without it
            await self.store.save_snapshot(self.claim, state)
        self._since = None if state.seq == self._fold.seq else self.clock.now_ms()

    async def _trim(self) -> None:
        """Makes the state the whole log; where that can not be done now, the log stays as it is."""
        async with self.holding():
            if self._flushing is not None:
                await self._flushed(self._flushing)
            if self._written < self._fold.seq:
                return
            base = base_batch(trimmed_state(self.session), self.claim.epoch, None if self._announced else self.claim.host)
            try:
                await self.store.trim(self.claim, base)
            except OwnershipLostError:
                raise
            except StorageError:
                return  # nothing is lost by it; if no more can be written, the next append says so
            self._announced, self._unsynced, self._since = True, False, None
            await self.store.save_head(self.claim, head_of(self.session))

    async def close(self, wake_at: str | None = None) -> Head | None:
        """Makes everything durable, caches the head, and gives the log back.

        Nothing is cached of a fold that ran ahead of what was written: a cache says what the log says.

        Returns:
            the head as whoever asks for it now gets it; None where none was to be cached.
        """
        if self._closed:
            return None
        self._closed, head = True, None
        try:
            await self.flush()
            if self._written == self._fold.seq:
                if self._announced and self.snapshot_due():
                    await self.snapshot()
                if self._announced or wake_at is not None:
                    head = head_of(self.session)
                    await self.store.save_head(self.claim, head)
        finally:
            await self.store.release(self.claim, wake_at)
        return head and msgspec.structs.replace(head, id=self.id, wake_at=wake_at)

    async def abandon(self) -> None:
        """Gives the log back after a failed append; nothing more is written."""
        self._closed = True
        if self._flushing is not None:
            self._flushing.cancel()
        await self.store.release(self.claim)


async def _read(store: LogStore, session_id: str) -> tuple[Accumulator, int | None]:
    """The fold of a log, and when the first record was written that no snapshot or trim has."""
    state = await store.load_snapshot(session_id)
    before = session_from(state) if state else Session()
    batches = (await store.read(session_id, after=before.seq)).batches
    uncovered = batches[1:] if batches and has_base(batches[0]) else batches
    return Accumulator(fold(batches, before)), ms_since_1970(uncovered[0].at) if uncovered and uncovered[0].at else None
