"""A way to wake the owners of logs in another process of this machine: a named pipe for each process in which some wait.

Whoever leaves a post writes one byte into the pipe of the owner's process, which then looks into its inboxes. It only
makes things quick: where there is no pipe, on another machine, for another user, the owner finds the post when it
looks by itself. The pipes lie in the folder for temporary files, so that no store holds anything but files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakMethod

if TYPE_CHECKING:
    import asyncio


def ring(pid: int) -> None:
    """Wakes what waits in a process; nothing where nobody does."""
    if pid == os.getpid():
        bell = _bells.get(pid)
        if bell is not None:
            bell.wake()
        return
    try:
        pipe = os.open(_path(pid), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # nobody waits there
    try:
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            os.write(pipe, b"!")
    except OSError:
        return  # it is full, so it was rung already
    finally:
        os.close(pipe)


def listen(loop: asyncio.AbstractEventLoop, listener: Callable[[], None]) -> None:
    """From now on ``listener``, a method that is not kept alive for it, is called on ``loop`` when somebody rings."""
    pid = os.getpid()
    bell = _bells.get(pid)
    if bell is None or bell.loop is not loop:
        for other in _bells.values():
            other.close()  # another loop's, or in a forked child the parent's
        _bells.clear()
        bell = _bells[pid] = Bell(loop, pid)
    bell.add(listener)


class Bell:
    """The pipe of this process, as one event loop listens to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pid: int) -> None:
        self.loop, self._pid = loop, pid
        self._listeners: list[WeakMethod[Callable[[], None]]] = []
        self._pipe = _open_own()
        if self._pipe >= 0:
            loop.add_reader(self._pipe, self._rung)

    def add(self, listener: Callable[[], None]) -> None:
        """Calls one more when it is rung; the same again changes nothing."""
        known = WeakMethod(listener)
        if known not in self._listeners:
            self._listeners = [one for one in self._listeners if one() is not None]
            self._listeners.append(known)

    def wake(self) -> None:
        """Calls who listens, from whichever thread."""
        with suppress(RuntimeError):  # its loop is closed: nobody listens
            self.loop.call_soon_threadsafe(self._all)

    def _rung(self) -> None:
        with suppress(OSError):
            while os.read(self._pipe, 4096):
                pass
        self._all()

    def _all(self) -> None:
        for listener in [known() for known in self._listeners]:
            if listener is not None:
                listener()

    def close(self) -> None:
        """Lets go of the pipe, so that another loop can listen."""
        pipe, self._pipe = self._pipe, -1
        if pipe < 0:
            return
        if self._pid == os.getpid() and not self.loop.is_closed():
            self.loop.remove_reader(pipe)
        os.close(pipe)


_bells: dict[int, Bell] = {}
"""The one bell of this process, by its id."""


def _path(pid: int) -> str:
    import tempfile  # late: listing sessions needs none of it

    return f"{tempfile.gettempdir()}/lousho-{os.getuid()}/bell-{pid}"


def _open_own() -> int:
    """The pipe of this process, -1 where there can be none."""
    path = _path(os.getpid())
    folder = os.path.dirname(path)
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        info = os.lstat(folder)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            return -1  # somebody else made it, and could listen
        _sweep(folder)
        with suppress(FileNotFoundError):
            os.unlink(path)
        os.mkfifo(path, 0o600)
        # For writing too: else the pipe would read as ended whenever nobody has it open.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1


def _sweep(folder: str) -> None:
    """Removes the pipes of processes that are gone."""
    for name in os.listdir(folder):
        with suppress(OSError, ValueError):
            try:
                os.kill(int(name.removeprefix("bell-")), 0)
            except ProcessLookupError:
                os.unlink(f"{folder}/{name}")
