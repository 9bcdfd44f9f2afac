"""``worker``: takes up the work that nobody drives, a few sessions at a time, until it is told to stop.

It knows nothing but the store: what is pending is asked anew each time, longest untouched first, so that any number of
workers share one store. What it could not go on with is named once and tried again later.
"""

from __future__ import annotations

import asyncio
import time
from typing import Literal, Protocol

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import AgentChoice, require_places
from lousho_cli.app.notify import notify
from lousho_cli.app.own_agents import OwnAgents
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.app.run_ends import TOOL_STOPPED, done_of_session, item_of_session
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.wiring import current_folder, open_store
from lousho_cli.core.pending import has_work
from lousho_cli.domain.heads import Head
from lousho_cli.errors import AbortedError, OwnershipLostError, PropagatingToolError, SDKError, StorageError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.observing import TurnEnd
from lousho_cli.ports.log_store import LogStore

CONCURRENCY = 4

RETRY_S = 30.0
"""When a session is tried again that could not be gone on with."""

LOOK_EVERY_S, LOOK_AT_MOST_S, SHARE = 0.1, 5.0, 10
"""How often the store is asked what is pending: so seldom that asking takes at most one part in ``SHARE`` of the time."""


class WorkOrder(msgspec.Struct, frozen=True):
    """What a worker is to do. once: only what is pending now, then end."""

    concurrency: int = CONCURRENCY
    once: bool = False
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()


