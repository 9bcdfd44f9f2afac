"""Forking a thread at a message: which address of its log that is, and the fork from there.

    message ──▶ how many messages the fork begins with ──▶ the first record behind which that many stood ──▶ a fork like any other

A log that was trimmed has no such record any more; then it is the first checkpoint of the ring that holds the message.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import InputState, Session
from lousho_cli.errors import ConfigurationError, NotFoundError
from lousho_cli.executor.forks import fork_session
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

MessageName = int | str
"""A message by its place in the transcript, from 0, or an input's messages by its id."""


class ForkedThread(msgspec.Struct, frozen=True):
    """A fork: its thread, the address it was taken from, how many messages it begins with."""

    thread_id: str
    address: str
    messages: int


class ForksThreads:
    """The part of a ``HostSession`` about its transcript, and forks of it."""

    _thread: Thread
    _terms: Terms

    def _must_be_open(self) -> None:
        raise NotImplementedError

    async def messages(self) -> tuple[Message, ...]:
        """The transcript as the log has it, by whichever host it was written.

        Raises:
            AbortedError: this handle is closed.
            StorageError: the thread can not be read.
        """
        self._must_be_open()
        return said_in(await read_session(self._terms.store, self._thread.id))

    async def fork(
        self, *, before: MessageName | None = None, through: MessageName | None = None, new_thread_id: str | None = None
    ) -> ForkedThread:
        """A new thread of the same harness and tenant that begins with this one's messages up to one of them.

        It keeps the settings, the limits and what was used so far, and nothing that waits: no input, no approval, no wake and
        no background agent. Calls at its end that have no result are open in it. This thread is not changed.

        Args:
            before: the message in front of which it ends: its place in ``messages()``, or the id of an input.
            through: the last message that is in it. Give one of the two.
            new_thread_id: its id; None for one made from this thread's.

        Raises:
            NotFoundError: there is no such message, or the log was trimmed and no checkpoint holds it.
            ConfigurationError: neither or both are given, nothing stands before the message, or the new id is used.
            AbortedError, StorageError: as ``messages``.
        """
        self._must_be_open()
        name = through if before is None else before
        if name is None or (before is not None and through is not None):
            raise ConfigurationError("a fork by message takes either before or through", field="before")
        store, thread_id = self._terms.store, self._thread.id
        session, batches = await read_session(store, thread_id), (await store.read(thread_id)).batches
        start, end = _span(thread_id, session, batches, name)
        length = start if before is not None else end
        if not length:
            raise ConfigurationError(f"nothing stands before message {name}", field="before", hint="Open a new thread.")
        point, more = _point(thread_id, session, batches, length)
        patch = {"messages": lambda old: old[:length]} if more else None
        forked = await fork_session(thread_id, point, _Views(store), patch, new_thread_id, self._terms.clock)
        return ForkedThread(forked.session_id, f"{thread_id}{point}", length)


class _Views(msgspec.Struct, frozen=True):
    """What names a log store to who forks."""

    log_store: LogStore


def said_in(session: Session) -> tuple[Message, ...]:
    """The transcript, with results and input behind a call that has no result yet."""
    early = session.turn.results.values() if session.turn is not None else ()
    return (*session.messages, *early, *session.held)


def no_message(thread_id: str, name: MessageName, why: str = "") -> NotFoundError:
    """The error for a message that is not there."""
    return NotFoundError(f"thread {thread_id} has no message {name}{why}", code="LOUSHO_MESSAGE_NOT_FOUND", hint="See messages().")


def _span(thread_id: str, session: Session, batches: Sequence[r.Batch], name: MessageName) -> tuple[int, int]:
    """Where a message stands in the transcript, or the messages of an input do: up to the one behind them."""
    messages = said_in(session)
    if isinstance(name, int) and not isinstance(name, bool):
        if not 0 <= name < len(messages):
            raise no_message(thread_id, name, f": it has {len(messages)}")
        return name, name + 1
    known = session.inputs.get(str(name))
    if known is None:
        raise no_message(thread_id, name)
    records = (record for batch in batches for record in batch.records)
    sent = next((one.messages for one in records if isinstance(one, r.InputReceived | r.Appended) and one.id == name), ())
    found = _place(messages, sent, known)
    if found is None:
        raise no_message(thread_id, name, ": what that input said is not in its transcript")
    return found


def _place(messages: Sequence[Message], sent: Sequence[Message], known: InputState) -> tuple[int, int] | None:
    start, end = known.span or (0, 0)
    if not sent:  # its record is gone: a turn begins with what its input said
        length = next((i for i, one in enumerate(messages[start:]) if one.role != "user"), len(messages) - start)
        return (start, start + length) if known.span is not None and length else None
    behind = range(start, (end or len(messages)) - len(sent) + 1)
    at = next((at for at in behind if tuple(messages[at : at + len(sent)]) == tuple(sent)), None)
    return None if at is None else (at, at + len(sent))


def _point(thread_id: str, session: Session, batches: Sequence[r.Batch], length: int) -> tuple[str, bool]:
    """The point of the log to fork from for its first ``length`` messages, and whether more stand there."""
    wanted = said_in(session)[:length]
    found = _first(batches, wanted)
    if found is not None and (len(found[1]) == length or not isinstance(found[0].records[0], r.Base)):
        return f"#{found[0].seq}", len(found[1]) > length
    for mark in session.marks:
        kept = (*mark.messages, *mark.held)
        if kept[:length] == wanted:
            return f"@{mark.address}", len(kept) > length
    if found is not None:
        return f"#{found[0].seq}", True
    raise no_message(thread_id, length - 1, " in what is kept of it")


def _first(batches: Sequence[r.Batch], wanted: tuple[Message, ...]) -> tuple[r.Batch, tuple[Message, ...]] | None:
    """The first batch from which on the transcript began with ``wanted``, and the transcript then."""
    found: tuple[r.Batch, tuple[Message, ...]] | None = None
    fold = Accumulator(Session())
    for batch in batches:
        apply(fold, batch)
        if found is not None and not any(isinstance(record, _REWRITES) for record in batch.records):
            continue
        now = said_in(fold.freeze())
        if now[: len(wanted)] != wanted:
            found = None
        elif found is None:
            found = batch, now
    return found


_REWRITES = (r.Splice, r.Cleared, r.Base, r.Forked)
