"""Deciding a paused call and going on with its run, in this process or any other, days later."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.answering import answer_records, waiting, waits_for
from lousho_cli.core.decide import AgentFacts, resumed
from lousho_cli.core.fingerprint import keeping_instructions
from lousho_cli.core.gate import GatedTool, validated
from lousho_cli.core.originals import approval_from, approval_parts
from lousho_cli.core.snapshots import state_of_snapshot
from lousho_cli.core.sub_agents import tools_at
from lousho_cli.core.tool_errors import not_run
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint, agent_from
from lousho_cli.domain.approvals import ApprovalDecision, ExecutionSnapshot, PendingApproval, Question, StoredApproval
from lousho_cli.domain.plain import plain
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError, NotFoundError, StorageError
from lousho_cli.executor.beginnings import Order
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.dynamic import AgentSource, FixedAgent, agent_source
from lousho_cli.executor.given_stores import approval_store_of, checkpoint_store_of
from lousho_cli.executor.hooks import hooks_from
from lousho_cli.executor.leads import tell_lead
from lousho_cli.executor.places import Place, log_store_of
from lousho_cli.executor.plain_store import PlainStore
from lousho_cli.executor.registry import ToolRegistry, registry_from
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.run_agent import RunAgent, RunSettings, check_settings, gated_by, run_agent
from lousho_cli.executor.secret_answers import decided_aside
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.shielded import shielded
from lousho_cli.ports.checkpoints import ApprovalStore, CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.sessions import read_session


async def resume_after_approval(
    decision: ApprovalDecision | Mapping[str, Any],
    approval_store: ApprovalStore,
    tool_registry: Any,
    provider: Provider,
    options: Mapping[str, Any] | None = None,
    checkpoint_store: CheckpointStore | None = None,
) -> RunResult:
    """Records the paused call's result, runs the calls behind it, and goes on with the run.

    Args:
        decision: id, approved, and optionally note, args (an edit), digest, by.
        options: any run setting of ``AgentExecutor.execute``, and ``approval_store`` for later pauses,
            ``agent`` to go on with another agent than the paused one (with ``metadata`` for its functions),
            ``signal``, ``on_event``, ``clock``.
        checkpoint_store: clears the session's awaiting mark and keeps checkpointing; without it the
            session stays blocked.

    Raises:
        NotFoundError: the id is unknown or was decided (code LOUSHO_APPROVAL_NOT_FOUND).
        AgentDriftError, ResumeToolMissingError: refused; the approval waits again.
        ConfigurationError: a decision or an option that makes no sense; nothing was taken.
        StorageError: what the store gave back is no approval.
    """
    chosen = dict(options or {})
    decided = decision_from(decision)
    tools = registry_from(tool_registry)
    clock = chosen.pop("clock", SYSTEM_CLOCK)
    signal, on_event = chosen.pop("signal", None), chosen.pop("on_event", None)
    later = chosen.pop("approval_store", None)
    business = chosen.pop("business_state", msgspec.UNSET)
    other, metadata = chosen.pop("agent", None), chosen.pop("metadata", None)
    settings = _settings(chosen)
    if other:
        agent_source(other, provider, tools, settings, metadata)
    if approval_store is None:
        raise ConfigurationError("approval_store is missing", field="approval_store")
    same = later is None or later is approval_store
    approval_store, checkpoint_store = approval_store_of(approval_store), checkpoint_store_of(checkpoint_store)
    later = approval_store if same else approval_store_of(later)
    # From here on an approval may be ours that must be given back, so whatever a caller can say wrong was looked at before.
    stored = await _peek(approval_store, decided.id)
    place = _place(stored.approval, checkpoint_store, approval_store, later, clock)
    try:
        decided = await decided_aside(decided, stored.approval.pending, settings.credentials, clock)
        paused = stored.approval.snapshot
        if "max_steps" not in chosen and paused.max_steps is not None:
            settings = msgspec.structs.replace(settings, max_steps=paused.max_steps)
        source = agent_source(other, provider, tools, settings, metadata) if other else _as_paused(paused, provider, tools, settings)
        order = Order(
            place=place,
            business_state=() if business is msgspec.UNSET else (business,),
            answer=lambda session, agent: _answer(session, decided, stored, agent, clock.now()),
            credentials=settings.credentials,
        )
        if not place.native:
            await _take(stored, approval_store, decided.id)
        return await shielded(source, order, signal, on_event, clock, hooks_from(settings.hooks))
    except BaseException:
        await _put_back_unless_decided(stored, approval_store, place)
        raise


def _as_paused(paused: ExecutionSnapshot, provider: Provider, tools: ToolRegistry, settings: RunSettings) -> AgentSource:
    """The agent that paused, with today's tools and provider. Its instructions are those it has: nothing else is known of them."""
    ready = run_agent(agent_from(paused.agent), provider, tools, settings)
    return FixedAgent(msgspec.structs.replace(ready, facts=_with_instructions_of(paused.agent_fingerprint, ready.facts)))


