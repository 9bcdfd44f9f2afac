"""A log while it is this host's: its turns are driven here, one at a time, and whoever looks on is told how each came to rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.events import RunDone
from lousho_cli.domain.heads import Head
from lousho_cli.domain.session import Session
from lousho_cli.errors import OwnershipLostError, PropagatingToolError, SDKError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.drive import Driver
from lousho_cli.executor.events import Events
from lousho_cli.executor.inbox import Inbox
from lousho_cli.executor.pauses import Pauses
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.guarding import Guard
from lousho_cli.host.intake import Intake
from lousho_cli.host.observing import Observer, TurnEnd
from lousho_cli.host.pinning import Pin, pinned
from lousho_cli.host.recovering import Beginnings, stands_open

log_to = logging.getLogger("lousho")

LOST = (OwnershipLostError, StorageError)
"""The log can not be written by this host any more."""

_GONE_WRONG = (SDKError, PropagatingToolError)
"""How a turn fails, or can not begin."""


class Owned:
    """One claim of a thread. ``end`` is how what is driven came to rest, None before anything did.

    Args:
        own: whoever took the thread waits for the run that begins first; else for whichever is the last.
    """

    def __init__(self, log: SessionLog, events: Events, beginnings: Beginnings, intake: Intake, observer: Observer, *, own: bool) -> None:
        self.log, self.events, self.beginnings = log, events, beginnings
        self.end: TurnEnd | None = None
        self.inbox, self.guard = Inbox(log, self, intake), Guard(log)
        self._observer, self._own = observer, own
        self._controller: AbortController | None = None
        self._before: int | None = None  # the run that had ended before the turn that runs now began
        self._stopped: bool | None = None

    @property
    def at_work(self) -> bool:
        """Whether a turn runs, or one is to begin; else the log is about to be given back.

        One whose end stands in the log runs no more: whoever waited for that may be told before its last write is synced.
        """
        return (self._controller is not None and not self._has_ended) or self.beginnings.more

    @property
    def _has_ended(self) -> bool:
        session = self.log.session
        return not stands_open(session) and session.run.number != self._before

    def overtaken(self, head: Head | None, wanted: Callable[[Head | None], bool]) -> bool:
        """Whether somebody else had the log between the look that found it ``wanted`` and this claim, and left nothing to do."""
        return head is not None and self.log.seq != head.seq and not wanted(head_of(self.log.session))

    def abort(self) -> None:
        """Stops the turn that runs, for good."""
        if self._controller is not None:
            self._controller.abort()

    def stop(self, *, recoverable: bool) -> None:
        """Stops the turn that runs and any that begins later: for good, or for another host to go on with."""
        self._stopped = recoverable
        if self._controller is not None:
            (self._controller.stop if recoverable else self._controller.abort)()

    async def drive(self, agent: RunAgent, records: Sequence[r.Record], host_id: str | None) -> None:
        """Drives a turn that begins with ``records`` to its rest; one that fails and says so in the log came to rest, too.

        Raises:
            OwnershipLostError, StorageError: the log is lost.
            SDKError, PropagatingToolError: nothing in the log ends it, so going on at once would only do the same again.
        """
        agent = pinned(agent, Pin(self.log, host_id))
        self._before = None if stands_open(self.log.session) else self.log.run.number
        controller = self._controller = AbortController()
        if self._stopped is not None:
            self.stop(recoverable=self._stopped)
        driver = Driver(self.log, agent, controller, self.events, Pauses(agent.agent, None, native=True, session_id=self.log.id))
        try:
            self.done(await self.guard.run(driver.drive(records)))
        except LOST:
            raise
        except _GONE_WRONG as error:
            if stands_open(self.log.session):
                raise
            log_to.info("%s: a turn failed: %s", self.log.id, error)  # how it ended stands in the log
            self.failed(error)
        finally:
            self._controller = None

    def done(self, session: Session) -> None:
        """A turn came to its end, or its pause."""
        self.events.done(RunDone(step=session.step, finish_reason=session.finish_reason, status=session.status, outcome=session.outcome))
        self._rests(session)

    def failed(self, error: Exception) -> None:
        """A turn failed, or could not begin."""
        self.events.failed(*told(error))
        self._rests(self.log.session, error)

    def _rests(self, session: Session, failure: Exception | None = None) -> None:
        end = TurnEnd(self.log.id, session, failure)
        if self.end is None or not self._own or _goes_on(self.end.session, session):
            self.end = end
        self._observer.turn_ended(end)


def _goes_on(session: Session, later: Session) -> bool:
    """Whether a run that had paused went on here, once that was decided."""
    return session.outcome is None and session.run.number == later.run.number


def told(error: BaseException) -> tuple[str, str | None]:
    """An error as events tell it: what happened, and its code."""
    said = error.detail if isinstance(error, SDKError) else str(error)
    return said or type(error).__name__, getattr(error, "code", None)
