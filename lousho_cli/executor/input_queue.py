"""Input for a run that is going on: it enters the transcript before the run's next model call.

A message sent here is in the log when ``send`` returns, so it is there after any crash: behind the results
of the open calls, or as the next message. A run whose model has just given its last answer takes one more
step for it, if it has one left; otherwise the message begins the session's next run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from lousho_cli.core.admit import must_say_something, same_input
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Input, messages_from, without_system
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError, InputRejectedError
from lousho_cli.executor.session_log import SessionLog


class InputQueue:
    """Hands input to one run. Pass it as ``input_queue``; it belongs to that run alone."""

    def __init__(self) -> None:
        self._log: SessionLog | None = None
        self._begun = asyncio.Event()
        self._closed = False

    async def send(self, input: Input, *, input_id: str | None = None, by: str | None = None) -> bool:
        """Adds input to the run; before it has begun, waits for that.

        Args:
            input: text, a message or several; system messages are left out.
            input_id: makes sending the same twice the same as once. by: who sends it.

        Returns:
            True once it is durable. False: the run pauses, has ended or could not begin, and nothing was taken;
            send it as the session's next message.

        Raises:
            InputRejectedError: the id was used for other content.
            ConfigurationError: there is nothing in it, or its last message is blank.
            StorageError, OwnershipLostError: it could not be written.
        """
        messages = must_say_something(without_system(messages_from(input)))
        if not messages:
            raise ConfigurationError("there is nothing in the input", field="input")
        await self._begun.wait()
        log = self._log
        if log is None or self._closed or log.session.awaiting or log.session.outcome is not None:
            return False
        key = log.clock.new_id() if input_id is None else text_of(input_id)
        known = log.session.inputs.get(key)
        if known is not None:
            if not same_input(known, messages, by):
                raise InputRejectedError(f"input {key} was used before, with other content", code="LOUSHO_INPUT_CONFLICT")
            return True
        await log.record(r.InputReceived(key, tuple(messages), by, joins=True), r.Mark(log.session.step))
        return True

    def open(self, log: SessionLog) -> None:
        """The run begins; for who drives it."""
        if self._begun.is_set():
            raise ConfigurationError("this input queue was used for another run", field="input_queue", hint="Make a new one.")
        self._log = log
        self._begun.set()

    def close(self) -> None:
        """The run is over; for who drives it."""
        self._closed = True
        self._begun.set()

    def never_began(self) -> None:
        """The run is over; where it was refused before it began, nobody waits for that any more."""
        if not self._begun.is_set():
            self.close()


@contextmanager
def released(queue: InputQueue | None) -> Iterator[None]:
    """Lets nobody wait for a run that was refused in the block."""
    try:
        yield
    finally:
        if queue is not None:
            queue.never_began()
