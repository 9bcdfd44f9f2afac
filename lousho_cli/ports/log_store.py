"""Where logs live: an append-only list of batches per session, with one owner at a time.

Three small protocols, implemented by one object:

    Log      append, flush, read, watch, snapshots, trim, delete
    Claims   who may append: claim, release, owner
    Index    lists without reading transcripts, what is pending, and posts for an owner elsewhere

The promise everything stands on: **a batch counts only if its writer owned the log when it
landed**. An append by an owner that was replaced raises ``OwnershipLostError`` and no reader
ever counts it; an append that returned with ``durable=True`` is there after ``kill -9`` and
after power loss.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from lousho_cli.domain.heads import Head, Post
from lousho_cli.domain.records import Batch
from lousho_cli.domain.state import State

DEFAULT_TTL_MS = 30_000
"""How long an owner that stopped renewing keeps a log, where nothing proves it dead earlier."""


LOOK_EVERY_MS = 20
"""How often an owner's inbox is looked into for what nobody told of."""


FOLLOW_MS = 10_000
"""How long a follower counts after it last said so."""


class Hole(msgspec.Struct, frozen=True):
    """Damage in the middle of a log: ``first`` to ``last`` are the missing seqs, ``detail`` says where."""

    first: int
    last: int
    detail: str


class LogRead(msgspec.Struct, frozen=True):
    """What a read found.

    batches: the valid ones behind ``after``, ascending. Void and torn lines are left out.
    head: the last valid seq of the whole log, 0 for none.
    epoch: the highest epoch seen in the log, 0 for none.
    holes: damage, empty in a sound log.
    synced: all up to this seq is known to be durable; None where all that can be read is. What is behind it
        stands there, and a killed process does not take it away; whether a power cut would is not known.
    """

    batches: tuple[Batch, ...] = ()
    head: int = 0
    epoch: int = 0
    holes: tuple[Hole, ...] = ()
    synced: int | None = None


class Claim(Protocol):
    """The right to append to one log. Valid until released, lost or expired."""

    @property
    def log_id(self) -> str: ...

    @property
    def epoch(self) -> int:
        """Larger than that of any earlier claim under which something was written to this log, for ever."""

    @property
    def host(self) -> str: ...

    @property
    def overdue(self) -> bool:
        """Whether this owner could not renew in time and must start no new effect."""

    @property
    def bytes_since_snapshot(self) -> int:
        """How much of the log no snapshot has, in bytes; a trim counts as one."""

    @property
    def snapshot_size(self) -> int:
        """The bytes of the last snapshot, or trim, that this owner knows of; 0 for none."""


