"""``trim``: the log of a session becomes one line with its whole state."""

from __future__ import annotations

import msgspec

from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.sessions import find_session
from lousho_cli.errors import SessionBusyError
from lousho_cli.executor.trimming import TrimResult, trim_session
from lousho_cli.ports.log_store import LogStore


class Trimmed(msgspec.Struct, frozen=True):
    """What was trimmed, or would be: ``trimmed`` is False for a dry run, and where there was nothing to do.

    bytes_before, bytes_after: the length of its records. batches: how many there were, which are one then.
    checkpoints: how many are kept, which is all there were.
    """

    session: str
    trimmed: bool
    bytes_before: int
    bytes_after: int
    batches: int
    checkpoints: int

    @property
    def needless(self) -> bool:
        """Whether the log is one batch already."""
        return self.batches < 2


async def plan_trim(store: LogStore | None, name: str, *, force: bool = False) -> tuple[LogStore, Trimmed]:
    """What ``trim`` would do; writes nothing.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: no session, or not one, is meant.
        SessionAwaitingApprovalError: it waits for a person and ``force`` is not given.
        SessionBusyError: somebody drives it.
        DamagedLogError, LogVersionError, StorageError: its log can or may not be written.
    """
    store, session_id = await find_session(store, name)
    require_writable(await load(store, session_id))
    owner = await store.owner(session_id)
    if owner is not None:
        raise SessionBusyError(session_id, owner.describe(), hint=f"Stop it first: lousho abort {session_id}")
    return store, _told(await trim_session(session_id, store, force=force, dry_run=True))


async def trim(store: LogStore, plan: Trimmed, *, force: bool = False) -> Trimmed:
    """Does what ``plan_trim`` said. Raises like it."""
    return _told(await trim_session(plan.session, store, force=force))


def _told(found: TrimResult) -> Trimmed:
    return Trimmed(**{name: getattr(found, name) for name in Trimmed.__struct_fields__})
