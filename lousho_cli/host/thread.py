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
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from lousho_cli.core.pending import may_have_work
from lousho_cli.core.waking import woken
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.session import Session
from lousho_cli.domain.times import AT_ONCE, later
from lousho_cli.errors import AbortedError, OwnershipLostError, SDKError, SessionBusyError
from lousho_cli.executor.beginnings import Beginning as Ordered
from lousho_cli.executor.beginnings import Order
from lousho_cli.executor.events import Events
from lousho_cli.executor.keeping import Keeping
from lousho_cli.executor.secret_answers import NEEDS_CREDENTIALS, by_reference, is_secret
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.telling import tell
from lousho_cli.host.admitting import admitted, known_already, refused_elsewhere
from lousho_cli.host.alarm import Alarm
from lousho_cli.host.commands import Commands, left_for
from lousho_cli.host.company import ALONE, Company
from lousho_cli.host.harness import Harness
from lousho_cli.host.intake import Intake
from lousho_cli.host.observing import Observer, TurnEnd
from lousho_cli.host.ordering import ordered
from lousho_cli.host.owned import LOST, Owned, told
from lousho_cli.host.persistence import Metadata
from lousho_cli.host.receipts import Receipt
from lousho_cli.host.recovering import Beginning, Beginnings, is_left, stands_open
from lousho_cli.host.standing import Standing
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

RETRY_MS = 30_000
"""When a thread is to be taken up again whose work could not go on here."""

LOOK_AGAIN_S = 0.5
"""How often a host whose input waits for another host looks whether that one is still there."""

log_to = logging.getLogger("lousho")


class Terms(msgspec.Struct, frozen=True):
    """What holds for every thread of a host. ``name`` is what others are told of an owner; ``host_id`` its stable id, if it has one."""

    store: LogStore
    clock: Clock
    name: str
    keeping: Keeping = Keeping()
    host_id: str | None = None
    observer: Observer = Observer()
    metadata: Metadata | None = None
    credentials: Credentials | None = None


