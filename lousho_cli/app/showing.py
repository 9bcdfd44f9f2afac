"""One session, or one checkpoint of it, whole."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.app.import_names import ORIGIN
from lousho_cli.app.loading import Loaded, load
from lousho_cli.app.results import Outcome, PendingItem, Status
from lousho_cli.app.sessions import find_session
from lousho_cli.app.usage import StepLine, Totals, Usage, session_totals, steps_of, usage_of
from lousho_cli.core.addresses import Address, checkpoint_not_found, find_mark, parse_address, trimmed_away
from lousho_cli.core.checkpoints import checkpoint_at
from lousho_cli.core.fold import fold
from lousho_cli.core.limits import used_with_sub_agents
from lousho_cli.core.sub_sessions import SubSession, sub_sessions
from lousho_cli.core.versions import damaged_records
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.messages import Message, Part, Reasoning, ToolCall
from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.stops import Stop
from lousho_cli.ports.sessions import Sessions


class ShownMessage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One message of a transcript. A tool's result is the JSON text the model got."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    reasoning: tuple[Reasoning, ...] = ()
    metadata: dict[str, Any] | None = None


class ShownSubAgent(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One sub-agent. ``calls`` leads to it, the ids of the calls that started it and those around it; ``path`` their names."""

    calls: tuple[str, ...]
    path: tuple[str, ...]
    status: Status
    step: int
    finish_reason: str
    messages: tuple[ShownMessage, ...]
    usage: Usage
    tools: tuple[str, ...]
    outcome: Outcome | None = None
    error: str | None = None


