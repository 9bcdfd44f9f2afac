"""Driving one session from the command line, whatever it begins with: an input, a resume, a decision, a fork.

Signals, approvals given in advance, the result as it is shown, and the command that goes on from there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from lousho_cli.app.cassettes import finish_tape, option_of
from lousho_cli.app.loading import Loaded
from lousho_cli.app.notify import notify
from lousho_cli.app.preparing import Prepared, RunFlags
from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.app.sessions import pending_item
from lousho_cli.app.signals import Caught, watching
from lousho_cli.app.usage import usage_of
from lousho_cli.app.wiring import approvals_of, checkpoints_of, locate_store
from lousho_cli.domain import records as r
from lousho_cli.domain.events import Event
from lousho_cli.errors import (
    BudgetExceededError,
    CassetteError,
    ConfigurationError,
    DamagedLogError,
    GuardrailTrippedError,
    HookError,
    OwnershipLostError,
    PropagatingToolError,
    ProviderError,
    SDKError,
    SessionAwaitingApprovalError,
    StorageError,
)
from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.events import Listener
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.executor.session_log import newer_version
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

Tell = Callable[[str], None]

TOOL_STOPPED = "LOUSHO_TOOL_STOPPED_RUN"


class Job(msgspec.Struct, frozen=True):
    """A session to drive.

    listener: gets each event. tell: gets a sentence for the person while it runs.
    suffix: what the command that goes on needs besides the session, such as `` --store URL``.
    """

    store: LogStore
    session_id: str
    prepared: Prepared
    flags: RunFlags
    listener: Listener
    tell: Tell
    suffix: str = ""


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


Start = Callable[[Job, AbortSignal], Awaitable[RunResult]]
"""Begins a job, given as it is to be driven: its listener may have become another."""


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
    controller = AbortController()
    failure: Exception | None = None
    running = Running(job.listener)
    job = msgspec.structs.replace(job, listener=running)
    with watching(controller, job.tell, running.names, lambda: following(job, f"lousho resume {job.session_id}")) as caught:
        try:
            result = await _with_approvals(job, start, controller)
        except FAILURES as error:
            failure = error
            result = result_of(job.session_id, await read_session(job.store, job.session_id))
        except OwnershipLostError as error:
            raise await _lost_to(job, error) from error
        except StorageError as error:
            error.hint = await _what_to_do(job, error.hint)
            raise
    if failure is None and result.status == "finished":
        await finish_tape(job.prepared.tape, job.tell)
    return await ran_of(job, result, failure, caught)


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
    _, named, url = job.suffix.rpartition(" --store ")
    return "" if (url if named else locate_store().url) == "memory:" else command + cassette + job.suffix


async def _with_approvals(job: Job, start: Start, controller: AbortController) -> RunResult:
    """Runs, and with ``--yes`` approves each call that comes to wait."""
    try:
        result = await start(job, controller.signal)
    except SessionAwaitingApprovalError as error:
        if not job.flags.yes or error.kind != "tool":
            raise
        result = await approve(job, error.approval_id, controller.signal)
    while job.flags.yes and result.approval_id is not None and not controller.signal.aborted:
        waits = await waiting_item(job.store, job.session_id)
        if waits is None or waits.kind != "tool":
            break
        result = await approve(job, result.approval_id, controller.signal)
    return result


async def approve(job: Job, approval_id: str, signal: AbortSignal) -> RunResult:
    """Approves one call and goes on."""
    return await decide(job, {"id": approval_id, "approved": True, "by": job.flags.by}, signal)


async def decide(job: Job, decision: Any, signal: AbortSignal) -> RunResult:
    """Decides one call and goes on. Raises what ``resume_after_approval`` says."""
    prepared = job.prepared
    options = {**prepared.settings, "agent": prepared.agent, "signal": signal, "on_event": job.listener}
    return await resume_after_approval(
        decision, approvals_of(job.store), prepared.tools, prepared.provider, options, checkpoints_of(job.store)
    )


async def ran_of(job: Job, result: RunResult, failure: Exception | None, caught: Caught) -> Ran:
    """A result as it is shown; tells who the agent file says is to be told."""
    waits = await waiting_item(job.store, job.session_id) if result.status == "awaiting-approval" else None
    done = done_of(result, failure)
    return Ran(
        done=done,
        next=following(job, next_command(done, waits), finished=done.status == "finished"),
        failure=failure,
        interrupted=caught.interrupted,
        stopped=caught.stopped and done.status == "in-progress" and done.outcome is None,
        warnings=_notified(job, done, waits),
        waits=waits,
    )


def done_of(result: RunResult, failure: Exception | None = None) -> RunDone:
    """The ``data`` of a command that ran something."""
    failed = failure is not None
    return RunDone(
        session=result.session_id,
        status=result.status,
        outcome="failed" if failed else result.outcome,
        finish_reason="error" if failed else result.finish_reason,
        text=result.text,
        steps=result.steps,
        approval_id=result.approval_id,
        error=_failure(failure) if failure is not None else None,
        usage=usage_of(result.usage),
        guardrail=result.guardrail,
        budget=result.budget,
        abort_reason=result.abort_reason,
    )


def _failure(error: Exception) -> RunFailure:
    if isinstance(error, SDKError):
        return RunFailure(message=error.detail, code=error.code)
    return RunFailure(message=str(error) or type(error).__name__, code=TOOL_STOPPED)


def next_command(done: RunDone, waits: PendingItem | None = None) -> str:
    """The command that goes on from here."""
    if done.approval_id is not None:
        verb = "approve" if waits is None or waits.kind in ("tool", "sign-in") else "answer"
        return f"lousho {verb} {done.approval_id}"
    return f'lousho resume {done.session} "…"' if done.status == "finished" else f"lousho resume {done.session}"


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


def check_input(text: str) -> str:
    """An input that says something.

    Raises:
        ConfigurationError: it is blank.
    """
    if text.strip():
        return text
    hint = "Say something, or leave it out."
    raise ConfigurationError("the input is blank", field="input", code="LOUSHO_CONFIG_MISSING_INPUT", hint=hint)


def require_writable(loaded: Loaded) -> None:
    """Refuses what must not be written to, before anything else is looked for.

    Raises:
        LogVersionError, DamagedLogError: as the store would, once it is claimed.
    """
    if loaded.newer:
        raise newer_version(loaded.id)
    if loaded.damage:
        raise DamagedLogError(
            f"session {loaded.id} is damaged: {loaded.damage[0]}",
            hint="See what stands with: lousho show, then repair it with: lousho fsck --repair",
        )
