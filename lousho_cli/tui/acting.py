"""Everything the program does to a store. Each deed has a thread and a loop of its own, so that neither a slow tool nor a fault in one
holds up the screen or ends the program; and the process's signals stay the program's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from lousho_cli.app.signals import SWITCH
from lousho_cli.domain.no_thread import no_thread
from lousho_cli.errors import NotFoundError, SDKError
from lousho_cli.tui.deeds import Act, Deed, State

if TYPE_CHECKING:
    from lousho_cli.app.agents import AgentChoice
    from lousho_cli.app.driving import Ran

T = TypeVar("T")

_LEAVING_S = 8.0
"""So long is waited for what runs when the program is left: longer than a stopped run waits for its tools."""


class Actor:
    """Does what a person asked for.

    Args:
        flag: the store, as ``--store`` says it.
        agents: where agents are found by name, as ``--agents`` says it.
        moved: called on another thread when a deed has something new to show.
    """

    def __init__(self, flag: str | None, agents: Sequence[str], moved: Callable[[Deed], None]) -> None:
        self._flag, self._agents = flag, tuple(agents)
        self.deeds: list[Deed] = []
        self._moved = moved
        self._threads: dict[int, Thread] = {}

    @property
    def choice(self) -> AgentChoice:
        """Where the store and the agents are."""
        from lousho_cli.app.agents import AgentChoice  # not before something is done: it loads what agent files need

        return AgentChoice(agents=self._agents, store=self._flag)

    async def ask(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What a function of ``app`` says that looks ahead, and may load an agent for it. Runs on a thread of its own, which nobody waits
        for who leaves.

        Raises:
            SDKError: what it raises; any other fault becomes one, too.
        """

        found: Future[T] = Future()

        def run() -> None:
            if not found.set_running_or_notify_cancel():
                return
            try:
                found.set_result(asyncio.run(make()))
            except SDKError as error:
                found.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - the module of an agent may do anything while it is loaded
                found.set_exception(SDKError(said_of(error)))

        try:
            Thread(target=run, name="lousho-asks", daemon=True).start()
        except RuntimeError as error:  # there can be none now
            raise no_thread(SDKError, error) from error
        return await asyncio.wrap_future(found)

    def do(self, deed: Deed, act: Act) -> Deed:
        """Begins a deed and comes back at once."""
        deed.moved = self._moved
        self.deeds.append(deed)
        thread = Thread(target=self._do, args=(deed, act), name=f"lousho-{deed.words.split()[0]}", daemon=True)
        self._threads[id(deed)] = thread
        try:
            thread.start()
        except RuntimeError as error:  # there can be none now
            deed.end("failed", said_of(no_thread(SDKError, error)))
        return deed

    def _do(self, deed: Deed, act: Act) -> None:
        SWITCH.set(deed.switch)  # of this thread alone
        with _logged(deed.warn):
            try:
                asyncio.run(_done(deed, act))
            except asyncio.CancelledError:
                deed.end("stopped", "it was left before it drove anything")
            except BaseException as error:  # noqa: BLE001 - a fault of what is run, or its exit, must not be the end of the program
                deed.end("failed", said_of(error))

    @property
    def running(self) -> list[Deed]:
        return [deed for deed in self.deeds if deed.state == "runs"]

    def close(self, told: Callable[[str], None]) -> None:
        """Stops what runs, so that the next resume goes on from there, and tells the command that does.

        Args:
            told: gets a sentence, or a command, for who has left the program.
        """
        running = self.running
        for deed in running:
            deed.switch.stop()
            if not deed.switch.attached:
                deed.leave()  # it drives nothing, such as a decision whose owner has not taken it up yet
        if running:
            told(f"stopping: {', '.join(deed.words for deed in running)}; waits up to 5 s for tools that run")
        end = time.monotonic() + _LEAVING_S
        for deed in running:
            self._threads[id(deed)].join(max(end - time.monotonic(), 0))
            if deed.state == "runs":
                told(f"{deed.words} has not stopped; what it saved stands")
            elif deed.ended:
                told(f"{deed.words}: {deed.ended}")
            if deed.goes_on:
                told(deed.goes_on)


async def _done(deed: Deed, act: Act) -> None:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None, "it runs as one"
    deed.leave = lambda: _soon(loop, task.cancel)
    ran = await act(deed)
    if ran is None:
        deed.end("done", deed.ended)
        return
    deed.ran, deed.session, deed.goes_on = ran, ran.done.session, ran.next
    for warning in ran.warnings:
        deed.story.warn(warning)
    deed.end(*_end_of(ran))


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # it has just come to its end
        loop.call_soon_threadsafe(call)


def _end_of(ran: Ran) -> tuple[State, str]:
    """How a run came back, and that in a sentence."""
    done = ran.done
    if ran.failure is not None:
        return "failed", said_of(ran.failure)
    if done.error is not None:
        return "failed", done.error.message
    if ran.stopped:
        return "stopped", "stopped; everything up to here is saved"
    if done.outcome == "aborted":
        return "stopped", "aborted; everything up to here is saved"
    if done.status == "awaiting-approval":
        return "waits", "waits for a person"
    if done.status == "finished":
        ends = "" if done.finish_reason in ("stop", "") else f" ({done.finish_reason})"
        return "done", f"done after {done.steps} step{'' if done.steps == 1 else 's'}{ends}"
    return "done", f"it goes on: {done.finish_reason or done.status}"


def said_of(error: BaseException) -> str:
    """An error as one clear sentence, with what to do about it."""
    if isinstance(error, SDKError):
        hint = error.hint
        if isinstance(error, NotFoundError) and error.kept and not hint:
            hint = f"There is: {', '.join(map(str, error.kept))}."
        return f"{error.detail}. {hint}" if hint else error.detail
    return f"an unexpected {type(error).__name__}: {error}".rstrip(": ")


_TELLS: ContextVar[Callable[[str], None] | None] = ContextVar("lousho_tells", default=None)


class _Saying(logging.Handler):
    """Gives what is logged to the deed on whose thread it was."""

    def emit(self, record: logging.LogRecord) -> None:
        tell = _TELLS.get()
        if tell is not None:
            tell(record.getMessage())


_HANDLER = _Saying(logging.WARNING)


@contextmanager
def _logged(tell: Callable[[str], None]) -> Iterator[None]:
    """Tells what ``lousho`` logs on this thread meanwhile."""
    logger = logging.getLogger("lousho")
    logger.addHandler(_HANDLER)  # one that is there is not added again
    token = _TELLS.set(tell)
    try:
        yield
    finally:
        _TELLS.reset(token)
