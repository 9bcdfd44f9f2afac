"""``resume``: finish what did not end; and look first at what that would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.driving import (
    Job,
    Ran,
    Tell,
    agent_file_of,
    check_input,
    drive,
    go_on,
    tell_of_used_up,
)
from lousho_cli.app.loading import Loaded, load, require_writable
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.results import ResumeCheck, RunDone
from lousho_cli.app.run_ends import done_of
from lousho_cli.app.sessions import find_session
from lousho_cli.app.unfinished import agents_left, to_go_on, unfinished
from lousho_cli.app.wiring import open_store
from lousho_cli.core.resuming import Outlook, Prospect, outlook
from lousho_cli.domain.session import Session
from lousho_cli.errors import AmbiguousError, SDKError
from lousho_cli.executor.events import Listener
from lousho_cli.executor.knowing import tokens_of
from lousho_cli.executor.results import result_of
from lousho_cli.ports.log_store import LogStore

Ahead = Callable[[ResumeCheck], None]
"""Is told what is going to happen, before it does."""

_VERDICTS: dict[Prospect, Literal["missing-tool", "drift", "in-doubt", "needs-person", "safe"]] = {
    "missing-tool": "missing-tool",
    "drift": "drift",
    "in-doubt": "in-doubt",
    "awaiting": "needs-person",
    "safe": "safe",
    "nothing-pending": "safe",
}

_REFUSED = ("missing-tool", "drift")


class ResumeOrder(msgspec.Struct, frozen=True):
    """What a person wants resumed. session: an id or its beginning; None for the only one that did not end."""

    session: str | None = None
    text: str | None = None
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()


class Failed(msgspec.Struct, frozen=True):
    """A session that could not be resumed, and why."""

    session: str
    error: Exception


async def resume(order: ResumeOrder, listener: Listener, tell: Tell, ahead: Ahead) -> Ran | str | None:
    """Goes on with a session.

    Returns:
        the run; the id of a session that has nothing to go on with; None when there is no session at all
        that did not end.

    Raises:
        NotFoundError, AmbiguousError: which session is meant is not clear; the candidates are listed.
        ConfigurationError: its agent can not be found or used.
        SDKError: as ``HostSession.execute``.
    """
    if order.text is not None:
        check_input(order.text)
    store = open_store(order.choice.store, create=False)
    session_id = await which(store, order.session)
    if store is None or session_id is None:
        return None
    loaded = await load(store, session_id)
    require_writable(loaded)
    if order.text is None and await _nothing_to_do(store, loaded):
        return session_id
    file = await agent_file_of(store, session_id, loaded.session, order.choice)
    async with preparing(file, order.flags, loaded.session) as prepared:
        for warning in prepared.warnings:
            tell(warning)
        found = await with_agents(store, check_of(loaded, prepared))
        if await store.owner(session_id) is None:  # else it is refused as busy
            say_ahead_of(found, ahead)
        job = Job(store, session_id, prepared, order.flags, listener, tell, order.choice)
        if found.verdict not in _REFUSED:
            await tell_of_used_up(job, loaded.session)
        return await drive(job, go_on if order.text is None else lambda session: session.execute(order.text or ""))


def say_ahead_of(found: ResumeCheck, ahead: Ahead) -> None:
    """Tells what is going to happen, unless it is going to be refused, or waits for a person first."""
    if found.verdict not in _REFUSED and found.approval_id is None:
        ahead(found)


async def check(order: ResumeOrder) -> ResumeCheck | None:
    """What resuming would do. Nothing runs and nothing is written. None when there is no session that did not end.

    Raises:
        NotFoundError, AmbiguousError, ConfigurationError: as ``resume``.
    """
    store = open_store(order.choice.store, create=False)
    session_id = await which(store, order.session)
    return None if store is None or session_id is None else await _check(store, session_id, order)


async def check_all(order: ResumeOrder) -> list[ResumeCheck | Failed]:
    """What ``resume --all`` would do, session by session; one that can not be looked at holds up no other."""
    store = open_store(order.choice.store, create=False)
    found: list[ResumeCheck | Failed] = []
    if store is None:
        return found
    for head in await to_go_on(store):
        try:
            found.append(await _check(store, head.id, order))
        except SDKError as error:
            found.append(Failed(head.id, error))
    return found


async def _check(store: LogStore, session_id: str, order: ResumeOrder) -> ResumeCheck:
    loaded = await load(store, session_id)
    require_writable(loaded)
    owner = await store.owner(session_id)
    file = await agent_file_of(store, session_id, loaded.session, order.choice)
    async with preparing(file, order.flags, loaded.session) as prepared:
        found = await with_agents(store, check_of(loaded, prepared))
    left = [post.id for post in await store.inbox(session_id) if post.kind == "input" and post.id not in loaded.session.inputs]
    inputs = (*loaded.session.waiting, *left)
    driven_by = owner.describe() if owner is not None else None
    return msgspec.structs.replace(found, driven_by=driven_by, inputs=inputs, nothing_pending=found.nothing_pending and not inputs)


async def which(store: LogStore | None, name: str | None) -> str | None:
    """The session that is meant; without a name the only one that did not end, None when all did.

    Raises:
        NotFoundError, AmbiguousError: it is not there, or there are several; ``kept`` lists them.
    """
    if name is not None:
        return (await find_session(store, name))[1]
    ids = sorted(head.id for head in await unfinished(store)) if store is not None else []
    if len(ids) > 1:
        raise AmbiguousError(f"{len(ids)} sessions did not end", kept=ids, hint=f"Name one: {', '.join(ids)}; or use --all.")
    return ids[0] if ids else None


async def _nothing_to_do(store: LogStore, loaded: Loaded) -> bool:
    session = loaded.session
    idle = session.ended or not session.exists
    return idle and not session.waiting and not await store.inbox(loaded.id) and not await agents_left(store, loaded.id)


def check_of(loaded: Loaded, prepared: Prepared) -> ResumeCheck:
    """What going on with a session would do."""
    session = loaded.session
    found = outlook(session, prepared.facts, prepared.settings["on_agent_drift"])
    return ResumeCheck(
        session=loaded.id,
        verdict=_VERDICTS[found.verdict],
        will_run=found.will_run,
        again=found.again,
        in_doubt=found.in_doubt,
        may_ask=found.may_ask,
        will_ask=found.will_ask,
        behind=found.behind,
        drift=found.drift,
        first_request_tokens=_first_request(session, found),
        approval_id=session.wait.id if session.wait else None,
        missing_tools=found.missing,
        nothing_pending=found.verdict == "nothing-pending",
    )


async def with_agents(store: LogStore, found: ResumeCheck) -> ResumeCheck:
    """The same with the background agents that go on with the session."""
    left = await agents_left(store, found.session)
    return msgspec.structs.replace(found, background=left, nothing_pending=found.nothing_pending and not left)


def _first_request(session: Session, found: Outlook) -> int | None:
    """A rough count of the tokens of the next model call, without results that are still to come; None when there is none."""
    if found.verdict == "nothing-pending":
        return None
    behind = session.turn.results.values() if session.turn else ()
    return sum(tokens_of(message) for message in (*session.messages, *behind, *session.held))


async def as_it_stands(order: ResumeOrder, session_id: str) -> RunDone:
    """A session that has nothing to go on with, as the end of its run."""
    store = open_store(order.choice.store, create=False)
    assert store is not None, "the session was just read from it"
    return done_of(result_of(session_id, (await load(store, session_id)).session))
