"""Removes what is old from a log store, through its port alone: sessions, checkpoints of rings, decided approvals.

Nothing that waits for a person goes unless that is forced, nor anything that is driven, damaged or of a
newer version. What was touched since the cutoff stays, but for the checkpoints and decisions behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.session_ids import keeps_only_a_pause
from lousho_cli.core.trimming import base_batch, old_marks, trimmed_state
from lousho_cli.core.versions import require_readable
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head
from lousho_cli.domain.session import Session
from lousho_cli.domain.times import later
from lousho_cli.errors import ConfigurationError, DamagedLogError, SessionBusyError
from lousho_cli.ports.log_store import LogStore

_HOST = "prune"
_DAMAGED = "damaged: see lousho fsck"


class Pruned(msgspec.Struct, frozen=True):
    """What was removed, or would be.

    sessions: the ids of those removed. waiting: those as old that were kept, because a person must decide.
    skipped: those left alone, each with the reason in words. checkpoints, approvals: how many marks and decided
    approvals went, those of removed sessions included.
    """

    sessions: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    checkpoints: int = 0
    approvals: int = 0


def check_age(older_than_ms: float) -> float:
    """An age in milliseconds, when it is a number from 0.

    Raises:
        ConfigurationError: it is not; field ``older_than_ms``.
    """
    number = isinstance(older_than_ms, (int, float)) and not isinstance(older_than_ms, bool)
    if not number or not math.isfinite(older_than_ms) or older_than_ms < 0:
        raise ConfigurationError(f"older_than_ms must be a number from 0, not {older_than_ms!r}", field="older_than_ms")
    return older_than_ms


async def prune(store: LogStore, older_than_ms: float, *, now: str, force: bool = False, dry_run: bool = False) -> Pruned:
    """Removes sessions not touched for so long, and of the others the marks and decisions that are older.

    Args:
        older_than_ms: the age in milliseconds.
        now: the time the age counts back from, UTC, ISO 8601.
        force: remove also what waits for a person.
        dry_run: only say what would be removed.

    Raises:
        ConfigurationError: the age is no number from 0.
        StorageError: the store can not be read or written.
    """
    try:
        cutoff = later(now, -round(check_age(older_than_ms)))
    except OverflowError:
        return Pruned()  # before the first year there is nothing
    pruning = _Pruning(store, cutoff, force, dry_run)
    found = await store.heads()
    pruning.skipped += [(log_id, _DAMAGED) for log_id, _ in found.damaged]
    for head in sorted(found.heads, key=lambda head: head.id):
        try:
            await pruning.one(head)
        except SessionBusyError as error:
            pruning.skipped.append((head.id, f"driven by {error.owner}"))
        except DamagedLogError:
            pruning.skipped.append((head.id, _DAMAGED))
    return pruning.result()


class _Pruning:
    """One prune under way."""

    def __init__(self, store: LogStore, cutoff: str, force: bool, dry_run: bool) -> None:
        self.store, self.cutoff, self.force, self.dry_run = store, cutoff, force, dry_run
        self.sessions: list[str] = []
        self.waiting: list[str] = []
        self.skipped: list[tuple[str, str]] = []
        self.checkpoints = 0
        self.approvals = 0

    def result(self) -> Pruned:
        return Pruned(tuple(self.sessions), tuple(self.waiting), tuple(self.skipped), self.checkpoints, self.approvals)

    async def one(self, head: Head) -> None:
        """Prunes one log.

        Raises:
            SessionBusyError: somebody drives it.
            DamagedLogError: not all of it can be read.
        """
        old = await self._untouched(head)
        waits = bool(head.waits)
        if head.format > r.FORMAT or head.unknown:
            self.skipped.append((head.id, "written by a newer version"))
        elif waits and not (old and self.force):
            self.waiting += [head.id] * old
        elif old:
            await self._remove(head)
        elif head.created_at < self.cutoff:
            await self._shorten(head)

    async def _untouched(self, head: Head) -> bool:
        """Whether nothing was written to a log since the cutoff, nor left for its owner."""
        return head.updated_at < self.cutoff and all(post.at < self.cutoff for post in await self.store.inbox(head.id))

    async def _remove(self, head: Head) -> None:
        owner = await self.store.owner(head.id)
        if owner is not None:
            raise SessionBusyError(head.id, owner.describe())
        session = fold(await self._whole(head.id))
        if session.seq != head.seq:
            return  # it was touched just now
        if not self.dry_run:
            await self.store.delete(head.id)
        self.checkpoints += len(session.marks)
        self.approvals += len(session.decided)
        if not keeps_only_a_pause(head):
            self.sessions.append(head.id)

    async def _shorten(self, head: Head) -> None:
        """Takes old marks and old decisions out of a log that stays."""
        session, marks, decided = await self._old_in(head.id)
        if not marks and not decided:
            return
        if not self.dry_run:
            claim = await self.store.claim(head.id, _HOST)
            try:
                session, marks, decided = await self._old_in(head.id)
                kept = {wait: answer for wait, answer in session.decided.items() if wait not in decided}
                state = trimmed_state(msgspec.structs.replace(session, decided=kept), self.cutoff)
                base = base_batch(state, claim.epoch, claim.host)
                await self.store.trim(claim, base)
                await self.store.save_head(claim, head_of(fold((base,))))
            finally:
                await self.store.release(claim, head.wake_at)
        self.checkpoints += marks
        self.approvals += len(decided)

    async def _old_in(self, log_id: str) -> tuple[Session, int, set[str]]:
        """A session, how many of its marks are old, and which decisions."""
        batches = await self._whole(log_id)
        session = fold(batches)
        before = fold([batch for batch in batches if batch.at < self.cutoff])
        return session, old_marks(session, self.cutoff), set(before.decided) & set(session.decided)

    async def _whole(self, log_id: str) -> Sequence[r.Batch]:
        """A log as it stands. Its head may be older than the damage, so it says nothing of it."""
        read = await self.store.read(log_id)
        if read.holes:
            raise DamagedLogError(f"session {log_id} is damaged: {read.holes[0].detail}")
        require_readable(log_id, read.batches)
        return read.batches
