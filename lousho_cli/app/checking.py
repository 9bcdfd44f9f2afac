"""``fsck``: what is wrong with the logs of a store, and the repair of a hole."""

from __future__ import annotations

import msgspec

from lousho_cli.app.sessions import find_session
from lousho_cli.app.wiring import inspect_logs, repair_log
from lousho_cli.ports.log_store import LogStore

REPAIRABLE = "hole"


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing ``fsck`` found. ``serious`` ones make it exit 10; the others are left by an ordinary crash."""

    session: str
    kind: str
    detail: str
    serious: bool
    seq: int | None = None


class Checked(msgspec.Struct, frozen=True):
    """What a check found. ``repaired`` names each session that was written anew and the file its old log is kept in."""

    findings: tuple[Finding, ...] = ()
    repaired: tuple[tuple[str, str], ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing that was found is serious any more."""
        mended = {session for session, _ in self.repaired}
        return not any(one.serious and not (one.kind == REPAIRABLE and one.session in mended) for one in self.findings)


async def check(store: LogStore | None, name: str | None = None) -> Checked:
    """Looks through every log of a store, or one. Writes nothing.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: ``name`` is not one session.
        StorageError: the store itself can not be read.
    """
    session_id = None
    if name is not None:
        store, session_id = await find_session(store, name)
    if store is None:
        return Checked()
    found = await inspect_logs(store, session_id)
    return Checked(tuple(Finding(session=one.session, kind=one.kind, seq=one.seq, detail=one.detail, serious=one.serious) for one in found))


async def repair(store: LogStore, checked: Checked) -> Checked:
    """Repairs every session with a hole: a new log of what stands, the old one kept beside it.

    Raises:
        SessionBusyError: somebody drives one.
        StorageError: one can not be written.
    """
    kept = []
    for session_id in sorted({one.session for one in checked.findings if one.kind == REPAIRABLE}):
        path = await repair_log(store, session_id)
        if path is not None:
            kept.append((session_id, path))
    return msgspec.structs.replace(checked, repaired=tuple(kept))
