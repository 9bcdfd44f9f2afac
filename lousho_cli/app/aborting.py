"""``abort``: stop a run from outside, and what it has run in the background. Their owners settle them; who has none is settled here."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal

import msgspec

from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.people import login_name
from lousho_cli.app.results import Outcome, Status
from lousho_cli.app.sessions import find_session
from lousho_cli.app.wiring import checkpoints_of, open_store
from lousho_cli.core.background import LEAD_ABORTED, calling_off, running
from lousho_cli.core.settling import operation_of
from lousho_cli.domain.heads import Post
from lousho_cli.domain.session import Session
from lousho_cli.errors import InputRejectedError, OwnershipLostError, SessionBusyError
from lousho_cli.executor.aborts import abort_session, call_off_agents
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
    agents: the sessions of its background agents, and of theirs, that were stopped with it.
    next_input: an input that waits and was not stopped: it has its turn now, or once somebody takes it.
    """

    session: str
    status: Status
    outcome: Outcome | None = None
    by: Literal["owner", "us"] | None = None
    taken_from: str | None = None
    agents: tuple[str, ...] = ()
    next_input: str | None = None


async def abort(store_flag: str | None, name: str, tell: Callable[[str], None], *, now: bool = False) -> Aborted:
    """Aborts the run of a session and its background agents, and comes back when the logs say so.

    Args:
        name: an id, or the beginning of one.
        tell: gets a sentence for the person while it waits.
        now: take over from an owner that stays silent for its lease.

    Raises:
        NotFoundError, AmbiguousError: there is no such session, or several.
        SessionBusyError: an owner does not answer, and ``now`` was not said; the wish is left for it, and for those of its agents.
        StorageError: it can not be written.
    """
    store, session_id = await find_session(open_store(store_flag, create=False), name)
    loaded = await load(store, session_id)
    require_writable(loaded)
    wish = _Abort(store, tell, session_id, now=now)
    try:
        return await wish.whole(session_id)
    except SessionBusyError:
        await wish.leave(session_id)
        raise


