"""What a list shows of a session, from the session or, record by record, without its transcript.

``head_of`` is the meaning; ``advance`` says the same from a head and the batches behind it, so
that a list never reads a transcript. For every log that receives no input and starts no background agent
twice, advancing over it gives what ``head_of`` gives of its fold. Where that takes the transcript, as a repair
may, ``advance`` says so instead of guessing. No writer here does either twice; a head that a log which does has
misled is put right by the next owner, who writes that of its fold. So a head need not know all there ever was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lousho_cli.core.heads_agents import AGENTS, shown_agents
from lousho_cli.core.heads_inputs import INPUTS
from lousho_cli.core.open_turns import arrived
from lousho_cli.core.shown_waits import asked, kept, shown_asks, waits_for
from lousho_cli.core.states import session_from
from lousho_cli.domain import records as r
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.heads import Head, Outline, WaitsFor
from lousho_cli.domain.session import HOST_FOLDER, IMPORTING, Session
from lousho_cli.domain.usage import RunUsage, step_usage


def head_of(session: Session) -> Head:
    """The head of a session; its ``id`` and ``wake_at`` are the store's to fill in."""
    turn, wait = session.turn, session.wait
    shown = waits_for(wait) if wait is not None else None
    results = tuple(turn.results) if turn else ()
    asks, places = shown_asks(session.open_asks)
    outline = Outline(
        calls=tuple(call.id for call in turn.calls[turn.done :]) if turn else (),
        results=results,
        held=len(session.held),
        waiting={key: arrived(session.inputs[key].messages) for key in session.waiting},
        wait_call=wait.holds_up if wait else None,
        taken=shown if session.wait_taken else None,
        children={call_id: head_of(child) for call_id, child in session.children.items()},
        asks=places,
    )
    return Head(
        seq=session.seq,
        agent=session.agent,
        path=session.path,
        harness=session.harness,
        tenant=session.tenant,
        parent=session.parent.session if session.parent else None,
        status=session.status,
        outcome=session.outcome,
        error=session.error,
        attempts=session.attempts,
        step=session.step,
        run=session.run.number,
        messages=len(session.messages) + len(results) + len(session.held),
        waits_for=None if session.wait_taken else shown,
        decided=tuple(session.decided),
        created_at=session.created_at,
        updated_at=session.updated_at,
        outline=outline,
        format=session.format,
        unknown=session.unknown,
        usage=session.usage,
        earlier=session.earlier,
        asks=asks,
        agents=shown_agents(session.agents),
        lead=session.lead,
        wake=session.wake.at if session.wake else None,
        pinned_to=session.settings.get(HOST_FOLDER),
        importing=IMPORTING in session.settings,
    )


def advance(head: Head, batch: r.Batch) -> Head | None:
    """The head after one more batch; None where only a fold of the whole log can tell."""
    return advance_all(head, (batch,))


def advance_all(head: Head, batches: Sequence[r.Batch]) -> Head | None:
    """The head after several more batches; None where only a fold of the whole log can tell."""
    draft = _Draft(head)
    for batch in batches:
        draft.seq, draft.updated_at = batch.seq, batch.at
        for record in batch.records:
            handler = _HANDLERS.get(type(record))
            if handler is not None and handler(draft, record, batch) is False:
                return None
        if draft.asks:
            draft.drop_ended_asks()
    return draft.freeze()


