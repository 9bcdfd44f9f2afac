"""``abort``: stop a run from outside. Its owner settles it; where there is none, it is settled here."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from lousho_cli.app.driving import Tell, require_writable
from lousho_cli.app.loading import load
from lousho_cli.app.people import login_name
from lousho_cli.app.results import Outcome, Status
from lousho_cli.app.sessions import find_session
from lousho_cli.app.wiring import checkpoints_of, open_store
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import Session
from lousho_cli.errors import OwnershipLostError, SessionBusyError
from lousho_cli.executor.aborts import abort_session
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.ports.log_store import DEFAULT_TTL_MS, LogStore
from lousho_cli.ports.sessions import read_session

SILENT_AFTER_S = 5.0
"""An owner that has not taken a post up for so long is silent; a living one looks every 20 ms."""

TOLD_AFTER_S = 1.0
"""After so long a wait for a silent owner's lease is explained."""

_WATCH_MS = 100


class Aborted(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How a session stands after an abort.

    by: who settled it, None when there was nothing to abort. taken_from: the silent owner it was taken over from, in words.
    """

    session: str
    status: Status
    outcome: Outcome | None = None
    by: Literal["owner", "us"] | None = None
    taken_from: str | None = None


async def abort(store_flag: str | None, name: str, tell: Tell, *, now: bool = False) -> Aborted:
    """Aborts the run of a session and comes back when the log says so.

    Args:
        name: an id, or the beginning of one.
        tell: gets a sentence for the person while it waits.
        now: take over from an owner that stays silent for its lease.

    Raises:
        NotFoundError, AmbiguousError: there is no such session, or several.
        SessionBusyError: its owner does not answer, and ``now`` was not said; the wish is left for it.
        StorageError: it can not be written.
    """
    store, session_id = await find_session(open_store(store_flag, create=False), name)
    loaded = await load(store, session_id)
    require_writable(loaded)
    if not _runs(loaded.session):
        return _aborted(session_id, loaded.session, None)
    silent: str | None = None
    while True:
        try:
            done = _aborted(session_id, await abort_session(session_id, checkpoints_of(store), by=login_name()), "us")
            return msgspec.structs.replace(done, taken_from=silent)
        except OwnershipLostError:
            raise
        except SessionBusyError as busy:
            silent = busy.owner
            settled = await _ask_owner(store, session_id, busy, tell, now=now)
            if settled is not None:
                return _aborted(session_id, settled, "owner")


async def _ask_owner(store: LogStore, session_id: str, busy: SessionBusyError, tell: Tell, *, now: bool) -> Session | None:
    """Leaves the wish and waits until the run has ended; None when nobody drives the session any more."""
    post = Post(id=SYSTEM_CLOCK.new_id(), kind="abort", at=SYSTEM_CLOCK.now(), by=login_name())
    await store.post(session_id, post)
    asked, told = time.monotonic(), False
    while True:
        driven = await store.owner(session_id) is not None
        session = await read_session(store, session_id)
        if not _runs(session):
            await store.discard(session_id, [post.id])
            return session
        if not driven:
            return None
        taken = session.abort_asked or all(one.id != post.id for one in await store.inbox(session_id))
        if now and not taken and not told and time.monotonic() - asked > TOLD_AFTER_S:
            told = True
            tell(f"{busy.owner} does not answer; waiting for its lease to end, {DEFAULT_TTL_MS // 1000} s at most")
        if not taken and not now and time.monotonic() - asked > SILENT_AFTER_S:
            raise SessionBusyError(
                session_id,
                busy.owner,
                hint=f"It was asked to stop and does not answer. Take over once its lease is up: lousho abort {session_id} --now",
            )
        await store.watch(session_id, session.seq, _WATCH_MS)


def _runs(session: Session) -> bool:
    return session.exists and not session.ended and session.outcome is None


def _aborted(session_id: str, session: Session, by: Literal["owner", "us"] | None) -> Aborted:
    return Aborted(session=session_id, status=session.status, outcome=session.outcome, by=by)
