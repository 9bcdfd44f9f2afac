"""Signals while evals run. Each ends the run where it is, as Ctrl-C does, and is remembered; a second one is no longer caught."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EvalsStopped(KeyboardInterrupt):
    """A run was stopped before any case of it had ended. ``signal``: by which signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


class Stop:
    """The signal that came; None while none came."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def check(self) -> None:
        """Ends the run, where somebody caught what the signal raised.

        Raises:
            KeyboardInterrupt: a signal came.
        """
        if self.signal is not None:
            raise KeyboardInterrupt


@contextmanager
def stopping() -> Iterator[Stop]:
    """Has signals end what the block does, except those that were ignored before. Elsewhere than on the main thread none come."""
    stop = Stop()
    before: dict[int, Any] = {}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        before.clear()

    def end(number: int, _frame: FrameType | None) -> None:
        give_back()
        stop.signal = number
        raise KeyboardInterrupt

    with suppress(ValueError):
        for number in _CAUGHT:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, end)
    try:
        yield stop
    finally:
        with suppress(ValueError):
            give_back()
