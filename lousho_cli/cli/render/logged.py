"""What the library logs while a command runs, said as that command's own warnings: a line on stderr, a place in the envelope."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Saying(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def saying_what_is_logged(say: Callable[[str], None]) -> Iterator[None]:
    """Gives ``say`` each warning that ``lousho`` logs in the block, and nobody else: Python would print it a second time."""
    logger, handler = logging.getLogger("lousho"), _Saying(say)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate
