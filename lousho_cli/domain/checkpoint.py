"""A run as stores and callers see it at one moment: the fold at a mark."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.usage import RunUsage, StepUsage

Status = Literal["in-progress", "awaiting-approval", "finished"]


class Checkpoint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The whole transcript of a run plus its step count, usage, state and status.

    ``messages`` ends with input that is queued behind unanswered calls. ``decisions``
    holds what a person decided on calls of the open turn that have no result yet. ``started`` names
    the calls known to have been begun: None where that was not kept, so each may have been.
    ``children`` are the sub-agents that had not ended, by the call that started each, as a
    ``domain.state.State`` in plain JSON. ``run_id`` is the id of the input the run began with.
    Fields a store read from an older record are filled with their defaults.
    """

    session_id: str
    messages: tuple[Message, ...] = ()
    agent_id: str = ""
    step_index: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    usage: RunUsage = RunUsage()
    step_usage: tuple[StepUsage, ...] = ()
    finish_reason: str = "stop"
    business_state: Any = None
    status: Status = "in-progress"
    approval_id: str | None = None
    approval_kind: str | None = None
    agent_fingerprint: Fingerprint | None = None
    run_config: Any = None
    offered: tuple[str, ...] = ()
    decisions: dict[str, ApprovalDecision] = {}
    started: tuple[str, ...] | None = None
    metadata: dict[str, Any] | None = None
    children: dict[str, Any] = {}
    run_id: str = ""


class CheckpointHistoryEntry(msgspec.Struct, frozen=True, gc=False):
    """One kept save. ``address`` is what ``fork`` takes after the ``@``; ``seq`` its place in the log, 0 if none."""

    step: int
    saved_at: str
    status: Status
    checkpoint: Checkpoint
    address: str = ""
    seq: int = 0