class Thread:
    """One thread on this host. ``handles`` counts those who hold it open, ``only_swept`` says that nobody ever asked for it by name.

    ``end`` is how what it drove last came to rest, ``left`` its head as this host gave it back, None where it wrote nothing then.
    """

    def __init__(self, terms: Terms, harness: Harness, thread_id: str, tenant: str | None, company: Company = ALONE) -> None:
        self.harness, self.id, self.tenant, self.company = harness, thread_id, tenant, company
        self.handles, self.only_swept = 0, False
        self._terms = terms
        self._gate = asyncio.Lock()
        self._owned: Owned | None = None
        self.end: TurnEnd | None = None
        self.left: Head | None = None
        self._work: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self.alarm = Alarm(terms.clock, lambda: self._look(self.recover))
        self._closing: str | None = None
        commands = Commands(harness.commands, thread_id, tenant, self.submit)
        self.intake = Intake(harness, Standing(terms.metadata, harness.name, tenant), commands, tenant)
        self.intake.on_agents = self._seen

    @property
    def busy(self) -> bool:
        """Whether this host drives the thread now."""
        return self._owned is not None

    @property
    def asked_by(self) -> str | None:
        """Who sent what the turn that runs began with."""
        known = self.session.inputs.get(self.session.run.input_id)
        return known.by if known is not None else None

    @property
    def session(self) -> Session:
        """The thread as its log stands, while this host drives it; else an empty one."""
        return self._owned.log.session if self._owned is not None else Session()

    @property
    def resting(self) -> bool:
        """Whether it has nothing to do here: this host neither drives it nor waits for another that does."""
        return self._owned is None and (self._looking is None or self._looking.done())

    @property
    def closed(self) -> bool:
        """Whether its host is closed, or closing."""
        return self._closing is not None

    async def submit(self, post: Post) -> Receipt:
        """Takes an input or a wish for this thread; what it becomes is durable on return.

        Raises:
            AbortedError: this host is closed.
            StorageError: it could not be stored.
        """
        try:
            return await self._submitted(post)
        except OwnershipLostError:
            await self.idle()  # this host lost the thread just now: it is nobody's, or another's
            return await self._submitted(post)

    async def _submitted(self, post: Post) -> Receipt:
        self._must_be_open()
        async with self._gate:
            self._must_be_open()
            if self._owned is None and not await self._take():
                return await self._leave(post)
            owned = self._owned
            assert owned is not None, "it was taken"
            await owned.inbox.take_earlier()
            receipt = await admitted(owned.log, self.intake, post)
            if post.kind == "abort":
                owned.abort()
            return receipt

    async def _leave(self, post: Post) -> Receipt:
        """Leaves a post for the owner elsewhere; one the log has already is answered from it."""
        session = await read_session(self._terms.store, self.id)
        known = session.inputs.get(post.id)
        if known is not None:
            return known_already(session, post, known)
        refused = refused_elsewhere(session, post)
        if refused is not None:
            return refused
        if is_secret(session, post):
            if self._terms.credentials is None:
                return Receipt(post.id, "rejected", reason=NEEDS_CREDENTIALS)
            post = await by_reference(post, self._terms.credentials, self._terms.clock)
        owner = await self._terms.store.owner(self.id)
        await self._terms.store.post(self.id, left_for(post, owner.epoch if owner else 0))
        self._look(self._take_once_free)
        return Receipt(post.id, "queued")

    async def carry_out(self, order: Order) -> TurnEnd:
        """Takes the thread up with what somebody wants of it, which begins before anything else.

        Returns:
            how that came to rest, once this host has nothing more to do on the thread.

        Raises:
            SessionBusyError: it is driven already.
            AbortedError: this host is closed.
            SDKError: it may not begin, as ``AgentExecutor.execute`` says; nothing was written.
        """
        while (owned := await self._begun(order)) is None:
            await self.idle()
        await self.idle()
        assert owned.end is not None, "what began came to rest"
        return owned.end

    async def _begun(self, order: Order) -> Owned | None:
        """``order``, begun; None while this host is only about to give the thread back."""
        async with self._gate:
            self._must_be_open()
            if self._owned is not None:
                if self._owned.at_work or self.intake.commands.running:
                    raise SessionBusyError(self.id, self._terms.name)
                return None
            owned = await self._claimed(own=order.asks)
            try:
                await owned.inbox.take_first()
                begins = await ordered(order, owned.log, owned.events, self.harness, self.intake)
            except BaseException as error:
                owned.events.failed(*told(error))
                await (owned.log.abandon() if isinstance(error, LOST) else owned.log.close())
                raise
            self._begin(owned, begins)
        return owned

    async def go_on(self) -> bool:
        """Takes the thread up where nobody drives it; True when this host drives it now."""
        return await self._taken_up(lambda _head: True)

    async def recover(self, *, held: bool = True, known: Head | None = None) -> bool:
        """``go_on``, where the thread has work.

        Args:
            held: also where it was given back to be taken up only later. known: its head, which has work, as it stands right now.
        """
        return await self._taken_up(lambda head: may_have_work(head, self._terms.clock.now(), held=held), known)

    async def _taken_up(self, wanted: Callable[[Head | None], bool], known: Head | None = None) -> bool:
        self._must_be_open()
        async with self._gate:
            self._must_be_open()
            if self._owned is not None:
                self._seen()
                return True
            # The store is asked, so that what others wrote and left counts.
            head = known or await self._terms.store.head(self.id)
            if head is not None and head.wake is not None:
                self.alarm.set(head.wake)
            if (known is None and not (wanted(head) or await self._terms.store.inbox(self.id))) or not await self._take():
                return False
            return self._owned is None or not self._owned.overtaken(head, wanted) or bool(await self._terms.store.inbox(self.id))

    def wakes_later(self, head: Head) -> None:
        """Takes the thread up when the time comes that its head says; one that has come is left to who takes it up anyway."""
        if head.wake is not None and head.wake > self._terms.clock.now():
            self.alarm.set(head.wake)

    def _look(self, attempt: Callable[[], Awaitable[Any]]) -> None:
        """Begins to look for work beside everything else, unless that is done already; never once this host is closing."""
        if self._closing is None and (self._looking is None or self._looking.done()):
            self._looking = asyncio.ensure_future(self._unless_it_fails(attempt))

    async def _unless_it_fails(self, attempt: Callable[[], Awaitable[Any]]) -> None:
        try:
            await attempt()
        except SDKError as error:
            log_to.warning("%s: it could not be taken up: %s", self.id, error)

    async def idle(self) -> None:
        """Returns once this host drives the thread no more."""
        while self._work is not None and not self._work.done():
            await asyncio.wait({self._work})

    async def rests(self) -> None:
        """Returns once it has nothing to do here: see ``resting``."""
        while not self.resting:
            await self.idle()
            if self._looking is not None and not self._looking.done():
                await asyncio.wait({self._looking})

    def stop(self, *, recoverable: bool = False) -> None:
        """Stops what runs: for good, or for another host to go on with. Refuses what comes later."""
        self._closing = self._closing or ("recoverable" if recoverable else "plain")
        if self._owned is not None:
            self._owned.stop(recoverable=self._closing == "recoverable")

    async def close(self, *, recoverable: bool = False) -> None:
        """``stop``, and waits for what runs to end."""
        self.stop(recoverable=recoverable)
        await self._look_no_more()
        async with self._gate:
            pass  # whoever was taking the log meanwhile has it now, and gives it back below
        self.alarm.cancel()
        await self.idle()

    async def _look_no_more(self) -> None:
        if self._looking is not None and not self._looking.done():
            self._looking.cancel()
            await asyncio.wait({self._looking})

    def _must_be_open(self) -> None:
        if self._closing is not None:
            raise AbortedError(f"the host of thread {self.id} is closed", hint="Open it on another host.")

    # Owning

    async def _take(self) -> bool:
        """Claims the log and begins to work it off; False where another host has it."""
        try:
            self._begin(await self._claimed())
        except SessionBusyError:
            return False
        return True

    async def _claimed(self, *, own: bool = False) -> Owned:
        terms = self._terms
        log = await SessionLog.open(terms.store, self.id, terms.name, terms.clock, terms.keeping, ring=self.harness.history_limit)
        log.credentials, log.project = terms.credentials, self.harness.project
        events = Events(terms.observer.on_event, terms.clock, self.id)
        beginnings = Beginnings(log, self.harness, self.id, self.tenant, self.intake)
        return Owned(log, events, beginnings, self.intake, terms.observer, own=own)

    def _begin(self, owned: Owned, first: Ordered | None = None) -> None:
        tell(owned.log, owned.events)
        self._owned, self.left = owned, None
        if self._closing is not None:
            owned.stop(recoverable=self._closing == "recoverable")
        self._work = asyncio.ensure_future(self._work_until_rest(owned, first))
        self._seen()

    def _seen(self, anew: bool = False) -> None:
        if self._owned is not None:
            self.company.seen(self, self._owned.log.session, anew=anew)

    async def _take_once_free(self) -> None:
        """Until what was left for another host is gone: takes the thread should that host go first."""
        store = self._terms.store
        while await store.inbox(self.id):
            if await store.owner(self.id) is None and await self.go_on():
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _work_until_rest(self, owned: Owned, first: Ordered | None) -> None:
        await self._work_off(owned, first)
        self.end = owned.end or self.end
        await self.company.rested(self)

    async def _work_off(self, owned: Owned, first: Ordered | None) -> None:
        try:
            if first is None:
                await owned.inbox.take()
            owned.inbox.watch()
            owned.guard.watch()
            if first is not None and first.answered is not None:  # its input had its end before
                owned.done(first.answered)
            elif first is not None:
                await self._drive(owned, first)
            while await self._step(owned):
                pass
        except LOST as error:
            if not self._terms.observer.hears_of_ends:
                log_to.warning("%s: this host lost the thread: %s", self.id, error)
            owned.failed(error)
            await self._let_go(owned, lost=True)
        except Exception as error:  # noqa: BLE001 - an agent's function may raise anything; trying again at once would only do the same
            if not self._terms.observer.hears_of_ends:
                log_to.warning("%s: it could not go on: %s", self.id, error if isinstance(error, SDKError) else repr(error))
            owned.failed(error)
            async with self._gate:
                await self._let_go(owned, wake_at=later(self._terms.clock.now(), RETRY_MS))
        except BaseException:
            await self._let_go(owned)
            raise

    async def _step(self, owned: Owned) -> bool:
        """Drives what comes next; False once there is nothing more and the log was given back."""
        due = woken(owned.log.session, self._terms.clock.now())
        if due and not self._closing:
            await owned.log.record(*due)
        begins = None if self._closing else await owned.beginnings.next()
        if begins is not None:
            if not self._closing:  # else what has not begun stays as it is
                await self._drive(owned, begins)
            return True
        async with self._gate:
            if not self._closing and (await owned.inbox.take() or owned.beginnings.more):
                return True
            held = not self._closing and self.intake.commands.running
            if not held:
                await self._let_go(owned)
        if held:
            await self.intake.commands.look_up()
            return True
        if not self._closing and await self._terms.store.inbox(self.id):
            self._look(self._take_once_free)  # somebody left it between our last look and our going
        return False

    async def _drive(self, owned: Owned, begins: Beginning | Ordered) -> None:
        await owned.drive(self.company.dressed(self, begins.agent), begins.records, self._terms.host_id)

    async def _let_go(self, owned: Owned, *, lost: bool = False, wake_at: str | None = None) -> None:
        await owned.inbox.stop()
        await owned.guard.stop()
        await self.intake.commands.stop()
        try:
            if lost:
                await owned.log.abandon()
            else:
                if self._closing == "recoverable" and is_left(owned.log.session):
                    wake_at = AT_ONCE
                    if stands_open(owned.log.session):
                        with suppress(SDKError):  # then it is as if this host had died; the log is given back all the same
                            await owned.log.record(r.RunHandedOver())
                self.left = await owned.log.close(wake_at=wake_at)
                self.intake.commands.gave_back = owned.log.claim.epoch
        except SDKError as error:
            log_to.warning("%s: it was given back, and what was written last may be lost: %s", self.id, error)
        finally:
            self._owned = None
        if (wake := owned.log.session.wake) is not None and not lost and not self._closing:
            self.alarm.set(wake.at)
