"""One thread as this host sees it: it takes the log when there is work, drives it, and gives it back.

    submit ──▶ is it ours? ──yes──▶ record it, the turn that runs or the next one takes it up
                    │ no
                    ├── nobody's: claim it, then the same
                    └── another host's: leave it there as a post, and look again should that host go

Whoever finds work begins the same loop: recover what was left open, then each input in order, until nothing
is left. Nothing of it is remembered here: another host would read the same from the log and do the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from lousho_cli.core.decide import next_in_line, next_input, resumed, settled
from lousho_cli.core.recovery import Recovery, recovery_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import Session
from lousho_cli.errors import AbortedError, OwnershipLostError, PropagatingToolError, SDKError, SessionBusyError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.drive import Driver
from lousho_cli.executor.events import Events
from lousho_cli.executor.inbox import Inbox
from lousho_cli.executor.pauses import Pauses
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.admitting import admitted, known_already
from lousho_cli.host.harness import Harness
from lousho_cli.host.receipts import Receipt
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

LOOK_AGAIN_S = 0.5
"""How often a host whose input waits for another host looks whether that one is still there."""

log_to = logging.getLogger("lousho")


class Terms(msgspec.Struct, frozen=True):
    """What holds for every thread of a host. ``name`` is what others are told of an owner."""

    store: LogStore
    clock: Clock
    name: str
    ttl_ms: int


class Owned:
    """A log while it is this host's. ``controller`` stops the turn that runs, None between two."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.controller: AbortController | None = None
        self.inbox = Inbox(log, self)
        self.looked = False

    def abort(self) -> None:
        """Stops the turn that runs, for good."""
        if self.controller is not None:
            self.controller.abort()


