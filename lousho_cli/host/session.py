"""The handle an application holds on a thread: send to it, hear how it went, watch it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.admit import must_say_something
from lousho_cli.core.entering import AboutInput, Busy, InputBody
from lousho_cli.core.fold import apply
from lousho_cli.domain.events import Event
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Input, messages_from, without_system
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import AbortedError, ConfigurationError, InputRejectedError, NotFoundError
from lousho_cli.executor.log_events import read_events
from lousho_cli.host.receipts import Receipt, Settlement
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.sessions import read_session

WATCH_MS = 200


class HostSession:
    """A handle on one thread. ``close`` lets go of it; what runs goes on."""

    def __init__(self, thread: Thread, terms: Terms, user: str | None, let_go: Callable[[], None]) -> None:
        self._thread, self._terms, self._user = thread, terms, user
        self._let_go = let_go
        self._closed = False

    @property
    def thread_id(self) -> str:
        return self._thread.id

    async def send(
        self, input: Input, *, input_id: str | None = None, busy: Busy = "queue", overrides: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Sends the next message.

        Args:
            input: text, a message or several; system messages are left out.
            input_id: makes sending the same twice the same as once.
            busy: while a turn runs or others wait: wait for a turn of its own, ``steer`` the one that runs, or ``reject``.
            overrides: what this input wants otherwise than the harness; what is plain JSON of it is stored.

        Returns:
            what became of it, once it is stored or was refused.

        Raises:
            ConfigurationError: there is nothing in it.
            AbortedError: this handle, or its host, is closed.
            StorageError: it could not be stored.
        """
        messages = must_say_something(without_system(messages_from(input)))
        if not messages:
            raise ConfigurationError("there is nothing in the input", field="input")
        if busy not in ("queue", "steer", "reject"):
            raise ConfigurationError(f"busy is {busy!r:.40}", field="busy", hint="Use queue, steer or reject.")
        key = self._terms.clock.new_id() if input_id is None else text_of(input_id)
        body = msgspec.to_builtins(InputBody(tuple(messages), busy, dict(overrides or {})))
        return await self._submit(Post(key, "input", self._terms.clock.now(), self._user, body))

    async def cancel(self) -> None:
        """Asks the turn that runs, or stands open, to stop; it is settled as aborted. Durable on return."""
        clock = self._terms.clock
        await self._submit(Post(clock.new_id(), "abort", clock.now(), self._user))

    async def cancel_input(self, input_id: str) -> Receipt:
        """Takes an input back that waits: it never runs, and ends aborted. Rejected as ``not_waiting`` once it has begun."""
        return await self._about("cancel", AboutInput(input_id))

    async def set_delivery(self, input_id: str, delivery: Literal["queue", "steer"]) -> Receipt:
        """Has an input that waits steer the turn that runs, or wait for one of its own. Rejected as ``not_waiting`` once it has begun."""
        if delivery not in ("queue", "steer"):
            raise ConfigurationError(f"delivery is {delivery!r:.40}", field="delivery", hint="Use queue or steer.")
        return await self._about("move", AboutInput(input_id, delivery == "steer"))

    async def _about(self, kind: Literal["cancel", "move"], body: AboutInput) -> Receipt:
        clock = self._terms.clock
        return await self._submit(Post(clock.new_id(), kind, clock.now(), self._user, msgspec.to_builtins(body)))

    async def settled(self, input_id: str) -> Settlement:
        """Waits until an input has ended, or its turn stopped for a person; on any host, after any restart.

        Raises:
            NotFoundError: nobody ever sent it.
            InputRejectedError: the owner refused it.
            AbortedError: this handle is closed.
        """
        follower = _Follower(self._terms, self._thread.id)
        while True:
            session = await follower.look()
            found = _settlement(session, input_id)
            if found is not None:
                return found
            if input_id in session.inputs and session.inputs[input_id].status == "rejected":
                raise InputRejectedError(f"input {input_id} was refused: {session.inputs[input_id].error}")
            if input_id not in session.inputs and all(post.id != input_id for post in await self._terms.store.inbox(self._thread.id)):
                session = await follower.look()  # between the two looks its owner may have moved it into the log
                if input_id not in session.inputs:
                    raise NotFoundError(f"thread {self._thread.id} has no input {input_id}", code="LOUSHO_INPUT_NOT_FOUND")
            self._must_be_open()
            await self._terms.store.watch(self._thread.id, session.seq, WATCH_MS)

    async def recover_pending_work(self) -> bool:
        """Takes up what a host that is gone left open; True when this host drives the thread now."""
        self._must_be_open()
        return await self._thread.go_on()

    async def events(self, after: tuple[int, int] | None = None) -> AsyncIterator[Event]:
        """The thread's events behind ``after`` (``(cursor, index)``), whichever host drives it, until this handle is closed."""
        async for event in read_events(self._terms.store, self._thread.id, after or (0, -1), lambda _teller, _driven: not self._closed):
            yield event

    def close(self) -> None:
        """Lets go of the handle. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self._let_go()

    def _must_be_open(self) -> None:
        if self._closed:
            raise AbortedError(f"this handle on thread {self._thread.id} is closed", hint="Open the thread again.")

    async def _submit(self, post: Post) -> Receipt:
        self._must_be_open()
        return await self._thread.submit(post)


class _Follower:
    """A log as it grows, folded once."""

    def __init__(self, terms: Terms, thread_id: str) -> None:
        self._store, self._id = terms.store, thread_id
        self._fold: Accumulator | None = None

    async def look(self) -> Session:
        if self._fold is None:
            self._fold = Accumulator(await read_session(self._store, self._id))
        else:
            for batch in (await self._store.read(self._id, self._fold.seq)).batches:
                apply(self._fold, batch)
        return self._fold.freeze()


def _settlement(session: Session, input_id: str) -> Settlement | None:
    known = session.inputs.get(input_id)
    if known is None or known.status in ("received", "rejected"):
        return None
    if known.outcome is not None:
        return Settlement(input_id, known.outcome, session.answer, known.error, known.code)
    if session.awaiting and input_id in session.active:
        return Settlement(input_id, "interrupted", session.answer, waits_for=session.wait.id if session.wait else None)
    return None