class _Draft:
    """A head being brought up to date. Its fields are those of ``Head`` and of ``Outline``; ``load`` sets them."""

    seq: int
    agent: str
    path: str | None
    harness: str | None
    tenant: str | None
    parent: str | None
    status: Status
    outcome: r.Outcome | None
    error: str | None
    attempts: int
    step: int
    run: int
    messages: int
    decided: tuple[str, ...]
    created_at: str
    updated_at: str
    format: int
    unknown: tuple[str, ...]
    usage: RunUsage
    earlier: RunUsage
    asks: tuple[WaitsFor, ...]
    wake: str | None
    pinned_to: str | None
    importing: bool
    agents: dict[str, str]
    lead: str | None

    def __init__(self, head: Head) -> None:
        self.load(head)

    def load(self, head: Head) -> None:
        for name in Head.__struct_fields__:
            setattr(self, name, getattr(head, name))
        outline = head.outline
        self.calls, self.results, self.held = outline.calls, outline.results, outline.held
        self.waiting, self.wait_call, self.ask_places = dict(outline.waiting), outline.wait_call, outline.asks
        self.wait = head.waits_for or outline.taken
        self.is_taken = outline.taken is not None
        self.children = {call_id: _Draft(child) for call_id, child in outline.children.items()}

    def freeze(self) -> Head:
        taken = self.wait if self.is_taken else None
        self.waits_for = None if self.is_taken else self.wait
        children = {call_id: child.freeze() for call_id, child in self.children.items()} if self.children else {}
        self.outline = Outline(self.calls, self.results, self.held, self.waiting, self.wait_call, taken, children, self.ask_places)
        return Head(*[getattr(self, name) for name in Head.__struct_fields__])

    def set_wait(self, wait: WaitsFor | None, call: str | None = None) -> None:
        self.wait, self.wait_call, self.is_taken = wait, call, False

    def decide(self, wait_id: str) -> None:
        if wait_id not in self.decided:
            self.decided = (*self.decided, wait_id)

    def child(self, calls: Sequence[str]) -> _Draft | None:
        """The sub-agent that ``calls`` lead to, a new one where none has begun; None where no such call is open."""
        d = self
        for call_id in calls:
            child = d.children.get(call_id)
            if child is None:
                if call_id in d.results or call_id not in d.calls:
                    return None
                child = d.children[call_id] = _Draft(Head())
            d = child
        return d

    def drop_ended_asks(self) -> None:
        """A call that has its result, or is gone, asks nobody any more."""
        self.asks, self.ask_places = kept(self.asks, self.ask_places, lambda _, place: self._is_open(place))

    def _is_open(self, place: Sequence[str]) -> bool:
        child = self.children.get(place[0])
        is_open = place[0] in self.calls and place[0] not in self.results
        return is_open and (len(place) == 1 or (child is not None and child._is_open(place[1:])))

    def end_child(self, call_id: str) -> None:
        """The call that started a sub-agent has its result: what it used is counted."""
        child = self.children.pop(call_id, None)
        if child is not None:
            self.usage = self.usage.delegating(child.usage)


def _created(d: _Draft, record: r.Created, batch: r.Batch) -> None:
    d.agent, d.path, d.harness, d.tenant = record.agent, record.path, record.harness, record.tenant
    if record.parent is not None:
        d.parent = d.lead = record.parent
    d.created_at = d.created_at or batch.at
    _claimed(d, record, batch)


def _forked(d: _Draft, record: r.Forked, batch: r.Batch) -> None:
    _base(d, record, batch)
    d.parent, d.created_at = record.parent, batch.at
    d.lead = None


def _base(d: _Draft, record: r.Base | r.Forked, batch: r.Batch) -> None:
    d.load(head_of(session_from(record.state)))
    d.seq, d.updated_at = batch.seq, batch.at
    _claimed(d, record, batch)


def _claimed(d: _Draft, record: r.Created | r.Forked | r.Base | r.Claimed, _batch: r.Batch) -> None:
    d.format = max(d.format, record.format)


def _foreign(d: _Draft, record: r.Foreign, _batch: r.Batch) -> None:
    if record.reserved and record.type not in d.unknown:
        d.unknown = (*d.unknown, record.type)


def _within(d: _Draft, record: r.Within, batch: r.Batch) -> bool:
    """A list shows of a sub-agent what it used, and what nobody knows is known here too."""
    child = d.child(record.calls)
    for inner in record.records:
        if isinstance(inner, r.Foreign):
            _foreign(d, inner, batch)
        elif child is not None:
            handler = _HANDLERS.get(type(inner))
            if handler is not None and handler(child, inner, batch) is False:
                return False
    if child is not None:
        child.seq, child.updated_at = batch.seq, batch.at
    return True


def _cleared(d: _Draft, _record: r.Cleared, _batch: r.Batch) -> None:
    d.load(
        Head(
            seq=d.seq,
            agent=d.agent,
            path=d.path,
            harness=d.harness,
            tenant=d.tenant,
            run=d.run,
            decided=d.decided,
            created_at=d.created_at,
            updated_at=d.updated_at,
            format=d.format,
            unknown=d.unknown,
        )
    )


def _run_started(d: _Draft, record: r.RunStarted, _batch: r.Batch) -> bool:
    if record.instructions and d.messages > d.held + len(d.results):
        return False  # only the transcript can tell whether it has them
    if record.instructions:
        d.messages += 1
    if d.usage.model_calls:
        d.earlier = d.earlier.joined(d.usage)
    d.usage = RunUsage()
    d.run, d.step, d.attempts, d.status = d.run + 1, 0, 1, "in-progress"
    d.outcome = d.error = None
    d.set_wait(None)
    return True