def _with_instructions_of(saved: Fingerprint | None, facts: AgentFacts) -> AgentFacts:
    begin = facts.begin
    if begin.fingerprint is None:
        return facts
    kept = keeping_instructions(begin.fingerprint, saved)
    return msgspec.structs.replace(facts, begin=msgspec.structs.replace(begin, fingerprint=kept))


def _settings(chosen: Mapping[str, Any]) -> RunSettings:
    """The settings of the options.

    Raises:
        ConfigurationError: an option there is not, or one that makes no sense.
    """
    unknown = sorted(chosen.keys() - set(RunSettings.__struct_fields__))
    if unknown:
        raise ConfigurationError(f"there is no option {unknown[0]}", field=f"options.{unknown[0]}")
    settings = RunSettings(**(dict(chosen) | {"requires_approval": gated_by(chosen.get("requires_approval", ()))}))
    check_settings(settings)
    return settings


def decision_from(value: ApprovalDecision | Mapping[str, Any]) -> ApprovalDecision:
    """Reads a decision; what it gives can be stored as it is, whatever an ``ApprovalDecision`` was made of.

    Raises:
        ConfigurationError: it has no id, ``approved`` is not True or False, or another field is of the wrong kind.
    """
    try:
        if isinstance(value, ApprovalDecision):
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
        elif isinstance(value, Mapping):
            fields = dict(value)
        else:
            raise TypeError(f"expected an object, got {type(value).__name__}")
        return msgspec.convert(plain(fields)[0], ApprovalDecision)
    except (msgspec.ValidationError, TypeError) as error:
        raise ConfigurationError(
            f"the decision is not valid: {error}", field="decision", hint="It has an id, and approved, which is True or False."
        ) from error


class _Stored:
    """A pause that was found; ``taken`` once it is ours."""

    def __init__(self, approval: StoredApproval, *, taken: bool) -> None:
        self.approval, self.taken = approval, taken


async def _peek(store: ApprovalStore, approval_id: str) -> _Stored:
    load = getattr(store, "load", None)
    found = await (load(approval_id) if load else store.resolve(approval_id))
    if found is None:
        raise approval_not_found(approval_id)
    try:
        return _Stored(approval_from(found), taken=load is None)
    except StorageError as error:
        if load is None:
            await _give_back(store, found)
        raise StorageError(f"the approval {approval_id}: {error.detail}") from error


async def _give_back(store: ApprovalStore, found: Any) -> None:
    """Puts back, as it came, what had to be taken to be looked at; what has no parts was nothing that can be stored."""
    try:
        parts = approval_parts(found)
        pending, snapshot = (kind(**part) if isinstance(part, Mapping) else part for part, kind in zip(parts, _KINDS, strict=True))
    except (TypeError, AttributeError):
        return
    if pending is not None and snapshot is not None:
        await store.save(pending, snapshot)


_KINDS: tuple[Any, Any] = (PendingApproval, ExecutionSnapshot)


def approval_not_found(approval_id: str) -> NotFoundError:
    """The error for an approval that is unknown or was decided."""
    return NotFoundError(
        f"nothing waits under {approval_id}: it is unknown or already decided",
        code="LOUSHO_APPROVAL_NOT_FOUND",
        hint="See what waits: lousho pending",
    )


async def _take(stored: _Stored, store: ApprovalStore, approval_id: str) -> None:
    if not stored.taken:
        if await store.resolve(approval_id) is None:
            raise approval_not_found(approval_id)
        stored.taken = True


async def _put_back_unless_decided(stored: _Stored, store: ApprovalStore, place: Place) -> None:
    """An approval that was taken and never came into a log waits again."""
    if not stored.taken:
        return
    session = await _session_at(place)
    if stored.approval.pending.id not in session.decided:
        await store.save(stored.approval.pending, stored.approval.snapshot)


async def _session_at(place: Place) -> Session:
    return await read_session(place.store, place.session_id)


def _place(approval: StoredApproval, checkpoints: CheckpointStore | None, asked: ApprovalStore, later: ApprovalStore, clock: Any) -> Place:
    session_id = approval.snapshot.session_id
    log_store = log_store_of(checkpoints)
    if log_store is not None and session_id:
        native = log_store_of(asked) is log_store
        return Place(log_store, session_id, session_id, later, native and later is asked, shared=True)
    keep = checkpoints if session_id else None
    plain = PlainStore(keep, clock, pending=approval.pending, otherwise=state_of_snapshot(approval.snapshot))
    return Place(plain, session_id or clock.new_id(), session_id, later, native=False, shared=False)


