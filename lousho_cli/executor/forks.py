"""Forking over any store that keeps a history."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.core.addresses import Address, checkpoint_not_found, find_mark, point_of, trimmed_away
from lousho_cli.core.checkpoints import checkpoint_of, state_of_checkpoint
from lousho_cli.core.fork import LeftBehind, Patch, fork_state, forked_children, left_behind, patch_from, patched
from lousho_cli.core.rings import state_of_ring
from lousho_cli.core.states import session_from
from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from
from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.errors import ConfigurationError, SessionBusyError
from lousho_cli.executor.given_stores import checkpoint_store_of
from lousho_cli.executor.histories import get_checkpoint_history
from lousho_cli.executor.places import log_store_of
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


class ForkResult(msgspec.Struct, frozen=True):
    """The new session, the step it begins at and its checkpoint. ``left_behind``: what the change does not reach."""

    session_id: str
    step: int
    checkpoint: Checkpoint
    left_behind: LeftBehind | None = None


async def fork_session(
    session_id: str, from_step: int | str, store: Any, patch: Mapping[str, Any] | Patch | None, new_id: str | None, clock: Clock
) -> ForkResult:
    """See ``AgentExecutor.fork``."""
    change, store = patch_from(patch), checkpoint_store_of(store)
    log_store = log_store_of(store)
    if log_store is not None:
        return await _fork_log(log_store, session_id, from_step, change, new_id, clock)
    return await _fork_plain(store, session_id, from_step, change, new_id)


async def _fork_log(store: LogStore, session_id: str, from_step: int | str, change: Patch, new_id: str | None, clock: Clock) -> ForkResult:
    source, mark = await _cut(store, session_id, _address(session_id, from_step))
    state = fork_state(source, mark, change)
    log = await _free_log(store, session_id, new_id, clock)
    try:
        born = r.Forked(session_id, mark.seq, mark.step, state, change.parts)
        kept = r.Mark(mark.step, "in-progress", mark.finish_reason)
        await log.record(born, kept)
        checkpoint = checkpoint_of(log.id, log.session)
    finally:
        await log.close()
    assert checkpoint is not None, "a mark was just recorded"
    return ForkResult(log.id, mark.step, checkpoint, left_behind(mark, change))


async def fork_preview(session_id: str, from_step: int | str, store: Any, patch: Mapping[str, Any] | Patch | None = None) -> Session:
    """The session that a fork would begin as. Writes nothing; raises like ``AgentExecutor.fork``."""
    log_store = log_store_of(store)
    if log_store is None:
        _, kept = await _plain_cut(store, _address(session_id, from_step))
        return session_from(state_of_checkpoint(_forked(kept, patch_from(patch), session_id)))
    source, mark = await _cut(log_store, session_id, _address(session_id, from_step))
    return session_from(fork_state(source, mark, patch_from(patch)))


def _address(session_id: str, from_step: int | str) -> Address:
    text = str(from_step)
    return point_of(session_id, text if text.startswith(("#", "@")) else f"@{text}")


async def _cut(store: LogStore, session_id: str, address: Address) -> tuple[Session, Marked]:
    """The session as it was at an address, and the mark there; ``#seq`` cuts anywhere."""
    session = await read_session(store, session_id)
    if address.seq is None:
        return session, find_mark(session_id, session, address)
    if not 0 < address.seq <= session.seq:
        raise checkpoint_not_found(session_id, session, f"no record #{address.seq}")
    early = await read_session(store, session_id, up_to=address.seq)
    if not early.seq:
        raise trimmed_away(session_id, session, address.seq)
    if not early.exists:
        raise checkpoint_not_found(session_id, session, f"nothing to fork from at #{address.seq}")
    return early, mark_here(early)


def mark_here(session: Session) -> Marked:
    """The session as it stands, as if a mark were here, but with every result that was recorded: a cut is no mark."""
    run, step, n = session.last_mark
    early = session.turn.results.values() if session.turn else ()
    return Marked(
        seq=session.seq,
        at=session.updated_at,
        step=session.step,
        n=n + 1 if (run, step) == (session.run.number, session.step) else 1,
        status="in-progress",
        finish_reason=session.finish_reason,
        approval_id=None,
        approval_kind=None,
        run=session.run,
        messages=Shared((*session.messages, *early)) if early else session.messages,
        held=session.held,
        turns=session.turns,
        usage=session.usage,
        step_usage=session.step_usage,
        business_state=session.business_state,
        decisions={},
        children=session.children,
    )


async def _free_log(store: LogStore, session_id: str, new_id: str | None, clock: Clock) -> SessionLog:
    """Claims a log that nothing was ever written to."""
    number = 1
    while True:
        candidate = new_id or f"{session_id}.fork-{number}"
        log = await _claim_free(store, candidate, clock) if candidate != session_id else None
        if log is not None:
            return log
        if new_id is not None:
            raise _taken(new_id)
        number += 1


async def _claim_free(store: LogStore, candidate: str, clock: Clock) -> SessionLog | None:
    """The claimed log, None when something was written to it or somebody else just begins to."""
    if (await store.read(candidate)).head:
        return None
    try:
        log = await SessionLog.open(store, candidate, socket.gethostname(), clock)
    except SessionBusyError:
        return None
    if log.session.seq:
        await log.close()
        return None
    return log


def _taken(new_id: str) -> ConfigurationError:
    return ConfigurationError(
        f"session {new_id} exists already", field="new_session_id", code="LOUSHO_SESSION_EXISTS", hint="Choose another id."
    )


async def _fork_plain(store: Any, session_id: str, from_step: int | str, change: Patch, new_id: str | None) -> ForkResult:
    mark, kept = await _plain_cut(store, _address(session_id, from_step))
    target = await _free_id(store, session_id, new_id)
    checkpoint = _forked(kept, change, target)
    await store.save(target, checkpoint)
    return ForkResult(target, mark.step, checkpoint, left_behind(mark, change))


async def _plain_cut(store: Any, address: Address) -> tuple[Marked, Checkpoint]:
    """The mark that an address means, and the checkpoint that was kept there, whole."""
    session_id = address.session
    entries = await get_checkpoint_history(store, session_id)
    if entries is None:
        raise ConfigurationError("this store keeps no history, so there is nothing to fork from", field="checkpoint_store")
    kept = [entry.checkpoint for entry in reversed(entries)]
    latest = await store.load(session_id)
    session = session_from(state_of_ring(entries[::-1], checkpoint_from(latest) if latest is not None else None))
    if address.seq is not None:
        raise checkpoint_not_found(session_id, session, f"no record #{address.seq}: its store keeps no log")
    mark = find_mark(session_id, session, address)
    return mark, kept[next(i for i, one in enumerate(session.marks) if one is mark)]


def _forked(kept: Checkpoint, change: Patch, session_id: str) -> Checkpoint:
    changed = patched(kept, change)
    return msgspec.structs.replace(
        changed,
        session_id=session_id,
        status="in-progress",
        approval_id=None,
        approval_kind=None,
        decisions={},
        started=(),
        children=forked_children(changed.children),
    )


async def _free_id(store: Any, session_id: str, new_id: str | None) -> str:
    if new_id is not None:
        if new_id == session_id or await store.load(new_id) is not None:
            raise _taken(new_id)
        return new_id
    number = 1
    while await store.load(f"{session_id}.fork-{number}") is not None:
        number += 1
    return f"{session_id}.fork-{number}"