class Owner(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who drives a log now: host, process id, since when (ISO 8601), under which epoch."""

    host: str
    pid: int
    since: str
    epoch: int

    def describe(self) -> str:
        return f"{self.host}, pid {self.pid}, since {self.since}"


class Log(Protocol):
    async def append(self, claim: Claim, batches: Sequence[Batch], *, durable: bool = True) -> None:
        """Writes batches in order, each all or nothing.

        The caller numbers them: the first follows the log's head, and under a new epoch its
        first record is ``Claimed``. With ``durable=False`` they survive a killed process but
        perhaps not a power cut, until the next durable append or ``flush``.

        Calls of ``append`` and ``flush`` on one claim may overlap: their lines stand in the order in which the
        calls were begun, and each returns once what it wrote is as durable as asked. Where one can not be
        written or synced, neither can any begun after it. A call that is cancelled may still have written its lines.

        Raises:
            OwnershipLostError: another owner has the log; nothing of this counts.
            StorageError: it could not be written; the writer is dead until a new claim.
            DamagedLogError, LogVersionError: the log may not be written to.
        """

    async def flush(self, claim: Claim) -> None:
        """Makes durable what was appended without. Raises like ``append``."""

    async def read(self, log_id: str, after: int = 0) -> LogRead:
        """What stands behind ``after``. An unknown log reads as empty. Never writes, never repairs.

        Raises:
            StorageError: it can not be read.
        """

    async def watch(self, log_id: str, after: int, timeout_ms: int) -> bool:
        """Waits until the log may end elsewhere than at ``after``, as it grew or was deleted, or the time is up; True for the former.

        May wake early.
        """

    async def save_snapshot(self, claim: Claim, state: State) -> None:
        """Caches the fold at ``state.seq``, replacing the one before. A failure is not an error."""

    async def load_snapshot(self, log_id: str) -> State | None:
        """The newest usable snapshot that is not past the log's end, or None. A bad one reads as none."""

    async def trim(self, claim: Claim, base: Batch) -> None:
        """Makes ``base`` the only batch of the log: what stood before it is gone, and so are its snapshot and cached head.

        No append or flush of this claim may be under way. Whoever reads meanwhile, and a crash at any point, finds the
        old log or the new one. Durable on return. It counts as a snapshot for the claim, and a log that
        begins with a base is measured from behind it when it is claimed. ``core.trimming`` makes and checks the batch.

        Args:
            base: holds a ``Base`` with the fold of the log up to here (its ring may be shorter), behind ``Claimed`` where
                it is the first of its epoch. Its seq is the log's head where nothing new happened, so that who has read
                the whole log has nothing to read; or the one behind, where further records stand in the batch.

        Raises:
            OwnershipLostError: another owner has the log, which is as that owner left it.
            StorageError: there is no log, ``base`` fits none, or it could not be written; the log is as it was.
        """

    async def delete(self, log_id: str) -> bool:
        """Removes the log with all its caches and posts; False when there was none. An owner of it can write no more,
        whatever begins under the same id later.

        Raises:
            SessionBusyError: somebody drives it.
        """


class Claims(Protocol):
    async def claim(self, log_id: str, host: str, ttl_ms: int = DEFAULT_TTL_MS, renew_ms: int | None = None) -> Claim:
        """Takes the log: at once when nobody owns it or its owner is proven dead, else when its time is up.

        Writes nothing to the log itself. The claim is renewed by the store until released, each ``renew_ms``
        (a third of ``ttl_ms`` where that is None), by one timer for all claims of this process.

        Raises:
            SessionBusyError: another owner lives. ``owner`` says who and since when.
            DamagedLogError, LogVersionError, StorageError: it may or can not be written to. A wake that was set stays; a log
                that a newer version wrote is left with one that is due, so that a host of that version takes it.
        """

    async def release(self, claim: Claim, wake_at: str | None = None) -> None:
        """Gives the log back, so that another may claim it at once. Safe to call twice, and on a lost claim."""

    async def owner(self, log_id: str) -> Owner | None:
        """Who drives the log now; None when nobody does."""

    async def heartbeat(self, host_id: str, ttl_ms: int) -> None:
        """Says that the host of this stable id lives, for ``ttl_ms`` from now on."""

    async def lives(self, host_id: str) -> bool:
        """Whether a host said within its time that it lives."""


class Index(Protocol):
    async def heads(self) -> Heads:
        """One head for each log, in no order, without reading transcripts. A damaged one is named, never fatal."""

    async def head(self, log_id: str) -> Head | None:
        """The head of one log, None when there is none."""

    async def save_head(self, claim: Claim, head: Head) -> None:
        """Caches the head at a moment of rest. A stale or lost one changes nothing but speed."""

    async def post(self, log_id: str, post: Post) -> None:
        """Leaves something for the owner, durable on return. The same id twice is once."""

    async def inbox(self, log_id: str) -> tuple[Post, ...]:
        """What was left, oldest first."""

    async def posted(self) -> frozenset[str]:
        """The logs for which something was left."""

    async def wait_for_post(self, log_id: str, timeout_ms: int) -> bool:
        """Waits until something may have been left for the owner, or the time is up. May wake early.

        What nobody tells of, as another process may not be able to, is looked for every ``LOOK_EVERY_MS``: once for all who wait.

        Returns:
            False where nothing was seen, so that looking into the inbox would only ask the same again.
        """

    async def discard(self, log_id: str, post_ids: Sequence[str]) -> None:
        """Removes posts, because the log has them."""

    async def pending(self, limit: int, now: str, without: Collection[str] = (), strange: Collection[str] = ()) -> tuple[Head, ...]:
        """The heads of sessions that have work and that nobody drives, for who is going to drive them: no more than ``limit``.

        The tenants and agents have their turns, also from one call to the next on the same object, so that none waits for all
        the work of another; of each the longest untouched comes first. A background agent is its lead's work. Where several
        who ask at once can be kept apart, what was given to one is given to no other for a moment; whoever takes nothing of what it
        was given has lost nothing. Giving is no claim: a session may be driven by another by the time it is claimed.

        Args:
            now: the time for wakes, UTC, as records have it.
            without: ids of sessions that the caller does not want now. strange: names of agents whose sessions it does not want.

        Raises:
            StorageError: the store can not be read.
        """

    async def wait_for_work(self, timeout_ms: int) -> bool:
        """Waits until a post or a wake is told of, also one that came since what is pending was last asked for; True for that.

        False when the time is up, or where nobody tells, as soon as looking again would not be too much. It may miss work: ask
        anyway now and then.
        """

    async def follow(self, log_id: str) -> None:
        """Says that somebody looks on, for the next 10 seconds. Who may not write is not counted; that is no error."""

    async def followed(self, log_id: str) -> bool:
        """Whether somebody looks on, so that parts of an answer are worth writing."""


class Heads(msgspec.Struct, frozen=True):
    """A list of logs: their heads, and those that could not be read, by id, with what is wrong."""

    heads: tuple[Head, ...] = ()
    damaged: tuple[tuple[str, str], ...] = ()


class LogStore(Log, Claims, Index, Protocol):
    """All three, and the two views that stand for plain stores (``ports.checkpoints``).

    ``history_limit`` is how many marks the ring of a session keeps: 50 when not given, 0 for none.
    """

    @property
    def history_limit(self) -> int: ...
