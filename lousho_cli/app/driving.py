"""Driving one session from the command line, whatever it begins with: an input, a resume, a decision, a fork, a sweep.

There is one way: a handle on a host of this process, which stands for as long as the session is driven.

Signals, approvals given in advance, the result as it is shown, and the command that goes on from there.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import AGENT_NOT_FOUND, AgentChoice, find_agent
from lousho_cli.app.cassettes import finish_tape, in_own_words, option_of
from lousho_cli.app.harnesses import harness_of_one
from lousho_cli.app.hints import store_option
from lousho_cli.app.notify import notify
from lousho_cli.app.preparing import Prepared, RunFlags
from lousho_cli.app.results import PendingItem, RunDone
from lousho_cli.app.run_ends import decides, done_of, failed_as_said, next_command
from lousho_cli.app.sessions import pending_item
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.unfinished import agents_left, lead_of, waiting_agent
from lousho_cli.app.wiring import locate_store
from lousho_cli.domain import records as r
from lousho_cli.domain.events import Event
from lousho_cli.domain.heads import Head
from lousho_cli.domain.session import Session
from lousho_cli.errors import (
    AbortedError,
    BudgetExceededError,
    CassetteError,
    ConfigurationError,
    GuardrailTrippedError,
    HookError,
    OwnershipLostError,
    PropagatingToolError,
    ProviderError,
    SessionAwaitingApprovalError,
    SessionBusyError,
    StorageError,
)
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.events import Listener
from lousho_cli.executor.leads import tell_lead
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.host.host import create_harness_host
from lousho_cli.host.observing import Observer
from lousho_cli.host.ordering import used_up
from lousho_cli.host.session import HostSession
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

Tell = Callable[[str], None]


class Job(msgspec.Struct, frozen=True):
    """A session to drive.

    listener: gets each event. tell: gets a sentence for the person while it runs.
    choice: what was said about where its store and its agent are.
    """

    store: LogStore
    session_id: str
    prepared: Prepared
    flags: RunFlags
    listener: Listener
    tell: Tell
    choice: AgentChoice = AgentChoice()


def suffix_of(choice: AgentChoice) -> str:
    """What the next command needs to find the same store and agent again, such as `` --store URL``."""
    agent = f" --agent {shlex.quote(choice.agent)}" if choice.agent else ""
    return agent + "".join(f" --agents {shlex.quote(path)}" for path in choice.agents) + store_flag(choice)


def store_flag(choice: AgentChoice) -> str:
    """The store as it was named, for a shell; a password in it is masked, and has to be put in again."""
    return store_option(choice.store)


class Ran(msgspec.Struct, frozen=True):
    """A run that came back.

    next: the command that goes on from here, empty where none can. failure: why it failed, where it did.
    waits: what a person is to decide.
    interrupted, stopped: by Ctrl-C; by SIGTERM or SIGHUP.
    """

    done: RunDone
    next: str
    failure: Exception | None = None
    interrupted: bool = False
    stopped: bool = False
    warnings: tuple[str, ...] = ()
    waits: PendingItem | None = None


Start = Callable[[HostSession], Awaitable[RunResult]]
"""What is wanted of the session, such as ``HostSession.resume``."""


async def go_on(session: HostSession) -> RunResult:
    """On with what did not end, and with background agents that were left; gives what came last of it."""
    result = await session.resume()
    return await session.rest() or result


FAILURES = (ProviderError, PropagatingToolError, BudgetExceededError, GuardrailTrippedError, HookError, CassetteError)
"""How a run that began fails; what it did stands."""


class Running:
    """The tools that run, by what the events say; hands each event on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._names: dict[tuple[str, ...], str] = {}

    def __call__(self, event: Event) -> None:
        if event.type in ("tool.start", "tool.resume"):
            self._names[(*event.path, event.id)] = event.name
        elif event.type in ("tool.done", "tool.error"):
            self._names.pop((*event.path, event.id), None)
        self._listener(event)

    def names(self) -> tuple[str, ...]:
        return tuple(self._names.values())