class Thread:
    """One thread on this host. ``handles`` counts those who hold it open."""

    def __init__(self, terms: Terms, harness: Harness, thread_id: str, tenant: str | None) -> None:
        self.harness, self.id, self.tenant = harness, thread_id, tenant
        self.handles = 0
        self._terms = terms
        self._gate = asyncio.Lock()
        self._owned: Owned | None = None
        self._work: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._closing: str | None = None

    @property
    def busy(self) -> bool:
        """Whether this host drives the thread now."""
        return self._owned is not None

    async def submit(self, post: Post) -> Receipt:
        """Takes an input or a wish for this thread; what it becomes is durable on return.

        Raises:
            AbortedError: this host is closed.
            StorageError: it could not be stored.
        """
        self._must_be_open()
        async with self._gate:
            if self._owned is None and not await self._take():
                return await self._leave(post)
            assert self._owned is not None, "it was taken"
            receipt = await admitted(self._owned.log, post)
            if post.kind == "abort":
                self._owned.abort()
            return receipt

    async def _leave(self, post: Post) -> Receipt:
        """Leaves a post for the owner elsewhere; one the log has already is answered from it."""
        session = await read_session(self._terms.store, self.id)
        known = session.inputs.get(post.id)
        if known is not None:
            return known_already(session, post, known)
        await self._terms.store.post(self.id, post)
        self._look_again()
        return Receipt(post.id, "queued")

    async def go_on(self) -> bool:
        """Takes the thread up where it has work and nobody drives it; True when this host drives it now."""
        self._must_be_open()
        async with self._gate:
            return self._owned is not None or await self._take()

    async def idle(self) -> None:
        """Returns once this host drives the thread no more."""
        while self._work is not None and not self._work.done():
            await asyncio.wait({self._work})

    async def close(self, *, recoverable: bool = False) -> None:
        """Stops what runs: for good, or for another host to go on with. Refuses what comes later."""
        self._closing = "recoverable" if recoverable else "plain"
        if self._looking is not None:
            self._looking.cancel()
        if self._owned is not None and self._owned.controller is not None:
            self._stop(self._owned.controller)
        await self.idle()

    def _must_be_open(self) -> None:
        if self._closing is not None:
            raise AbortedError(f"the host of thread {self.id} is closed", hint="Open it on another host.")

    def _stop(self, controller: AbortController) -> None:
        if self._closing == "recoverable":
            controller.stop()
        else:
            controller.abort()

    # Owning

    async def _take(self) -> bool:
        """Claims the log and begins to work it off; False where another host has it."""
        terms = self._terms
        try:
            log = await SessionLog.open(terms.store, self.id, terms.name, terms.clock, terms.ttl_ms)
        except SessionBusyError:
            return False
        self._owned = Owned(log)
        self._work = asyncio.ensure_future(self._work_off(self._owned))
        return True

    def _look_again(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._take_once_free())

    async def _take_once_free(self) -> None:
        """Until what was left for another host is gone: takes the thread should that host go first."""
        store = self._terms.store
        while await store.inbox(self.id):
            if await store.owner(self.id) is None and await self.go_on():
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _work_off(self, owned: Owned) -> None:
        try:
            await owned.inbox.take()
            owned.inbox.watch()
            while await self._step(owned):
                pass
        except (OwnershipLostError, StorageError) as error:
            log_to.warning("%s: this host lost the thread: %s", self.id, error)
            await self._let_go(owned, lost=True)
        except BaseException:
            await self._let_go(owned)
            raise

    async def _step(self, owned: Owned) -> bool:
        """Drives what comes next; False once there is nothing more and the log was given back."""
        records = None if self._closing else await self._next(owned)
        if records is not None:
            await self._drive(owned, records)
            return True
        async with self._gate:
            if not self._closing and (await owned.inbox.take() or await self._next(owned) is not None):
                return True
            await self._let_go(owned)
        if not self._closing and await self._terms.store.inbox(self.id):
            self._look_again()  # somebody left it between our last look and our going
        return False

    async def _let_go(self, owned: Owned, *, lost: bool = False) -> None:
        await owned.inbox.stop()
        try:
            if lost:
                await owned.log.abandon()
            else:
                left = self._closing == "recoverable" and _has_work(owned.log.session)
                await owned.log.close(wake_at=self._terms.clock.now() if left else None)
        finally:
            self._owned = None

    # Turns

    async def _next(self, owned: Owned) -> Sequence[r.Record] | None:
        """How the next turn begins: the one that was left open, the oldest input that waits; None where there is none."""
        session = owned.log.session
        if not owned.looked:
            owned.looked = True
            recovery = recovery_of(session, self._terms.clock.now(), self.harness.durability.max_attempts)
            if recovery is not None:
                return await self._recovered(owned, recovery)
        if session.exists and not session.ended and session.outcome is None and not session.awaiting:
            return ()
        if next_in_line(session) is None:
            return None
        agent = await self._agent_for(owned)
        return next_input(session, agent.facts, self._terms.clock.now(), self._created(agent))

    async def _recovered(self, owned: Owned, recovery: Recovery) -> Sequence[r.Record]:
        session = owned.log.session
        if recovery.action == "run":
            return (resumed(session, (await self._agent_for(owned)).facts, self._terms.clock.now()),)
        if recovery.outcome == "failed":
            return settled(session, "failed", recovery.error, recovery.code)
        return ()  # deciding sees the answer, or the wish to stop, and ends it

    async def _agent_for(self, owned: Owned) -> RunAgent:
        session = owned.log.session
        following = next_in_line(session)
        new = session.inputs[following].messages if following else ()
        return await self.harness.source.agent_for(session, new, self.id, AbortController().signal)

    def _created(self, agent: RunAgent) -> r.Created:
        return r.Created(agent.agent.name, None, self.harness.name, self.tenant)

    async def _drive(self, owned: Owned, records: Sequence[r.Record]) -> None:
        agent = await self._agent_for(owned)
        controller = owned.controller = AbortController()
        if self._closing:
            self._stop(controller)
        pauses = Pauses(agent.agent, None, native=True, session_id=self.id)
        driver = Driver(owned.log, agent, controller, Events(None, self._terms.clock, self.id), pauses)
        try:
            await driver.drive(records)
        except (OwnershipLostError, StorageError):
            raise
        except (SDKError, PropagatingToolError) as error:
            log_to.info("%s: a turn failed: %s", self.id, error)  # how it ended stands in the log
        finally:
            owned.controller = None


def _has_work(session: Session) -> bool:
    open_run = session.exists and not session.ended and session.outcome is None and not session.awaiting
    return open_run or next_in_line(session) is not None
