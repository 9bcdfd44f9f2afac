"""``FileStore``: the log store over plain files. Each method is a few lines over the modules beside it.

What reads never waits for anything but the disk, so a caller without an event loop can drive
``heads``, ``head``, ``owner``, ``read`` and ``inbox`` by hand; asyncio is imported only to wait.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from functools import partial

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.lease import check_ttl, renewal_s
from lousho_cli.core.trimming import has_base, require_base
from lousho_cli.core.versions import require_writable
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.records import Batch
from lousho_cli.domain.state import State
from lousho_cli.domain.times import AT_ONCE
from lousho_cli.errors import LogVersionError, SessionBusyError, StorageError
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Claim, Heads, LogRead, Owner
from lousho_cli.stores.file import append, claims, deleting, heads, heartbeats, inbox, snapshots, trimming
from lousho_cli.stores.file.file_claim import FileClaim
from lousho_cli.stores.file.keeper import keeper
from lousho_cli.stores.file.layout import INBOX, Layout, id_of, storage_error
from lousho_cli.stores.file.reading import LogReader
from lousho_cli.stores.file.scan import START, Scan
from lousho_cli.stores.lease import own
from lousho_cli.stores.lookout import Lookout
from lousho_cli.stores.viewed import Viewed
from lousho_cli.stores.work import Looking, Work

_POLL_S = 0.02
_TRIES = 100


class FileStore(Viewed, Looking):
    """Logs in the folder ``path``, the one that holds ``sessions/``. It is made at the first write.

    Args:
        path: the folder.
        history_limit: how many marks the ring of a session keeps.

    Raises:
        RangeError: the limit is no whole number from 0.
    """

    def __init__(self, path: str | os.PathLike[str], history_limit: int = DEFAULT_HISTORY_LIMIT) -> None:
        self.history_limit = check_history_limit(history_limit)
        self.layout = Layout(path)
        self._reader = LogReader(self.layout)
        self._snapshots: dict[str, State] = {}
        self._inbox_seen: dict[str, int] = {}
        self._lookout = Lookout(self._left)
        self._work = Work()

    # Log

    async def append(self, claim: Claim, batches: Sequence[Batch], *, durable: bool = True) -> None:
        mine = own(claim, FileClaim)
        mine.require()
        if not batches:
            return
        if not mine.begun:
            if batches[0].seq != mine.head + 1:
                self._catch_up(mine)
            self._drop(mine.log_id)
        append.require_next(mine, batches)
        append.write(mine, batches)
        if durable:
            await append.make_durable(mine, len(keeper()))
        mine.require()

    async def flush(self, claim: Claim) -> None:
        mine = own(claim, FileClaim)
        mine.require()
        await append.make_durable(mine, len(keeper()))
        mine.require()

    def _catch_up(self, claim: FileClaim) -> None:
        """An owner that was replaced may have written one more line after the claim had read the log."""
        _begin_at(claim, self._reader.scan_known(claim.log_id))

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        self.layout.check()
        return self._reader.read(log_id, after)

    async def watch(self, log_id: str, after: int, timeout_ms: int) -> bool:
        import asyncio

        folder = self.layout.folder(log_id)
        size = self._reader.size(log_id)
        changed = self._inbox_seen.get(log_id, inbox.changed_at(folder))
        if self._reader.read(log_id, after).head != after:
            return True
        ends = time.monotonic() + timeout_ms / 1000
        while (left := ends - time.monotonic()) > 0:
            if self._reader.size(log_id) != size:
                return True
            if (now := inbox.changed_at(folder)) != changed:
                self._inbox_seen[log_id] = now  # told once: who never looks into the inbox would else be woken for ever
                return True
            await asyncio.sleep(min(_POLL_S, left))
        return False

    async def save_snapshot(self, claim: Claim, state: State) -> None:
        try:
            snapshots.save(own(claim, FileClaim), state)
        except OSError:
            return  # a cache: the records are there without it

    async def load_snapshot(self, log_id: str) -> State | None:
        self.layout.check()
        just_read = self._snapshots.pop(log_id, None)
        if just_read is not None:
            return just_read
        loaded = self._load_snapshot(log_id)
        if loaded is None:
            return None
        state, found = loaded
        self._reader.keep(log_id, found)
        return state

    def _load_snapshot(self, log_id: str) -> tuple[State, Scan] | None:
        return snapshots.load(self.layout.folder(log_id), lambda place: self._reader.scan(log_id, place))

    async def trim(self, claim: Claim, base: Batch) -> None:
        mine = own(claim, FileClaim)
        mine.require()
        if not mine.begun and base.seq not in (mine.head, mine.head + 1):
            self._catch_up(mine)
        require_base(mine.log_id, base, mine.head, mine.epoch)
        self._drop(mine.log_id)
        trimming.replace(mine, base)
        self._reader.forget(mine.log_id)

    async def delete(self, log_id: str) -> bool:
        if not deleting.has_folder(self.layout, log_id):
            return False
        there = deleting.is_there(self.layout.folder(log_id))
        try:
            claim = claims.take(self.layout, log_id, "delete", DEFAULT_TTL_MS, self._reader.scan_known(log_id).epoch)
        except StorageError as error:
            if not claims.is_full_disk(error):
                raise
            self._require_nobody(log_id)
            deleting.remove_in_place(self.layout, log_id)
        else:
            try:
                deleting.remove(self.layout, log_id)
            finally:
                claims.give_back(claim, None)
        self._reader.forget(log_id)
        return there

    def _require_nobody(self, log_id: str) -> None:
        owner = claims.owner_now(self.layout, log_id, time.time_ns())
        if owner is not None:
            raise SessionBusyError(log_id, owner.describe())

    # Claims

    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> FileClaim:
        check_ttl(ttl_ms)
        self.layout.check()
        keeper().begin()
        seen = self._reader.stamp(log_id)
        state, found = self._read_for_claim(log_id)
        mine = claims.take(self.layout, log_id, host, ttl_ms, found.epoch)
        try:
            if self._reader.stamp(log_id) != seen:
                state, found = self._read_for_claim(log_id)
            require_writable(log_id, found.batches, found.holes)
            self._reader.require_any(log_id, found)
        except BaseException as error:
            claims.give_back(mine, AT_ONCE if isinstance(error, LogVersionError) else mine.wake_at)
            raise
        mine.renew_s = renewal_s(ttl_ms, renew_ms)
        _begin_at(mine, found)
        self._measure_snapshot(mine, found)
        self._keep(log_id, state, found)
        keeper().add(mine)
        return mine

    def _read_for_claim(self, log_id: str) -> tuple[State | None, Scan]:
        """What has to be read before a log may be written: all of it, or what stands behind a good snapshot."""
        return self._load_snapshot(log_id) or (None, self._reader.scan(log_id))

    def _keep(self, log_id: str, state: State | None, found: Scan) -> None:
        """Keeps what a claim has read for its owner, who reads it next."""
        self._reader.keep(log_id, found)
        if state is not None:
            self._snapshots[log_id] = state

    def _drop(self, log_id: str) -> None:
        """Lets go of what was kept: the log changes, or is no longer ours."""
        self._reader.drop(log_id)
        self._snapshots.pop(log_id, None)

    def _measure_snapshot(self, claim: FileClaim, found: Scan) -> None:
        claim.bytes_since_snapshot = found.size - found.start.offset
        if found.start != START:
            claim.snapshot_size = snapshots.size(claim.folder)
        elif found.batches and has_base(found.batches[0]):
            claim.snapshot_size = found.ends[0]
            claim.bytes_since_snapshot -= found.ends[0]

    async def release(self, claim: Claim, wake_at: str | None = None) -> None:
        mine = own(claim, FileClaim)
        if mine.released:
            return
        keeper().remove(mine)
        self._drop(mine.log_id)
        try:
            append.close_log(mine)
            if wake_at is not None:
                self._note_wake(mine, wake_at)
        finally:
            claims.give_back(mine, wake_at)

    def _note_wake(self, claim: FileClaim, wake_at: str) -> None:
        """Puts the wake where lists see it, if the head there is the newest."""
        stored = heads.load(claim.folder)
        if stored is not None and claim.failure is None:
            try:
                heads.save(claim, stored.head, wake_at)
            except OSError:
                return  # the owner file says it too

    async def owner(self, log_id: str) -> Owner | None:
        self.layout.check()
        return claims.owner_now(self.layout, log_id, time.time_ns())

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        self.layout.make()
        try:
            heartbeats.beat(self.layout, host_id, ttl_ms)
        except OSError as error:
            raise storage_error(self.layout.hosts, error) from error

    async def lives(self, host_id: str) -> bool:
        try:
            return heartbeats.lives(self.layout, host_id, time.time_ns())
        except OSError as error:
            raise storage_error(self.layout.hosts, error) from error

    # Index

    async def heads(self) -> Heads:
        return heads.list_all(self.layout)

    async def head(self, log_id: str) -> Head | None:
        self.layout.check()
        return heads.one(self.layout, log_id)

    async def save_head(self, claim: Claim, head: Head) -> None:
        try:
            heads.save(own(claim, FileClaim), head)
        except OSError:
            return  # a cache: lists read the log without it

    async def post(self, log_id: str, post: Post) -> None:
        for _ in range(_TRIES):
            folder = self.layout.make_session(log_id)
            try:
                return inbox.put(folder, post, partial(claims.ring_owner, folder))
            except FileNotFoundError:
                continue  # the folder was removed under us: deleted, or given back unused
            except OSError as error:
                raise storage_error(folder, error) from error
        raise StorageError(f"{self.layout.folder(log_id)}: it was removed each time a post was left there")

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        self.layout.check()
        folder = self.layout.folder(log_id)
        self._inbox_seen[log_id] = inbox.changed_at(folder)
        try:
            return inbox.waiting(folder)
        except OSError as error:
            raise storage_error(folder, error) from error

    async def posted(self) -> frozenset[str]:
        names = [name for name in self.layout.names() if inbox.names(f"{self.layout.sessions}/{name}/{INBOX}")]
        return frozenset(log_id for log_id in map(id_of, names) if log_id is not None)

    async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
        await self._lookout.wait(log_id, timeout_ms)
        return True

    def _left(self, log_ids: Collection[str]) -> list[str]:
        """The logs for which something was left; most have no inbox at all."""
        return [log_id for log_id in log_ids if inbox.is_used(self.layout.folder(log_id))]

    async def discard(self, log_id: str, post_ids: Sequence[str]) -> None:
        folder = self.layout.folder(log_id)
        try:
            inbox.discard(folder, post_ids)
        except OSError as error:
            raise storage_error(folder, error) from error

    async def follow(self, log_id: str) -> None:
        inbox.touch_follow(self.layout.folder(log_id))

    async def followed(self, log_id: str) -> bool:
        return inbox.followed(self.layout.folder(log_id))


def _begin_at(claim: FileClaim, found: Scan) -> None:
    claim.place = claim.before = found.place
    claim.synced = min(max(found.synced, claim.synced), found.head)  # a log put back from a copy may end earlier
