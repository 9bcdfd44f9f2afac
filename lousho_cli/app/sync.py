"""Runs a coroutine to its end from ordinary code, without an event loop where it needs none.

Reading a file store never really waits, so ``list`` need not load asyncio, which would be half
of its start-up. Only for coroutines that read: one that turns out to need a loop is begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_now(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the coroutine that ``make`` makes gives back. It must do nothing but read.

    Raises:
        Exception: whatever the coroutine raises.
    """
    coroutine = make()
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except RuntimeError as error:
        if "no running event loop" not in str(error):
            raise
    else:
        coroutine.close()
    import asyncio

    return asyncio.run(make())
