"""The checkpoint of a mark, and the state a checkpoint gives back.

A checkpoint is the fold at a mark, without results behind the first unanswered call of its
turn: what ``load``, ``history``, ``fork`` and ``diff`` see. A plain store keeps nothing else,
so a session is rebuilt from one there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.core.open_turns import open_turn
from lousho_cli.core.states import state_from
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.domain.cut_answers import count_answers, is_cut_off
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.session import Marked, OpenTurn, Run, Session
from lousho_cli.domain.state import State
from lousho_cli.errors import StorageError

RESTORED = "restored"
"""The input id of a run whose beginning was not recorded: it came from a checkpoint."""


def checkpoint_at(session_id: str, mark: Marked) -> Checkpoint:
    """The checkpoint of a mark."""
    messages = (*mark.messages, *mark.held)
    return Checkpoint(
        session_id=session_id,
        messages=messages,
        agent_id=mark.run.agent_id,
        step_index=mark.step,
        tool_calls=_calls_since(messages, mark.run.start),
        usage=mark.usage,
        step_usage=tuple(mark.step_usage),
        finish_reason=mark.finish_reason,
        business_state=mark.business_state,
        status=mark.status,
        approval_id=mark.approval_id,
        approval_kind=mark.approval_kind,
        agent_fingerprint=mark.run.fingerprint,
        run_config=mark.run.config,
        offered=mark.run.offered,
        decisions=mark.decisions,
        children=plain_children(mark.children),
        run_id=mark.run.input_id,
    )


def plain_children(children: Mapping[str, Session]) -> dict[str, Any]:
    """Sub-agents that have not ended, as a checkpoint holds them."""
    return {call_id: msgspec.to_builtins(state_from(child)) for call_id, child in children.items()}


def children_of(stored: Mapping[str, Any], *, waiting: bool, begun: int | None = None) -> dict[str, State]:
    """The sub-agents that a checkpoint holds.

    Args:
        waiting: whether what they wait for is still there; if not they ask again.
        begun: as for ``state_of_checkpoint``.

    Raises:
        StorageError: one is not readable.
    """
    try:
        found = {call_id: msgspec.convert(child, State) for call_id, child in stored.items()}
    except msgspec.ValidationError as error:
        raise StorageError(f"a sub-agent in a stored checkpoint is not readable: {error}") from error
    if begun is not None:
        found = {call_id: _all_begun(child, begun) for call_id, child in found.items()}
    return found if waiting else {call_id: asking_again(child) for call_id, child in found.items()}


def _all_begun(state: State, epoch: int) -> State:
    """A sub-agent whose calls without a result all count as begun; one that waits for a person has none that runs."""
    if state.status == "awaiting-approval":
        return state
    turn = _begun(state.turn, epoch) if state.turn else None
    return msgspec.structs.replace(state, turn=turn, children={i: _all_begun(child, epoch) for i, child in state.children.items()})


def _begun(turn: OpenTurn, epoch: int) -> OpenTurn:
    return msgspec.structs.replace(turn, started={call.id: epoch for call in turn.unanswered})


def _open_children(checkpoint: Checkpoint, turn: OpenTurn | None, *, waiting: bool, begun: int | None) -> dict[str, State]:
    """Those whose call has no result in the transcript yet; a patch may have given it one."""
    if turn is None or not checkpoint.children:
        return {}
    ids = {call.id for call in turn.calls[turn.done :]}
    found = children_of(checkpoint.children, waiting=waiting, begun=begun)
    return {call_id: child for call_id, child in found.items() if call_id in ids}


def asking_again(state: State) -> State:
    """A sub-agent, and those in it, without the approvals they waited for: their calls are gated again."""
    children = {call_id: asking_again(child) for call_id, child in state.children.items()}
    if state.status != "awaiting-approval":
        return msgspec.structs.replace(state, children=children)
    return msgspec.structs.replace(state, children=children, wait=None, wait_taken=False, status="in-progress")


def checkpoint_of(session_id: str, session: Session) -> Checkpoint | None:
    """What ``load`` gives: the newest mark's checkpoint, None before the first mark."""
    return checkpoint_at(session_id, session.latest) if session.latest else None


def history_of(session_id: str, session: Session, limit: int | None = None) -> list[CheckpointHistoryEntry]:
    """The ring, newest first; at most ``limit`` entries where given."""
    marks = list(reversed(session.marks))
    return [
        CheckpointHistoryEntry(
            step=mark.step,
            saved_at=mark.at,
            status=mark.status,
            checkpoint=checkpoint_at(session_id, mark),
            address=mark.address,
            seq=mark.seq,
        )
        for mark in (marks if limit is None else marks[: max(limit, 0)])
    ]


def state_of_checkpoint(checkpoint: Checkpoint, wait: PendingApproval | None = None, begun: int | None = None) -> State:
    """The state a run goes on from where only its checkpoint was kept.

    ``wait`` is the pending approval where its store still had it. What the checkpoint does not
    hold is lost: input ids, the retry count, which calls had been started. ``begun``: the epoch under
    which each call without a result counts as started, where it may have been; those of sub-agents too.
    """
    transcript, turn, held = open_turn(checkpoint.messages)
    if turn is not None and checkpoint.finish_reason == "length":
        turn = msgspec.structs.replace(turn, truncated=True)
    if turn is not None and begun is not None:
        turn = _begun(turn, begun)
    awaiting = checkpoint.status == "awaiting-approval"
    return State(
        agent=checkpoint.agent_id,
        messages=transcript,
        held=held,
        turns=count_answers(transcript),
        turn=turn,
        runs=(_run_of(checkpoint),),
        step=checkpoint.step_index,
        usage=checkpoint.usage,
        step_usage=checkpoint.step_usage,
        status=checkpoint.status,
        finish_reason=checkpoint.finish_reason,
        wait=wait if awaiting else None,
        wait_taken=awaiting and wait is None,
        decisions=dict(checkpoint.decisions),
        business_state=checkpoint.business_state,
        children=_open_children(checkpoint, turn, waiting=awaiting and wait is not None, begun=begun),
        attempts=1,
        outcome="completed" if checkpoint.status == "finished" else None,
    )


def _run_of(checkpoint: Checkpoint) -> Run:
    fingerprint: Fingerprint | None = checkpoint.agent_fingerprint
    return Run(
        number=1,
        input_id=checkpoint.run_id or RESTORED,
        start=_run_start(checkpoint),
        fingerprint=fingerprint,
        offered=checkpoint.offered or tuple(sorted(fingerprint.tools) if fingerprint else ()),
        agent_id=checkpoint.agent_id,
        config=checkpoint.run_config,
    )


def _run_start(checkpoint: Checkpoint) -> int:
    """Where the run's own input begins: in front of the assistant turns it counts, at their user messages.

    Its usage counts them; an aborted model call is a step without one. Older records count steps alone.
    """
    index = len(checkpoint.messages)
    counted = checkpoint.usage.model_calls
    turns = counted if counted or checkpoint.finish_reason == "aborted" else checkpoint.step_index
    while index and turns:
        index -= 1
        turns -= count_answers(checkpoint.messages[index : index + 1])
    while index and (checkpoint.messages[index - 1].role == "user" or is_cut_off(checkpoint.messages[index - 1])):
        index -= 1
    return index


def _calls_since(messages: tuple[Message, ...], start: int) -> tuple[ToolCall, ...]:
    return tuple(call for message in messages[start:] for call in message.tool_calls)
