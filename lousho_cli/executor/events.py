"""What a run tells who watches it: a stream of events, numbered without gaps.

Events are for watching; the log is the truth. An event that names something saved (step.saved,
approval.requested, run.done) is sent only after it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lousho_cli.ports.clock import Clock


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event. ``seq`` counts from 0 in a run of the process, ``cursor`` is the log's seq it follows.

    Types: run.start, agent.drift, step.start, text.delta, reasoning.delta, step.done, step.saved, tool.start,
    tool.done, tool.error, tool.resume, approval.requested, provider.retry, input.queued, warning, error, run.done.
    """

    type: str
    seq: int
    timestamp: str
    session: str = ""
    cursor: int = 0
    step: int | None = None
    data: dict[str, Any] = {}
    v: int = 1


Listener = Callable[[Event], None]


class Events:
    """Numbers events and hands them to a listener; costs nothing when there is none."""

    def __init__(self, listener: Listener | None, clock: Clock, session_id: str) -> None:
        self._listener, self._clock, self._session = listener, clock, session_id
        self._next = 0

    @property
    def wanted(self) -> bool:
        return self._listener is not None

    def emit(self, kind: str, *, step: int | None = None, cursor: int = 0, **data: Any) -> None:
        """Sends one event, if anybody listens."""
        if self._listener is None:
            return
        event = Event(kind, self._next, self._clock.now(), self._session, cursor, step, data)
        self._next += 1
        self._listener(event)
