"""Commands: functions of a harness that its thread's owner carries out, whoever asks for it.

One that was left for an owner that is gone is refused: it may have been in the middle of it, and nobody knows how far it
came. It is carried out beside the turns; the thread is not given back before it has ended.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import AbortedError, OwnershipLostError, SDKError, StorageError
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.host.posting import append_post, setting_post
from lousho_cli.host.receipts import Receipt

EXPIRED = "expired_on_restart"
UNKNOWN = "unknown_command"

LOOK_EVERY_S = 0.02
"""How often a thread that has nothing to do but a command looks for something else."""

log_to = logging.getLogger("lousho")

Birth = Callable[[Session], tuple[r.Record, ...]]

Submit = Callable[[Post], Awaitable[Receipt]]


class CommandBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a command. ``epoch``: that of the owner it was left for, 0 where it was handed over or nobody owned the thread."""

    name: str
    args: Any = None
    epoch: int = 0


def left_for(post: Post, epoch: int) -> Post:
    """A post as it is left for the owner of ``epoch``: a command says for whom."""
    return msgspec.structs.replace(post, body={**post.body, "epoch": epoch}) if post.kind == "command" else post


class CommandContext:
    """What a command is given: the thread as it stands, and a way to change it."""

    def __init__(self, thread_id: str, tenant_id: str | None, user: str | None, log: SessionLog, submit: Submit) -> None:
        self.thread_id, self.tenant_id, self.user = thread_id, tenant_id, user
        self._log, self._submit = log, submit

    @property
    def session(self) -> Session:
        """The thread as the log has it now."""
        return self._log.session

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its transcript."""
        return tuple(self._log.session.messages)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its settings, by name."""
        return dict(self._log.session.settings)

    async def set_setting(self, name: str, value: Any) -> Receipt:
        """As ``HostSession.set_setting``."""
        return await self._submit(setting_post(self._log.clock, self.user, name, value))

    async def append_records(self, records: list[Mapping[str, Any]], *, input_id: str | None = None) -> Receipt:
        """As ``HostSession.append_records``."""
        return await self._submit(append_post(self._log.clock, self.user, records, input_id))


Command = Callable[[CommandContext, Any], Any]


class Commands:
    """Those of one thread. ``gave_back`` is the last epoch this host had it under and gave back in order."""

    def __init__(self, known: Mapping[str, Command], thread_id: str, tenant_id: str | None, submit: Submit) -> None:
        self._known, self._id, self._tenant, self._submit = known, thread_id, tenant_id, submit
        self._running: dict[str, asyncio.Task[None]] = {}
        self._raised: dict[str, Exception] = {}
        self._awaited: set[str] = set()
        self._stopping = False
        self.gave_back = 0

    @property
    def running(self) -> bool:
        """Whether one is being carried out."""
        return bool(self._running)

    def refusal(self, post: Post, epoch: int) -> str | None:
        """Why the owner of ``epoch`` does not carry a command out; None where it does. Raises msgspec.ValidationError."""
        body = msgspec.convert(post.body, CommandBody)
        if body.epoch and body.epoch < epoch and body.epoch != self.gave_back:
            return EXPIRED
        return None if body.name in self._known else UNKNOWN

    def begin(self, log: SessionLog, post: Post, birth: Birth) -> bool:
        """Carries a command out; False where it is refused. One that is being carried out is not begun again.

        Args:
            birth: what a log begins with that has nothing yet.
        """
        if post.id in self._running:
            return True
        try:
            if self.refusal(post, log.claim.epoch) is not None:
                return False
        except msgspec.ValidationError:
            return False
        self._running[post.id] = task = asyncio.ensure_future(self._carry_out(log, post, birth))
        task.add_done_callback(lambda _: self._running.pop(post.id, None))  # on a loop whose tasks begin at once it may have ended by now
        return True

    async def _carry_out(self, log: SessionLog, post: Post, birth: Birth) -> None:
        try:
            ended = await self._ended(log, post)
            await log.record(*birth(log.session), ended)
            await log.store.discard(log.id, [post.id])
        except (OwnershipLostError, StorageError) as error:
            log_to.warning("%s: how command %s ended could not be recorded: %s", self._id, post.id, error)
            self._raised_to_caller(post.id, error)

    async def _ended(self, log: SessionLog, post: Post) -> r.CommandEnded:
        body = msgspec.convert(post.body, CommandBody)
        context = CommandContext(self._id, self._tenant, post.by, log, self._submitted)
        try:
            value = self._known[body.name](context, body.args)
            if inspect.isawaitable(value):
                value = await value
        except Exception as error:  # noqa: BLE001 - whatever a command raises is its end, and its caller's
            self._raised_to_caller(post.id, error)
            said = error.detail if isinstance(error, SDKError) else f"{type(error).__name__}: {error}"
            return r.CommandEnded(post.id, error=text_of(said), code=error.code if isinstance(error, SDKError) else None)
        return r.CommandEnded(post.id, value=plain(value)[0])

    async def _submitted(self, post: Post) -> Receipt:
        """Hands over what a command wants of its thread; refused once it is stopped, as whoever waits for that would wait for this too."""
        if self._stopping:
            raise AbortedError(f"thread {self._id} is given back: a command that was stopped changes nothing any more")
        return await self._submit(post)

    def _raised_to_caller(self, command_id: str, error: Exception) -> None:
        if command_id in self._awaited:
            self._raised[command_id] = error

    def awaited(self, command_id: str) -> None:
        """Somebody in this process waits for a command: what it raises is kept for ``raised``."""
        self._awaited.add(command_id)

    def raised(self, command_id: str) -> Exception | None:
        """What a command raised here, as it was raised; None where it did not, or was carried out elsewhere."""
        return self._raised.get(command_id)

    def forget(self, command_id: str) -> None:
        """Nobody waits for it any more."""
        self._awaited.discard(command_id)
        self._raised.pop(command_id, None)

    async def look_up(self) -> None:
        """Waits until one has ended, or it is time to look for other work."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Cancels what is being carried out: whoever comes next refuses what was left for this owner."""
        running = list(self._running.values())
        self._stopping = bool(running)
        for task in running:
            task.cancel()
        try:
            if running:
                await asyncio.wait(running)
        finally:
            self._stopping = False
