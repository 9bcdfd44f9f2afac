"""``worker``: takes up the work that nobody drives, a few sessions at a time, until it is told to stop.

It knows nothing but the store: for what is pending it asks anew each time, for as many as it has room for, so that any number of
workers share one store. What it could not go on with is named once and tried again later.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Collection
from typing import Literal

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import AGENT_NOT_FOUND, require_places
from lousho_cli.app.asking import Asking
from lousho_cli.app.notify import notify
from lousho_cli.app.own_agents import OwnAgents
from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.app.run_ends import TOOL_STOPPED, done_of_session, item_of_session
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.wiring import close_store, current_folder, open_store
from lousho_cli.app.worked import Standing, Status, View, Worked, WorkOrder
from lousho_cli.core.pending import has_work, held_up
from lousho_cli.domain.heads import Head
from lousho_cli.domain.times import later
from lousho_cli.errors import AbortedError, ConfigurationError, OwnershipLostError, PropagatingToolError, SDKError, StorageError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.host.observing import TurnEnd
from lousho_cli.host.thread import RETRY_MS
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.undriven import any_to_look_after, undriven

RETRY_S = 30.0
"""When a session is tried again that could not be gone on with."""

_AGAIN_S = 2.0
"""When one is looked at again that another took before this worker could."""


async def work(order: WorkOrder, view: View) -> tuple[Caught, bool]:
    """Works until a signal comes, or once; then what runs is given back for others to go on with.

    Returns:
        the signal, and whether there was work and none of it could be gone on with.

    Raises:
        StorageError, NotAStoreError: the store can not be read to begin with; one that is away was waited for.
    """
    require_places(order.choice, current_folder())
    store = open_store(order.choice.store, create=True)
    assert store is not None, "a store that may be created is always there"
    controller = AbortController()
    worker = Worker(store, order, view)
    try:
        with watching(controller, view.tell, drains=True) as caught:
            await worker.work(controller.signal)
    finally:
        close_store(store)
    return caught, worker.stuck


class Worker:
    """One worker over one store."""

    def __init__(self, store: LogStore, order: WorkOrder, view: View) -> None:
        self._store, self._order, self._view = store, order, view
        self._agents = OwnAgents(store, order, self._turn_ended)
        self._asking = Asking(store, SYSTEM_CLOCK, lambda text: view.warn(text, again=True), order.wait_s)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._driven: dict[str, AgentFile] = {}
        self._begun: set[str] = set()
        self._later: dict[str, float] = {}
        self._strange: dict[str, float] = {}
        self._seen: set[str] = set()
        self._named: dict[str, str] = {}
        self._standing = Standing()

    @property
    def stuck(self) -> bool:
        """Whether there was work, and none of it could be gone on with."""
        return bool(self._named) and not self._standing.done + self._standing.waiting

    async def work(self, stop: AbortSignal) -> None:
        """Works until ``stop`` fires, or once."""
        reports = bool(self._order.status_every_s) and not self._order.once
        feeding = asyncio.ensure_future(self._take_what_is_pending() if self._order.once else self._feed())
        stopping = asyncio.ensure_future(stop.wait())
        reporting = [asyncio.ensure_future(self._report())] if reports else []
        try:
            await asyncio.wait({feeding, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if feeding.done():
                feeding.result()
        finally:
            for task in (feeding, stopping, *reporting):
                task.cancel()
            await self._agents.close()
            await asyncio.gather(*self._running.values())
            if reports:
                await self._say_status(ask=False)

    # What is pending

    async def _feed(self) -> None:
        """Keeps as many going as may be."""
        while True:
            room = self._order.concurrency - len(self._running)
            if not room:
                await self._one_less()
                continue
            if len(await self._begun_of(room, self._held_back(), self._strangers())) < room:
                await self._asking.more()

    async def _take_what_is_pending(self) -> None:
        """Each session once, until all have had their turn; then says which are held back."""
        while True:
            room = self._order.concurrency - len(self._running)
            if room and (found := await self._begun_of(room, self._seen)):
                self._seen.update(found)
                continue
            if not self._asking.answered:
                await self._asking.more()
                continue
            if not self._running:
                break
            await self._one_less()
        while held := await self._asking.held_back(later(SYSTEM_CLOCK.now(), RETRY_MS), self._seen):
            self._seen.update(head.id for head in held)
            for head in filter(held_up, held):
                self._leave(head.id, head.agent, RunFailure(message=head.error or ""))

    async def _one_less(self) -> None:
        await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)

    async def _begun_of(self, room: int, without: Collection[str], strange: Collection[str] = ()) -> list[str]:
        """Begins to drive what is pending, as far as there is room, and gives its ids."""
        found = await self._asking.some(room, without, strange)
        for head in found:
            self._running[head.id] = asyncio.ensure_future(self._drive(head))
        self._stand()
        return [head.id for head in found]

    def _held_back(self) -> list[str]:
        """Those that are not wanted now, as they are in hand, or to be tried again later."""
        self._later = _still(self._later)
        return [*self._running, *self._later]

    def _strangers(self) -> list[str]:
        """Agents that are not here, so that this worker is not given thousands of sessions that others are there for."""
        self._strange = _still(self._strange)
        return list(self._strange)

    def _stand(self) -> None:
        self._standing.running = len(self._begun)
        self._standing.queued = len(self._running.keys() - self._begun)
        self._view.stand(self._standing)

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(self._order.status_every_s)
            await self._say_status(ask=True)

    async def _say_status(self, *, ask: bool) -> None:
        if not self._asking.answered:  # it has not begun: the error alone is to come, if one does
            return
        self._stand()
        numbers = msgspec.structs.asdict(self._standing)
        times = await self._asking.times(ask=ask)
        self._view.report(Status(at=SYSTEM_CLOCK.now(), host=socket.gethostname(), pid=os.getpid(), store=times, **numbers))

    # One session

    async def _drive(self, head: Head) -> None:
        try:
            async with self._agents.agent_of(head) as agent:
                self._driven[head.id] = agent.file
                driven = await self._agents.drive(head, agent, lambda: self._take(head.id))
                if driven is not None:
                    await self._given_back(head, driven.head)
                else:
                    await self._not_taken(head)
        except AbortedError:
            return  # told to stop before it began
        except Exception as error:  # noqa: BLE001 - an agent's code may raise anything, and the other sessions are none of its business
            if head.path is None and isinstance(error, ConfigurationError) and error.code == AGENT_NOT_FOUND:
                self._strange[head.agent] = SYSTEM_CLOCK.monotonic() + RETRY_S  # it is found by its name, or not at all
            self._leave(head.id, head.agent, _failure(error))
        finally:
            self._begun.discard(head.id)
            self._driven.pop(head.id, None)
            self._running.pop(head.id, None)
            self._stand()

    def _take(self, session_id: str, agent: str | None = None) -> None:
        if session_id not in self._begun:
            self._begun.add(session_id)
            self._stand()
            self._tell("taken", session_id, agent=agent)

    async def _given_back(self, head: Head, left: Head | None) -> None:
        now, at = left or await self._store.head(head.id), SYSTEM_CLOCK.now()
        self._tell("given-back", head.id, pending=now is not None and has_work(now, at))
        if now is not None and now.seq == head.seq and await any_to_look_after(self._store, now, at):
            self._leave(head.id, head.agent, RunFailure(message="a background agent of it can not be gone on with here"))

    async def _not_taken(self, head: Head) -> None:
        """Somebody was quicker; or nobody was, and it can not be taken here: then a warning said why."""
        async for _ in undriven(self._store, SYSTEM_CLOCK.now(), [head.id]):
            self._leave(head.id, head.agent, RunFailure(message="it could not be taken up here"))
            return
        self._put_off(head.id, _AGAIN_S)

    def _turn_ended(self, end: TurnEnd) -> None:
        self._take(end.thread_id, end.session.agent)
        self._tell_end(end)
        if end.thread_id not in self._running:  # a background agent is its lead's work, and the end of its turn is all that is seen of it
            self._begun.discard(end.thread_id)
            self._stand()

    def _tell_end(self, end: TurnEnd) -> None:
        session, name = end.session, end.thread_id
        if isinstance(end.failure, _LOST) or (end.failure is not None and session.outcome is None):
            self._standing.claims_lost += isinstance(end.failure, OwnershipLostError)
            self._leave(name, session.agent, _failure(end.failure))
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

    def _put_off(self, session_id: str, seconds: float) -> None:
        self._later[session_id] = SYSTEM_CLOCK.monotonic() + seconds

    def _leave(self, session_id: str, agent: str, failure: RunFailure) -> None:
        """Names what could not be gone on with, once, and tries it again later."""
        self._put_off(session_id, RETRY_S)
        if self._named.get(session_id) != failure.message:
            self._named[session_id] = failure.message
            self._tell("left", session_id, agent=agent, error=failure)

    def _tell(self, kind: str, session_id: str, *, agent: str | None = None, **said: object) -> None:
        file = self._driven.get(session_id)
        name = agent if agent is not None else (file.name if file is not None else "")
        self._view.say(Worked(type=kind, at=SYSTEM_CLOCK.now(), session=session_id, agent=name, **said))  # type: ignore[arg-type]


_LOST = (OwnershipLostError, StorageError)
"""What a session is left with whose log could not be written to the end: what it says is not known here."""


def _still(until: dict[str, float]) -> dict[str, float]:
    """Those whose time is not over."""
    now = SYSTEM_CLOCK.monotonic()
    return {name: at for name, at in until.items() if at > now}


def _failure(error: Exception) -> RunFailure:
    if isinstance(error, SDKError):
        message = f"{error.detail.rstrip('.')}. {error.hint}" if error.hint else error.detail
        return RunFailure(message=message, code=error.code)
    if isinstance(error, PropagatingToolError):
        return RunFailure(message=str(error) or "a tool stopped the run", code=TOOL_STOPPED)
    return RunFailure(message=f"an unexpected {type(error).__name__}: {error}".rstrip(": "), code="LOUSHO_UNEXPECTED")
