"""``PostgresStore``: the log store in a PostgreSQL database. Each method is a few lines over the modules beside it."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

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
from lousho_cli.errors import LogVersionError, OwnershipLostError, StorageError
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, Claim, Heads, LogRead, Owner
from lousho_cli.stores.forked import open_stores
from lousho_cli.stores.lease import Terms, own
from lousho_cli.stores.machine import steady
from lousho_cli.stores.postgres import appending, claims, deleting, heads, logs, pending, posts, schema, snapshots
from lousho_cli.stores.postgres.address import read_address
from lousho_cli.stores.postgres.appending import Append
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.parts import Parts
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim
from lousho_cli.stores.row_scan import Kept, Scan
from lousho_cli.stores.viewed import Prunable, Viewed

if TYPE_CHECKING:
    from lousho_cli.stores.postgres.credentials import PostgresCredentials


class PostgresStore(Viewed, Prunable):
    """Logs in a PostgreSQL database. Its tables are made at the first write.

    Nothing is asked of the server before the first call. One object serves any event loops, and callers without one.

    Args:
        url: ``postgresql://USER@HOST/DATABASE``, with several hosts too. In its query ``schema`` names where the tables stand
            (``lousho``), ``listen`` is the address of the server itself where ``url`` leads to a pooler, ``prepare=1`` has
            statements prepared, ``connections`` is how many there are at most (6); all else is the driver's, such as ``sslmode``.
        history_limit: how many marks the ring of a session keeps.

    Raises:
        RangeError: the limit is no whole number from 0.
        ConfigurationError: the address is not valid.
    """

    def __init__(self, url: str, history_limit: int = DEFAULT_HISTORY_LIMIT) -> None:
        self.history_limit = check_history_limit(history_limit)
        self.address = read_address(url)
        self._begin()
        open_stores().add(self)

    def _begin(self) -> None:
        self._parts = Parts(self.address)
        self.database, self._lookout, self._keeper = self._parts.database, self._parts.lookout, self._parts.keeper
        self._closing = weakref.finalize(self, self._parts.close)
        self._kept: dict[str, tuple[Kept, weakref.ref[PostgresClaim]]] = {}
        self._inbox_seen: dict[str, int] = {}
        self._pending = pending.Pending(self.database, self._parts.presence)

    def begin_anew(self) -> None:
        """In a forked child: leaves what is open to the parent."""
        self._closing.detach()
        self._parts.leave_in_child()
        self._begin()

    def close(self) -> None:
        """Closes the connections. Whoever uses the store behind that gets a StorageError."""
        if self._closing.detach() is not None:
            self._pending.give_back()
            self._parts.close()

    def describe(self) -> str:
        """The server's version, and that of our tables there; asks it, on this thread.

        Raises:
            StorageError: it can not be reached, or its tables are not as this version makes them.
            LogVersionError: a newer version made its tables into what this one does not know.
        """
        return self.database.now(schema.describe, writes=False)

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.shown!r})"

    # Views

    @property
    def credentials(self) -> PostgresCredentials:
        """A credential store in the same schema."""
        from lousho_cli.stores.postgres.credentials import PostgresCredentials

        return PostgresCredentials(self)

    # Log

    async def append(self, claim: Claim, batches: Sequence[Batch], *, durable: bool = True) -> None:
        mine = own(claim, PostgresClaim)
        mine.require()
        if not batches:
            return
        if not mine.is_followed_by(batches):
            await self._require_not_lost(mine)
            raise mine.not_next(batches)
        lines = logs.lines_of(batches)
        before, size = mine.head, sum(len(text) for _, text in lines)
        self._kept.pop(mine.log_id, None)
        mine.head += len(lines)
        mine.bytes_since_snapshot += size
        if not durable:
            mine.tail += lines
        await self._parts.writer.run(Append(mine, before, lines, durable), size)
        self._lookout.grown(mine.log_id, mine.head)

    async def flush(self, claim: Claim) -> None:
        mine = own(claim, PostgresClaim)
        mine.require()
        if mine.synced >= mine.head:
            await self.database.run(partial(claims.require_owner, claim=mine))
            return
        await self._parts.writer.run(Append(mine, mine.head, [], durable=True))

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        check_session_id(log_id)
        kept = await self._still_kept(log_id)
        self._kept.pop(log_id, None)
        if kept is not None and kept.after <= after:
            found = kept.found
        else:
            found = await self.database.read(partial(logs.scan, log_id=log_id, after=after), Scan())
        return found.behind(after)

    async def _still_kept(self, log_id: str) -> Kept | None:
        """What a claim has read of a log, where that is all there is: nobody else writes it while it is ours for certain."""
        if log_id not in self._kept:
            return None
        kept, by = self._kept[log_id]
        claim = by()
        if claim is not None and not claim.overdue:
            return kept
        return kept if kept.ends_at(*await self.database.read(partial(logs.end_of, log_id=log_id), (0, 0))) else None

    async def watch(self, log_id: str, after: int, timeout_ms: int) -> bool:
        if check_session_id(log_id) not in self._inbox_seen:
            head, newest = await self.database.read(partial(_end_and_post, log_id), (0, 0))
            self._inbox_seen.setdefault(log_id, newest)
            if head != after:
                return True
        found = await self._lookout.growth(log_id, after, self._inbox_seen.get(log_id, 0), timeout_ms)
        if found is None:
            return False
        # Told once: who never looks into the inbox would else be woken for ever.
        self._inbox_seen[log_id] = max(self._inbox_seen.get(log_id, 0), found)
        return True

    async def save_snapshot(self, claim: Claim, state: State) -> None:
        mine = own(claim, PostgresClaim)
        data = encode_value(state)
        try:
            if await self.database.run(partial(snapshots.save, held=mine.held, seq=state.seq, data=data)):
                mine.measured(len(data))
        except StorageError:
            return  # a cache: the records are there without it

    async def load_snapshot(self, log_id: str) -> State | None:
        kept = await self._still_kept(check_session_id(log_id))
        if kept is not None:
            return kept.state
        loaded = await self.database.read(partial(snapshots.load, log_id=log_id), None)
        return loaded[0] if loaded else None

    async def trim(self, claim: Claim, base: Batch) -> None:
        mine = own(claim, PostgresClaim)
        mine.require()
        try:
            require_base(mine.log_id, base, mine.head, mine.epoch)
        except StorageError:
            await self._require_not_lost(mine)
            raise
        self._kept.pop(mine.log_id, None)
        await self.database.run(partial(appending.trim, claim=mine, base=base, head=mine.head))
        mine.head = base.seq
        mine.on_disk(base.seq)
        mine.measured(len(logs.lines_of((base,))[0][1]))
        self._lookout.grown(mine.log_id, base.seq)
        await self._tidied(partial(deleting.drop_before, no=mine.held.no, seq=base.seq))

    async def delete(self, log_id: str) -> bool:
        check_session_id(log_id)
        self._kept.pop(log_id, None)
        if not await self.database.read(partial(_is_known, log_id), nothing=False):
            return False
        there = await self.database.run(deleting.Deleting(self._parts.presence, log_id))
        await self._tidied(deleting.sweep)
        return there

    async def _tidied(self, operation: partial[None] | object) -> None:
        """Removes what nobody reads any more. What stays for an error goes the next time."""
        try:
            await self.database.run(operation)  # type: ignore[arg-type]
        except StorageError:
            return

    # Claims

    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> PostgresClaim:
        mine = await self.take(log_id, host, ttl_ms, renew_ms)
        try:
            kept = await self.database.run(partial(_read_for_claim, log_id))
            require_writable(log_id, kept.found.batches, kept.found.holes)
        except BaseException as error:
            wake_at = AT_ONCE if isinstance(error, LogVersionError) else None
            await self._release(mine, wake_at, keep_wake=True)
            raise
        mine.bytes_since_snapshot = kept.found.size - kept.found.base
        mine.snapshot_size = 0
        self._kept[log_id] = kept, weakref.ref(mine)
        return mine

    async def take(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> PostgresClaim:
        """Claims a log whatever it holds; only who repairs it may. Raises like ``claim``."""
        check_ttl(ttl_ms)
        terms = Terms(check_session_id(log_id), host, ttl_ms, renew_ms, steady())
        taking = claims.Taking(self._parts.presence, log_id, host, ttl_ms)
        return await self.database.aside(partial(self._taken, taking, terms))

    def _taken(self, taking: claims.Taking, terms: Terms) -> PostgresClaim:
        try:
            return self.database.now(partial(self._take, taking, terms))
        except StorageError:
            if taking.asked:  # the server may have done it, and nobody heard
                self._keeper.free_later(partial(taking.give_up, channel=self._parts.channel))
            raise

    def _take(self, taking: claims.Taking, terms: Terms, hand: Hand) -> PostgresClaim:
        self._keeper.begin()
        self._keeper.free_here(hand)
        taken = taking(hand)
        mine = PostgresClaim(terms, taken.held, self._keeper.forget)
        mine.head, mine.synced = taken.head, taken.synced
        for other in self._keeper.held():
            if other.held == mine.held:  # a standby that was behind knew nothing of it: what it wrote now would stand in this log
                other.lost = other.released = True
        self._keeper.add(mine)
        return mine

    async def release(self, claim: Claim, wake_at: str | None = None) -> None:
        mine = own(claim, PostgresClaim)
        if mine.tail and not mine.released:
            with suppress(StorageError, OwnershipLostError):
                await self.flush(mine)  # the server may have lost it; behind this nobody would know
        await self._release(mine, wake_at)

    async def _release(self, mine: PostgresClaim, wake_at: str | None, *, keep_wake: bool = False) -> None:
        if mine.released:
            return
        self._keeper.remove(mine)
        self._kept.pop(mine.log_id, None)
        self._inbox_seen.pop(mine.log_id, None)
        due_ms = None if wake_at is None else heads.ms_of(wake_at)
        synced = mine.head if mine.failure is None else 0
        give = partial(claims.give_back, held=mine.held, channel=self._parts.channel, wake_at=wake_at, due_ms=due_ms)
        free = partial(give, synced=synced, keep_wake=keep_wake)
        try:
            await self.database.run(free)
        except BaseException:  # also for who was cancelled: no thread may have come to it
            self._keeper.free_later(free)
            raise
        finally:
            mine.released = True

    async def owner(self, log_id: str) -> Owner | None:
        presence = self._parts.presence
        return await self.database.read(partial(claims.living_owner, presence=presence, log_id=check_session_id(log_id)), None)

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        await self.database.run(partial(claims.beat, host_id=host_id, ttl_ms=ttl_ms))

    async def lives(self, host_id: str) -> bool:
        return await self.database.read(partial(claims.lives, host_id=host_id), nothing=False)

    # Index

    async def heads(self) -> Heads:
        return await self.database.read(heads.list_all, Heads())

    async def head(self, log_id: str) -> Head | None:
        return await self.database.read(partial(heads.one, log_id=check_session_id(log_id)), None)

    async def save_head(self, claim: Claim, head: Head) -> None:
        mine = own(claim, PostgresClaim)
        if head.seq != mine.head or not head.seq:
            return
        try:
            await self.database.run(partial(heads.save, held=mine.held, head=head))
        except StorageError:
            return  # a cache: lists read the log without it

    async def pending(self, limit: int, now: str, without: Collection[str] = (), strange: Collection[str] = ()) -> tuple[Head, ...]:
        if limit <= 0:
            return ()
        self._lookout.looked_at_all()
        return await self._pending.some(self, limit, now, without, strange)

    async def wait_for_work(self, timeout_ms: int) -> bool:
        ends = steady() + timeout_ms / 1000
        while await self._lookout.anything(max(round((ends - steady()) * 1000), 0)):
            if self._pending.is_drawn():
                return True
            self._lookout.looked_at_all()
        return False

    async def post(self, log_id: str, post: Post) -> None:
        check_session_id(log_id)
        await self.database.run(partial(posts.put, log_id=log_id, post=post, channel=self._parts.channel))
        self._lookout.tell(log_id)

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        self._lookout.looked(check_session_id(log_id))
        nothing: tuple[int, tuple[Post, ...]] = (0, ())
        self._inbox_seen[log_id], found = await self.database.read(partial(posts.waiting, log_id=log_id), nothing)
        return found

    async def posted(self) -> frozenset[str]:
        return await self.database.read(posts.posted, frozenset())

    async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
        return await self._lookout.post(check_session_id(log_id), timeout_ms)

    async def discard(self, log_id: str, post_ids: Sequence[str]) -> None:
        if post_ids:
            await self.database.read(partial(posts.discard, log_id=check_session_id(log_id), post_ids=post_ids), None)

    async def follow(self, log_id: str) -> None:
        check_session_id(log_id)
        try:
            await self.database.read(partial(posts.follow, log_id=log_id), None)
        except StorageError:
            return  # who may not write is not counted

    async def followed(self, log_id: str) -> bool:
        return await self.database.read(partial(posts.followed, log_id=check_session_id(log_id)), nothing=False)

    async def _require_not_lost(self, mine: PostgresClaim) -> None:
        """Says that the log is another's where what was given does not fit it: the caller may go by what that one wrote."""
        if not await self.database.run(partial(claims.is_owner, held=mine.held)):
            raise mine.lose()


def _read_for_claim(log_id: str, hand: Hand) -> Kept:
    """What has to be read before a log may be written: all of it, or what stands behind a good snapshot."""
    loaded = snapshots.load(hand, log_id)
    after = loaded[0].seq if loaded else 0
    return Kept(loaded[0] if loaded else None, after, logs.scan(hand, log_id, after))


def _end_and_post(log_id: str, hand: Hand) -> tuple[int, int]:
    rows = hand.rows("SELECT head, (SELECT max(n) FROM {s}.posts WHERE posts.no = logs.no) FROM {s}.logs WHERE id = %s", (log_id,))
    return (rows[0][0], rows[0][1] or 0) if rows else (0, 0)


def _is_known(log_id: str, hand: Hand) -> bool:
    return bool(hand.rows("SELECT 1 FROM {s}.logs WHERE id = %s", (log_id,)))
