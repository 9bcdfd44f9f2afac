"""``fsck``: what is wrong with the logs of a store, and the repair of a hole."""

from __future__ import annotations

import msgspec

from lousho_cli.app.loading import load
from lousho_cli.app.sessions import resolve
from lousho_cli.errors import ConfigurationError, NotFoundError, SDKError
from lousho_cli.ports.log_store import LogStore


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing ``fsck`` found. ``serious`` ones make it exit 10; the others are left by an ordinary crash."""

    session: str
    kind: str
    detail: str
    serious: bool
    seq: int | None = None


class Checked(msgspec.Struct, frozen=True):
    """What a check found. ``sessions`` were looked at; ``repaired`` were written anew, with the old log kept beside it."""

    sessions: int = 0
    findings: tuple[Finding, ...] = ()
    repaired: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return not any(finding.serious for finding in self.findings)


async def check(store: LogStore | None, name: str | None = None) -> Checked:
    """Looks through every log of a store, or one.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: ``name`` is not one session.
    """
    if store is None:
        return Checked()
    if name is not None:
        ids = [await resolve(store, name)]
    else:
        heads = await store.heads()
        ids = sorted({head.id for head in heads.heads} | {log_id for log_id, _ in heads.damaged})
    findings = [finding for log_id in ids for finding in await _check_one(store, log_id)]
    return Checked(len(ids), tuple(findings))


async def _check_one(store: LogStore, log_id: str) -> list[Finding]:
    """Voids are what a crash or a replaced owner leaves and cost nothing; holes and what can not be read are damage."""
    try:
        loaded = await load(store, log_id)
        voids = await _voids(store, log_id)
    except NotFoundError:
        return [Finding(session=log_id, kind="empty", detail="its log holds no valid record", serious=True)]
    except SDKError as error:
        return [Finding(session=log_id, kind="unreadable", detail=error.detail, serious=True)]
    found = [
        Finding(session=log_id, kind="hole", seq=hole.first, detail=f"batches {hole.first} to {hole.last}: {hole.detail}", serious=True)
        for hole in loaded.holes
    ]
    if loaded.newer:
        found.append(Finding(session=log_id, kind="newer-version", detail=loaded.newer, serious=False))
    return found + voids


async def _voids(store: LogStore, log_id: str) -> list[Finding]:
    look = getattr(store, "voids", None)
    if look is None:
        return []
    return [
        Finding(session=log_id, kind="void", seq=void.seq, detail=f"line at byte {void.offset}: {void.why}", serious=False)
        for void in await look(log_id)
    ]


async def repair(store: LogStore, checked: Checked) -> Checked:
    """Repairs every session with a hole: a new log of what stands, the old one kept.

    Raises:
        SessionBusyError: somebody drives one.
        StorageError: it can not be written.
    """
    mend = getattr(store, "repair", None)
    if mend is None:
        raise ConfigurationError("this store can not be repaired by lousho", field="store")
    broken = sorted({finding.session for finding in checked.findings if finding.serious})
    for log_id in broken:
        await mend(log_id)
    return msgspec.structs.replace(checked, repaired=tuple(broken))