class Shown(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A session, or one checkpoint of it when ``address`` is there.

    subagents, and ``stop``, what stopped the run before it had its answer: told of a session, not of a checkpoint.
    So is ``session_usage``, what all its runs used; ``usage`` and ``step_usage`` are of the run, up to the checkpoint.
    origin: of one that was imported, or is a fork of such a one, what it was and where, see ``importing_talks``.
    """

    session: str
    status: Status
    step: int
    finish_reason: str
    messages: tuple[ShownMessage, ...]
    usage: Usage
    business_state: Any
    fingerprint: Fingerprint | None
    agent: str
    updated_at: str
    seq: int
    tools: tuple[str, ...]
    address: str | None = None
    outcome: Outcome | None = None
    error: str | None = None
    parent: str | None = None
    parent_step: int | None = None
    waits_for: PendingItem | None = None
    pending_calls: tuple[str, ...] = ()
    subagents: tuple[ShownSubAgent, ...] = ()
    damage: tuple[str, ...] = ()
    stop: Stop | None = None
    step_usage: tuple[StepLine, ...] = ()
    session_usage: Totals | None = None
    origin: dict[str, Any] | None = None


class Point:
    """A session as an address means it: its log's end, a kept checkpoint, or its log up to a seq."""

    def __init__(self, loaded: Loaded, address: Address, mark: Marked | None = None) -> None:
        self.loaded = loaded
        self.address = address
        self.mark = mark

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What a plain checkpoint store would keep of it; None before the first mark."""
        mark = self.mark or self.loaded.session.latest
        return checkpoint_at(self.loaded.id, mark) if mark is not None else None


async def read_point(store: Sessions | None, text: str) -> Point:
    """What an address means in a store.

    Raises:
        ConfigurationError: it is no address.
        NotFoundError: there is no such session or checkpoint; what there is is listed.
    """
    address = parse_address(text)
    store, session_id = await find_session(store, address.session)
    if address.seq is not None:
        return Point(await _load_until(store, session_id, address.seq), address)
    loaded = await load(store, session_id)
    return Point(loaded, address, find_mark(session_id, loaded.session, address) if address.is_point else None)


async def _load_until(store: Sessions, session_id: str, seq: int) -> Loaded:
    read = await store.read(session_id)
    batches = [batch for batch in read.batches if batch.seq <= seq]
    if not batches or batches[-1].seq != seq:
        whole = fold(read.batches)
        if seq and read.batches and seq < read.batches[0].seq and not read.holes:
            raise trimmed_away(session_id, whole, seq)
        raise checkpoint_not_found(session_id, whole, f"no batch {seq} in its log (its last is {read.head})")
    return Loaded(session_id, fold(batches), read.holes, tuple(damaged_records(batches)))


async def show(store: Sessions | None, text: str) -> tuple[Shown, Loaded]:
    """What an address means, ready to be shown, and the session it was read from (for its damage).

    Raises:
        ConfigurationError, NotFoundError: as ``read_point``.
    """
    point = await read_point(store, text)
    if point.mark is not None:
        return shown_mark(point.loaded, point.mark), point.loaded
    return msgspec.structs.replace(shown_session(point.loaded, point.address), subagents=await _subagents(store, point)), point.loaded


async def _subagents(store: Sessions | None, point: Point) -> tuple[ShownSubAgent, ...]:
    """What the log up to a point tells of sub-agents. Only a log that may hold one is read again for it."""
    session = point.loaded.session
    if store is None or not (session.usage.delegated.runs or session.children or session.run.number > 1):
        return ()
    batches = (await store.read(point.loaded.id)).batches
    return tuple(map(_shown_subagent, sub_sessions(batch for batch in batches if batch.seq <= session.seq)))


def _messages_of(session: Session) -> tuple[ShownMessage, ...]:
    """All that was said, results that came before those in front of them and held input too."""
    behind = session.turn.results.values() if session.turn else ()
    return tuple(map(message_of, (*session.messages, *behind, *session.held)))


def _shown_subagent(found: SubSession) -> ShownSubAgent:
    session = found.session
    return ShownSubAgent(
        calls=found.calls,
        path=found.path,
        status=session.status,
        step=session.step,
        finish_reason=session.finish_reason,
        messages=_messages_of(session),
        usage=usage_of(used_with_sub_agents(session)),
        tools=session.run.offered,
        outcome=session.outcome,
        error=session.error,
    )


def shown_session(loaded: Loaded, address: Address, messages: tuple[ShownMessage, ...] | None = None) -> Shown:
    """A session as it stands, without its sub-agents. ``messages``: what was said, where the caller has it already."""
    session = loaded.session
    return Shown(
        session=loaded.id,
        status=session.status,
        outcome=session.outcome,
        error=session.error,
        step=session.step,
        finish_reason=session.finish_reason,
        messages=_messages_of(session) if messages is None else messages,
        usage=usage_of(used_with_sub_agents(session)),
        business_state=session.business_state,
        fingerprint=session.run.fingerprint,
        agent=session.agent or session.run.agent_id,
        updated_at=session.updated_at,
        seq=session.seq,
        tools=session.run.offered,
        address=str(address) if address.is_point else None,
        parent=session.parent.session if session.parent else None,
        parent_step=session.parent.step if session.parent and not session.parent.beside else None,
        waits_for=_waits(loaded.id, session.wait),
        pending_calls=tuple(call.id for call in session.pending),
        damage=loaded.damage,
        stop=session.stop,
        step_usage=steps_of(session),
        session_usage=session_totals(session),
        origin=session.settings.get(ORIGIN),
    )


def shown_mark(loaded: Loaded, mark: Marked, messages: tuple[ShownMessage, ...] | None = None) -> Shown:
    """One checkpoint of a session. ``messages``: its transcript, where the caller has it already."""
    session: Session = loaded.session
    waits = session.wait if session.wait and session.wait.id == mark.approval_id else None
    return Shown(
        session=loaded.id,
        status=mark.status,
        step=mark.step,
        finish_reason=mark.finish_reason,
        messages=tuple(map(message_of, (*mark.messages, *mark.held))) if messages is None else messages,
        usage=usage_of(used_with_sub_agents(mark)),
        step_usage=steps_of(mark),
        business_state=mark.business_state,
        fingerprint=mark.run.fingerprint,
        agent=session.agent or mark.run.agent_id,
        updated_at=mark.at,
        seq=mark.seq,
        tools=mark.run.offered,
        address=f"{loaded.id}@{mark.address}",
        parent=session.parent.session if session.parent else None,
        parent_step=session.parent.step if session.parent and not session.parent.beside else None,
        waits_for=_waits(loaded.id, waits),
        damage=loaded.damage,
        origin=session.settings.get(ORIGIN),
    )


def _waits(session_id: str, wait: PendingApproval | None) -> PendingItem | None:
    if wait is None:
        return None
    return PendingItem(
        id=wait.id,
        session=session_id,
        tool=wait.tool_name,
        args=wait.args,
        digest=wait.digest,
        created_at=wait.created_at,
        kind=wait.kind,
        path=wait.path,
        expires_at=wait.expires_at,
        question=wait.question.text if wait.question else None,
        options=wait.question.options if wait.question else (),
        tool_call_id=wait.tool_call_id,
        url=wait.question.url if wait.question else None,
        reason=wait.reason,
    )


def message_of(message: Message) -> ShownMessage:
    """A message as it is shown."""
    return ShownMessage(**{name: getattr(message, name) for name in ShownMessage.__struct_fields__})
