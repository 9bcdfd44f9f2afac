"""One stream of events, numbered without gaps, as a run hands it to who watches.

Events are for watching; the log is the truth. What types there are, and what each promises, is in ``domain.events``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from lousho_cli.domain.events import Event, RunDone, RunError, RunStart
from lousho_cli.ports.clock import Clock

Listener = Callable[[Event], None]
"""Called with each event, in order, on the event loop. What it raises is logged once; the run goes on and it gets the rest."""

log_to = logging.getLogger("lousho")


class Events:
    """The stream of one order; costs nothing when nobody listens.

    Its first event is ``run.start`` and its last ``run.done``. What comes between two runs, such as an input that
    waits, is told with the second; where none begins here it is not told, and stands in the log. ``wanted``: somebody listens.
    """

    def __init__(self, listener: Listener | None, clock: Clock, session_id: str) -> None:
        self.wanted = listener is not None
        self._stream = _Stream(listener)
        self._clock, self._session = clock, session_id
        self._path: tuple[str, ...] = ()

    def within(self, name: str) -> Events:
        """The same stream, for a sub-agent."""
        inner = Events(None, self._clock, self._session)
        inner.wanted, inner._stream, inner._path = self.wanted, self._stream, (*self._path, name)
        return inner

    def emit(self, event: Event) -> None:
        """Sends an event of this moment, which is in no log; its place is behind what was told last."""
        if not self.wanted:
            return
        cursor, index = self._stream.cursor, self._stream.index + 1
        if event.cursor > cursor:
            cursor, index = event.cursor, 0
        placed = {"session": self._session, "path": self._path, "cursor": cursor, "index": index}
        self._stream.send(msgspec.structs.replace(event, timestamp=self._clock.now(), **placed))

    def forward(self, event: Event) -> None:
        """Sends an event that follows from the log, as it is."""
        self._stream.send(event)

    def failed(self, message: str, code: str | None) -> None:
        """Nothing follows, because of an error; told unless the end of the run was."""
        if not self._stream.begun:
            self.emit(RunStart())
        if self._stream.going:
            self.emit(RunError(message=message, code=code))
            self.emit(RunDone(finish_reason="error"))

    def done(self, end: RunDone) -> None:
        """Nothing follows; told unless the end of the run was."""
        if self._stream.going:
            self.emit(end)


class _Stream:
    """A listener, and what it was told.

    going: a run was begun and not ended. begun: any was. held: what came while none was going.
    """

    def __init__(self, listener: Listener | None) -> None:
        self.listener = listener
        self.cursor, self.index = 0, -1
        self.going = self.begun = False
        self._held: list[Event] = []
        self._next = 0
        self._complained = False

    def send(self, event: Event) -> None:
        if (event.cursor, event.index) <= (self.cursor, self.index):
            event = msgspec.structs.replace(event, cursor=self.cursor, index=self.index + 1)
        self.cursor, self.index = event.cursor, event.index
        if isinstance(event, RunStart) and not event.path:
            self.going = self.begun = True
        if not self.going:
            self._held.append(event)
            return
        held, self._held = self._held, []
        for one in (*held, event):
            self._hand_on(one)
        if isinstance(event, RunDone) and not event.path:
            self.going = False

    def _hand_on(self, event: Event) -> None:
        event, self._next = msgspec.structs.replace(event, seq=self._next), self._next + 1
        assert self.listener is not None, "events are made for a listener"
        try:
            self.listener(event)
        except Exception:
            if not self._complained:
                self._complained = True
                log_to.exception("%s: who listens to the events of this run failed at %s", event.session, event.type)
