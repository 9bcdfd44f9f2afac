"""What a signal does to a run.

The first Ctrl-C is the user's abort: open calls get cancelled results and the run is settled. The
second leaves at once; whatever is in the log by then is all there is. SIGTERM and SIGHUP are a stop
that the next resume goes on from. A signal that was ignored when we started stays ignored.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from lousho_cli.executor.abort import AbortController

SIGNALLED = 128
"""What the exit code of a process that a signal ends is more than the signal's number."""


class Caught:
    """The signal that came first; None while none came."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def stopped(self) -> bool:
        return self.signal in (signal.SIGTERM, signal.SIGHUP)

    @property
    def interrupted(self) -> bool:
        return self.signal == signal.SIGINT


class Switch:
    """Stops a run from another thread: for who drives it where no signal comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted = False
        self._attached: tuple[asyncio.AbstractEventLoop, Callable[[], None]] | None = None

    def stop(self) -> None:
        """As SIGTERM: a stop that the next resume goes on from. A run that begins later is stopped at once."""
        with self._lock:
            if not self._wanted and self._attached is not None:
                self._call()
            self._wanted = True

    @property
    def attached(self) -> bool:
        """Whether a run is watched now."""
        return self._attached is not None

    def _call(self) -> None:
        assert self._attached is not None, "only asked where a run is watched"
        loop, stop = self._attached
        loop.call_soon_threadsafe(stop)

    def attach(self, stop: Callable[[], None] | None) -> None:
        """Begins to speak to the run that is watched here, by what stops it; None ends it."""
        with self._lock:
            self._attached = (asyncio.get_running_loop(), stop) if stop is not None else None
            if self._wanted and self._attached is not None:
                self._call()


SWITCH: ContextVar[Switch | None] = ContextVar("lousho_switch", default=None)
"""What else stops the runs of this context."""


@contextmanager
def watching(
    controller: AbortController,
    told: Callable[[str], None] = lambda text: None,
    running: Callable[[], Sequence[str]] = tuple,
    goes_on: Callable[[], str] = str,
    *,
    drains: bool = False,
) -> Iterator[Caught]:
    """Fires ``controller`` when a signal comes while the block runs.

    Args:
        drains: a Ctrl-C, too, is a stop that others go on from; and any second signal leaves at once.
        told: gets a sentence about what is happening, for the person.
        running: the names of the tools that run, which are waited for.
        goes_on: the command that goes on from here, for who leaves at once; empty where none can.
    """
    caught = Caught()

    def leave(number: int) -> None:
        if following := goes_on():
            told(following)
        os._exit(SIGNALLED + number)

    def interrupt() -> None:
        if caught.signal is not None:
            leave(signal.SIGINT)
        if drains:
            stop(signal.SIGINT)
            return
        caught.signal = signal.SIGINT
        names = ", ".join(running())
        told(f"stopping; {f'waits up to 5 s for: {names}' if names else 'what runs is cancelled'}. Ctrl-C again leaves at once")
        controller.abort()

    def stop(number: int) -> None:
        if caught.signal is None:
            caught.signal = number
            names = ", ".join(running())
            what = "what runs is given back for others" if drains else "the run goes on later"
            told(f"stopping; {f'waits up to 5 s for: {names}, and ' if names else ''}{what}")
            controller.stop()
        elif drains:
            leave(number)

    handlers: dict[int, Callable[[], None]] = {
        signal.SIGINT: interrupt,
        signal.SIGTERM: lambda: stop(signal.SIGTERM),
        signal.SIGHUP: lambda: stop(signal.SIGHUP),
    }
    with _attached(SWITCH.get(), handlers[signal.SIGTERM]), _signalled(handlers):
        yield caught


@contextmanager
def _attached(switch: Switch | None, stop: Callable[[], None]) -> Iterator[None]:
    if switch is None:
        yield
        return
    switch.attach(stop)
    try:
        yield
    finally:
        switch.attach(None)


@contextmanager
def _signalled(handlers: Mapping[int, Callable[[], None]]) -> Iterator[None]:
    """Has signals handled while the block runs, except those that were ignored before."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in handlers}
    added: list[int] = []
    try:
        for number, handler in handlers.items():
            if before[number] is not signal.SIG_IGN and _add(loop, number, handler):
                added.append(number)
        yield
    finally:
        for number in added:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def _add(loop: asyncio.AbstractEventLoop, number: int, handler: Callable[[], None]) -> bool:
    try:
        loop.add_signal_handler(number, handler)
    except (ValueError, RuntimeError, NotImplementedError):  # not the main thread: its owner gets the signals
        return False
    return True
