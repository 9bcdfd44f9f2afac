"""Carrying out one order: claim the log, begin, drive to rest, serve what others left meanwhile, give the log back.

The caller gets what became of the order's own run; one who only goes on gets the last. What others
left is theirs: how it ended stands in the log, and neither its result nor its error is the caller's.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import msgspec

from lousho_cli.core.decide import next_in_line, next_input
from lousho_cli.domain import records as r
from lousho_cli.domain.events import RunDone
from lousho_cli.domain.session import Session
from lousho_cli.domain.times import AT_ONCE
from lousho_cli.errors import OwnershipLostError, PropagatingToolError, SDKError, SessionBusyError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.beginnings import Beginner, Order, log_to
from lousho_cli.executor.drive import Driver
from lousho_cli.executor.dynamic import AgentSource
from lousho_cli.executor.events import Events
from lousho_cli.executor.inbox import Inbox
from lousho_cli.executor.pauses import Pauses
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.telling import tell
from lousho_cli.ports.clock import Clock


async def carry_out(source: AgentSource, order: Order, controller: AbortController, events: Events, clock: Clock) -> RunResult:
    """Carries out an order. Its last event is ``run.done``, however it ends. Raises what ``AgentExecutor.execute`` says."""
    try:
        result = await _Owner(source, order, controller, events, clock).carry_out()
    except BaseException as error:
        detail = error.detail if isinstance(error, SDKError) else str(error)
        events.failed(detail or type(error).__name__, getattr(error, "code", None))
        raise
    if order.place.shared and not controller.signal.aborted:
        await _serve_late_posts(source, order, controller, events, clock)
    events.done(RunDone(step=result.steps, finish_reason=result.finish_reason, status=result.status, outcome=result.outcome))
    return result


async def _serve_late_posts(source: AgentSource, order: Order, controller: AbortController, events: Events, clock: Clock) -> None:
    """Whoever found us owning the log left a post instead of claiming it: looks once more, now that we do not."""
    place = order.place
    try:
        theirs = msgspec.structs.replace(order, given=False, queue=None)
        while await place.store.inbox(place.session_id) and not controller.signal.aborted:
            await _Owner(source, theirs, controller, events, clock).carry_out()
    except SessionBusyError:
        return  # its sender looked as well, and serves it
    except (SDKError, PropagatingToolError) as error:
        log_to.warning("%s: what others left could not be served: %s", place.session_id, error)


class _Owner:
    """One claim of the log, from opening to giving back."""

    def __init__(self, source: AgentSource, order: Order, controller: AbortController, events: Events, clock: Clock) -> None:
        self._source, self._order, self._clock = source, order, clock
        self._controller, self._events = controller, events
        self._lost = False

    async def carry_out(self) -> RunResult:
        place = self._order.place
        log = await SessionLog.open(place.store, place.session_id, socket.gethostname(), self._clock)
        try:
            result = await self._drive(log)
        except (OwnershipLostError, StorageError):
            await log.abandon()
            raise
        except BaseException:
            await log.close()
            raise
        if self._lost:
            await log.abandon()
        else:
            await log.close(wake_at=AT_ONCE if result.stopped else None)
        return result

    async def _drive(self, log: SessionLog) -> RunResult:
        place = self._order.place
        log.credentials = self._order.credentials
        inbox = Inbox(log, self._controller)
        if place.shared:
            await inbox.take_first()
        beginner = Beginner(self._source, self._order, self._events, self._clock, self._controller.signal)
        beginning = await beginner.begin(log.session)
        tell(log, self._events)
        driver = self._driver(log, beginning.agent)
        if place.shared:
            inbox.watch()
        try:
            session = await self._drive_own(log, driver, beginning.records)
            result = self._result(beginning.answered or session)
            if place.shared:
                result = await self._serve(log, driver, inbox, result, session.run.number)
        finally:
            await inbox.stop()
        return result

    async def _drive_own(self, log: SessionLog, driver: Driver, records: Sequence[r.Record]) -> Session:
        queue = self._order.queue
        if queue is None:
            return await driver.drive(records)
        queue.open(log)
        try:
            return await driver.drive(records)
        finally:
            queue.close()

    def _driver(self, log: SessionLog, agent: RunAgent) -> Driver:
        place = self._order.place
        pauses = Pauses(agent.agent, place.approvals, native=place.native, session_id=place.named)
        return Driver(log, agent, self._controller, self._events, pauses)

    async def _serve(self, log: SessionLog, driver: Driver, inbox: Inbox, result: RunResult, own: int) -> RunResult:
        """Drives what others left, for as long as something is. A decision on our own pause makes our own result."""
        try:
            while True:
                came = await inbox.take()
                following = None if self._controller.signal.aborted else await self._for_next(log, driver)
                driver = following or driver
                more = self._next_input(log, driver) if following else ()
                if not came and not more:
                    return result
                session = await self._drive_on(driver, more)
                if session is not None and (session.run.number == own or not self._order.asks):
                    result = self._result(session)
        except (OwnershipLostError, StorageError) as error:
            self._lost = True
            log_to.warning("%s: the log was lost behind the end of this run: %s", log.id, error)
            return result

    def _next_input(self, log: SessionLog, driver: Driver) -> tuple[r.Record, ...]:
        created = r.Created(driver.agent.agent.name, self._order.path)
        return next_input(log.session, driver.agent.facts, self._clock.now(), created)

    async def _for_next(self, log: SessionLog, driver: Driver) -> Driver | None:
        """The driver for the input that begins next; None while there is none, or its agent could not be made: then it waits on."""
        input_id = next_in_line(log.session)
        if input_id is None:
            return None
        session, place = log.session, self._order.place
        try:
            agent = await self._source.agent_for(session, session.inputs[input_id].messages, place.named, self._controller.signal)
        except SDKError as error:
            if self._order.given and not self._order.asks:
                raise
            log_to.warning("%s: an input that others left could not begin: %s", log.id, error)
            return None
        return driver if agent is driver.agent else self._driver(log, agent)

    async def _drive_on(self, driver: Driver, records: Sequence[r.Record]) -> Session | None:
        try:
            return await driver.drive(records)
        except (OwnershipLostError, StorageError):
            raise
        except (SDKError, PropagatingToolError) as error:
            if self._order.given and not self._order.asks:
                raise
            log_to.warning("%s: an input that others left failed: %s", self._order.place.session_id, error)
            return None

    def _result(self, session: Session) -> RunResult:
        signal = self._controller.signal
        stopped = signal.recoverable and session.outcome is None and not session.awaiting
        return result_of(self._order.place.session_id, session, stopped=stopped)
