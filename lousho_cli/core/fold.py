"""fold: records in, a session out. The one place that says what a record means.

It is total and deterministic: any records in any order give a session, a record that
makes no sense where it stands changes nothing, and the same log gives the same session
live or reloaded, with or without a snapshot.

Results enter by ``ToolFinished`` alone. They are kept the moment they come, and move into
the transcript as far as they follow their turn in call order without a gap. So every
prefix of the transcript that a mark points at is one a provider would accept once the
open calls are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold_agents import AGENTS
from lousho_cli.core.fold_inputs import INPUTS, put_transcript
from lousho_cli.core.fold_waits import WAITS, approval_marker, drop_ended_asks, forget_wait, no_longer_asks
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import is_cut_off
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import Parent, Run, Session, Wake
from lousho_cli.domain.usage import step_usage

Handlers = dict[type, Callable[[Accumulator, Any, r.Batch], None]]


def fold(batches: Iterable[r.Batch], session: Session | None = None) -> Session:
    """The session that ``batches`` add up to, on top of ``session`` where given."""
    accumulator = Accumulator(session)
    known = list(batches)
    passed = _before_the_ring(known)
    for batch in known[:passed]:
        apply_part(accumulator, batch, batch.records, _PASSED)
    for batch in known[passed:]:
        apply_part(accumulator, batch, batch.records)
    return accumulator.freeze()


def apply(f: Accumulator, batch: r.Batch) -> None:
    """Adds one batch."""
    apply_part(f, batch, batch.records)


def apply_part(f: Accumulator, batch: r.Batch, records: Iterable[r.Record], handlers: Handlers | None = None) -> None:
    """Adds records of a batch, which says where they stand; one that is still being put together need not hold them yet.

    Args:
        handlers: what each record does, where it is not what it always does.
    """
    handlers = handlers or _HANDLERS
    f.seq, f.updated_at = batch.seq, batch.at
    if batch.epoch > f.epoch:
        f.epoch = batch.epoch
    for record in records:
        handler = handlers.get(type(record))
        if handler is not None:
            handler(f, record, batch)
    if f.asks:
        drop_ended_asks(f)


def _before_the_ring(batches: Sequence[r.Batch]) -> int:
    """How many batches come before the first mark that can still be in the ring when all are folded.

    A mark is gone once as many came behind it as the largest ring among those keeps.
    """
    marks, ring = 0, 1
    for index in range(len(batches) - 1, -1, -1):
        for record in batches[index].records:
            if type(record) is r.Mark:
                marks += 1
                ring = max(ring, record.limit)
        if marks >= ring:
            return index
    return 0


def _created(f: Accumulator, record: r.Created, batch: r.Batch) -> None:
    f.agent, f.path, f.harness, f.tenant = record.agent, record.path, record.harness, record.tenant
    f.format = max(f.format, record.format)
    f.created_at = f.created_at or batch.at
    if record.parent is not None:
        f.parent = Parent(record.parent, beside=True)


def _forked(f: Accumulator, record: r.Forked, batch: r.Batch) -> None:
    _load_state(f, record.state, batch)
    f.parent = Parent(record.parent, record.seq, record.step)
    f.format = max(f.format, record.format)
    f.created_at = batch.at


def _base(f: Accumulator, record: r.Base, batch: r.Batch) -> None:
    _load_state(f, record.state, batch)
    f.format = max(f.format, record.format)


def _load_state(f: Accumulator, state: Any, batch: r.Batch) -> None:
    from lousho_cli.core.states import session_from  # states fold nothing, but they build what fold builds

    f.load(session_from(state))
    f.seq, f.epoch, f.updated_at = batch.seq, max(f.epoch, batch.epoch), batch.at


def _cleared(f: Accumulator, _record: r.Cleared, _batch: r.Batch) -> None:
    kept = Session(
        seq=f.seq,
        epoch=f.epoch,
        format=f.format,
        agent=f.agent,
        path=f.path,
        harness=f.harness,
        tenant=f.tenant,
        created_at=f.created_at,
        updated_at=f.updated_at,
        run=Run(number=f.run.number, input_id=""),
        decided=f.decided,
        marks=f.marks.view(),
        last_mark=f.last_mark,
        ring=f.ring,
        unknown=f.unknown,
    )
    f.load(kept)


def _claimed(f: Accumulator, record: r.Claimed, _batch: r.Batch) -> None:
    f.format = max(f.format, record.format)


def _abort_asked(f: Accumulator, _record: r.AbortAsked, _batch: r.Batch) -> None:
    f.abort_asked = True


def _run_started(f: Accumulator, record: r.RunStarted, _batch: r.Batch) -> None:
    if record.instructions:
        _instruct(f, record.instructions)
    _steers_wait(f)
    run = Run(
        number=f.run.number + 1,
        input_id=record.input_id,
        start=len(f.messages),
        fingerprint=record.fingerprint,
        offered=record.offered,
        model=record.model,
        replay=record.replay,
        max_steps=record.max_steps,
        agent_id=record.agent_id,
        config=record.config,
        deadline=record.deadline,
    )
    f.begin_run(run)
    f.status, f.finish_reason = "in-progress", "stop"
    f.wait, f.wait_taken, f.decisions = None, False, {}
    f.retries, f.attempts, f.abort_asked, f.handed_over = 0, 1, False, False
    f.outcome = f.error = f.error_code = f.stop = None
    f.active = ()


def _instruct(f: Accumulator, instructions: str) -> None:
    """The instructions stand in front, also where others left something before the first run began."""
    known = f.messages.view()
    if not len(known):
        f.messages.append(Message(role="system", content=instructions))
    elif known[0].role != "system":
        f.put_messages([Message(role="system", content=instructions), *known])


def _steers_wait(f: Accumulator) -> None:
    """What was to enter the run before this one, and came too late, waits for a run of its own: the next."""
    late = f.joining
    if late:
        for i in late:
            f.put_input(i, msgspec.structs.replace(f.inputs[i], joins=False))
        own = set(late)
        f.waiting = (*late, *(i for i in f.waiting if i not in own))


def _run_resumed(f: Accumulator, record: r.RunResumed, _batch: r.Batch) -> None:
    run = f.run
    f.run = Run(
        number=run.number,
        input_id=run.input_id,
        start=run.start,
        fingerprint=record.fingerprint or run.fingerprint,
        offered=run.offered if record.offered is None else record.offered,
        model=record.model or run.model,
        replay=run.replay,
        max_steps=record.max_steps or run.max_steps,
        agent_id=run.agent_id,
        config=run.config,
        deadline=record.deadline or run.deadline,
    )
    f.attempts, f.handed_over = record.attempt, False
    if f.truncated and f.calls:
        f.finish_reason = "tool_calls"  # its calls are answered by now, or soon: the run goes on behind them
    forget_wait(f)
    # Nobody goes on with a session that waits, unless its approval is gone: then the call is gated again.
    f.wait, f.wait_taken, f.status, f.stop = None, False, "in-progress", None
    if f.outcome is not None:
        f.retries = 0  # the run had ended; whoever names it again begins its tries afresh
    f.outcome = f.error = f.error_code = None
    f.abort_asked = False


def _run_handed_over(f: Accumulator, _record: r.RunHandedOver, _batch: r.Batch) -> None:
    f.handed_over = True


def _run_held(f: Accumulator, record: r.RunHeld, _batch: r.Batch) -> None:
    if f.outcome is None or f.outcome == "completed":
        f.error, f.error_code = record.error, record.code


def _turn(f: Accumulator, record: r.Turn, _batch: r.Batch) -> None:
    f.step += 1
    f.used(step_usage(f.step, record.model, record.usage, record.estimate or (0, 0)))
    f.messages.append(record.message)
    f.turns += 1
    f.finish_reason = record.finish_reason
    f.decisions = {}
    f.begin_turn(record.message.tool_calls, truncated=record.finish_reason == "length")


def _splice(f: Accumulator, record: r.Splice, _batch: r.Batch) -> None:
    if record.add and is_cut_off(record.add[0]) and record.keep == len(f.messages) and not f.calls:
        f.messages.extend(record.add)  # an answer that is gone on with comes behind all there is, which stays shared
        return
    # What is known of the open calls stays known: their results, that they were begun, that they were cut off.
    calls, results, started, spawned, truncated = f.calls, f.results, f.started, f.spawned, f.truncated
    children, asked, steps = f.children, f.asked, f.steps
    put_transcript(f, [*f.messages.view()[: record.keep], *record.add, *f.held])
    same = {call.id for call in f.calls[f.done :] if call in calls}
    f.results.update((i, result) for i, result in results.items() if i in same)
    f.started.update((i, epoch) for i, epoch in started.items() if i in same)
    f.spawned.update((i, process) for i, process in spawned.items() if i in same)
    f.children.update((i, child) for i, child in children.items() if i in same)
    f.asked = {i: question for i, question in asked.items() if i in same}
    f.steps = {i: done for i, done in steps.items() if i in same}
    f.truncated = truncated and bool(same)
    _settle_prefix(f)


def _tool_started(f: Accumulator, record: r.ToolStarted, batch: r.Batch) -> None:
    for call in f.calls:
        if call.id == record.id:
            f.started[call.id] = batch.epoch


def _tool_spawned(f: Accumulator, record: r.ToolSpawned, _batch: r.Batch) -> None:
    if any(call.id == record.id for call in f.calls):
        f.spawned[record.id] = (record.pid, record.started)


def _tool_finished(f: Accumulator, record: r.ToolFinished, _batch: r.Batch) -> None:
    call_id = record.id
    for call in f.calls[f.done :]:
        if call.id == call_id and call_id not in f.results:
            break
    else:
        return
    marker = approval_marker(f.decisions.get(call_id)) if f.decisions else None
    if record.replaced_by is not None:
        marker = {**(marker or {}), "replacedByHook": record.replaced_by}
    if f.asked:
        no_longer_asks(f, call_id)
    f.results[call_id] = Message("tool", record.content, (), call_id, call.name, record.is_error, (), marker)
    if f.wait is not None and f.wait.holds_up == call_id:
        # A call that has its result waits for nobody: it was cancelled.
        f.decided = {**f.decided, f.wait.id: False}
        f.wait, f.wait_taken = None, False
    _settle_prefix(f)


def _settle_prefix(f: Accumulator) -> None:
    """Moves results into the transcript as far as they follow the turn without a gap."""
    calls, results = f.calls, f.results
    for call in calls[f.done :]:
        if call.id not in results:
            return
        f.messages.append(results.pop(call.id))
        if f.children:
            f.end_child(call.id)
        f.done += 1
    if calls:
        f.close_turn()
        f.decisions = {}
        f.retries = 0  # a finished tool phase is progress
        if f.held:
            f.messages.extend(f.held)
            f.held = ()


def _model_retry(f: Accumulator, record: r.ModelRetry, _batch: r.Batch) -> None:
    f.retries = record.count


def _business_state(f: Accumulator, record: r.BusinessState, _batch: r.Batch) -> None:
    f.business_state = record.value


def _step_done(f: Accumulator, record: r.StepDone, _batch: r.Batch) -> None:
    if any(call.id == record.id for call in f.calls[f.done :]) and record.id not in f.results:
        f.steps = {**f.steps, record.id: {**f.steps.get(record.id, {}), record.name: record.value}}


def _setting_changed(f: Accumulator, record: r.SettingChanged, _batch: r.Batch) -> None:
    kept = {name: value for name, value in f.settings.items() if name != record.name}
    f.settings = kept if record.value is None else {**kept, record.name: record.value}


def _wake_set(f: Accumulator, record: r.WakeSet, _batch: r.Batch) -> None:
    f.wake = None if record.at is None else Wake(record.at, record.id, record.messages, record.by)


def _mark(f: Accumulator, record: r.Mark, batch: r.Batch) -> None:
    _passed_mark(f, record, batch)
    f.mark(batch.seq, batch.at, f.last_mark[2], record.approval_id, record.limit)


def _passed_mark(f: Accumulator, record: r.Mark, _batch: r.Batch) -> None:
    """A mark that later ones have dropped from the ring: it counts, and is not kept."""
    f.step, f.status, f.ring = record.step, record.status, record.limit
    if record.stop is not None:
        f.stop = record.stop
    if record.finish_reason is not None:
        f.finish_reason = record.finish_reason
    run, step, n = f.last_mark
    number = f.run.number
    f.last_mark = (number, f.step, n + 1 if run == number and step == f.step else 1)


def _within(f: Accumulator, record: r.Within, batch: r.Batch) -> None:
    """A sub-agent is a session inside the session: its records mean to it what they mean to a lead."""
    child = f.child(record.calls)
    for inner in record.records:
        if isinstance(inner, r.Foreign):
            _foreign(f, inner, batch)
        elif child is not None:
            handler = _HANDLERS.get(type(inner))
            if handler is not None:
                handler(child, inner, batch)
    if child is not None:
        child.seq, child.epoch, child.updated_at = batch.seq, batch.epoch, batch.at


def _foreign(f: Accumulator, record: r.Foreign, _batch: r.Batch) -> None:
    if record.reserved and record.type not in f.unknown:
        f.unknown = (*f.unknown, record.type)


_HANDLERS: Handlers = {
    r.Created: _created,
    r.Forked: _forked,
    r.Base: _base,
    r.Cleared: _cleared,
    r.Claimed: _claimed,
    r.AbortAsked: _abort_asked,
    r.RunStarted: _run_started,
    r.RunResumed: _run_resumed,
    r.RunHeld: _run_held,
    r.RunHandedOver: _run_handed_over,
    r.Turn: _turn,
    r.Splice: _splice,
    r.ToolStarted: _tool_started,
    r.ToolSpawned: _tool_spawned,
    r.ToolFinished: _tool_finished,
    r.ModelRetry: _model_retry,
    r.BusinessState: _business_state,
    r.Mark: _mark,
    r.Foreign: _foreign,
    r.Within: _within,
    r.StepDone: _step_done,
    r.SettingChanged: _setting_changed,
    r.WakeSet: _wake_set,
    **INPUTS,
    **WAITS,
    **AGENTS,
}
"""What each record does. ``Partial`` and ``Note`` change no state: they are for who reads the log."""

_PASSED: Handlers = {**_HANDLERS, r.Mark: _passed_mark}