async def drive(job: Job, start: Start) -> Ran:
    """Runs ``start`` to its end, its pause, or the first signal.

    Raises:
        SDKError: nothing ran, or the store failed. A run that fails is a result.
    """
    controller, running = AbortController(), Running(job.listener)
    with watching(controller, job.tell, running.names, lambda: following(job, f"lousho resume {job.session_id}")) as caught:
        return await drive_until(msgspec.structs.replace(job, listener=running), start, controller.signal, caught)


async def drive_until(job: Job, start: Start, signal: AbortSignal, caught: Caught) -> Ran:
    """``drive``, for who watches for signals over more than one session."""
    failure: Exception | None = None
    try:
        async with _on_host(job, signal) as session:
            result = await _with_approvals(job, start, session, signal)
    except FAILURES as error:
        failure = in_own_words(error)
        result = result_of(job.session_id, await read_session(job.store, job.session_id))
    except AbortedError as error:
        raise AbortedError("it was stopped before it began; nothing was written", hint="Run it again.") from error
    except OwnershipLostError as error:
        raise await _lost_to(job, error) from error
    except StorageError as error:
        error.hint = await _what_to_do(job, error.hint)
        raise
    if failure is None and result.status == "finished":
        await finish_tape(job.prepared.tape, job.tell)
    return await ran_of(job, result, failure, caught)


@asynccontextmanager
async def _on_host(job: Job, signal: AbortSignal) -> AsyncIterator[HostSession]:
    """A handle on the session, on a host of its own that a signal closes: for good, or for others to go on with.

    The session keeps the harness it has: whoever said or stored which agent is its own has decided that.
    """
    observer = Observer(job.listener, lambda _end: None)  # how it ends is told by us, and not by the host's own warnings
    host = create_harness_host({"log": job.store}, observer=observer, credentials=job.prepared.settings["credentials"].beside(job.store))
    leaving: list[asyncio.Future[None]] = []
    head: Head | None = None

    def leave() -> None:
        host.stop(recoverable=signal.recoverable)  # at once: a run of quick steps would be through before a task begins
        leaving.append(asyncio.ensure_future(host.close(recoverable=signal.recoverable)))

    forget = signal.on_abort(leave)
    try:
        head = await job.store.head(job.session_id)
        harness = harness_of_one(job.prepared, job.choice.store, (head.harness or head.agent) if head is not None else None)
        tenant = head.tenant if head is not None else None
        yield await host.open(harness, job.session_id, tenant_id=tenant, user=job.flags.by, recover=False)
        await host.idle(job.session_id)
    finally:
        forget()
        await asyncio.gather(host.close(recoverable=True), *leaving)
        if head is not None:  # it may be an agent that was named by itself
            await tell_lead(job.store, head.lead)


async def _lost_to(job: Job, error: OwnershipLostError) -> OwnershipLostError:
    """The error with who has the session: its owner, or where that one has left already, who wrote to it last."""
    with suppress(StorageError):
        owner = await job.store.owner(job.session_id)
        if owner is not None and (owner.host, owner.pid) != (socket.gethostname(), os.getpid()):
            return OwnershipLostError(job.session_id, owner.describe(), hint=_LOST)
        for batch in reversed((await job.store.read(job.session_id)).batches):
            for record in batch.records:
                if isinstance(record, r.Claimed):
                    last = f"an owner on {record.host} since {batch.at}, which has left by now"
                    return OwnershipLostError(job.session_id, last, hint=_LOST)
    return error


_LOST = "It was taken over from here; what was saved before stands. See: lousho list"


async def _what_to_do(job: Job, hint: str) -> str:
    """What to do about a store that failed: what it says itself, and the command that goes on where there is something to go on with."""
    with suppress(StorageError):
        if await job.store.head(job.session_id) is not None:
            command = following(job, f"lousho resume {job.session_id}")
            return f"{hint or 'What was saved stands.'} Go on with: {command}"
    return hint or "Nothing was saved. Check the store: its path, its permissions and the free space."


def following(job: Job, command: str, *, finished: bool = False) -> str:
    """A command that goes on from here, with all it needs; empty where the store ends with this process.

    ``finished``: what it goes on with is a new input, for which the cassette of the run holds nothing.
    """
    cassette = "" if finished else option_of(job.flags.cassette)
    return "" if locate_store(job.choice.store).url == "memory:" else command + cassette + suffix_of(job.choice)


