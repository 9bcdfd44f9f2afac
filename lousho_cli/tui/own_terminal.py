"""The terminal for the program alone: what the code of an agent prints, or a program that it starts, is not drawn over the screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_terminal() -> Iterator[None]:
    """Descriptors 1 and 2 lead nowhere while the block runs; ``sys.__stdout__`` and ``sys.__stderr__``, which Textual draws on, still
    lead to the terminal."""
    before = sys.__stdout__, sys.__stderr__
    kept = [os.dup(number) for number in (1, 2)]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    out, err = (os.fdopen(os.dup(number), "w", encoding="utf-8", errors="replace") for number in kept)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        sys.__stdout__, sys.__stderr__ = out, err  # type: ignore[misc]
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        for stream in (sys.stdout, sys.stderr, out, err):
            stream.flush()
        for number, was in zip((1, 2), kept, strict=True):
            os.dup2(was, number)
            os.close(was)
        os.close(nowhere)
        sys.__stdout__, sys.__stderr__ = before  # type: ignore[misc]
        out.close()
        err.close()
