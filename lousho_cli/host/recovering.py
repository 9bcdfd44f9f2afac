"""How each turn of an owned thread begins: what its last host left is recovered once, then each input runs in order.

The five questions (``core.recovery``) give a decision; the harness's ``durability.recover`` may give another. A thread
that can not go on here (drift, a missing tool, a hook that failed) is left as it is: neither run nor settled, its head
says why, and whoever drives it gives it back with a wake.
"""

from __future__ import annotations

import logging

import msgspec

from lousho_cli.core.between import due_between
from lousho_cli.core.decide import next_in_line, next_input, resumed
from lousho_cli.core.record_events import DRIFT
from lousho_cli.core.recovery import Recovery, answered_anew, ending, interrupted_tools, recovery_of
from lousho_cli.core.settling import operation_of
from lousho_cli.domain import records as r
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import AgentDriftError, OwnershipLostError, SDKError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.beginnings import CHANGED, as_told, drift_let_pass, reap_cut_calls
from lousho_cli.executor.partials import kept_answer
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.harness import Harness
from lousho_cli.host.intake import Intake
from lousho_cli.host.overriding import with_overrides
from lousho_cli.host.recover_hook import Answer, InputInfo, RecoverInfo, ThreadView, asked

log_to = logging.getLogger("lousho")


class Beginning(msgspec.Struct, frozen=True):
    """The agent of a turn, and the records it begins with; none where it only goes on."""

    agent: RunAgent
    records: tuple[r.Record, ...] = ()


