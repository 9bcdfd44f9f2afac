"""Garbage collection that no key waits for.

Python looks for garbage in everything there is again and again, and a long session with its checkpoints is a lot: the
screen would stand still for a twentieth of a second. Here what a collection has gone through is left alone by the next.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OFTEN = 16
"""After so many collections it is counted how much is left alone."""


@contextmanager
def only_what_is_new() -> Iterator[None]:
    """Meanwhile garbage is looked for in what is new, and in everything only once what is kept has doubled."""
    gc.freeze()
    whole = gc.get_freeze_count()
    collections = 0
    goes_through_all = False

    def leave_alone(phase: str, info: dict[str, Any]) -> None:
        nonlocal whole, collections, goes_through_all
        if phase != "stop" or info["generation"] != 2:
            return
        gc.freeze()
        collections += 1
        if goes_through_all:
            whole, goes_through_all = gc.get_freeze_count(), False
        elif collections % _OFTEN == 0 and gc.get_freeze_count() > 2 * whole:
            gc.unfreeze()
            goes_through_all = True

    gc.callbacks.append(leave_alone)
    try:
        yield
    finally:
        gc.callbacks.remove(leave_alone)
        gc.unfreeze()
