"""Trims a session: its log becomes one line with its whole state. Nothing of it runs, and it can go on as before."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.trimming import base_batch, old_marks, trimmed_state
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.heads import WaitsFor
from lousho_cli.domain.records import Batch
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError, NotFoundError, SessionAwaitingApprovalError
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.places import log_store_of
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore

if TYPE_CHECKING:
    from lousho_cli.executor.session_log import SessionLog


class TrimResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a trim did, or would do.

    trimmed: whether it was done; False too where the log is one batch already and no checkpoint is too old.
    bytes_before, bytes_after: the length of the log's records. batches: how many there were.
    checkpoints: how many the ring keeps; dropped: how many were too old.
    """

    session: str
    trimmed: bool
    bytes_before: int
    bytes_after: int
    batches: int
    checkpoints: int
    dropped: int


async def trim_session(
    session_id: str,
    store: Any,
    *,
    older_than: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    clock: Clock = SYSTEM_CLOCK,
) -> TrimResult:
    """Replaces the log of a session by its state. A session that did not end can go on as before.

    Args:
        store: a log store, or the checkpoint view of one.
        older_than: also drop the checkpoints made before this UTC time (ISO 8601), but never the newest.
        force: also one that waits for a person.
        dry_run: claim and write nothing, only say what would be done.

    Raises:
        NotFoundError: there is no such session.
        SessionAwaitingApprovalError: it waits for a person, and ``force`` is not given.
        SessionBusyError: somebody drives it.
        ConfigurationError: the store keeps no logs.
        DamagedLogError, LogVersionError, StorageError: its log can or may not be written.
    """
    log_store: LogStore | None = log_store_of(store) or (store if hasattr(store, "trim") else None)
    if log_store is None:
        raise ConfigurationError("only a session in a log store can be trimmed", field="store")
    head = await log_store.head(session_id)
    if head is None:
        raise NotFoundError(f"there is no session {session_id}", code="LOUSHO_SESSION_NOT_FOUND")
    _require_decided(session_id, head.waits_for, force=force)
    if dry_run:
        batches = (await log_store.read(session_id)).batches
        return _result(session_id, batches, fold(batches), older_than, trimmed=False)
    from lousho_cli.executor.session_log import SessionLog

    log = await SessionLog.open(log_store, session_id, socket.gethostname(), clock)
    try:
        _require_decided(session_id, head_of(log.session).waits_for, force=force)
        return await _trim(log, older_than)
    finally:
        await log.close(head.wake_at)


async def _trim(log: SessionLog, older_than: str | None) -> TrimResult:
    batches = (await log.store.read(log.id)).batches
    done = _result(log.id, batches, log.session, older_than, trimmed=True)
    if done.batches < 2 and not done.dropped:
        return msgspec.structs.replace(done, trimmed=False, bytes_after=done.bytes_before)
    base = base_batch(trimmed_state(log.session, older_than), log.claim.epoch, log.claim.host)
    await log.store.trim(log.claim, base)
    await log.store.save_head(log.claim, head_of(fold((base,))))
    return done


def _require_decided(session_id: str, waits: WaitsFor | None, *, force: bool) -> None:
    if waits is not None and not force:
        waiting = SessionAwaitingApprovalError(session_id, waits.id, waits.kind)
        waiting.hint = f"Decide it first: lousho approve {waits.id} (or reject, or answer), or trim it with --force."
        raise waiting


def _result(session_id: str, batches: Sequence[Batch], session: Session, older_than: str | None, *, trimmed: bool) -> TrimResult:
    dropped = old_marks(session, older_than) if older_than is not None else 0
    base = base_batch(trimmed_state(session, older_than), session.epoch, socket.gethostname())
    return TrimResult(
        session=session_id,
        trimmed=trimmed,
        bytes_before=sum(len(encode_line(batch)) for batch in batches),
        bytes_after=len(encode_line(base)),
        batches=len(batches),
        checkpoints=len(session.marks) - dropped,
        dropped=dropped,
    )
