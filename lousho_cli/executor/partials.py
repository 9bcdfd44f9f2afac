"""Parts of an answer in the log while it is being written, for who looks on from elsewhere.

They are written only while somebody follows, at most one in 100 ms or 4 KiB, and never synced on
their own account. The turn they become supersedes them.
"""

from __future__ import annotations

from lousho_cli.domain import records as r
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.executor.sub_log import DrivenLog

EVERY_S = 0.1
AT_LEAST = 4096


class Partials:
    """The parts of one answer."""

    def __init__(self, log: DrivenLog) -> None:
        self._log = log
        self._pieces: list[str] = []
        self._written = 0
        self._size = 0
        self._last = log.clock.monotonic()

    @property
    def text(self) -> str:
        """All that came so far."""
        return text_of("".join(self._pieces))

    async def add(self, text: str) -> None:
        """Takes a piece of text, and writes what came so far when it is time."""
        self._pieces.append(text)
        self._size += len(text)
        now = self._log.clock.monotonic()
        if now - self._last < EVERY_S and self._size < AT_LEAST:
            return
        self._last = now
        if await self._log.store.followed(self._log.id):
            piece = plain("".join(self._pieces[self._written :]))[0]
            self._written, self._size = len(self._pieces), 0
            await self._log.record(r.Partial(piece), durable=False)
