"""``run``: start a session, or send the next message of one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import AgentChoice, found_again
from lousho_cli.app.driving import Job, Ran, Tell, agent_file_of, drive, tell_of_used_up
from lousho_cli.app.loading import load, require_writable
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.queueing import queue
from lousho_cli.app.sessions import head_of, not_found, read_heads
from lousho_cli.app.targets import Target, resolve_target
from lousho_cli.app.wiring import current_folder, open_store
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError, OwnershipLostError, SDKError, SessionBusyError, StorageError
from lousho_cli.executor.events import Listener
from lousho_cli.ports.log_store import LogStore

_LONGEST_SLUG = 80


class RunOrder(msgspec.Struct, frozen=True):
    """What a person wants run.

    target: an agent, as ``app.targets`` reads it; None for the session's own, or what is here.
    text: the input; None for the agent's own first one. piped: text from a pipe, attached to it.
    session: this session exactly. last: the last session here.
    queue: where another owner drives it, leave the input for that owner.
    """

    target: str | None = None
    text: str | None = None
    piped: str = ""
    session: str | None = None
    last: bool = False
    input_id: str | None = None
    queue: bool = False
    flags: RunFlags = RunFlags()
    store: str | None = None


class Meant(msgspec.Struct, frozen=True):
    """What an order comes down to. session_id: None for a new one whose name is still to be found. before: as it stands, if it does."""

    session_id: str | None
    before: Session | None
    file: AgentFile
    text: str


async def run(order: RunOrder, listener: Listener, tell: Tell) -> Ran:
    """Runs it to its end, its pause, or the first signal.

    Raises:
        ConfigurationError: no such agent, an agent file that is not valid, no input.
        NotFoundError: ``last``, and there is no session.
        SessionAwaitingApprovalError, SessionBusyError, AgentDriftError, StorageError: see ``HostSession.execute``.
    """
    found = await meant(order, tell)
    async with preparing(found.file, order.flags, found.before) as prepared:
        for warning in prepared.warnings:
            tell(warning)
        return await _run(order, found.session_id, found.before, prepared, found.text, listener, tell)


async def meant(order: RunOrder, tell: Tell) -> Meant:
    """What a person means by an order. Raises as ``run`` does, before anything is written."""
    reading = open_store(order.store, create=False)
    session_id = await _named(order, reading)
    before = await _session_before(reading, session_id)
    target = await _target(order, reading, session_id, before)
    if target.notice:
        tell(target.notice)
    text = _input(order, target.agent)
    if order.input_id is not None and not order.input_id.strip():
        raise ConfigurationError("--input-id is empty", field="--input-id", code="LOUSHO_USAGE", hint="Give an id, or leave it out.")
    return Meant(session_id, before, target.agent, text)


async def _run(
    order: RunOrder, session_id: str | None, before: Session | None, prepared: Prepared, text: str, listener: Listener, tell: Tell
) -> Ran:
    store = open_store(order.store, create=True)
    assert store is not None, "a store that may be created is always there"
    job = Job(store, session_id or "", prepared, order.flags, listener, tell, found_again(prepared.file, order.target, order.store, before))
    if session_id is None:
        return await _run_new(job, order, text)
    if before is not None:
        await tell_of_used_up(job, before)
    try:
        return await drive(job, lambda session: session.execute(text, input_id=order.input_id))
    except OwnershipLostError:
        raise
    except SessionBusyError:
        if not order.queue:
            raise
        return await queue(job, text, order.input_id)


async def _named(order: RunOrder, store: LogStore | None) -> str | None:
    if order.session is not None:
        if order.last:
            raise ConfigurationError("--session and --continue name two sessions", code="LOUSHO_USAGE", hint="Give one of them.")
        return check_session_id(order.session)
    if not order.last:
        return None
    heads = [head for head in (await read_heads(store)).heads if head.lead is None] if store is not None else []
    if not heads:
        raise not_found("to continue", ())
    return max(heads, key=lambda head: (head.updated_at, head.id)).id


async def _session_before(store: LogStore | None, session_id: str | None) -> Session | None:
    """The session as it stands; None where there is none yet."""
    if store is None or session_id is None:
        return None
    if await head_of(store, session_id) is None and (await store.read(session_id)).head == 0:
        return None
    loaded = await load(store, session_id)
    require_writable(loaded)
    return loaded.session


async def _target(order: RunOrder, store: LogStore | None, session_id: str | None, before: Session | None) -> Target:
    if order.target is None and session_id is not None and before is not None and (before.exists or before.agent):
        assert store is not None, "it was read from it"
        return Target(await agent_file_of(store, session_id, before, AgentChoice(store=order.store)), "file")
    return resolve_target(order.target, current_folder())


def _input(order: RunOrder, file: AgentFile) -> str:
    parts = [part for part in (order.text, order.piped) if part and part.strip()]
    text = "\n\n".join(parts) if parts else (file.first_input if order.text is None else None)
    if not text or not text.strip():
        raise ConfigurationError(
            f"{file.name} was given nothing to do",
            field="input",
            code="LOUSHO_CONFIG_MISSING_INPUT",
            hint='Say it: lousho run TARGET "…", or give - to read it from standard input.',
        )
    return text


async def _run_new(job: Job, order: RunOrder, text: str) -> Ran:
    """Runs under the first free id made of the agent's name. Who is first to write a session has it."""
    async for candidate in free_ids(job.store, slug(job.prepared.file.name)):
        one = msgspec.structs.replace(job, session_id=candidate)
        try:
            return await drive(one, lambda session: session.execute(text, input_id=order.input_id, create=True))
        except OwnershipLostError:
            raise
        except SessionBusyError:
            continue  # somebody else is just beginning it
        except SDKError as error:
            if error.code != "LOUSHO_SESSION_EXISTS":
                raise
    raise StorageError("no free session id was found")


async def free_ids(store: LogStore, name: str) -> AsyncIterator[str]:
    """Ids that no session has, made of a name: itself, then with ``-2``, ``-3`` and so on."""
    found = await store.heads()
    taken = {head.id for head in found.heads} | {log_id for log_id, _ in found.damaged}
    number = 1
    while True:
        candidate = name if number == 1 else f"{name}-{number}"
        if candidate not in taken:
            yield candidate
        number += 1


def slug(name: str) -> str:
    """A session id made of an agent's name: lower case, with hyphens for all that an id may not hold."""
    plain = re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip("-.")[:_LONGEST_SLUG].strip("-.")
    return plain or "session"
