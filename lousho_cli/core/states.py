"""A session as one JSON value and back, without loss: for snapshots, trimmed logs and forks."""

from __future__ import annotations

from typing import Any

from lousho_cli.domain.session import NO_RUN, Marked, Run, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.state import MarkState, State

_OTHERWISE = {
    *("messages", "step_usage", "runs", "latest", "marks", "decisions", "decided", "inputs"),
    *("children", "settings", "asks", "agents"),
}

_SAME = tuple(name for name in State.__struct_fields__ if name not in _OTHERWISE)


def state_from(session: Session) -> State:
    """The state of a session, its ring included."""
    marks = (*session.marks, *((session.latest,) if session.latest else ()))
    # A run that goes on with a changed agent is another value under the same number, so marks name it by its place.
    runs: list[Run] = []
    for run in (*(mark.run for mark in marks), session.run):
        if not runs or (run is not runs[-1] and run != runs[-1]):
            runs.append(run)
    return State(
        messages=tuple(session.messages),
        step_usage=tuple(session.step_usage),
        runs=tuple(runs),
        latest=_mark_state(session, session.latest, runs) if session.latest else None,
        marks=tuple(_mark_state(session, mark, runs) for mark in session.marks),
        decisions=dict(session.decisions),
        decided=dict(session.decided),
        inputs=dict(session.inputs),
        settings=dict(session.settings),
        asks=dict(session.asks),
        agents=dict(session.agents),
        children={call_id: state_from(child) for call_id, child in session.children.items()},
        **{name: getattr(session, name) for name in _SAME},
    )


def _mark_state(session: Session, mark: Marked, runs: list[Run]) -> MarkState:
    shared = mark.messages.shares_with(session.messages)
    steps_shared = mark.step_usage.shares_with(session.step_usage)
    return MarkState(
        seq=mark.seq,
        at=mark.at,
        step=mark.step,
        n=mark.n,
        run=runs.index(mark.run),
        status=mark.status,
        finish_reason=mark.finish_reason,
        approval_id=mark.approval_id,
        approval_kind=mark.approval_kind,
        length=len(mark.messages),
        own=None if shared else tuple(mark.messages),
        held=mark.held,
        turns=mark.turns,
        usage=mark.usage,
        steps=len(mark.step_usage),
        own_steps=None if steps_shared else tuple(mark.step_usage),
        business_state=mark.business_state,
        decisions=mark.decisions,
        children={call_id: state_from(child) for call_id, child in mark.children.items()},
    )


def session_from(state: State) -> Session:
    """The session of a state."""
    messages, steps = Shared(state.messages), Shared(state.step_usage)
    run = state.runs[-1] if state.runs else NO_RUN

    def marked(mark: MarkState) -> Marked:
        return Marked(
            mark.seq,
            mark.at,
            mark.step,
            mark.n,
            mark.status,
            mark.finish_reason,
            mark.approval_id,
            mark.approval_kind,
            state.runs[mark.run] if mark.run < len(state.runs) else run,
            messages.head(mark.length) if mark.own is None else Shared(mark.own),
            mark.held,
            mark.turns,
            mark.usage,
            steps.head(mark.steps) if mark.own_steps is None else Shared(mark.own_steps),
            mark.business_state,
            mark.decisions,
            {call_id: session_from(child) for call_id, child in mark.children.items()},
        )

    same: dict[str, Any] = {name: getattr(state, name) for name in _SAME}
    return Session(
        messages=messages,
        step_usage=steps,
        run=run,
        latest=marked(state.latest) if state.latest else None,
        marks=Shared(marked(mark) for mark in state.marks),
        decisions=state.decisions,
        decided=state.decided,
        inputs=state.inputs,
        settings=state.settings,
        asks=state.asks,
        agents=state.agents,
        children={call_id: session_from(child) for call_id, child in state.children.items()},
        **same,
    )
