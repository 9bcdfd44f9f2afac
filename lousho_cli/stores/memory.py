"""The log store to read first: lists of lines in this process. It keeps nothing when the process ends.

It holds encoded lines, not objects, so what is read back is what any other store would give, and
nobody can change a log through a value they wrote or got.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import inf
from os import getpid
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT, check_history_limit
from lousho_cli.core.lease import check_ttl
from lousho_cli.core.posts import check_same_post
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.core.trimming import has_base, require_base
from lousho_cli.core.versions import require_known, require_readable
from lousho_cli.domain.codec import decode_line, decode_state, encode_line, encode_value
from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.records import Batch
from lousho_cli.domain.state import State
from lousho_cli.domain.times import AT_ONCE, stamp
from lousho_cli.errors import ConfigurationError, LogVersionError, OwnershipLostError, SessionBusyError, StorageError
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, FOLLOW_MS, LOOK_EVERY_MS, Claim, Heads, LogRead, Owner
from lousho_cli.stores.viewed import Viewed
from lousho_cli.stores.work import Looking, Work

if TYPE_CHECKING:
    import asyncio


class MemoryClaim:
    """The right to append to one log. Its owner lives as long as this process, so it never runs out."""

    def __init__(self, log_id: str, host: str, epoch: int) -> None:
        self.log_id = log_id
        self.host = host
        self.epoch = epoch
        self.bytes_since_snapshot = 0
        self.snapshot_size = 0

    @property
    def overdue(self) -> bool:
        return False


class _Log:
    """Everything about one session."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.trimmed = 0  # the last seq that a trim took away
        self.epoch = 0
        self.owner: Owner | None = None
        self.claim: MemoryClaim | None = None
        self.snapshot: bytes | None = None
        self.head: Head | None = None
        self.wake_at: str | None = None
        self.posts: dict[str, bytes] = {}
        self.followed_at = -inf
        self.watchers: list[asyncio.Future[None]] = []
        self.listeners: list[asyncio.Future[None]] = []

    def clear(self) -> None:
        """Forgets all but the epoch, which is never used again."""
        self.lines, self.trimmed, self.snapshot, self.head, self.wake_at = [], 0, None, None, None
        self.posts = {}

    @property
    def last(self) -> int:
        """The last seq, 0 for none."""
        return self.trimmed + len(self.lines)

    def batches(self, after: int = 0) -> list[Batch]:
        behind = self.lines[max(after - self.trimmed, 0) :]
        return [batch for line in behind if (batch := decode_line(line[:-1])) is not None]


