"""The open stores of this process: a child that is forked off begins each of them anew, and leaves what is open to its parent."""

from __future__ import annotations

import os
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Open(Protocol):
    """A store that holds what a fork must not share."""

    def begin_anew(self) -> None:
        """In a forked child: leaves what is open to the parent."""


_parents: list[object] = []


def leave_to_parent(*held: object) -> None:
    """Keeps what is a parent process's for ever: closing it here would be felt there, as a dropped lock or an ended connection."""
    _parents.append(held)


@cache
def open_stores() -> WeakSet[Open]:
    """The stores to begin anew; each adds itself when it is made."""
    os.register_at_fork(after_in_child=_begin_anew)
    return WeakSet()


def _begin_anew() -> None:
    for store in list(open_stores()):
        store.begin_anew()
