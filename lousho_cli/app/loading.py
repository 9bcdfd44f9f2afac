"""Reading one session: its log folded, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.states import session_from
from lousho_cli.core.unwritable import import_cut, newer_version
from lousho_cli.core.versions import damaged_records
from lousho_cli.domain.records import FORMAT
from lousho_cli.domain.session import IMPORTING, Session
from lousho_cli.errors import DamagedLogError
from lousho_cli.ports.log_store import Hole
from lousho_cli.ports.sessions import Sessions


class Loaded(msgspec.Struct, frozen=True):
    """A session as its log stands. ``unreadable``: records that are passed over, by seq, and why."""

    id: str
    session: Session
    holes: tuple[Hole, ...] = ()
    unreadable: tuple[tuple[int, str], ...] = ()

    @property
    def newer(self) -> str:
        """What in it a newer version wrote, in words; '' for nothing."""
        return newer_than_this(self.id, self.session.format, self.session.unknown)

    @property
    def damage(self) -> tuple[str, ...]:
        """What is missing from it, or can not be read, in words."""
        missing = [f"batches {hole.first} to {hole.last} are missing: {hole.detail}" for hole in self.holes]
        return (*missing, *(f"record {seq} can not be read: {why}" for seq, why in self.unreadable))


def newer_than_this(session_id: str, format: int, unknown: Sequence[str]) -> str:
    """What a newer version wrote into a session, in words; '' for nothing."""
    if format > FORMAT:
        return f"session {session_id} was written by a newer version (format {format}); what this one knows is shown"
    if unknown:
        return f"session {session_id} holds records of a newer version: {', '.join(unknown)}"
    return ""


async def load(store: Sessions, session_id: str) -> Loaded:
    """A session, folded from its snapshot and the records behind it.

    Raises:
        DamagedLogError: its log holds nothing that can be read.
        StorageError: it can not be read.
    """
    state = await store.load_snapshot(session_id)
    base = session_from(state) if state is not None else None
    read = await store.read(session_id, base.seq if base is not None else 0)
    session = fold(read.batches, base)
    if session.seq == 0 and not read.holes:
        raise DamagedLogError(f"the log of session {session_id} holds no valid record", hint="See: lousho fsck")
    return Loaded(session_id, session, read.holes, tuple(damaged_records(read.batches)))


def require_writable(loaded: Loaded) -> None:
    """Refuses what must not be written to, before anything else is looked for.

    Raises:
        LogVersionError, DamagedLogError: as the store would, once it is claimed.
        ConfigurationError: not all of it was imported.
    """
    if loaded.newer:
        raise newer_version(loaded.id)
    if IMPORTING in loaded.session.settings:
        raise import_cut(loaded.id)
    if loaded.damage:
        raise DamagedLogError(
            f"session {loaded.id} is damaged: {loaded.damage[0]}",
            hint="See what stands with: lousho show, then repair it with: lousho fsck --repair",
        )