class Worked(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that happened to a session on a worker.

    taken: this worker drives it now. settled: an input came to its end, completed or aborted; failed: it failed. waits: for a
    person. left: it could not be gone on with, and is tried again later. given-back: it is driven here no more; ``pending``
    says that it has work left.
    """

    type: Literal["taken", "settled", "failed", "waits", "left", "given-back"]
    at: str
    session: str
    agent: str
    input_id: str | None = None
    done: RunDone | None = None
    waits: PendingItem | None = None
    error: RunFailure | None = None
    pending: bool = False


class Standing(msgspec.Struct):
    """What a worker has to show for itself: sessions it drives, those it found and has not begun, inputs that ended, and their cost."""

    running: int = 0
    queued: int = 0
    done: int = 0
    failed: int = 0
    waiting: int = 0
    cost_usd: float | None = 0.0


class View(Protocol):
    """Who is shown what a worker does."""

    def say(self, what: Worked) -> None:
        """Something happened to a session."""

    def stand(self, standing: Standing) -> None:
        """How the worker stands now."""

    def warn(self, text: str) -> None:
        """Something the person should know."""

    def tell(self, text: str) -> None:
        """A sentence about what is happening."""


async def work(order: WorkOrder, view: View) -> tuple[Caught, bool]:
    """Works until a signal comes, or once; then what runs is given back for others to go on with.

    Returns:
        the signal, and whether there was work and none of it could be gone on with.

    Raises:
        StorageError, NotAStoreError: the store can not be read to begin with.
    """
    require_places(order.choice, current_folder())
    store = open_store(order.choice.store, create=True)
    assert store is not None, "a store that may be created is always there"
    controller = AbortController()
    worker = Worker(store, order, view)
    with watching(controller, view.tell, drains=True) as caught:
        await worker.work(controller.signal)
    return caught, worker.stuck


class Worker:
    """One worker over one store."""

    def __init__(self, store: LogStore, order: WorkOrder, view: View) -> None:
        self._store, self._order, self._view = store, order, view
        self._agents = OwnAgents(store, order.flags, order.choice, self._turn_ended)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._driven: dict[str, AgentFile] = {}
        self._begun: set[str] = set()
        self._later: dict[str, float] = {}
        self._named: dict[str, str] = {}
        self._standing = Standing()

    @property
    def stuck(self) -> bool:
        """Whether there was work, and none of it could be gone on with."""
        return bool(self._named) and not self._standing.done + self._standing.waiting

    async def work(self, stop: AbortSignal) -> None:
        """Works until ``stop`` fires, or once."""
        leaving = asyncio.ensure_future(stop.wait())
        try:
            found, pause = await self._found()
            while not stop.aborted:
                self._begin(found)
                if self._order.once and not self._running and not found:
                    return
                full = len(self._running) >= self._order.concurrency  # then nothing is looked for: nothing could begin
                watched = {leaving, *self._running.values()}
                await asyncio.wait(watched, timeout=None if full else pause, return_when=asyncio.FIRST_COMPLETED)
                if not self._order.once and not stop.aborted:
                    found, pause = await self._looked_again()
        finally:
            leaving.cancel()
            await self._agents.close()
            await asyncio.gather(*self._running.values())

    # What is pending

    async def _looked_again(self) -> tuple[list[Head], float | None]:
        try:
            return await self._found()
        except StorageError as error:
            self._view.warn(f"the store can not be read now: {error}")
            return [], LOOK_AT_MOST_S

    async def _found(self) -> tuple[list[Head], float | None]:
        """What may begin, longest untouched first, and how long to wait before looking again."""
        began = time.monotonic()
        found = [head async for head in self._agents.pending() if self._may_begin(head.id, began)]
        cost = time.monotonic() - began
        return found, None if self._order.once else min(max(LOOK_EVERY_S, cost * SHARE), LOOK_AT_MOST_S)

    def _may_begin(self, session_id: str, now: float) -> bool:
        return session_id not in self._running and self._later.get(session_id, 0.0) <= now

    def _begin(self, found: list[Head]) -> None:
        while found and len(self._running) < self._order.concurrency:
            head = found.pop(0)
            self._running[head.id] = asyncio.ensure_future(self._drive(head))
        self._standing.running, self._standing.queued = len(self._running), len(found)
        self._view.stand(self._standing)

    # One session

    async def _drive(self, head: Head) -> None:
        try:
            async with self._agents.agent_of(head) as agent:
                self._driven[head.id] = agent.file
                if await self._agents.drive(head, agent, lambda: self._take(head.id)):
                    await self._given_back(head)
                elif await self._store.owner(head.id) is None:  # nobody was quicker: it can not be taken, and a warning said why
                    self._later[head.id] = time.monotonic() + RETRY_S
        except AbortedError:
            return  # told to stop before it began
        except Exception as error:  # noqa: BLE001 - an agent's code may raise anything, and the other sessions are none of its business
            self._leave(head.id, head.agent, error)
        finally:
            self._begun.discard(head.id)
            self._driven.pop(head.id, None)
            self._running.pop(head.id, None)

    def _take(self, session_id: str, agent: str | None = None) -> None:
        if session_id not in self._begun:
            self._begun.add(session_id)
            self._tell("taken", session_id, agent=agent)

    async def _given_back(self, head: Head) -> None:
        now = await self._store.head(head.id)
        self._tell("given-back", head.id, pending=now is not None and has_work(now, SYSTEM_CLOCK.now()))

    def _turn_ended(self, end: TurnEnd) -> None:
        session, name = end.session, end.thread_id
        self._take(name, session.agent)
        if isinstance(end.failure, _LOST) or (end.failure is not None and session.outcome is None):
            self._leave(name, session.agent, end.failure)
            return
        done = done_of_session(name, session, end.failure)
        kind: Literal["settled", "failed", "waits"] = "settled"
        if session.outcome is None and not session.awaiting:
            return  # stopped, for others to go on with
        waits = item_of_session(name, session) if session.awaiting else None
        if waits is not None:
            kind = "waits"
        elif done.outcome == "failed":
            kind = "failed"
        self._count(kind, done)
        self._named.pop(name, None)
        self._tell(kind, name, agent=session.agent, input_id=session.run.input_id, done=done, waits=waits, error=done.error)
        self._notify(name, waits, done)

    def _count(self, kind: str, done: RunDone) -> None:
        standing = self._standing
        if kind == "waits":
            standing.waiting += 1
            return
        standing.done += 1
        standing.failed += kind == "failed"
        cost = done.usage.all.cost_usd if done.usage.all.model_calls else 0.0
        standing.cost_usd = None if standing.cost_usd is None or cost is None else standing.cost_usd + cost

    def _notify(self, session_id: str, waits: PendingItem | None, done: RunDone) -> None:
        file = self._driven.get(session_id)
        if file is None or not file.notify or (waits is None and done.error is None):
            return
        failed = {"session": session_id, "kind": "failed", "error": msgspec.to_builtins(done.error)}
        for warning in notify(file.notify, msgspec.to_builtins(waits) if waits is not None else failed, file.folder):
            self._view.warn(warning)

    def _leave(self, session_id: str, agent: str, error: Exception) -> None:
        """Names what could not be gone on with, once, and tries it again later."""
        self._later[session_id] = time.monotonic() + RETRY_S
        failure = _failure(error)
        if self._named.get(session_id) != failure.message:
            self._named[session_id] = failure.message
            self._tell("left", session_id, agent=agent, error=failure)

    def _tell(self, kind: str, session_id: str, *, agent: str | None = None, **said: object) -> None:
        file = self._driven.get(session_id)
        name = agent if agent is not None else (file.name if file is not None else "")
        self._view.say(Worked(type=kind, at=SYSTEM_CLOCK.now(), session=session_id, agent=name, **said))  # type: ignore[arg-type]


_LOST = (OwnershipLostError, StorageError)
"""What a session is left with whose log could not be written to the end: what it says is not known here."""


def _failure(error: Exception) -> RunFailure:
    if isinstance(error, SDKError):
        message = f"{error.detail.rstrip('.')}. {error.hint}" if error.hint else error.detail
        return RunFailure(message=message, code=error.code)
    if isinstance(error, PropagatingToolError):
        return RunFailure(message=str(error) or "a tool stopped the run", code=TOOL_STOPPED)
    return RunFailure(message=f"an unexpected {type(error).__name__}: {error}".rstrip(": "), code="LOUSHO_UNEXPECTED")
