"""Carrying out one order: claim the log, admit what was given, drive to rest, give the log back.

A new run, the next message, a resume and an approval differ only in the records they begin with.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lousho_cli.core.admit import Admission, admit
from lousho_cli.core.fold import fold
from lousho_cli.core.resuming import drift_of, missing_tools
from lousho_cli.core.transcript import check, repair
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.codec import plain
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.errors import (
    AgentDriftError,
    ConfigurationError,
    InputRejectedError,
    OwnershipLostError,
    ResumeToolMissingError,
    SDKError,
    SessionAwaitingApprovalError,
    StorageError,
)
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.drive import Driver
from lousho_cli.executor.events import Events
from lousho_cli.executor.inbox import Inbox
from lousho_cli.executor.pauses import Pauses
from lousho_cli.executor.places import Place
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.clock import Clock

ORPHANED = "LOUSHO_APPROVAL_ORPHANED"

log_to = logging.getLogger("lousho")


class Order(msgspec.Struct, frozen=True):
    """What a caller wants of a session.

    business_state: empty, or a tuple of the one value to store.
    answer: for a decision: given the session, the records that decide it. It is asked before anything
        is written and may raise.
    """

    place: Place
    messages: Sequence[Message] = ()
    input_id: str | None = None
    by: str | None = None
    path: str | None = None
    create: bool = False
    business_state: tuple[Any, ...] = ()
    answer: Callable[[Session], Sequence[r.Record]] | None = None


async def carry_out(agent: RunAgent, order: Order, controller: AbortController, events: Events, clock: Clock) -> RunResult:
    """Carries out an order. Its last event is ``run.done``, however it ends. Raises what ``AgentExecutor.execute`` says."""
    try:
        result = await _carry_out(agent, order, controller, events, clock)
    except BaseException as error:
        detail = error.detail if isinstance(error, SDKError) else str(error)
        events.emit("error", message=detail or type(error).__name__, code=getattr(error, "code", None))
        events.emit("run.done", finish_reason="error")
        raise
    events.emit("run.done", step=result.steps, finish_reason=result.finish_reason, status=result.status)
    return result


async def _carry_out(agent: RunAgent, order: Order, controller: AbortController, events: Events, clock: Clock) -> RunResult:
    place = order.place
    result: RunResult | None = None
    while True:
        log = await SessionLog.open(place.store, place.session_id, socket.gethostname(), clock)
        try:
            one = await _Run(agent, order, log, controller, events).carry_out(first=result is None)
        except (OwnershipLostError, StorageError):
            await log.abandon()
            raise
        except BaseException:
            await log.close()
            raise
        await log.close(wake_at=clock.now() if one.stopped else None)
        result = result or one
        # Whoever found us owning the log left a post instead of claiming it: look once more, now that we do not.
        if not place.shared or controller.signal.aborted or not await place.store.inbox(place.session_id):
            break
        order = Order(place)
    return result


class _Run:
    """One claim's worth of an order."""

    def __init__(self, agent: RunAgent, order: Order, log: SessionLog, controller: AbortController, events: Events) -> None:
        self._agent, self._order, self._log = agent, order, log
        self._controller, self._events = controller, events
        self._inbox = Inbox(log, controller)

    async def carry_out(self, *, first: bool) -> RunResult:
        place, session = self._order.place, self._log.session
        if not first:
            await self._inbox.take()
            records: Sequence[r.Record] = ()
        else:
            records = await self._begin(session)
        pauses = Pauses(self._agent.agent, place.approvals, native=place.native, session_id=place.named)
        driver = Driver(self._log, self._agent, self._controller, self._events, pauses)
        if place.shared:
            self._inbox.watch()
        try:
            session = await driver.drive(records)
            result = self._result(session)
            while place.shared and await self._inbox.take():
                session = await driver.drive(())
                result = self._result(session) if session.run.number == self._log.session.run.number else result
        finally:
            await self._inbox.stop()
        return result

    def _result(self, session: Session) -> RunResult:
        signal = self._controller.signal
        stopped = signal.recoverable and session.outcome is None and not session.awaiting
        return result_of(self._order.place.session_id, session, stopped=stopped)

    async def _begin(self, session: Session) -> Sequence[r.Record]:
        """The records this order begins with; raises when it may not begin, before anything is written."""
        order = self._order
        if order.create and session.exists:
            raise ConfigurationError(f"session {order.place.session_id} exists already", field="session_id", code="LOUSHO_SESSION_EXISTS")
        orphaned = order.answer is None and await self._refuse_if_awaiting(session)
        records = self._admitted(session) if order.answer is None else order.answer(session)
        drift = self._compare(_told(session, [record for record in records if type(record) is r.WaitAnswered]))
        self._events.emit("run.start", cursor=session.seq, run=session.run.number, attempt=session.attempts)
        notes = self._drifted(drift, session) if drift else ()
        if records and not session.ended:
            await self._reap(session)
        if orphaned:
            gone = f"the approval this session waited for is gone; its call is gated again [{ORPHANED}]"
            notes = (*notes, self._note("orphaned", gone))
        state = [r.BusinessState(plain(value)[0]) for value in order.business_state]
        return (*records, *self._repaired(_told(session, records)), *notes, *state) if records else ()

    def _admitted(self, session: Session) -> Sequence[r.Record]:
        order, agent = self._order, self._agent
        created = r.Created(agent.agent.name, order.path)
        fresh_id = self._log.clock.new_id()
        admission: Admission = admit(
            session,
            order.messages,
            input_id=order.input_id,
            fresh_id=fresh_id,
            now=self._log.clock.now(),
            agent=agent.facts,
            created=created,
            by=order.by,
        )
        if admission.kind == "conflict":
            raise InputRejectedError(
                f"input {order.input_id} was used before, with other content",
                code="LOUSHO_INPUT_CONFLICT",
                hint="Use a new input id for a new input.",
            )
        if admission.kind == "empty":
            raise ConfigurationError("a new session needs an input", field="input", code="LOUSHO_CONFIG_MISSING_INPUT")
        return admission.records

    async def _refuse_if_awaiting(self, session: Session) -> bool:
        """Raises while a person must decide; True when the approval is gone and the call may be gated again."""
        if not session.awaiting:
            return False
        place = self._order.place
        approval_id = session.wait.id if session.wait else (session.latest and session.latest.approval_id) or ""
        gone = session.wait is None or session.wait_taken
        if not place.native:
            load = getattr(place.approvals, "load", None)
            gone = load is not None and await load(approval_id) is None
        if gone and not self._order.messages:
            return True
        raise SessionAwaitingApprovalError(place.session_id, approval_id, session.wait.kind if session.wait else "tool")

    def _compare(self, session: Session) -> AgentDrift | None:
        """Refuses a missing tool or, when asked to, any drift; otherwise gives what changed."""
        if not session.exists or session.ended:
            return None
        missing = missing_tools(session, self._agent.facts)
        if missing:
            raise ResumeToolMissingError(missing)
        drift = drift_of(session, self._agent.facts)
        mode = self._agent.settings.on_agent_drift
        if drift is not None and mode == "error":
            raise AgentDriftError(
                f"the agent changed since the run was saved: {drift.describe()}",
                hint="Resume it with the agent it began with, or with --on-drift warn.",
            )
        return None if mode == "ignore" else drift

    def _drifted(self, drift: AgentDrift, session: Session) -> tuple[r.Record, ...]:
        self._events.emit("agent.drift", cursor=session.seq, text=drift.describe(), **msgspec.to_builtins(drift))
        return (self._note("drift", f"the agent changed since the run was saved: {drift.describe()}"),)

    def _note(self, kind: str, text: str) -> r.Note:
        if kind != "drift":
            self._events.emit("warning", about=kind, text=text)
        if not self._events.wanted:
            log_to.warning("%s: %s", self._order.place.session_id, text)
        return r.Note(kind, text)

    def _repaired(self, session: Session) -> tuple[r.Record, ...]:
        """A splice that makes an old transcript one a provider accepts; nothing where it is."""
        if not session.exists or check(session.messages, open_tail=session.turn is not None) is None:
            return ()
        messages, words = repair(session.messages, open_tail=session.turn is not None)
        return (r.Splice(0, messages, "repair"), self._note("repair", "; ".join(words)))

    async def _reap(self, session: Session) -> None:
        """Kills what a cut call left running: it may not go on beside its own second try."""
        if session.turn is None:
            return
        names = {call.id: call.name for call in session.turn.calls}
        for call_id, (pid, started) in session.turn.spawned.items():
            tool = self._agent.tools.get(names[call_id])
            reap = getattr(tool, "reap", None)
            if reap is not None:
                await reap(pid, started)


def _told(session: Session, records: Sequence[r.Record]) -> Session:
    """The session as ``records`` would make it; nothing is written."""
    return fold((r.Batch(session.seq, session.epoch, session.updated_at, tuple(records)),), session) if records else session
