"""``fork``: a new session from a step of another, and on with it where that is wanted."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.agents import AgentChoice, find_agent
from lousho_cli.app.driving import Job, Ran, Tell, check_input, drive, suffix_of
from lousho_cli.app.loading import Loaded, load, require_writable
from lousho_cli.app.plain_sessions import PlainSessions
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.results import Forked, ResumeCheck
from lousho_cli.app.resuming import Ahead, check_of, say_ahead_of
from lousho_cli.app.sessions import find_session
from lousho_cli.app.wiring import checkpoints_to_fork, open_store, open_to_look
from lousho_cli.core.addresses import parse_address
from lousho_cli.core.gate import effective_replay
from lousho_cli.core.resuming import outlook
from lousho_cli.core.session_ids import check_session_id
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.events import Listener
from lousho_cli.executor.forks import ForkResult, fork_preview
from lousho_cli.host.session import HostSession
from lousho_cli.ports.log_store import LogStore


class ForkOrder(msgspec.Struct, frozen=True):
    """What a person wants forked.

    source: a session, or an address of it. step: the step or address behind its ``@``, None where the source has it.
    patch: with the keys of a patch file. new_id: None for the first free ``….fork-N``.
    run: go on with it at once.
    """

    source: str
    step: str | None = None
    patch: dict[str, Any] = {}
    new_id: str | None = None
    run: bool = False
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()


class Fork(msgspec.Struct, frozen=True):
    """A fork that was made: what it is, and how to go on with it. ``behind``: messages the change does not reach, and the step instead."""

    forked: Forked
    next: str
    behind: tuple[int, int] | None = None


class Ready(msgspec.Struct, frozen=True):
    """A fork that can be made.

    checkpoints: the store it is made in; resumable: the log store behind it, None where a run can not go on.
    file: the agent to go on with. unrepeatable: calls that will run and must not run twice, as (id, tool).
    ahead: what going on with it will do.
    """

    checkpoints: Any
    source: str
    step: str
    resumable: LogStore | None = None
    file: AgentFile | None = None
    unrepeatable: tuple[tuple[str, str], ...] = ()
    ahead: ResumeCheck | None = None


async def look(order: ForkOrder) -> Ready:
    """Checks everything about a fork before anything is written.

    Raises:
        NotFoundError: no such session or step; those kept are listed.
        ConfigurationError: no step was named, a patch that fits nothing, an agent that can not be found.
    """
    address = parse_address(order.source)
    store = _opened(order)
    _, source = await find_session(store, address.session)
    assert store is not None, "a session was found in it"
    if order.new_id is not None:
        check_session_id(order.new_id)
    step = _step(order)
    if isinstance(said := order.patch.get("append_input"), str):
        check_input(said)
    loaded = await load(store, source)
    require_writable(loaded)
    checkpoints = await checkpoints_to_fork(store, source)
    preview = await fork_preview(source, step, checkpoints, order.patch)
    resumable = None if isinstance(store, PlainSessions) else store
    if not order.run:
        return Ready(checkpoints, source, step, resumable)
    file = find_agent(source, loaded.session.agent, loaded.session.path, order.choice)
    async with preparing(file, order.flags, preview) as prepared:
        ahead = check_of(msgspec.structs.replace(loaded, session=preview), prepared)
        return Ready(checkpoints, source, step, resumable, file, _unrepeatable(preview, prepared), ahead)


def _opened(order: ForkOrder) -> LogStore | PlainSessions | None:
    return open_store(order.choice.store, create=False) if order.run else open_to_look(order.choice.store)


def _step(order: ForkOrder) -> str:
    """Where to fork, as ``AgentExecutor.fork`` takes it."""
    address = parse_address(order.source)
    point = str(address).removeprefix(address.session) if address.is_point else ""
    if bool(point) == (order.step is not None):
        detail = f"the step to fork from was {'named twice' if point else 'not named'}"
        hint = "Use --from-step N, or SESSION@N; see: lousho history"
        raise ConfigurationError(detail, field="from_step", code="LOUSHO_USAGE", hint=hint)
    return point.removeprefix("@") or str(order.step)


def _unrepeatable(session: Session, prepared: Prepared) -> tuple[tuple[str, str], ...]:
    facts = prepared.facts
    found = outlook(session, facts)
    return tuple(
        (call.id, call.name)
        for call in (*found.will_run, *found.may_ask, *found.will_ask, *found.behind)  # an approval lets the rest run
        if call.name in facts.tools and effective_replay(facts.tools[call.name], facts.policy, session.run.replay) == "never"
    )


async def fork(order: ForkOrder, ready: Ready) -> Fork:
    """Makes the fork; the source never changes by a byte.

    Raises:
        ConfigurationError: the new id is taken.
        StorageError: it can not be written.
    """
    made = await AgentExecutor.fork(ready.source, ready.step, ready.checkpoints, order.patch, order.new_id)
    model = f" --model {order.flags.model}" if order.flags.model else ""
    forked = Forked(session=made.session_id, step=made.step, parent=ready.source)
    next_command = f"resume {made.session_id}{model}" if ready.resumable is not None else f"show {made.session_id}"
    return Fork(forked, f"lousho {next_command}{suffix_of(order.choice)}", _behind(made))


def _behind(made: ForkResult) -> tuple[int, int] | None:
    return (made.left_behind.messages, made.left_behind.step) if made.left_behind else None


async def go_on_with(made: Fork, ready: Ready, order: ForkOrder, listener: Listener, tell: Tell, ahead: Ahead) -> Ran:
    """Goes on with a fork that was just made. Raises as ``HostSession.execute``."""
    assert ready.file is not None, "a fork that is to run was looked at with its agent"
    assert ready.resumable is not None, "and in a store that can drive it"
    loaded: Loaded = await load(ready.resumable, made.forked.session)
    async with preparing(ready.file, order.flags, loaded.session) as prepared:
        say_ahead_of(check_of(loaded, prepared), ahead)
        for warning in prepared.warnings:
            tell(warning)
        job = Job(ready.resumable, made.forked.session, prepared, order.flags, listener, tell, order.choice)
        return await drive(job, HostSession.resume)
