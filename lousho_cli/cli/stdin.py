"""Standard input as one input: text from a pipe or a file, never a dialogue."""

from __future__ import annotations

import io
import os
import select
import stat
import sys

SILENT_AFTER_S = 2.0
"""A pipe that has said nothing for so long holds up nobody who did not ask for it with ``-``."""


def read_all() -> str:
    """Everything on standard input, however long it takes: what ``-`` means."""
    return sys.stdin.read() if sys.stdin is not None else ""


def piped_text() -> tuple[str, bool]:
    """What a pipe or a file on standard input holds, and whether it is a pipe that stays open and silent.

    A terminal, and nothing at all, give no text.
    """
    stream = sys.stdin
    try:
        if stream is None or stream.closed or stream.isatty():
            return "", False
        kind = os.fstat(stream.fileno()).st_mode
    except (io.UnsupportedOperation, OSError, ValueError):  # no descriptor: somebody put a stream of his own there
        return _own(stream), False
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
        if not select.select([stream], [], [], SILENT_AFTER_S)[0]:
            return "", True
    elif not stat.S_ISREG(kind):
        return "", False  # a device such as /dev/null
    return stream.read().strip("\n"), False


def _own(stream: object) -> str:
    try:
        return str(stream.read()).strip("\n") if isinstance(stream, io.StringIO) else ""
    except (OSError, ValueError):
        return ""
