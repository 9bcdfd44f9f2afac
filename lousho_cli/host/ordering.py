"""How a turn begins that somebody names the thread for: with an input, to go on, or with a decision.

It begins as ``AgentExecutor`` would begin it, so whatever can refuse it does so before anything is written. A run whose
attempts are used up, which no host goes on with by itself, is settled as that and then begins to count anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from lousho_cli.core.decide import settled
from lousho_cli.core.recovery import recovery_of
from lousho_cli.core.settling import operation_of
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import ATTEMPTS_EXHAUSTED
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.beginnings import Beginner, Beginning, Order, as_told
from lousho_cli.executor.events import Events
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.harness import Harness
from lousho_cli.host.intake import Intake
from lousho_cli.host.overriding import with_overrides


async def ordered(order: Order, log: SessionLog, events: Events, harness: Harness, intake: Intake) -> Beginning:
    """How ``order`` begins on a thread that was just taken.

    Raises:
        SDKError: it may not begin, as ``AgentExecutor.execute`` says; then nothing was written.
    """
    session = log.session
    given_up = used_up(session, log.clock.now(), harness.durability.max_attempts)
    source = _Source(harness, intake)
    begun = await Beginner(source, order, events, log.clock, AbortController().signal).begin(as_told(session, given_up))
    if given_up and begun.records:
        await log.record(*given_up)
    return begun


def used_up(session: Session, now: str, max_attempts: int) -> tuple[r.InputSettled, ...]:
    """The end of a run that stands open and has no attempt left; nothing for any other."""
    found = recovery_of(session, now, max_attempts)
    return settled(session, "failed", found.error, found.code) if found is not None and found.code == ATTEMPTS_EXHAUSTED else ()


class _Source:
    """The agent of a harness with what the input it is for wants otherwise, and what its sender handed over."""

    def __init__(self, harness: Harness, intake: Intake) -> None:
        self._harness, self._intake = harness, intake

    async def agent_for(self, session: Session, new: Sequence[Message], session_id: str | None, signal: AbortSignal) -> RunAgent:
        agent = await self._harness.source.agent_for(session, new, session_id, signal)
        operation = operation_of(session)
        known = None if session.ended else session.inputs.get(operation)
        return await self._intake.dressed(agent if known is None else with_overrides(agent, known.overrides), operation)
