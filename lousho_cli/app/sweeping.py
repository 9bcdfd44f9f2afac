"""``resume --all``: one sweep over what did not end and nobody drives, session by session."""

from __future__ import annotations

from functools import partial

from lousho_cli.app.agents import find_agent
from lousho_cli.app.driving import Job, Ran, Running, Tell, drive_until, following, waiting_item
from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.preparing import preparing
from lousho_cli.app.resuming import Ahead, Failed, ResumeOrder, check_of, say_ahead_of, with_agents
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.unfinished import agents_left, to_go_on
from lousho_cli.app.wiring import open_store
from lousho_cli.domain.heads import Head
from lousho_cli.errors import AbortedError, OwnershipLostError, SDKError, SessionAwaitingApprovalError, SessionBusyError
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.events import Listener
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.host.session import HostSession
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session


async def resume_all(order: ResumeOrder, listener: Listener, tell: Tell, ahead: Ahead) -> list[Ran | Failed]:
    """Goes on with every session that did not end and nobody drives, oldest first; one that fails holds up no other.

    Those whose input settled as failed or aborted are left: they go on when they are named.
    """
    store = open_store(order.choice.store, create=False)
    return [] if store is None else await _Sweep(store, order, listener, tell, ahead).sweep()


class _Sweep:
    """One sweep, and the session it is at."""

    def __init__(self, store: LogStore, order: ResumeOrder, listener: Listener, tell: Tell, ahead: Ahead) -> None:
        self._store, self._order, self._tell, self._ahead = store, order, tell, ahead
        self._tools = Running(listener)
        self._job: Job | None = None

    async def sweep(self) -> list[Ran | Failed]:
        """What became of each session that was gone on with, or could not be."""
        done: list[Ran | Failed] = []
        controller = AbortController()
        with watching(controller, self._tell, self._tools.names, self._goes_on) as caught:
            for head in await to_go_on(self._store):
                if controller.signal.aborted:
                    break
                if await self._store.owner(head.id) is None and (one := await self._resumed(head, controller.signal, caught)) is not None:
                    done.append(one)
        return done

    def _goes_on(self) -> str:
        return following(self._job, f"lousho resume {self._job.session_id}") if self._job is not None else ""

    async def _resumed(self, head: Head, signal: AbortSignal, caught: Caught) -> Ran | Failed | None:
        """None where somebody else was quicker, or a signal was."""
        try:
            loaded = await load(self._store, head.id)
            require_writable(loaded)
            file = find_agent(head.id, head.agent, head.path, self._order.choice)
            async with preparing(file, self._order.flags, loaded.session) as prepared:
                for warning in prepared.warnings:
                    self._tell(warning)
                say_ahead_of(await with_agents(self._store, check_of(loaded, prepared)), self._ahead)
                order = self._order
                job = self._job = Job(self._store, head.id, prepared, order.flags, self._tools, self._tell, order.choice)
                return await drive_until(job, partial(_taken_up, job), signal, caught)
        except OwnershipLostError as error:
            return Failed(head.id, error)
        except (AbortedError, SessionBusyError):
            return None
        except SDKError as error:
            return Failed(head.id, error)


async def _taken_up(job: Job, session: HostSession) -> RunResult:
    """What a host does with work that it finds, which counts as one more attempt."""
    waits = await waiting_item(job.store, job.session_id)
    if waits is not None and not await agents_left(job.store, job.session_id):
        raise SessionAwaitingApprovalError(job.session_id, waits.id, waits.kind)
    if not await session.recover_pending_work():
        raise SessionBusyError(job.session_id, "another host")
    return await session.rest() or result_of(job.session_id, await read_session(job.store, job.session_id))
