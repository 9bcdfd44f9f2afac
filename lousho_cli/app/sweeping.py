"""``resume --all``: one sweep over what did not end and nobody drives, session by session, on a host of this process."""

from __future__ import annotations

import asyncio

import msgspec

from lousho_cli.app.cassettes import finish_tape
from lousho_cli.app.driving import FAILURES, Job, Ran, Running, Tell, following, ran_of, require_writable, waiting_item
from lousho_cli.app.harnesses import FileAgent
from lousho_cli.app.loading import load
from lousho_cli.app.own_agents import OwnAgents
from lousho_cli.app.resuming import Ahead, Failed, ResumeOrder, check_of, say_ahead_of, suffix_of, to_go_on
from lousho_cli.app.run_ends import done_of_session
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.wiring import checkpoints_of, open_store
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.heads import Head
from lousho_cli.errors import AbortedError, SDKError, SessionAwaitingApprovalError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.approvals import record_decision
from lousho_cli.executor.events import Listener
from lousho_cli.executor.results import result_of
from lousho_cli.host.observing import TurnEnd
from lousho_cli.ports.log_store import LogStore


async def resume_all(order: ResumeOrder, listener: Listener, tell: Tell, ahead: Ahead) -> list[Ran | Failed]:
    """Goes on with every session that did not end and nobody drives, oldest first; one that fails holds up no other.

    Those whose input settled as failed or aborted are left: they go on when they are named.
    """
    store = open_store(order.choice.store, create=False)
    return [] if store is None else await _Sweep(store, order, listener, tell, ahead).sweep()


class _Sweep:
    """One sweep: what a session comes to is what the last turn that was driven here says."""

    def __init__(self, store: LogStore, order: ResumeOrder, listener: Listener, tell: Tell, ahead: Ahead) -> None:
        self._store, self._order, self._tell, self._ahead = store, order, tell, ahead
        self._tools = Running(listener)
        self._agents = OwnAgents(store, order.flags, order.choice, self._turn_ended, self._tools)
        self._ends: dict[str, TurnEnd] = {}
        self._job: Job | None = None

    async def sweep(self) -> list[Ran | Failed]:
        """What became of each session that was gone on with, or could not be."""
        done: list[Ran | Failed] = []
        controller = AbortController()
        with watching(controller, self._tell, self._tools.names, self._goes_on) as caught:
            leaving = asyncio.ensure_future(self._leave(controller.signal))
            try:
                for head in await to_go_on(self._store):
                    if controller.signal.aborted:
                        break
                    if await self._store.owner(head.id) is None and (one := await self._resumed(head, caught)) is not None:
                        done.append(one)
            finally:
                leaving.cancel()
                await self._agents.close(recoverable=True)
        return done

    async def _leave(self, signal: AbortSignal) -> None:
        await signal.wait()
        await self._agents.close(recoverable=signal.recoverable)

    def _goes_on(self) -> str:
        return following(self._job, f"lousho resume {self._job.session_id}") if self._job is not None else ""

    def _turn_ended(self, end: TurnEnd) -> None:
        self._ends[end.thread_id] = end

    async def _resumed(self, head: Head, caught: Caught) -> Ran | Failed | None:
        """None where somebody else was quicker, or a signal was."""
        try:
            loaded = await load(self._store, head.id)
            require_writable(loaded)
            async with self._agents.agent_of(head) as agent:
                prepared = agent.prepared(loaded.session)
                for warning in prepared.warnings:
                    self._tell(warning)
                say_ahead_of(check_of(loaded, prepared), self._ahead)
                order = self._order
                job = self._job = Job(self._store, head.id, prepared, order.flags, self._tools, self._tell, suffix_of(order.choice))
                await self._drive(head, agent)
                return await self._came_back(job, caught)
        except AbortedError:
            return None
        except SDKError as error:
            return Failed(head.id, error)

    async def _drive(self, head: Head, agent: FileAgent) -> None:
        """Drives a session to its rest; where all calls are approved in advance, through each that waits for that."""
        flags, waits = self._order.flags, await waiting_item(self._store, head.id)
        if waits is not None and not (flags.yes and waits.kind == "tool"):
            raise SessionAwaitingApprovalError(head.id, waits.id, waits.kind)
        while True:
            if waits is not None:
                decision = ApprovalDecision(waits.id, approved=True, by=flags.by)
                await record_decision(decision, head.id, checkpoints_of(self._store))
            await self._agents.drive_named(head, agent)
            waits = await waiting_item(self._store, head.id)
            if waits is None or not (flags.yes and waits.kind == "tool"):
                return

    async def _came_back(self, job: Job, caught: Caught) -> Ran | Failed | None:
        end = self._ends.pop(job.session_id, None)
        if end is None:
            return None
        if end.failure is not None and not isinstance(end.failure, FAILURES):
            return Failed(job.session_id, end.failure)
        done = done_of_session(job.session_id, end.session, end.failure)
        if done.status == "finished":
            await finish_tape(job.prepared.tape, job.tell)
        ran = await ran_of(job, result_of(job.session_id, end.session), end.failure, caught)
        return msgspec.structs.replace(ran, done=done)
