"""``SqliteStore``: the log store in one SQLite file. Each method is a few lines over the modules beside it.

What reads never waits for anything but the disk, so a caller without an event loop can drive ``heads``, ``head``,
``owner``, ``read`` and ``inbox`` by hand; asyncio is imported only to wait.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.lease import check_ttl
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.core.trimming import require_base
from lousho_cli.core.versions import require_writable
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.records import Batch
from lousho_cli.domain.state import State
from lousho_cli.domain.times import AT_ONCE
from lousho_cli.errors import ConfigurationError, LogVersionError, StorageError
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Claim, Heads, LogRead, Owner
from lousho_cli.stores.forked import open_stores
from lousho_cli.stores.lease import Terms, own
from lousho_cli.stores.lookout import Lookout
from lousho_cli.stores.machine import steady
from lousho_cli.stores.row_scan import Kept, Scan
from lousho_cli.stores.sqlite import appending, claims, deleting, heads, logs, posts, snapshots
from lousho_cli.stores.sqlite.job import Job
from lousho_cli.stores.sqlite.parts import Parts
from lousho_cli.stores.sqlite.sqlite_claim import SqliteClaim
from lousho_cli.stores.viewed import Prunable, Viewed
from lousho_cli.stores.work import Looking, Work

T = TypeVar("T")

_POLL_S = 0.02


class SqliteStore(Viewed, Prunable, Looking):
    """Logs in the SQLite file ``path``. It is made at the first write; a file of the original product is taken over.

    Args:
        path: the file.
        history_limit: how many marks the ring of a session keeps.

    Raises:
        RangeError: the limit is no whole number from 0.
        ConfigurationError: the path is empty, or names a database in memory.
    """

    def __init__(self, path: str | os.PathLike[str], history_limit: int = DEFAULT_HISTORY_LIMIT) -> None:
        self.history_limit = check_history_limit(history_limit)
        self.path = os.path.abspath(_checked(path))
        self._begin()
        open_stores().add(self)

    def _begin(self) -> None:
        self._parts = Parts(self.path, partial(_adopt, self.path, self.history_limit))
        self.database, self.writer, self._keeper = self._parts.database, self._parts.writer, self._parts.keeper
        self._closing = weakref.finalize(self, self._parts.close, wait=False)
        self._kept: dict[str, Kept] = {}
        self._inbox_seen: dict[str, int] = {}
        self._lookout = Lookout(partial(posts.left, self.database))
        self._work = Work()

    def begin_anew(self) -> None:
        """In a forked child: leaves what is open to the parent."""
        self._closing.detach()
        self._parts.leave_in_child()
        self._begin()

    def close(self) -> None:
        """Closes the file. Whoever uses the store behind that gets a StorageError."""
        if self._closing.detach() is not None:
            self._parts.close()

    # Log

    async def append(self, claim: Claim, batches: Sequence[Batch], *, durable: bool = True) -> None:
        mine = own(claim, SqliteClaim)
        mine.require()
        if not batches:
            return
        if not mine.is_followed_by(batches):
            raise self._not_next(mine, batches)
        append = appending.Append(mine, batches, durable=durable)
        self._kept.pop(mine.log_id, None)
        mine.head = last = batches[-1].seq
        for line in append.lines:
            mine.bytes_since_snapshot += len(line[3])
        await self.writer.run(append)
        if durable and last > mine.synced:
            mine.synced = last

    async def flush(self, claim: Claim) -> None:
        mine = own(claim, SqliteClaim)
        mine.require()
        head = mine.head
        if mine.synced >= head:
            await self.writer.run(Job(lambda connection: claims.require_owner(connection, mine)))
            return
        # A commit syncs all that was committed before it, and says so to whoever reads.
        await self.writer.run(Job(lambda connection: claims.note_synced(connection, mine, head), durable=True, failed=mine.fail))
        mine.synced = max(mine.synced, head)

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        no, end = logs.standing(self.database, check_session_id(log_id))
        kept = self._kept.pop(log_id, None)
        if kept is None or kept.after > after or not kept.ends_at(end.head, end.epoch):
            found = logs.scan_to(self.database, no, end, after)
        else:
            found = kept.found
        return found.behind(after)

    async def watch(self, log_id: str, after: int, timeout_ms: int) -> bool:
        import asyncio

        seen = self._inbox_seen.get(check_session_id(log_id), posts.newest(self.database, log_id))
        ends = time.monotonic() + timeout_ms / 1000
        while True:
            if logs.standing(self.database, log_id)[1].head != after:
                return True
            if (newest := posts.newest(self.database, log_id)) > seen:
                self._inbox_seen[log_id] = newest  # told once: who never looks into the inbox would else be woken for ever
                return True
            left = ends - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(_POLL_S, left))

    async def save_snapshot(self, claim: Claim, state: State) -> None:
        mine = own(claim, SqliteClaim)
        data = encode_value(state)
        try:
            if await self.writer.run(Job(lambda connection: snapshots.save(connection, mine, state.seq, data))):
                mine.measured(len(data))
        except StorageError:
            return  # a cache: the records are there without it

    async def load_snapshot(self, log_id: str) -> State | None:
        no, end = logs.standing(self.database, check_session_id(log_id))
        kept = self._kept.get(log_id)
        if kept is not None and kept.ends_at(end.head, end.epoch):
            return kept.state
        loaded = snapshots.load(self.database, no, end.head) if end.head else None
        return loaded[0] if loaded else None

    async def trim(self, claim: Claim, base: Batch) -> None:
        mine = own(claim, SqliteClaim)
        mine.require()
        try:
            require_base(mine.log_id, base, mine.head, mine.epoch)
        except StorageError:
            self._require_not_lost(mine)
            raise
        self._drop(mine.log_id)
        (line,) = logs.lines_of(mine.held.no, (base,))
        head = mine.head
        await self.writer.run(
            Job(
                lambda connection: appending.replace(connection, mine, line, head),
                durable=True,
                settled=lambda connection: logs.stand(connection, (line,)),
            )
        )
        mine.head = base.seq
        mine.synced = base.seq
        mine.measured(len(line[-1]))

    async def delete(self, log_id: str) -> bool:
        if self._number(log_id) is None:
            return False
        self._drop(log_id)
        return await self.writer.run(Job(lambda connection: deleting.delete(connection, self.database.path, log_id), durable=True))

    # Claims

    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> SqliteClaim:
        mine = await self.take(log_id, host, ttl_ms, renew_ms)
        try:
            kept = self._read_for_claim(mine.held.no) if mine.epoch > 1 else Kept(None, 0, Scan())  # nobody can have written yet
            require_writable(log_id, kept.found.batches, kept.found.holes)
        except BaseException as error:
            wake_at = AT_ONCE if isinstance(error, LogVersionError) else None
            await self._release(mine, Job(lambda connection: claims.refuse(connection, mine.held, wake_at)))
            raise
        mine.head = kept.found.head
        mine.synced = mine.head if kept.found.synced is None else kept.found.synced
        mine.bytes_since_snapshot = kept.found.size - kept.found.base
        self._kept[log_id] = kept
        return mine

    async def take(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> SqliteClaim:
        """Claims a log whatever it holds; only who repairs it may. Raises like ``claim``."""
        check_ttl(ttl_ms)
        check_session_id(log_id)
        taken: list[SqliteClaim] = []

        def take(connection: sqlite3.Connection) -> SqliteClaim:
            taken[:] = [self._take(connection, log_id, host, ttl_ms, renew_ms)]
            return taken[0]

        def stands(connection: sqlite3.Connection) -> bool:
            return bool(taken) and claims.is_owner(connection, taken[0].held)

        return await self.writer.run_with_others(Job(take, settled=stands))

    def _take(self, connection: sqlite3.Connection, log_id: str, host: str, ttl_ms: int, renew_ms: int | None) -> SqliteClaim:
        self._keeper.begin()
        held = claims.take(connection, self.database.path, self._parts.presence, log_id, host, ttl_ms)
        mine = SqliteClaim(Terms(log_id, host, ttl_ms, renew_ms, steady()), held, self._keeper.forget)
        self._keeper.add(mine)
        return mine

    def _read_for_claim(self, no: int) -> Kept:
        """What has to be read before a log may be written: all of it, or what stands behind a good snapshot."""
        end = logs.end_of(self.database, no)
        loaded = snapshots.load(self.database, no, end.head)
        after = loaded[0].seq if loaded else 0
        return Kept(loaded[0] if loaded else None, after, logs.scan_to(self.database, no, end, after))

    def _drop(self, log_id: str) -> None:
        """Lets go of what was kept: the log changes, or is no longer ours."""
        self._kept.pop(log_id, None)

    async def release(self, claim: Claim, wake_at: str | None = None) -> None:
        mine = own(claim, SqliteClaim)
        head = mine.head if mine.failure is None else 0
        # Where all of the log is synced, an owner that is still named after a power cut is dead all the same; a wake must not be lost.
        durable = None if mine.synced < mine.head or wake_at is not None else False
        await self._release(mine, Job(lambda connection: claims.give_back(connection, mine.held, wake_at, head), durable, single=head > 0))

    async def _release(self, mine: SqliteClaim, give_back: Job[None]) -> None:
        if mine.released:
            return
        self._keeper.remove(mine)
        self._drop(mine.log_id)
        try:
            await self.writer.run(give_back)
        except BaseException:  # also for who was interrupted
            self._keeper.free_unless_taken(mine.held, give_back.carry_out)
            raise
        finally:
            mine.released = True

    async def owner(self, log_id: str) -> Owner | None:
        return claims.living_owner(self.database.path, self.database.query(claims.OWNER, (check_session_id(log_id),)))

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        await self.writer.run(Job(lambda connection: claims.beat(connection, host_id, ttl_ms)))

    async def lives(self, host_id: str) -> bool:
        return claims.lives(self.database, host_id)

    # Index

    async def heads(self) -> Heads:
        return heads.list_all(self.database)

    async def head(self, log_id: str) -> Head | None:
        return heads.one(self.database, check_session_id(log_id))

    async def save_head(self, claim: Claim, head: Head) -> None:
        mine = own(claim, SqliteClaim)
        if head.seq == mine.head and head.seq:
            # A cache: lists read the log without it.
            self.writer.send(Job(lambda connection: heads.save(connection, mine.held, head), single=True))

    async def post(self, log_id: str, post: Post) -> None:
        check_session_id(log_id)
        await self.writer.run(Job(lambda connection: posts.put(connection, log_id, post), durable=True))
        posts.ring_owner(self.database, log_id)

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        self._inbox_seen[check_session_id(log_id)], found = posts.waiting(self.database, log_id)
        return found

    async def posted(self) -> frozenset[str]:
        return posts.posted(self.database)

    async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
        await self._lookout.wait(check_session_id(log_id), timeout_ms)
        return True

    async def discard(self, log_id: str, post_ids: Sequence[str]) -> None:
        if self._number(log_id) is not None:
            await self.writer.run(Job(lambda connection: posts.discard(connection, log_id, post_ids)))

    async def follow(self, log_id: str) -> None:
        if self._number(log_id) is None:
            return
        try:
            await self.writer.run(Job(lambda connection: posts.follow(connection, log_id)))
        except StorageError:
            return  # who may not write is not counted

    async def followed(self, log_id: str) -> bool:
        return posts.followed(self.database, check_session_id(log_id))

    def _not_next(self, mine: SqliteClaim, batches: Sequence[Batch]) -> StorageError:
        self._require_not_lost(mine)
        return mine.not_next(batches)

    def _require_not_lost(self, mine: SqliteClaim) -> None:
        """Says that the log is another's where what was given does not fit it: the caller may go by what that one wrote."""
        if not self.database.query(claims.OWNED, mine.held):
            raise mine.lose()

    def _number(self, log_id: str) -> int | None:
        """The number of a log, None where the id was never seen."""
        rows = self.database.query("SELECT no FROM logs WHERE id = ?", (check_session_id(log_id),))
        return rows[0][0] if rows else None


def _adopt(path: str, history_limit: int, connection: sqlite3.Connection) -> Callable[[], Iterable[str]]:
    from lousho_cli.stores.sqlite.originals import adopt

    return adopt(connection, path, history_limit)


def _checked(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigurationError("the path of a database must not be empty", field="path")
    if text == ":memory:":
        raise ConfigurationError("a store in memory is memory_store()", field="path", hint="Give SqliteStore the path of a file.")
    return text
