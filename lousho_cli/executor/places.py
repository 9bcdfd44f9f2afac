"""Where a run is kept: which log to drive for the stores a caller passed."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.given_stores import approval_store_of, checkpoint_store_of
from lousho_cli.executor.plain_store import PlainStore
from lousho_cli.ports.checkpoints import ApprovalStore, CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore


class Place(msgspec.Struct, frozen=True):
    """The log store to drive and what stands beside it.

    named: the id a snapshot may name; None for a run nobody can find again.
    native: the approval store is a view of this very log store.
    shared: other processes may leave posts here.
    """

    store: LogStore
    session_id: str
    named: str | None
    approvals: ApprovalStore | None
    native: bool
    shared: bool


def place_of(session_id: str | None, checkpoints: CheckpointStore | None, approvals: ApprovalStore | None, clock: Clock) -> Place:
    """The place for a run.

    Raises:
        ConfigurationError: an empty session id; what was passed is no such store.
    """
    checkpoints, approvals = checkpoint_store_of(checkpoints), approval_store_of(approvals)
    if session_id == "":
        raise ConfigurationError("the session id is empty", field="session_id", code="LOUSHO_SESSION_ID_INVALID")
    log_store = log_store_of(checkpoints)
    if log_store is not None and session_id is not None:
        native = log_store_of(approvals) is log_store
        return Place(log_store, session_id, session_id, approvals, native, shared=True)
    plain = PlainStore(checkpoints if session_id else None, clock)
    return Place(plain, session_id or clock.new_id(), session_id, approvals, native=False, shared=False)


def log_store_of(view: Any) -> LogStore | None:
    """The log store behind a view, None for anybody else's store."""
    return getattr(view, "log_store", None)
