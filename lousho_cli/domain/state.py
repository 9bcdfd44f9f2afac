"""A session as one JSON value: what a fork carries, a trimmed log begins with and a snapshot caches.

Kept flat and complete on purpose: ``core.states`` turns a session into it and back without
loss, so a fold that starts from a state gives the same session as one that read every record.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval
from lousho_cli.domain.checkpoint import Status
from lousho_cli.domain.messages import Message
from lousho_cli.domain.session import AgentState, Ask, InputState, OpenTurn, Parent, Run, Wake
from lousho_cli.domain.stops import Stop
from lousho_cli.domain.usage import RunUsage, StepUsage

CACHE_SHAPE = 4
"""Goes up when a state or a head says more than it did: a cache of an older shape is made anew, as if it were damaged."""


class MarkState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One mark. Its transcript is the first ``length`` messages of the state's, or ``own`` where it was rewritten since."""

    seq: int
    at: str
    step: int
    n: int
    run: int
    status: Status = "in-progress"
    finish_reason: str = "stop"
    approval_id: str | None = None
    approval_kind: str | None = None
    length: int = 0
    own: tuple[Message, ...] | None = None
    held: tuple[Message, ...] = ()
    turns: int = 0
    usage: RunUsage = RunUsage()
    steps: int = 0
    own_steps: tuple[StepUsage, ...] | None = None
    business_state: Any = None
    decisions: dict[str, ApprovalDecision] = {}
    children: dict[str, State] = {}


class State(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """See ``Session`` for what each field means; ``runs`` are those the marks name and,
    last, the session's."""

    seq: int = 0
    epoch: int = 0
    format: int = 1
    agent: str = ""
    path: str | None = None
    harness: str | None = None
    tenant: str | None = None
    parent: Parent | None = None
    created_at: str = ""
    updated_at: str = ""
    messages: tuple[Message, ...] = ()
    held: tuple[Message, ...] = ()
    turns: int = 0
    turn: OpenTurn | None = None
    runs: tuple[Run, ...] = ()
    step: int = 0
    usage: RunUsage = RunUsage()
    earlier: RunUsage = RunUsage()
    step_usage: tuple[StepUsage, ...] = ()
    status: Status = "in-progress"
    finish_reason: str = "stop"
    wait: PendingApproval | None = None
    wait_taken: bool = False
    decisions: dict[str, ApprovalDecision] = {}
    decided: dict[str, bool] = {}
    retries: int = 0
    business_state: Any = None
    inputs: dict[str, InputState] = {}
    waiting: tuple[str, ...] = ()
    active: tuple[str, ...] = ()
    attempts: int = 0
    handed_over: bool = False
    abort_asked: bool = False
    outcome: Literal["completed", "failed", "aborted"] | None = None
    error: str | None = None
    error_code: str | None = None
    latest: MarkState | None = None
    marks: tuple[MarkState, ...] = ()
    last_mark: tuple[int, int, int] = (0, 0, 0)
    ring: int = 50
    unknown: tuple[str, ...] = ()
    children: dict[str, State] = {}
    stop: Stop | None = None
    settings: dict[str, Any] = {}
    wake: Wake | None = None
    asks: dict[str, Ask] = {}
    agents: dict[str, AgentState] = {}