async def _with_approvals(job: Job, start: Start, session: HostSession, signal: AbortSignal) -> RunResult:
    """Runs, and with ``--yes`` approves each call that comes to wait."""

    async def approved(approval_id: str) -> RunResult:
        return await session.resume_after_approval({"id": approval_id, "approved": True, "by": job.flags.by})

    try:
        result = await start(session)
    except SessionAwaitingApprovalError as error:
        if not job.flags.yes or error.kind != "tool":
            raise
        result = await approved(error.approval_id)
    while job.flags.yes and result.approval_id is not None and not signal.aborted:
        waits = await waiting_item(job.store, job.session_id)
        if waits is None or waits.kind != "tool":
            break
        try:
            result = await approved(result.approval_id)
        except AbortedError:  # a signal was quicker: it still waits
            break
    return result


async def ran_of(job: Job, result: RunResult, failure: Exception | None, caught: Caught) -> Ran:
    """A result as it is shown; tells who the agent file says is to be told."""
    waits = await waiting_item(job.store, job.session_id) if result.status == "awaiting-approval" else None
    done = done_of(result, failure)
    if done.outcome == "failed" and failure is None:
        done = failed_as_said(done, await read_session(job.store, job.session_id))
    left = bool(await agents_left(job.store, job.session_id))
    return Ran(
        done=done,
        next=await _next(job, done, waits, left=left),
        failure=failure,
        interrupted=caught.interrupted,
        stopped=caught.stopped and ((done.status == "in-progress" and done.outcome is None) or left),
        warnings=_notified(job, done, waits),
        waits=waits,
    )


async def _next(job: Job, done: RunDone, waits: PendingItem | None, *, left: bool) -> str:
    """The command that goes on from here; where only a background agent waits for a person, the one that decides that."""
    agent = await waiting_agent(job.store, job.session_id) if waits is None and not left else None
    asked = pending_item(agent) if agent is not None else None
    if asked is not None:
        job.tell(f"its background agent {asked.session} waits for a person")
        return following(job, decides(asked))
    return following(job, next_command(done, waits, left=left), finished=done.status == "finished" and not left)


async def waiting_item(store: LogStore, session_id: str) -> PendingItem | None:
    """What a session waits for, None when it does not wait."""
    head = await store.head(session_id)
    return pending_item(head) if head is not None else None


def _notified(job: Job, done: RunDone, waits: PendingItem | None) -> tuple[str, ...]:
    commands = job.prepared.file.notify
    if not commands:
        return ()
    item: dict[str, Any]
    if waits is not None:
        item = msgspec.to_builtins(waits)
    elif done.error is not None:
        item = {"session": done.session, "kind": "failed", "error": msgspec.to_builtins(done.error)}
    else:
        return ()
    return notify(commands, item, job.prepared.file.folder)


async def agent_file_of(store: LogStore, session_id: str, session: Session, choice: AgentChoice) -> AgentFile:
    """The agent of a session.

    Raises:
        ConfigurationError: it is nowhere to be found, or its file is not valid.
        SessionBusyError: it is not to be found here, and whoever drives the session now has it, such as a program that made it.
    """
    try:
        return find_agent(session_id, session.agent, session.path, choice)
    except ConfigurationError as error:
        if error.code != AGENT_NOT_FOUND:
            raise
        owner, head = await store.owner(session_id), await store.head(session_id)
        if owner is not None:
            raise SessionBusyError(session_id, owner.describe()) from error
        if head is not None and head.lead is not None:
            error.hint = f"It is a background agent and goes on with its lead: lousho resume {await lead_of(store, head) or head.lead}"
        raise


async def tell_of_used_up(job: Job, session: Session) -> None:
    """Says of a run that has no attempt left that going on with it begins to count anew."""
    ends = used_up(session, SYSTEM_CLOCK.now(), job.prepared.file.durability.max_attempts)
    if ends and await job.store.owner(job.session_id) is None:
        job.tell(f"{ends[0].error}; it begins to count anew")


def check_input(text: str) -> str:
    """An input that says something.

    Raises:
        ConfigurationError: it is blank.
    """
    if text.strip():
        return text
    hint = "Say something, or leave it out."
    raise ConfigurationError("the input is blank", field="input", code="LOUSHO_CONFIG_MISSING_INPUT", hint=hint)
