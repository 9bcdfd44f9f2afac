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
from lousho_cli.app.driving import Job, Ran, Tell, drive, store_flag, suffix_of
from lousho_cli.app.hostile_text import json_line
from lousho_cli.app.keeping_secrets import keep_secret
from lousho_cli.app.leaving import decided_by, leave
from lousho_cli.app.loading import Loaded, load, require_writable
from lousho_cli.app.own_credentials import OwnCredentials
from lousho_cli.app.pending import APPROVAL_NOT_FOUND, Waiting, find_waiting
from lousho_cli.app.preparing import Prepared, RunFlags, preparing
from lousho_cli.app.results import ResumeCheck
from lousho_cli.app.resuming import Ahead, ResumeOrder, check_of, resume, say_ahead_of
from lousho_cli.app.run_ends import done_of, next_command
from lousho_cli.app.secrets import MASK
from lousho_cli.app.unfinished import lead_of
from lousho_cli.app.wiring import checkpoints_of, open_store
from lousho_cli.core.answering import answer_records, expired, refusal
from lousho_cli.core.fold import fold
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.errors import ConfigurationError, NotFoundError, OwnershipLostError, SDKError, SessionBusyError
from lousho_cli.executor.approvals import check_decision, decision_from, record_decision
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.events import Listener
from lousho_cli.executor.results import result_of
from lousho_cli.host.session import HostSession
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
    store = open_store(order.choice.store, create=False)
    found = await find_waiting(store, order.id)
    assert store is not None, "something waits in it"
    decision = _decision(order, found)
    loaded = await load(store, found.session_id)
    require_writable(loaded)
    if loaded.session.wait is not None and expired(loaded.session.wait, SYSTEM_CLOCK.now()):
        tell(f"this comes too late: {found.wait.id} expired at {found.wait.expires_at}; the call is not run")
    tell(_said(order, found))
    if refusal(loaded.session, decision, SYSTEM_CLOCK.now()) == "invalid_answer":
        raise refused_answer(found, "invalid_answer")
    driven = await store.owner(found.session_id) is not None
    lead = await lead_of(store, found.head) if not driven and order.choice.agent is None else None
    if lead is not None and order.resume:
        return await _for_lead(order, lead, listener, tell, ahead)
    async with _preparing(loaded, order, driven) as prepared:
        # Whoever drives it already goes on with what runs; that is not begun again.
        return await _carried_out(order, store, found, loaded, decision, prepared, listener, tell, _silent if driven else ahead)


async def _for_lead(order: DecisionOrder, lead: str, listener: Listener, tell: Tell, ahead: Ahead) -> Decided:
    """Decides what a background agent waits for, and goes on with its lead, whose work it is."""
    decided = await carry_out(msgspec.structs.replace(order, resume=False), listener, lambda text: None, ahead)
    try:
        ran = await resume(ResumeOrder(lead, None, order.flags, order.choice), listener, tell, ahead)
    except SDKError as error:
        if not isinstance(error, SessionBusyError) or isinstance(error, OwnershipLostError):
            tell(f"the decision is kept; {decided.ran.done.session} goes on with it once its lead {lead} is taken up")
            raise
        tell(f"the decision is kept; {error.owner} drives its lead {lead} and goes on with {decided.ran.done.session}")
        return decided
    return msgspec.structs.replace(decided, ran=ran, went_on=True) if isinstance(ran, Ran) else decided


async def _carried_out(
    order: DecisionOrder,
    store: LogStore,
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
    if found.wait.kind == "secret" and found.wait.step is None and decision.approved:
        decision, prepared = await keep_secret(store, decision, order.note or "", prepared, goes_on=order.resume)
    job = None
    if order.resume and prepared is not None:
        job = Job(store, found.session_id, prepared, order.flags, listener, tell, order.choice)
    if found.wait.step is not None:
        ran = await _answer_code(store, found, decision, job, tell)
    else:
        ran = await _decide(store, found.session_id, decision, job, prepared.facts.tools if prepared else None, tell)
    return Decided(ran or await _as_it_stands(store, found.session_id, order), ran is not None, decision.id)


def _silent(_check: ResumeCheck) -> None:
    """Says nothing of what is going to happen."""


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
    return f"{verb} in {found.session_id}: {wait.named_tool} {json_line(order.edited[0] if order.edited else wait.args)}{changed}"


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
            note = MASK  # a reference takes its place where the secret can be kept; a call that runs gets it itself
    args = order.edited[0] if order.edited else None
    if order.edited and args is None:
        raise ConfigurationError("the edited arguments are null", field="--edit", hint="Give the whole object the tool is to get.")
    if order.edited and wait.kind != "tool":
        raise ConfigurationError(f"{wait.id} is no call to decide, so it has no arguments to change", field="--edit")
    said = ApprovalDecision(wait.id, order.verb != "reject", note=note, args=args, digest=wait.digest, by=order.flags.by)
    return decision_from(said)  # what was typed may hold bytes that are no text


async def _decide(store: LogStore, session_id: str, decision: ApprovalDecision, job: Job | None, tools: Any, tell: Tell) -> Ran | None:
    """Decides, and drives ``job`` where there is one and nobody else goes on; None where nothing was driven here."""
    post_id, counts = "", False
    while True:
        try:
            if job is not None:
                return await drive(job, HostSession.resume if counts else lambda session: session.resume_after_approval(decision))
            await record_decision(decision, session_id, checkpoints_of(store), tools)
            return None
        except OwnershipLostError:
            raise
        except SessionBusyError:
            post_id = post_id or SYSTEM_CLOCK.new_id()
            who = "us" if counts else await leave(store, session_id, decision, post_id, tell)
        except NotFoundError as error:
            who = await decided_by(store, session_id, decision.id, post_id)
            if who != "us":
                raise _decided_by_another(decision.id) from error
        if who == "us":
            if job is None or await _goes_on_elsewhere(store, session_id):
                return None
            counts = True
        if who == "another":
            raise _decided_by_another(decision.id)


async def _answer_code(store: LogStore, found: Waiting, decision: ApprovalDecision, job: Job | None, tell: Tell) -> Ran | None:
    """The same for what running code asks. A secret reaches it through the credentials of whoever drives the session."""
    if job is None:
        return await answer_code(store, found, decision, None, tell)

    async def here(credentials: OwnCredentials) -> Ran:
        ready = msgspec.structs.replace(job.prepared, settings={**job.prepared.settings, "credentials": credentials})
        return await drive(msgspec.structs.replace(job, prepared=ready), HostSession.resume)

    return await answer_code(store, found, decision, here, tell)


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
    head = await store.head(session_id)
    lead = await lead_of(store, head) if head is not None else None
    goes_on = lead or session_id  # a background agent goes on with its lead
    if await store.owner(goes_on) is not None:
        return Ran(done, f"lousho follow {goes_on}{store_flag(order.choice)}")
    return Ran(done, (f"lousho resume {lead}" if lead is not None else next_command(done)) + suffix_of(order.choice))
