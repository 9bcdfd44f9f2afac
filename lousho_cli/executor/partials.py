"""Parts of an answer in the log while it is being written: for who looks on from elsewhere, and for who goes on with it.

They are written while somebody follows, or always where a cut answer is to be gone on with; at most one in
100 ms or 4 KiB, and never synced on their own account. The turn they become supersedes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from lousho_cli.core.cut_partials import cut_answer
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import continuation
from lousho_cli.domain.messages import Reasoning
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.session import Session
from lousho_cli.executor.sub_log import DrivenLog
from lousho_cli.ports.log_store import LogStore

EVERY_S = 0.1
AT_LEAST = 4096


class Partials:
    """The parts of an answer, from ``begin`` until it is there or broke off: then ``end`` it, if it is ``busy``. One serves many answers.

    ``kept``: they are written whether or not somebody looks on. ``busy``: something is being written, or about to be.
    """

    def __init__(self, log: DrivenLog, *, kept: bool = False) -> None:
        self._log, self._kept = log, kept
        self._pieces: list[str] = []
        self._blocks: list[Reasoning] = []
        self._written = 0
        self._size = 0
        self._last = 0.0
        self.busy = False
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Another answer is asked for; what came of the one before is forgotten."""
        if self._pieces or self._blocks:
            self._pieces, self._blocks, self._written, self._size = [], [], 0, 0
        self._last = self._log.clock.monotonic()

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
            self._write_soon()
            return
        self._last = now
        if self._kept or await self._log.store.followed(self._log.id):
            await self._flush_whole()

    async def add_block(self, block: Reasoning) -> None:
        """Takes a finished block of reasoning; it is written at once where parts are kept, else not at all."""
        if self._kept:
            self._blocks.append(block)
            await self._flush_whole()

    async def _flush_whole(self) -> None:
        """``flush``, to its end also where the answer is given up meanwhile: a log that is broken off in a write is one no more."""
        self._no_timer()
        if self._writing is not None:
            await asyncio.shield(self._writing)
        self.busy, self._writing = True, asyncio.ensure_future(self.flush())
        await asyncio.shield(self._writing)

    async def flush(self) -> None:
        """Writes what was not written yet."""
        self._no_timer()
        piece = plain("".join(self._pieces[self._written :]))[0]
        blocks, self._blocks = tuple(self._blocks), []
        self._written, self._size = len(self._pieces), 0
        if piece or blocks:
            await self._log.record(r.Partial(piece, blocks), durable=False)

    async def stopped(self) -> None:
        """The answer was given up on a stop that somebody goes on from: what came of it is kept where it is to be gone on with."""
        if self._kept:
            await self.flush()

    async def end(self) -> None:
        """Writes no more, and returns once what is being written is."""
        self._no_timer()
        self.busy = False
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing

    def _write_soon(self) -> None:
        """A model that falls silent may be one whose host is about to die: what it said is written all the same."""
        if self._kept and self._timer is None:
            self.busy = True
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._write)

    def _write(self) -> None:
        self._timer = None
        if self._writing is None or self._writing.done():
            self._last = self._log.clock.monotonic()
            self._writing = asyncio.ensure_future(self.flush())

    def _no_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def kept_answer(store: LogStore, session_id: str, session: Session, notes: Sequence[str] | None) -> tuple[r.Splice, ...]:
    """The answer that broke off when the owner of an unfinished run stopped, as the transcript keeps it to be gone on with.

    Args:
        notes: what asks for the rest, a message each; None for our own.

    Returns:
        one record, or none where nothing came that can be kept, or no answer was being written.

    Raises:
        StorageError: the log can not be read.
    """
    if session.outcome is not None or session.turn is not None or not session.messages or session.messages[-1].role == "assistant":
        return ()
    since = session.latest.seq - 1 if session.latest is not None else 0
    batches: Iterable[r.Batch] = (await store.read(session_id, max(since, 0))).batches
    cut = cut_answer(batches)
    added = continuation(cut.text, notes, cut.reasoning)
    return (r.Splice(len(session.messages), added, "continue"),) if added else ()