class Beginnings:
    """Those of one claim of a thread. Make it before anything is recorded under the claim."""

    def __init__(self, log: SessionLog, harness: Harness, thread_id: str, tenant: str | None, intake: Intake) -> None:
        self._log, self._harness, self._id, self._tenant = log, harness, thread_id, tenant
        self._intake = intake
        self._cut = stands_open(log.session)
        self._left = frozenset(log.session.waiting)

    @property
    def more(self) -> bool:
        """Whether there is something for ``next`` to begin."""
        session = self._log.session
        return stands_open(session) or _to_be_stopped(session) or next_in_line(session) is not None or bool(due_between(session))

    async def next(self) -> Beginning | None:
        """How the next turn begins: the one that was left open, the oldest input that waits; None where there is none.

        Raises:
            SDKError: it can not go on here; the log says why.
            OwnershipLostError, StorageError: the log is lost.
        """
        try:
            return await self._next()
        except (OwnershipLostError, StorageError):
            raise
        except SDKError as error:
            await self._held_up(error)
            raise

    async def _next(self) -> Beginning | None:
        session = self._log.session
        if self._cut:
            recovered = await self._recovered(session)
            self._cut = False
            if recovered is not None:
                return recovered
        if stands_open(session) or _to_be_stopped(session):
            agent = await self._agent(session)
            return Beginning(agent, () if session.abort_asked else self._may_go_on(session, agent))
        while due := due_between(session):
            await self._log.record(*due)
            session = self._log.session
        self._intake.forget_ended(session)
        input_id = next_in_line(session)
        return None if input_id is None else await self._begun(session, input_id)

    # What was left open

    async def _recovered(self, session: Session) -> Beginning | None:
        """What becomes of the run that its last host left open; None where it is none any more."""
        recovery = recovery_of(session, self._log.clock.now(), self._harness.durability.max_attempts)
        if recovery is None:
            return None
        agent = await self._agent(session)
        info = InputInfo(operation_of(session), session.attempts, session.run.deadline, session.abort_asked, session.retries)
        answer = await self._decided(session, agent, info, recovery)
        await reap_cut_calls(agent.facts.tools, session)
        driving = with_overrides(agent, answer.overrides)
        kept = await self._kept_answer(session, agent)
        asked_before, session = session.abort_asked, self._log.session
        if session.abort_asked and not asked_before:  # meanwhile: whoever goes on would have done away with it
            return Beginning(agent, ending(session, agent.facts, Recovery("settle", "aborted")))
        if answer.recovery.action == "settle":
            return Beginning(agent, ending(session, agent.facts, answer.recovery))
        notes = self._may_go_on(session, agent, driving)
        # What was to enter the turn while it ran, and did not, meant that attempt: it has a turn of its own.
        apart = tuple(r.InputMoved(one, joins=False) for one in session.joining)
        goes_on = resumed(session, agent.facts, self._log.clock.now())
        await self._log.record(*notes, *apart, *kept, *answered_anew(session), goes_on)
        return Beginning(driving)

    async def _kept_answer(self, session: Session, agent: RunAgent) -> tuple[r.Record, ...]:
        on = agent.settings.continue_cut_off
        return () if on is False else await kept_answer(self._log.store, self._id, session, on if isinstance(on, tuple) else None)

    async def _decided(self, session: Session, agent: RunAgent, info: InputInfo, recovery: Recovery) -> Answer:
        hook = self._harness.durability.recover
        if hook is None:
            return Answer(recovery)
        view = ThreadView(self._id, self._harness.name, self._tenant, session, self._log.store)
        cut = interrupted_tools(session, agent.facts) if info.attempt else ()
        return await asked(hook, RecoverInfo(view, info, tuple(session.messages), recovery, cut))

    # What waits

    async def _begun(self, session: Session, input_id: str) -> Beginning:
        """How an input begins. One that was left before it ran is asked about first."""
        agent = await self._agent(session, input_id)
        answer = Answer(Recovery("run"))
        if input_id in self._left:
            answer = await self._decided(session, agent, InputInfo(input_id), answer.recovery)
            self._left -= {input_id}
        driving = with_overrides(agent, answer.overrides)
        notes = self._may_go_on(session, agent, driving)
        created = r.Created(agent.agent.name, self._harness.agent_path, self._harness.name, self._tenant, parent=self._harness.lead)
        begins = (*notes, *next_input(session, driving.facts, self._log.clock.now(), created))
        if answer.recovery.action == "run":
            return Beginning(driving, begins)
        return Beginning(agent, (*begins, *ending(as_told(session, begins), agent.facts, answer.recovery)))

    # Whether it may

    async def _agent(self, session: Session, input_id: str | None = None) -> RunAgent:
        goes_on = operation_of(session)
        known = session.inputs.get(input_id or goes_on)
        # One that only goes on has no messages of its own: the run begins with what it answers.
        new = (known.messages or tuple(session.messages[-1:])) if known is not None and input_id is not None else ()
        agent = await self._harness.source.agent_for(session, new, self._id, AbortController().signal)
        if known is not None:
            agent = with_overrides(agent, known.overrides)
        return await self._intake.dressed(agent, input_id or goes_on)

    def _may_go_on(self, session: Session, agent: RunAgent, driving: RunAgent | None = None) -> tuple[r.Record, ...]:
        """The note of a drift that is let pass. What an attempt overrides is no drift; but its tools have to be there.

        Raises:
            ResumeToolMissingError, AgentDriftError: an unfinished run may not go on.
        """
        drift = drift_let_pass(agent, session, driving)
        if drift is None:
            return ()
        text = f"{CHANGED}: {drift.describe()}"
        log_to.warning("%s: %s", self._id, text)
        return (r.Note(DRIFT, text_of(text), drift),)

    async def _held_up(self, error: SDKError) -> None:
        kind = "drift: " if isinstance(error, AgentDriftError) else ""
        said = text_of(f"{kind}{error.detail}")
        session = self._log.session
        if (session.error, session.error_code) != (said, error.code):
            await self._log.record(r.RunHeld(said, error.code))


def stands_open(session: Session) -> bool:
    """Whether a run stands open that somebody has to drive: it has no end, and waits for no person."""
    return session.exists and not session.ended and session.outcome is None and not session.awaiting


def is_left(session: Session) -> bool:
    """Whether a session that is given back now has something for another host to go on with."""
    return stands_open(session) or next_in_line(session) is not None


def _to_be_stopped(session: Session) -> bool:
    """Whether somebody asked a run to stop that waits for a person: nobody drives it, and it has to be settled all the same."""
    return session.exists and session.abort_asked and session.outcome is None and not session.ended