class MemoryStore(Viewed, Looking):
    """Logs in memory; each object is a store of its own.

    Args:
        history_limit: how many marks the ring of a session keeps.
        any_id: take any session id that is not empty, as a store that somebody else made may.

    Raises:
        RangeError: the limit is no whole number from 0.
    """

    def __init__(self, history_limit: int = DEFAULT_HISTORY_LIMIT, *, any_id: bool = False) -> None:
        self.history_limit = check_history_limit(history_limit)
        self._any_id = any_id
        self._logs: dict[str, _Log] = {}
        self._hosts: dict[str, float] = {}
        self._work = Work()

    def _log(self, log_id: str) -> _Log:
        """The log, a new one where there is none."""
        return self._logs.setdefault(self._checked(log_id), _Log())

    def _look(self, log_id: str) -> _Log:
        """The log, an empty one that is not kept where there is none."""
        return self._logs.get(self._checked(log_id)) or _Log()

    def _checked(self, log_id: str) -> str:
        if not self._any_id:
            return check_session_id(log_id)
        if not log_id:
            raise ConfigurationError("a session id must not be empty", field="session_id", code="LOUSHO_SESSION_ID_INVALID")
        return log_id

    def _owned(self, claim: Claim) -> _Log:
        log = self._logs.get(claim.log_id) or self._log(claim.log_id)  # an id that was claimed was checked then
        if log.claim is not claim:
            raise OwnershipLostError(claim.log_id, log.owner.describe() if log.owner else "nobody")
        return log

    # Log

    async def append(self, claim: Claim, batches: Sequence[Batch], *, durable: bool = True) -> None:
        log = self._owned(claim)
        for expected, batch in enumerate(batches, log.last + 1):
            if batch.seq != expected or batch.epoch != claim.epoch:
                raise StorageError(
                    f"batch {batch.seq} of epoch {batch.epoch} does not follow the log of session {claim.log_id}, "
                    f"which is at {expected - 1} in epoch {claim.epoch}"
                )
        lines = [encode_line(batch) for batch in batches]
        log.lines += lines
        if log.claim is not None:
            log.claim.bytes_since_snapshot += sum(map(len, lines))
        _wake(log.watchers)

    async def flush(self, claim: Claim) -> None:
        self._owned(claim)

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        log = self._look(log_id)
        last = decode_line(log.lines[-1][:-1]) if log.lines else None
        return LogRead(tuple(log.batches(after)), log.last, last.epoch if last else 0)

    async def watch(self, log_id: str, after: int, timeout_ms: int) -> bool:
        log = self._log(log_id)
        return log.last != after or await _woken(log.watchers, timeout_ms)

    async def save_snapshot(self, claim: Claim, state: State) -> None:
        log = self._owned(claim)
        log.snapshot = encode_value(state)
        if log.claim is not None:
            log.claim.bytes_since_snapshot, log.claim.snapshot_size = 0, len(log.snapshot)

    async def load_snapshot(self, log_id: str) -> State | None:
        log = self._look(log_id)
        state = decode_state(log.snapshot) if log.snapshot else None
        return state if state is not None and state.seq <= log.last else None

    async def trim(self, claim: Claim, base: Batch) -> None:
        log = self._owned(claim)
        require_base(claim.log_id, base, log.last, claim.epoch)
        log.lines, log.trimmed, log.snapshot, log.head = [encode_line(base)], base.seq - 1, None, None
        if log.claim is not None:
            log.claim.bytes_since_snapshot, log.claim.snapshot_size = 0, len(log.lines[0])
        _wake(log.watchers)

    async def delete(self, log_id: str) -> bool:
        log = self._look(log_id)
        self._require_free(log_id, log)
        there = bool(log.lines or log.posts)
        log.clear()
        _wake(log.watchers)
        return there

    # Claims

    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> MemoryClaim:
        check_ttl(ttl_ms)
        log = self._log(log_id)
        self._require_free(log_id, log)
        batches = log.batches()
        try:
            require_known(log_id, batches)
        except LogVersionError:
            log.wake_at = AT_ONCE
            raise
        require_readable(log_id, batches)
        log.epoch += 1
        log.claim = MemoryClaim(log_id, host, log.epoch)
        base = len(log.lines[0]) if batches and has_base(batches[0]) else 0
        log.claim.bytes_since_snapshot, log.claim.snapshot_size = sum(map(len, log.lines)) - base, base
        log.owner = Owner(host, getpid(), stamp(datetime.now(UTC)), log.epoch)
        return log.claim

    def _require_free(self, log_id: str, log: _Log) -> None:
        if log.owner is not None:
            raise SessionBusyError(log_id, log.owner.describe())

    async def release(self, claim: Claim, wake_at: str | None = None) -> None:
        log = self._log(claim.log_id)
        if log.claim is claim:
            log.claim = log.owner = None
            log.wake_at = wake_at

    async def owner(self, log_id: str) -> Owner | None:
        return self._look(log_id).owner

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        self._hosts[host_id] = monotonic() + ttl_ms / 1000

    async def lives(self, host_id: str) -> bool:
        return monotonic() < self._hosts.get(host_id, -inf)

    # Index

    async def heads(self) -> Heads:
        found = [await self.head(log_id) for log_id in list(self._logs)]
        return Heads(tuple(head for head in found if head is not None))

    async def head(self, log_id: str) -> Head | None:
        log = self._look(log_id)
        if not log.lines:
            return None
        known = log.head or Head()
        head = advance_all(known, log.batches(known.seq)) or head_of(fold(log.batches()))
        return msgspec.structs.replace(head, id=log_id, wake_at=log.wake_at)

    async def save_head(self, claim: Claim, head: Head) -> None:
        self._owned(claim).head = head

    async def post(self, log_id: str, post: Post) -> None:
        log = self._log(log_id)
        known = log.posts.get(post.id)
        if known is None:
            log.posts[post.id] = encode_value(post)
            _wake(log.watchers)
            _wake(log.listeners)
        else:
            check_same_post(msgspec.json.decode(known, type=Post), post)

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        return tuple(msgspec.json.decode(raw, type=Post) for raw in self._look(log_id).posts.values())

    async def posted(self) -> frozenset[str]:
        return frozenset(log_id for log_id, log in self._logs.items() if log.posts)

    async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
        log = self._log(log_id)
        # What is there already and was left there, because it could not be taken yet, is told of again.
        await _woken(log.listeners, min(timeout_ms, LOOK_EVERY_MS) if log.posts else timeout_ms)
        return True

    async def discard(self, log_id: str, post_ids: Sequence[str]) -> None:
        for post_id in post_ids:
            self._look(log_id).posts.pop(post_id, None)

    async def follow(self, log_id: str) -> None:
        self._log(log_id).followed_at = monotonic()

    async def followed(self, log_id: str) -> bool:
        return monotonic() - self._look(log_id).followed_at < FOLLOW_MS / 1000


async def _woken(waiting: list[asyncio.Future[None]], timeout_ms: int) -> bool:
    """Waits among others to be woken; False once the time is up."""
    import asyncio

    changed = asyncio.get_running_loop().create_future()
    waiting.append(changed)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await changed
    except TimeoutError:
        return False
    finally:
        waiting.remove(changed)
    return True


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for watcher in waiting:
        watcher.get_loop().call_soon_threadsafe(_finish, watcher)


def _finish(watcher: asyncio.Future[None]) -> None:
    if not watcher.done():
        watcher.set_result(None)


def memory_store(history_limit: int = DEFAULT_HISTORY_LIMIT) -> MemoryStore:
    """A new empty store in memory."""
    return MemoryStore(history_limit)
