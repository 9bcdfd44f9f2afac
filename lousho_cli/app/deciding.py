"""``approve``, ``reject``, ``answer``: a person's decision, then on with the run.

A decision is bound to the call it was made for. While somebody else drives the session, it is left
for that owner, and it counts only if the log says that it was this one that decided.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal

import msgspec

from lousho_cli.app.agents import AGENT_NOT_FOUND, AgentChoice, find_agent
from lousho_cli.app.answering_code import answer_code, refused_answer
from lousho_cli.app.driving import Job, Ran, Tell, decide, done_of, drive, next_command, require_writable
from lousho_cli.app.leaving import decided_by, leave
from lousho_cli.app.loading import Loaded, load
from lousho_cli.app.own_credentials import OwnCredentials
from lousho_cli.app.pending import APPROVAL_NOT_FOUND, Waiting, find_waiting
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.resuming import Ahead, ResumeOrder, check_of, go_on, say_ahead_of, suffix_of
from lousho_cli.app.secrets import MASK
from lousho_cli.app.wiring import checkpoints_of, open_store
from lousho_cli.core.answering import answer_records, expired, refusal
from lousho_cli.core.fold import fold
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.plain import json_text
from lousho_cli.errors import ConfigurationError, NotFoundError, OwnershipLostError, SessionBusyError
from lousho_cli.executor.approvals import check_decision, decision_from, record_decision
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.events import Listener
from lousho_cli.executor.results import result_of
from lousho_cli.ports.log_store import LogStore
from lousho_cli.ports.sessions import read_session

_LOOKS, _WATCH_MS = 5, 100
"""How often, and for how long each time, it is looked whether the owner that took our decision goes on with the run."""


class DecisionOrder(msgspec.Struct, frozen=True):
    """What a person decides.

    id: as ``app.pending.find_waiting`` reads it. note: the reason, the note, or the answer.
    edited: arguments in place of the model's, as a tuple of the one value; empty for none.
    resume: go on with the run at once, or only record the decision.
    """

    id: str
    verb: Literal["approve", "reject", "answer"]
    note: str | None = None
    edited: tuple[Any, ...] = ()
    resume: bool = True
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()


class Decided(msgspec.Struct, frozen=True):
    """A decision that counts. ``went_on``: the run was driven here, by this command."""

    ran: Ran
    went_on: bool
    approval_id: str


async def question_of(store_flag: str | None, name: str) -> Waiting:
    """What a person is asked, to show it before the answer is typed. Raises as ``find_waiting``."""
    return await find_waiting(open_store(store_flag, create=False), name)


async def carry_out(order: DecisionOrder, listener: Listener, tell: Tell, ahead: Ahead) -> Decided:
    """Decides, and goes on with the run.

    Raises:
        NotFoundError, AmbiguousError: nothing waits under this name, or somebody else decided it.
        ConfigurationError: an edit that its tool does not take, an answer that is none; it still waits.
        SDKError: as ``resume_after_approval``.
    """
    reading = open_store(order.choice.store, create=False)
    found = await find_waiting(reading, order.id)
    assert reading is not None, "something waits in it"
    decision = _decision(order, found)
    loaded = await load(reading, found.session_id)
    require_writable(loaded)
    if loaded.session.wait is not None and expired(loaded.session.wait, SYSTEM_CLOCK.now()):
        tell(f"this comes too late: {found.wait.id} expired at {found.wait.expires_at}; the call is not run")
    tell(_said(order, found))
    if refusal(loaded.session, decision, SYSTEM_CLOCK.now()) == "invalid_answer":
        raise refused_answer(found, "invalid_answer")
    driven = await reading.owner(found.session_id) is not None
    async with _preparing(loaded, order, driven) as prepared:
        return await _carried_out(order, found, loaded, decision, prepared, listener, tell, ahead)


async def _carried_out(
    order: DecisionOrder,
    found: Waiting,
    loaded: Loaded,
    decision: ApprovalDecision,
    prepared: Prepared | None,
    listener: Listener,
    tell: Tell,
    ahead: Ahead,
) -> Decided:
    if order.edited and prepared is not None:
        decision = check_decision(loaded.session, decision, prepared.facts.tools)
    if order.resume and prepared is not None:
        for warning in prepared.warnings:
            tell(warning)
        say_ahead_of(check_of(_as_decided(loaded, decision), prepared), ahead)
    limit = {} if prepared is None else {"history_limit": prepared.file.durability.history_limit}
    store = open_store(order.choice.store, create=True, **limit)
    assert store is not None, "a store that may be created is always there"
    return await _decide(store, found, decision, prepared, order, listener, tell)


def _as_decided(loaded: Loaded, decision: ApprovalDecision) -> Loaded:
    """The session as it will stand once the decision is in its log, to see what follows from it."""
    session, now = loaded.session, SYSTEM_CLOCK.now()
    records = answer_records(session, decision, now)
    if not records:
        return loaded
    return msgspec.structs.replace(loaded, session=fold((r.Batch(session.seq, session.epoch, now, records),), session))


def _said(order: DecisionOrder, found: Waiting) -> str:
    """What is being decided, so that a person sees that it is what he means."""
    wait = found.wait
    verb = {"approve": "approving", "reject": "rejecting", "answer": "answering"}[order.verb]
    if wait.question is not None:
        return f"{verb}: {wait.question}"
    changed = "; with other arguments than the model's" if order.edited else ""
    tool = "/".join((*wait.path, wait.tool))
    return f"{verb} in {found.session_id}: {tool} {json_text(order.edited[0] if order.edited else wait.args)[0]}{changed}"


def _preparing(loaded: Loaded, order: DecisionOrder, driven: bool) -> AbstractAsyncContextManager[Prepared | None]:
    """The agent, as far as the decision needs it: to go on, or to check an edit."""
    if not order.resume and not order.edited:
        return nullcontext()
    session = loaded.session
    try:
        file = find_agent(loaded.id, session.agent, session.path, order.choice)
    except ConfigurationError as error:
        if error.code != AGENT_NOT_FOUND or order.edited:
            raise
        if driven:
            return nullcontext()  # its owner has the agent, such as a program that made it in code, and goes on
        hint = f"{error.hint} --no-resume only records it, for the program that has the agent."
        raise ConfigurationError(error.detail, field="agent", code=AGENT_NOT_FOUND, hint=hint) from error
    return preparing(file, order.flags, session)


def _decision(order: DecisionOrder, found: Waiting) -> ApprovalDecision:
    """The decision, once it fits what waits."""
    wait, note = found.wait, order.note
    asks = wait.kind in ("question", "secret")
    if order.verb == "answer" and not asks:
        what = "a call to decide" if wait.kind == "tool" else "a sign-in"
        raise ConfigurationError(f"{wait.id} is {what}, not a question", field="id", hint=f"Use: lousho approve {wait.id}, or reject.")
    if order.verb == "approve" and asks:
        raise ConfigurationError(f"{wait.id} is a question", field="id", hint=f"Answer it: lousho answer {wait.id} …, or reject it.")
    if order.verb == "answer":
        if wait.options and not wait.allow_free_text and note not in wait.options:
            raise ConfigurationError(f"{note!r} is not one of the answers", field="value", hint=f"They are: {', '.join(wait.options)}.")
        if wait.kind == "secret" and wait.step is None:
            note = MASK  # the run stopped for it, so nothing is there to take it; a call that runs gets it
    args = order.edited[0] if order.edited else None
    if order.edited and args is None:
        raise ConfigurationError("the edited arguments are null", field="--edit", hint="Give the whole object the tool is to get.")
    if order.edited and wait.kind != "tool":
        raise ConfigurationError(f"{wait.id} is no call to decide, so it has no arguments to change", field="--edit")
    said = ApprovalDecision(wait.id, order.verb != "reject", note=note, args=args, digest=wait.digest, by=order.flags.by)
    return decision_from(said)  # what was typed may hold bytes that are no text


async def _decide(
    store: LogStore,
    found: Waiting,
    decision: ApprovalDecision,
    prepared: Prepared | None,
    order: DecisionOrder,
    listener: Listener,
    tell: Tell,
) -> Decided:
    if found.wait.step is not None:
        return await _answer_code(store, found, decision, prepared, order, listener, tell)
    session_id, post_id = found.session_id, ""
    while True:
        try:
            if prepared is not None and order.resume:
                job = Job(store, session_id, prepared, order.flags, listener, tell, suffix_of(order.choice))
                ran = await drive(job, lambda job, signal: decide(job, decision, signal))
                return Decided(ran, True, decision.id)
            await record_decision(decision, session_id, checkpoints_of(store), prepared.facts.tools if prepared else None)
            return Decided(await _as_it_stands(store, session_id, order), False, decision.id)
        except OwnershipLostError:
            raise
        except SessionBusyError:
            post_id = post_id or SYSTEM_CLOCK.new_id()
            who = await leave(store, session_id, decision, post_id)
        except NotFoundError as error:
            who = await decided_by(store, session_id, decision.id, post_id)
            if who != "us":
                raise _decided_by_another(decision.id) from error
        if who == "us":
            if prepared is not None and order.resume and not await _goes_on_elsewhere(store, session_id):
                resumed = ResumeOrder(session_id, None, order.flags, order.choice)
                return Decided(await go_on(session_id, prepared, resumed, listener, tell), True, decision.id)
            return Decided(await _as_it_stands(store, session_id, order), False, decision.id)
        if who == "another":
            raise _decided_by_another(decision.id)


async def _answer_code(
    store: LogStore,
    found: Waiting,
    decision: ApprovalDecision,
    prepared: Prepared | None,
    order: DecisionOrder,
    listener: Listener,
    tell: Tell,
) -> Decided:
    async def here(credentials: OwnCredentials) -> Ran:
        assert prepared is not None, "it was prepared to go on"
        ready = msgspec.structs.replace(prepared, settings={**prepared.settings, "credentials": credentials})
        return await go_on(found.session_id, ready, ResumeOrder(found.session_id, None, order.flags, order.choice), listener, tell)

    ran = await answer_code(store, found, decision, here if order.resume and prepared is not None else None)
    if ran is not None:
        return Decided(ran, True, decision.id)
    return Decided(await _as_it_stands(store, found.session_id, order), False, decision.id)


async def _goes_on_elsewhere(store: LogStore, session_id: str) -> bool:
    """Whether a run goes on without us, or has nothing to go on with. Who only came to decide as well leaves soon."""
    for _ in range(_LOOKS):
        driven = await store.owner(session_id) is not None
        session = await read_session(store, session_id)
        if session.outcome is not None or session.awaiting:
            return True
        if not driven:
            return False
        await store.watch(session_id, session.seq, _WATCH_MS)
    return True


def _decided_by_another(approval_id: str) -> NotFoundError:
    return NotFoundError(
        f"{approval_id} was already decided by somebody else", code=APPROVAL_NOT_FOUND, hint="See what waits: lousho pending"
    )


async def _as_it_stands(store: LogStore, session_id: str, order: DecisionOrder) -> Ran:
    done = done_of(result_of(session_id, await read_session(store, session_id)))
    if await store.owner(session_id) is not None:
        where = f" --store {order.choice.store}" if order.choice.store else ""
        return Ran(done, f"lousho follow {session_id}{where}")
    return Ran(done, next_command(done) + suffix_of(order.choice))
