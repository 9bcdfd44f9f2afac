"""How an order begins: what of it is new, whether it may begin at all, and the records it begins with.

A new run, the next message, a resume and an approval differ only in these records. Everything that
can refuse an order refuses it here, before anything is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.admit import Admission, admit, beginning
from lousho_cli.core.fold import fold
from lousho_cli.core.record_events import DRIFT
from lousho_cli.core.resuming import drift_of, missing_tools
from lousho_cli.core.sub_agents import facts_of
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.events import RunStart
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import (
    AgentDriftError,
    ConfigurationError,
    InputRejectedError,
    ResumeToolMissingError,
    SessionAwaitingApprovalError,
)
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.dynamic import AgentSource
from lousho_cli.executor.events import Events
from lousho_cli.executor.input_queue import InputQueue
from lousho_cli.executor.partials import kept_answer
from lousho_cli.executor.places import Place
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.sessions import read_session

ORPHANED = "LOUSHO_APPROVAL_ORPHANED"

CHANGED = "the agent changed since the run was saved"

log_to = logging.getLogger("lousho")


class Order(msgspec.Struct, frozen=True):
    """What a caller wants of a session.

    given: False when the caller wants nothing himself: only what others left is served.
    business_state: empty, or a tuple of the one value to store.
    answer: for a decision: given the session and the agent, the records that decide it. It is asked before
        anything is written and may raise.
    queue: takes input for the order's own run while it goes on. credentials: the store of secrets of who drives it.
    harness, tenant: whose a session is that it begins.
    """

    place: Place
    messages: Sequence[Message] = ()
    input_id: str | None = None
    by: str | None = None
    path: str | None = None
    create: bool = False
    given: bool = True
    business_state: tuple[Any, ...] = ()
    answer: Callable[[Session, RunAgent], Sequence[r.Record]] | None = None
    queue: InputQueue | None = None
    credentials: Credentials | None = None
    harness: str | None = None
    tenant: str | None = None

    @property
    def asks(self) -> bool:
        """Whether the caller brings something himself, and does not only go on."""
        return bool(self.messages) or self.answer is not None


class Beginning(msgspec.Struct, frozen=True):
    """The agent of an order and the records it begins with; ``answered``: its input had its end already, and this was the session then."""

    agent: RunAgent
    records: tuple[r.Record, ...] = ()
    answered: Session | None = None


class Beginner:
    """Works out the beginning of one order."""

    def __init__(self, source: AgentSource, order: Order, events: Events, clock: Clock, signal: AbortSignal) -> None:
        self._source, self._order, self._events, self._clock = source, order, events, clock
        self._signal = signal

    async def begin(self, session: Session) -> Beginning:
        """The beginning on ``session``; raises what ``AgentExecutor.execute`` says when it may not begin."""
        order = self._order
        if not order.given:
            return Beginning(await self._source.agent_for(session, (), order.place.named, self._signal))
        if order.create and session.exists:
            raise ConfigurationError(f"session {order.place.session_id} exists already", field="session_id", code="LOUSHO_SESSION_EXISTS")
        orphaned = order.answer is None and await self._refuse_if_awaiting(session)
        new = beginning(session, order.messages, order.input_id)
        agent = await self._source.agent_for(session, new, order.place.named, self._signal)
        records = self._admitted(session, agent) if order.answer is None else order.answer(session, agent)
        drift = drift_let_pass(agent, as_told(session, [record for record in records if type(record) is r.WaitAnswered]))
        notes: tuple[r.Record, ...] = (self._note(DRIFT, f"{CHANGED}: {drift.describe()}", drift),) if drift else ()
        if records and not session.ended:
            await reap_cut_calls(agent.facts.tools, session)
        if orphaned:
            gone = f"the approval this session waited for is gone; its call is gated again [{ORPHANED}]"
            notes = (*notes, self._note("orphaned", gone))
        if agent.settings.continue_cut_off is not False and r.RunResumed in map(type, records):
            notes = (*notes, *await self._kept_answer(session, agent))
        state = [r.BusinessState(*plain(value)) for value in order.business_state]
        if not records:
            self._events.emit(RunStart(run=session.run.number, attempt=session.attempts, cursor=session.seq))
            return Beginning(agent, answered=await self._as_answered(session))
        return Beginning(agent, (*notes, *records, *state))

    async def _kept_answer(self, session: Session, agent: RunAgent) -> tuple[r.Record, ...]:
        place, on = self._order.place, agent.settings.continue_cut_off
        return await kept_answer(place.store, place.session_id, session, on if isinstance(on, tuple) else None)

    async def _as_answered(self, session: Session) -> Session:
        """The session when the input of this order was settled; as it is now where that can not be told."""
        input_id, place = self._order.input_id, self._order.place
        if input_id is None or input_id == session.run.input_id:
            return session
        for batch in (await place.store.read(place.session_id)).batches:
            if any(isinstance(record, r.InputSettled) and record.id == input_id for record in batch.records):
                return await read_session(place.store, place.session_id, up_to=batch.seq)
        return session

    def _admitted(self, session: Session, agent: RunAgent) -> Sequence[r.Record]:
        order = self._order
        created = r.Created(agent.agent.name, order.path, order.harness, order.tenant)
        fresh_id = self._clock.new_id()
        admission: Admission = admit(
            session,
            order.messages,
            input_id=order.input_id,
            fresh_id=fresh_id,
            now=self._clock.now(),
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

    def _note(self, kind: str, text: str, drift: AgentDrift | None = None) -> r.Note:
        log_to.warning("%s: %s", self._order.place.session_id, text)
        return r.Note(kind, text_of(text), drift)


def drift_let_pass(agent: RunAgent, session: Session, driving: RunAgent | None = None) -> AgentDrift | None:
    """What changed since an unfinished run was saved, where it may go on all the same; None where nothing did, or it is ignored.

    Args:
        driving: the agent that goes on with it, where that is another for a while: its tools are those that have to be there.

    Raises:
        ResumeToolMissingError, AgentDriftError: it may not go on.
    """
    if not session.exists or session.ended:
        return None
    missing = missing_tools(session, (driving or agent).facts)
    if missing:
        raise ResumeToolMissingError(missing)
    drift = drift_of(session, agent.facts)
    mode = agent.settings.on_agent_drift
    if drift is not None and mode == "error":
        raise AgentDriftError(
            f"{CHANGED}: {drift.describe()}",
            hint="Resume it with the agent it began with, or with --on-drift warn.",
        )
    return None if mode == "ignore" else drift


async def reap_cut_calls(tools: Mapping[str, Any], session: Session) -> None:
    """Kills what a cut call left running, one of a sub-agent too: it may not go on beside its own second try."""
    if session.turn is None:
        return
    names = {call.id: call.name for call in session.turn.calls}
    for call_id, (pid, started) in session.turn.spawned.items():
        reap = getattr(tools.get(names[call_id]), "reap", None)
        if reap is not None:
            await reap(pid, started)
    for call_id, child in session.children.items():
        facts = facts_of(tools.get(names.get(call_id, "")))
        if facts is not None:
            await reap_cut_calls(facts.tools, child)


def as_told(session: Session, records: Sequence[r.Record]) -> Session:
    """The session as ``records`` would make it; nothing is written."""
    return fold((r.Batch(session.seq, session.epoch, session.updated_at, tuple(records)),), session) if records else session
