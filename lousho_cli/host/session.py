"""The handle an application holds on a thread: send to it, hear how it went, watch it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from lousho_cli.core.entering import AboutInput, Busy
from lousho_cli.domain.events import Event
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Input
from lousho_cli.errors import AbortedError, ConfigurationError
from lousho_cli.executor.log_events import read_events
from lousho_cli.host.background import StartsAgents
from lousho_cli.host.executing import Executes
from lousho_cli.host.following import command_ended, settlement_of
from lousho_cli.host.forking import ForksThreads
from lousho_cli.host.intake import NOTHING, Handed
from lousho_cli.host.posting import append_post, command_post, input_post, overrides_from, reset_post, said_in, setting_post, wake_post
from lousho_cli.host.receipts import Receipt, Settlement, Waiting
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.host.waiting import waiting_inputs
from lousho_cli.host.waits import Deciding
from lousho_cli.ports.sessions import read_session


class HostSession(Executes, Deciding, StartsAgents, ForksThreads):
    """A handle on one thread. ``close`` lets go of it; what runs goes on."""

    def __init__(self, thread: Thread, terms: Terms, user: str | None, let_go: Callable[[], None]) -> None:
        self._thread, self._terms, self._user = thread, terms, user
        self._let_go = let_go
        self._closed = False

    @property
    def thread_id(self) -> str:
        return self._thread.id

    # Inputs

    async def send(
        self,
        input: Input,
        *,
        input_id: str | None = None,
        busy: Busy = "queue",
        overrides: Mapping[str, Any] | None = None,
        ephemeral: Input | None = None,
    ) -> Receipt:
        """Sends the next message.

        Args:
            input: text, a message or several; system messages are left out.
            input_id: makes sending the same twice the same as once.
            busy: while a turn runs or others wait: wait for a turn of its own, ``steer`` the one that runs, or ``reject``.
            overrides: what this input wants otherwise than the harness. ``model``, ``model_options``, ``reasoning`` and
                ``prompt_cache`` are stored with it. ``adapter`` and ``tools`` are objects: only this host uses them, while
                it is the one that runs the input.
            ephemeral: messages that the model sees in each call of this input's turn, and that are stored nowhere; like
                objects they are gone once another host, or a later process, goes on with it.

        Returns:
            what became of it, once it is stored or was refused.

        Raises:
            ConfigurationError: there is nothing in it, or an override makes no sense.
            AbortedError: this handle, or its host, is closed.
            StorageError: it could not be stored.
        """
        kept, objects = overrides_from(overrides)
        aside = said_in(ephemeral, "ephemeral") if ephemeral else ()
        post = input_post(self._terms.clock, self._user, said_in(input), input_id, busy, kept)
        return await self._submit(post, Handed(objects, aside))

    async def continue_(
        self,
        *,
        input_id: str | None = None,
        busy: Literal["queue", "reject"] = "queue",
        overrides: Mapping[str, Any] | None = None,
        ephemeral: Input | None = None,
    ) -> Receipt:
        """Has the model go on without a new message, behind a turn that failed, was cut short, or a record that said something.

        Rejected as ``nothing_to_continue`` where what the model sees does not end in something that it has not answered.
        Takes and raises what ``send`` does.
        """
        kept, objects = overrides_from(overrides)
        aside = said_in(ephemeral, "ephemeral") if ephemeral else ()
        post = input_post(self._terms.clock, self._user, (), input_id, busy, kept)
        return await self._submit(post, Handed(objects, aside))

    async def reset(self, note: str | None = None, *, input_id: str | None = None) -> Receipt:
        """Has the model forget: from here on it sees only ``note``, and what follows. The transcript keeps everything.

        While a turn runs it is queued, and done before the next one. Rejected as ``pending_interrupts`` while a person must decide.
        """
        return await self._submit(reset_post(self._terms.clock, self._user, note, input_id))

    async def inputs(self) -> tuple[Waiting, ...]:
        """The inputs that wait, in the order in which they will run: those that steer the turn that runs come first."""
        self._must_be_open()
        return await waiting_inputs(self._terms.store, self._thread.id)

    async def cancel(self) -> Receipt:
        """Asks the turn that runs, or stands open, to stop; it is settled as aborted. Durable on return.

        Rejected as ``not_running`` where none does; ``queued`` where another host drives it, which is told.
        """
        clock = self._terms.clock
        return await self._submit(Post(clock.new_id(), "abort", clock.now(), self._user))

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
            InputRejectedError: the owner refused it; ``receipt`` is what its sender was told, or would have been.
            AbortedError: this handle is closed.
        """
        return await settlement_of(self._terms.store, self._thread.id, input_id, self._must_be_open)

    # What else a thread keeps

    async def append_records(self, records: Sequence[Mapping[str, Any]], *, input_id: str | None = None) -> Receipt:
        """Puts records of your own into the thread's log, all or none; its owner writes them.

        Args:
            records: each has a ``type`` of its own; types that start with ``lousho.`` are reserved.
            input_id: makes appending the same twice the same as once.

        Returns:
            ``accepted`` once they are in the log, ``queued`` where the owner elsewhere has still to write them.

        Raises:
            ConfigurationError: a record has no type, or a reserved one; nothing is written.
        """
        return await self._submit(append_post(self._terms.clock, self._user, records, input_id))

    async def wake_at(self, time: datetime | str | None, input: Input | None = None, *, input_id: str | None = None) -> Receipt:
        """Has the thread taken up at a time, by this host while it is open, else by any that looks for work. A later wish replaces it.

        Args:
            time: with its zone, ISO 8601 where it is text; None takes the wish back.
            input: is sent then, once.
            input_id: makes asking for the same twice the same as once; it becomes the input's id.

        Returns:
            its ``input_id`` is that of the input to come.

        Raises:
            ConfigurationError: the time is none, or there is nothing in the input.
        """
        messages = () if input is None else said_in(input)
        return await self._submit(wake_post(self._terms.clock, self._user, time, messages, input_id))

    async def set_setting(self, name: str, value: Any) -> Receipt:
        """Gives a setting or config value of the thread a new value, plain JSON; None takes it away. Its owner writes it.

        Raises:
            ConfigurationError: it has no name, or its value is not plain JSON.
        """
        return await self._submit(setting_post(self._terms.clock, self._user, name, value))

    async def settings(self) -> dict[str, Any]:
        """The settings as the log has them, by whichever host they were written; our own are not among them."""
        self._must_be_open()
        kept = (await read_session(self._terms.store, self._thread.id)).settings
        return {name: value for name, value in kept.items() if not name.startswith("lousho.")}

    async def run_command(self, name: str, args: Any = None) -> Any:
        """Has the thread's owner carry out a command of its harness.

        Args:
            args: plain JSON.

        Returns:
            what the command returned, as plain JSON.

        Raises:
            InputRejectedError: its owner has no such command, or went away before it ended.
            CommandFailedError: it raised on another host. What it raises on this one is raised as it is.
            AbortedError: this handle, or its host, is closed.
        """
        post = command_post(self._terms.clock, self._user, name, args)
        commands = self._thread.intake.commands
        head = await self._terms.store.head(self._thread.id)
        commands.awaited(post.id)
        try:
            receipt = await self._submit(post)
            return await command_ended(self._terms.store, self._thread, receipt, head.seq if head else 0, self._must_be_open)
        finally:
            commands.forget(post.id)

    async def recover_pending_work(self) -> bool:
        """Takes up what a host that is gone left open; True when this host drives the thread now."""
        self._must_be_open()
        return await self._thread.recover()

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
        if self._closed or self._thread.closed:
            raise AbortedError(f"this handle on thread {self._thread.id} is closed", hint="Open the thread again.")

    async def _submit(self, post: Post, handed: Handed = NOTHING) -> Receipt:
        self._must_be_open()
        self._thread.intake.hand(post.id, handed)
        return await self._thread.submit(post)
