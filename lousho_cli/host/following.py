"""How a handle hears what became of something: from the log alone, on any host."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.core.settling import operation_of, text_of_turn
from lousho_cli.domain import records as r
from lousho_cli.domain.session import Session
from lousho_cli.errors import CommandFailedError, InputRejectedError, NotFoundError
from lousho_cli.executor.log_events import QUIET_S
from lousho_cli.host.receipts import Receipt, Settlement
from lousho_cli.host.thread import Thread
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

WATCH_MS = 500
"""How often a handle sees whether anybody still waits. A look at the log is not due for it: the store watches all logs at once."""


async def settlement_of(store: LogStore, thread_id: str, input_id: str, must_go_on: Callable[[], None]) -> Settlement:
    """Waits for the end of an input; see ``HostSession.settled``. ``must_go_on`` raises once nobody waits any more."""
    follower = Follower(store, thread_id)
    while True:
        session = await follower.look()
        found = _settlement(session, input_id)
        if found is not None:
            return found
        if input_id in session.inputs and session.inputs[input_id].status == "rejected":
            raise refused(Receipt(input_id, "rejected", reason=session.inputs[input_id].error))
        if input_id not in session.inputs and all(post.id != input_id for post in await store.inbox(thread_id)):
            session = await follower.look()  # between the two looks its owner may have moved it into the log
            if input_id not in session.inputs and (session.wake is None or session.wake.id != input_id):
                raise NotFoundError(f"thread {thread_id} has no input {input_id}", code="LOUSHO_INPUT_NOT_FOUND")
        await _changed(store, thread_id, session.seq, must_go_on)


async def command_ended(store: LogStore, thread: Thread, receipt: Receipt, after: int, must_go_on: Callable[[], None]) -> Any:
    """Waits for the end of a command; see ``HostSession.run_command``. ``after``: the seq before it was asked for."""
    if receipt.status == "rejected":
        raise refused(receipt)
    while True:
        read = await store.read(thread.id, after)
        raised = thread.intake.commands.raised(receipt.input_id)
        if raised is not None:
            raise raised
        for record in (record for batch in read.batches for record in batch.records):
            if isinstance(record, r.CommandEnded) and record.id == receipt.input_id:
                if record.error is not None:
                    raise CommandFailedError(record.error, code=record.code)
                return record.value
            if isinstance(record, r.InputRejected) and record.id == receipt.input_id:
                raise refused(Receipt(record.id, "rejected", reason=record.reason))
        after = max(after, read.head)
        await _changed(store, thread.id, after, must_go_on, lambda: thread.intake.commands.raised(receipt.input_id) is not None)


async def _changed(
    store: LogStore, thread_id: str, after: int, must_go_on: Callable[[], None], known: Callable[[], bool] = lambda: False
) -> None:
    """Waits until a log may be another than it was at ``after``, or what is waited for is known without it."""
    ends = time.monotonic() + QUIET_S
    while True:
        must_go_on()
        if known() or await store.watch(thread_id, after, WATCH_MS) or time.monotonic() > ends:
            return


def refused(receipt: Receipt) -> InputRejectedError:
    """The error of what an owner refused."""
    return InputRejectedError(f"input {receipt.input_id} was refused: {receipt.reason}", receipt=receipt)


class Follower:
    """A log as it grows, folded once."""

    def __init__(self, store: LogStore, thread_id: str) -> None:
        self._store, self._id = store, thread_id
        self._fold: Accumulator | None = None

    async def look(self) -> Session:
        """The session as the log says now."""
        if self._fold is not None:
            read = await self._store.read(self._id, self._fold.seq)
            if read.head < self._fold.seq:
                self._fold = None  # it was deleted, or its server lost the end of it
            else:
                for batch in read.batches:
                    apply(self._fold, batch)
        if self._fold is None:
            self._fold = Accumulator(await read_session(self._store, self._id))
        return self._fold.freeze()


def _settlement(session: Session, input_id: str) -> Settlement | None:
    known = session.inputs.get(input_id)
    if known is None or known.status in ("received", "rejected"):
        return None
    if known.outcome is not None:
        text = text_of_turn(session, known)
        return Settlement(input_id, known.outcome, text, known.error, known.code, operation=known.operation)
    if session.awaiting and input_id in session.active:
        waits = session.wait.id if session.wait else None
        return Settlement(input_id, "interrupted", session.answer, waits_for=waits, operation=operation_of(session))
    return None
