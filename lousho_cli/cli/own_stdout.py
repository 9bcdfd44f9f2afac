"""Stdout for this program alone: what the code of an agent prints meanwhile goes to stderr.

A tool that prints, or starts a program that does, must not break the one JSON document that
stdout is. So descriptor 1 and ``sys.stdout`` point at stderr while code of an agent may run, and
only our own ``Output`` still writes to where stdout led before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TextIO

from lousho_cli.cli.output import Output


@contextmanager
def own_stdout(out: Output) -> Iterator[None]:
    """Keeps stdout to ``out`` while the block runs, threads and programs that are started included."""
    before = sys.stdout
    if before is None or out.closed:  # nothing is written anyway, and descriptor 1 may be another file by now
        yield
        return
    sink = sys.stderr if sys.stderr is not None else open(os.devnull, "w")  # noqa: SIM115 - stands in for stderr from here on
    kept = _kept(before)
    try:
        if kept is not None:
            os.dup2(_descriptor(sink), 1)
        sys.stdout = sink
        with out.written_to(kept) if kept is not None else nullcontext():
            yield
    finally:
        sys.stdout = before
        if kept is not None:
            with suppress(OSError, ValueError):  # what a tool left in the buffer of the first stdout is talk as well
                before.flush()
            os.dup2(kept.fileno(), 1)
            with suppress(OSError):  # it said so when it was flushed
                kept.close()


def _kept(stream: TextIO) -> TextIO | None:
    """A second way to where stdout leads; None where the stream is not descriptor 1, so that nothing but it has to move."""
    if _descriptor(stream) != 1:
        return None
    stream.flush()
    return os.fdopen(os.dup(1), "w", encoding=stream.encoding, errors=stream.errors, newline="")


def _descriptor(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):  # a stream of somebody who catches what is said
        return 2 if stream is sys.stderr else -1
