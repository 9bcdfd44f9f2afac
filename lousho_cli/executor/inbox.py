"""What others leave for the owner of a session while it runs: input, an answer, a wish to stop.

Posts are looked for when the store says so, which looks for all its owners at once, and recorded at once, through the
owner's own writer. A post is removed only after the log has it; one the log has already is only removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

import msgspec

from lousho_cli.core.entering import entered
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import StorageError
from lousho_cli.executor.secret_answers import hand_over, opened
from lousho_cli.executor.session_log import SessionLog

LOOK_ANYWAY_MS = 1000
"""How often what could not be taken is tried again."""

log_to = logging.getLogger("lousho")


class Abortable(Protocol):
    def abort(self) -> None:
        """Stops what runs, for good."""


class Taker:
    """What the owner does with a post; a host has its own."""

    def entered(self, session: Session, post: Post, now: str, epoch: int) -> Sequence[r.Record]:
        """Its records, as ``core.entering`` says; ``epoch`` is the owner's."""
        return entered(session, post, now)

    def carries_out(self, log: SessionLog, post: Post) -> bool:
        """Whether it takes time, was begun, and is removed once its end is recorded."""
        return False

    async def recorded(self, post: Post, records: Sequence[r.Record]) -> None:
        """Its records are written, where it means any; it is removed next."""


class Inbox:
    """Takes posts for one owned session. ``controller`` is told of a wish to stop; ``taker`` says what becomes of each."""

    def __init__(self, log: SessionLog, controller: Abortable, taker: Taker | None = None) -> None:
        self._log, self._controller, self._taker = log, controller, taker or Taker()
        self._watching: asyncio.Task[None] | None = None
        self._taking = asyncio.Lock()
        self._news = self._looked = self._again = False
        self._taken: set[str] = set()  # those that are recorded and could not be removed yet

    async def take(self) -> bool:
        """Records what was left; True when something new was recorded since this was last asked, by whomever."""
        await self._take()
        news, self._news = self._news, False
        return news

    async def take_earlier(self) -> None:
        """Records, once, what was left before this owner came: what is handed over to it came later, maybe from the same sender."""
        if not self._looked:
            await self._take()

    async def _take(self) -> None:
        # One at a time: who asks while the watcher is in the middle of a post must hear of it, not find it gone.
        async with self._taking:
            self._again = True  # until all that was left is gone
            try:
                posts = await self._log.store.inbox(self._log.id)
            except StorageError:
                return  # it can not be read now; whoever left something waits, and the next look finds it
            done = await self._record(posts) if posts else 0
            self._looked, self._again = True, done < len(posts) or bool(self._taken)

    async def take_first(self) -> None:
        """Records what was left before this owner came. A wish to stop meant a run that is not running."""
        stale = [post.id for post in await self._log.store.inbox(self._log.id) if post.kind == "abort"]
        if stale:
            await self._log.store.discard(self._log.id, stale)
        await self.take()

    async def _record(self, posts: Sequence[Post]) -> int:
        """Records what was left and removes it; gives how many need not be looked at again."""
        done: list[str] = []
        for post in posts:
            if post.id in self._taken:
                done.append(post.id)
                continue
            if self._taker.carries_out(self._log, post):
                continue
            try:
                records = await self._entered(post)
            except StorageError:
                continue  # the secret it brings can not be read now; the next look finds it again
            if records:
                self._news = True
                batches = self._log.enter(*records)
                if post.kind == "abort":
                    self._controller.abort()  # before anything else can be decided on: the next input is not meant
                await self._log.write(batches)
            await self._taker.recorded(post, records)
            done.append(post.id)
        await self._discard(done)
        return len(done)

    async def _discard(self, done: list[str]) -> None:
        """Removes posts. One that can not be removed now means nothing more: each look tries again, and none ends for it."""
        try:
            await self._log.store.discard(self._log.id, done)
        except StorageError as error:
            if not self._taken.issuperset(done):
                log_to.warning("%s: what was left for it is recorded and can not be removed yet: %s", self._log.id, error)
            self._taken.update(done)
        else:
            self._taken.difference_update(done)

    async def _entered(self, post: Post) -> Sequence[r.Record]:
        ready = await opened(self._log, post)
        if isinstance(ready, r.InputRejected):
            return (ready,)
        try:
            records = self._taker.entered(self._log.session, ready, self._log.clock.now(), self._log.claim.epoch)
        except msgspec.ValidationError as error:
            return (r.Note("post", text_of(f"post {post.id} could not be read and was dropped: {error}")),)
        hand_over(self._log, ready, records)
        return records

    def watch(self) -> None:
        """Looks for posts until ``stop``."""
        self._watching = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        while True:
            if await self._log.store.wait_for_post(self._log.id, LOOK_ANYWAY_MS) or self._again:
                await self._take()

    async def stop(self) -> None:
        """Stops looking.

        An append that failed meanwhile is not raised here: the log takes no more appends after one,
        so whoever still has something to write meets it, and the post it was for is still there.
        """
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.wait({watching})
            if not watching.cancelled():
                watching.exception()
