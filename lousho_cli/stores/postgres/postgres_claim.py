"""The right to write one log on a server, as this process holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lousho_cli.stores.lease import Terms
from lousho_cli.stores.row_claim import Held, RowClaim

Line = tuple[int, str]
"""A row to be: its seq, and its text."""


class PostgresClaim(RowClaim):
    """A claim that a ``PostgresStore`` gave. ``synced`` is what the server is known to have on its disk.

    tail: the lines behind it, in case the server loses them.
    """

    def __init__(self, terms: Terms, held: Held, forgotten: Callable[[Any], None]) -> None:
        super().__init__(terms, held, forgotten)
        self.tail: list[Line] = []

    def on_disk(self, seq: int) -> None:
        """Notes that the server has all up to ``seq`` on its disk."""
        self.synced = max(self.synced, seq)
        self.tail = [line for line in self.tail if line[0] > self.synced]