def _answer(session: Session, decision: ApprovalDecision, stored: _Stored, agent: RunAgent, now: str) -> Sequence[r.Record]:
    """The records a decision begins with.

    Raises:
        NotFoundError: the session no longer waits for it.
        ConfigurationError: edited arguments the tool does not take, or a digest of another call.
    """
    return (*decided_records(session, decision, agent, now, taken=stored.taken), *_never_run(session, stored.approval))


def decided_records(
    session: Session, decision: ApprovalDecision, agent: RunAgent, now: str, *, taken: bool = False
) -> tuple[r.Record, ...]:
    """The records of a decision with which a run goes on at once. Takes and raises what ``check_decision`` does."""
    decision = check_decision(session, decision, agent.tools, taken=taken)
    answered = answer_records(session, decision, now, taken=taken)
    if not answered:
        raise approval_not_found(decision.id)
    # A person's decision is no crash, so it costs no attempt; and the instructions the run goes on with are those in its transcript.
    facts = _with_instructions_of(session.run.fingerprint, agent.facts)
    goes_on = resumed(session, facts, now, attempt=max(session.attempts, 1))
    return (answered[0], goes_on, *answered[1:])


def check_decision(
    session: Session, decision: ApprovalDecision, tools: Mapping[str, GatedTool], *, taken: bool = False
) -> ApprovalDecision:
    """A decision whose edit, if any, is validated by the tool that would get it.

    Args:
        taken: the caller took the approval from its store, and so may decide one that was given away.

    Raises:
        NotFoundError: the session does not wait for it.
        ConfigurationError: edited arguments the tool does not take, a digest of another call, or an answer that is none.
    """
    wait = session.wait if waits_for(session, decision.id, taken=taken) else waiting(session, decision.id)
    if wait is None:
        raise approval_not_found(decision.id)
    if decision.digest is not None and decision.digest != wait.digest:
        raise ConfigurationError("the digest is not that of the call that waits", field="digest", code="LOUSHO_DIGEST_MISMATCH")
    if decision.approved:
        _must_be_an_answer(decision, wait.question)
    if decision.args is None or not decision.approved:
        return decision
    if wait.kind != "tool":
        raise ConfigurationError(f"{wait.id} is no call to decide, so it has no arguments to change", field="args")
    tool = tools_at(tools, wait).get(wait.tool_name)
    if tool is None:
        return decision
    args, issues = validated(decision.args, tool)
    if issues:
        wrong = "; ".join(f"{issue.path}: {issue.message}" for issue in issues)
        raise ConfigurationError(
            f"the edited arguments do not fit {wait.tool_name}: {wrong}",
            field="args",
            hint="Give all of them as one JSON object; those that were asked for are in: lousho pending --json",
        )
    return msgspec.structs.replace(decision, args=args)


def _must_be_an_answer(decision: ApprovalDecision, question: Question | None) -> None:
    """Lets only one of the answers pass where no other is welcome."""
    if question is None or not question.options or question.allow_free_text or decision.note in question.options:
        return
    hint = f"They are: {', '.join(question.options)}."
    raise ConfigurationError(f"{decision.note!r:.60} is not one of the answers", field="note", hint=hint)


async def record_decision(
    decision: ApprovalDecision | Mapping[str, Any],
    session_id: str,
    checkpoint_store: CheckpointStore,
    tool_registry: Any = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Records a decision on a session of a log store and goes no further; the next resume acts on it.

    Args:
        tool_registry: needed for an edit alone, which its tool validates.

    Raises:
        NotFoundError: the session does not wait for it (any more).
        SessionBusyError: somebody drives the session.
        ConfigurationError: as ``check_decision``; or the store is no log store.
    """
    store = log_store_of(checkpoint_store)
    if store is None:
        raise ConfigurationError("only a log store can keep a decision for later", field="checkpoint_store")
    log = await SessionLog.open(store, session_id, socket.gethostname(), clock, keep_ring=True)
    try:
        decided = check_decision(log.session, decision_from(decision), registry_from(tool_registry))
        records = answer_records(log.session, decided, clock.now())
        if not records:
            raise approval_not_found(decided.id)
        await log.record(*records)
    finally:
        await log.close()
    await tell_lead(store, log.session.lead, clock)


def _never_run(session: Session, stored: StoredApproval) -> tuple[r.Record, ...]:
    """A pause stored before the calls behind it were kept: those do not run, and say so."""
    if stored.snapshot.remaining_tool_calls is not None:
        return ()
    behind = [call for call in session.pending if call.id != stored.pending.holds_up]
    return tuple(r.ToolFinished(call.id, not_run(call), is_error=True) for call in behind)