class _Abort:
    """One wish to stop ``named`` and all that it has run."""

    def __init__(self, store: LogStore, tell: Callable[[str], None], named: str, *, now: bool) -> None:
        self._store, self._tell, self._named, self._now = store, tell, named, now
        self._patience_s = SILENT_AFTER_S
        self._silent: dict[str, str] = {}

    async def whole(self, session_id: str) -> Aborted:
        """Stops a session and its agents. They are called off before it is stopped: what they come to then begins no turn."""
        await self._call_off(session_id)
        done = await self._one(session_id)
        await self._call_off(session_id)  # those that it started meanwhile
        agents: list[str] = []
        for agent in await self._agents_of(session_id):
            below = await self.whole(agent)
            agents += [agent, *below.agents] if below.by is not None else below.agents
        return msgspec.structs.replace(done, agents=tuple(agents))

    async def leave(self, session_id: str) -> None:
        """Leaves the wish for every owner of a session and its agents that does not answer; stops what nobody drives."""
        self._patience_s = 0.0
        for stop in (self._call_off, self._one):
            with suppress(SessionBusyError):
                await stop(session_id)
        for agent in await self._agents_of(session_id):
            await self.leave(agent)

    async def _agents_of(self, session_id: str) -> list[str]:
        """The sessions of the agents that are to be stopped with a session, as far as they have begun."""
        agents = (await read_session(self._store, session_id)).agents.values()
        wanted = [agent.session for agent in agents if agent.outcome is None or agent.code == LEAD_ABORTED]
        return [agent for agent in wanted if await self._store.head(agent) is not None]

    async def _call_off(self, session_id: str) -> None:
        """Has the log of a session say that its agents have ended, so that nobody takes them up."""
        while running((session := await read_session(self._store, session_id)).agents.values()):
            try:
                await call_off_agents(self._store, session_id, by=login_name())
            except OwnershipLostError:
                raise
            except SessionBusyError as busy:
                posts = calling_off(session, SYSTEM_CLOCK.now(), login_name())
                left = frozenset(key for key, agent in session.agents.items() if agent.outcome is None)
                await self._ask_owner(session_id, busy, posts, partial(_have_ended, left))

    async def _one(self, session_id: str) -> Aborted:
        """Stops the run of a session, where one goes on."""
        session = await read_session(self._store, session_id)
        if not _runs(session):
            return msgspec.structs.replace(_aborted(session_id, session, None), next_input=next(iter(session.waiting), None))
        stopped = operation_of(session)
        while True:
            try:
                settled = await abort_session(session_id, checkpoints_of(self._store), by=login_name())
                return msgspec.structs.replace(_aborted(session_id, settled, "us"), taken_from=self._silent.get(session_id))
            except OwnershipLostError:
                raise
            except SessionBusyError as busy:
                posts = (await self._abort_post(session_id),)
                asked = await self._ask_owner(session_id, busy, posts, lambda now: not _runs(now) or operation_of(now) != stopped)
                if asked is not None:
                    return _aborted_before(session_id, asked, stopped)

    async def _abort_post(self, session_id: str) -> Post:
        """The wish that the run of a session is stopped: the one that waits there, or a new one."""
        waiting = [post for post in await self._store.inbox(session_id) if post.kind == "abort"]
        return waiting[0] if waiting else Post(id=SYSTEM_CLOCK.new_id(), kind="abort", at=SYSTEM_CLOCK.now(), by=login_name())

    async def _ask_owner(self, session_id: str, busy: SessionBusyError, posts: tuple[Post, ...], done: Done) -> Session | None:
        """Leaves what is wished and waits until it is done; None when nobody drives the session any more."""
        for post in posts:
            with suppress(InputRejectedError):  # somebody else wishes the same
                await self._store.post(session_id, post)
        ids = {post.id for post in posts}
        asked, told = time.monotonic(), False
        while True:
            driven = await self._store.owner(session_id) is not None
            session = await read_session(self._store, session_id)
            if done(session):
                await self._store.discard(session_id, list(ids))
                return session
            if not driven:
                self._silent[session_id] = busy.owner
                return None
            taken = session.abort_asked or all(one.id not in ids for one in await self._store.inbox(session_id))
            if self._now and not taken and not told and time.monotonic() - asked > TOLD_AFTER_S:
                told = True
                self._tell(f"{busy.owner} does not answer; waiting for its lease to end, {DEFAULT_TTL_MS // 1000} s at most")
            if not taken and not self._now and time.monotonic() - asked >= self._patience_s:
                hint = f"It was asked to stop and does not answer. Take over once its lease is up: lousho abort {self._named} --now"
                raise SessionBusyError(session_id, busy.owner, hint=hint)
            await self._store.watch(session_id, session.seq, _WATCH_MS)


Done = Callable[[Session], bool]
"""Whether a session has what was wished."""


def _have_ended(agents: frozenset[str], session: Session) -> bool:
    """Whether some agents have, by the log of their lead; it may have started others meanwhile."""
    return not running(agent for key, agent in session.agents.items() if key in agents)


def _runs(session: Session) -> bool:
    return session.exists and not session.ended and session.outcome is None


def _aborted(session_id: str, session: Session, by: Literal["owner", "us"] | None) -> Aborted:
    return Aborted(session=session_id, status=session.status, outcome=session.outcome, by=by)


def _aborted_before(session_id: str, session: Session, stopped: str) -> Aborted:
    """How it stands after its owner stopped it: by now it may be in the turn of an input that waited, or have ended that as well."""
    known = session.inputs.get(stopped)
    outcome = known.outcome if known is not None and known.outcome is not None else session.outcome
    behind = operation_of(session) if _runs(session) else None
    return Aborted(session=session_id, status=session.status, outcome=outcome, by="owner", next_input=behind)