def _run_resumed(d: _Draft, record: r.RunResumed, _batch: r.Batch) -> None:
    d.attempts, d.status = record.attempt, "in-progress"
    d.outcome = d.error = None
    d.set_wait(None)


def _run_held(d: _Draft, record: r.RunHeld, _batch: r.Batch) -> None:
    if d.outcome is None or d.outcome == "completed":
        d.error = record.error


def _turn(d: _Draft, record: r.Turn, _batch: r.Batch) -> None:
    d.step += 1
    d.usage = d.usage.plus([step_usage(d.step, record.model, record.usage, record.estimate or (0, 0))])
    d.messages += 1 - len(d.results)
    d.calls, d.results = tuple(call.id for call in record.message.tool_calls), ()
    d.children = {}


def _splice(d: _Draft, record: r.Splice, _batch: r.Batch) -> bool:
    new = arrived(record.add)
    if not (new.history and new.alone) or d.results or d.children:
        return False
    transcript = d.messages - len(d.results) - d.held
    d.messages = len(range(transcript)[: record.keep]) + new.messages + d.held
    d.calls, d.results = new.calls, new.results
    d.held = d.held + new.held if new.calls else 0
    return True


def _tool_finished(d: _Draft, record: r.ToolFinished, _batch: r.Batch) -> None:
    if record.id not in d.calls or record.id in d.results:
        return
    d.messages += 1
    d.results = (*d.results, record.id)
    if d.wait is not None and d.wait_call == record.id:
        d.decide(d.wait.id)
        d.set_wait(None)
    while d.calls and d.calls[0] in d.results:
        d.end_child(d.calls[0])
        d.results = tuple(known for known in d.results if known != d.calls[0])
        d.calls = d.calls[1:]
    if not d.calls:
        d.held, d.children = 0, {}


def _wait_opened(d: _Draft, record: r.WaitOpened, _batch: r.Batch) -> None:
    d.set_wait(waits_for(record.approval), record.approval.holds_up)


def _wait_taken(d: _Draft, record: r.WaitTaken, _batch: r.Batch) -> None:
    if d.wait is not None and d.wait.id == record.id:
        d.is_taken = True
        d.decide(record.id)


def _wait_put_back(d: _Draft, record: r.WaitPutBack, _batch: r.Batch) -> None:
    if d.wait is not None and d.wait.id == record.id:
        d.is_taken = False
        d.decided = tuple(known for known in d.decided if known != record.id)


def _wait_answered(d: _Draft, record: r.WaitAnswered, _batch: r.Batch) -> None:
    if d.wait is not None and d.wait.id == record.id:
        d.decide(record.id)
        d.set_wait(None)
        d.status = "in-progress"


def _ask_opened(d: _Draft, record: r.AskOpened, _batch: r.Batch) -> None:
    d.asks, d.ask_places = asked(d.asks, d.ask_places, record.approval)


def _ask_answered(d: _Draft, record: r.AskAnswered, _batch: r.Batch) -> None:
    if any(ask.id == record.id for ask in d.asks):
        d.asks, d.ask_places = kept(d.asks, d.ask_places, lambda ask, _: ask.id != record.id)
        d.decide(record.id)


def _wake_set(d: _Draft, record: r.WakeSet, _batch: r.Batch) -> None:
    d.wake = record.at


def _setting_changed(d: _Draft, record: r.SettingChanged, _batch: r.Batch) -> None:
    if record.name == HOST_FOLDER:
        d.pinned_to = record.value
    elif record.name == IMPORTING:
        d.importing = record.value is not None


def _mark(d: _Draft, record: r.Mark, _batch: r.Batch) -> None:
    d.step, d.status = record.step, record.status


_HANDLERS: dict[type, Callable[[_Draft, Any, r.Batch], bool | None]] = {
    r.Created: _created,
    r.Forked: _forked,
    r.Base: _base,
    r.Claimed: _claimed,
    r.Cleared: _cleared,
    r.Foreign: _foreign,
    r.Within: _within,
    r.RunStarted: _run_started,
    r.RunResumed: _run_resumed,
    r.RunHeld: _run_held,
    r.Turn: _turn,
    r.Splice: _splice,
    r.ToolFinished: _tool_finished,
    r.WaitOpened: _wait_opened,
    r.WaitTaken: _wait_taken,
    r.WaitPutBack: _wait_put_back,
    r.WaitAnswered: _wait_answered,
    r.AskOpened: _ask_opened,
    r.AskAnswered: _ask_answered,
    r.Mark: _mark,
    r.WakeSet: _wake_set,
    r.SettingChanged: _setting_changed,
    **INPUTS,
    **AGENTS,
}
