"""A session being added up: mutable inside, so that a long log is read in one pass.

Its fields are those of ``Session``, with the open turn spread out. ``freeze`` gives the
value everybody else works with, in time that does not depend on the length of the transcript.
"""

from __future__ import annotations

from typing import Any

from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.session import InputState, Marked, OpenTurn, Parent, Run, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.domain.usage import RunUsage, StepUsage


class Accumulator:
    """A session being added up. Its fields are those of ``Session``; the open turn is spread out."""

    __slots__ = (
        *Session.__struct_fields__,
        "calls",
        "done",
        "results",
        "spawned",
        "started",
        "truncated",
    )

    # The fields of Session, for the type checker; ``load`` sets them.
    seq: int
    epoch: int
    format: int
    agent: str
    path: str | None
    harness: str | None
    tenant: str | None
    parent: Parent | None
    created_at: str
    updated_at: str
    messages: Shared[Message]
    held: tuple[Message, ...]
    turns: int
    turn: OpenTurn | None
    run: Run
    step: int
    usage: RunUsage
    step_usage: Shared[StepUsage]
    status: Any
    finish_reason: str
    wait: PendingApproval | None
    wait_taken: bool
    decisions: dict[str, ApprovalDecision]
    decided: dict[str, bool]
    retries: int
    business_state: Any
    inputs: dict[str, InputState]
    waiting: tuple[str, ...]
    active: tuple[str, ...]
    attempts: int
    abort_asked: bool
    outcome: Any
    error: str | None
    error_code: str | None
    latest: Marked | None
    marks: Shared[Marked]
    last_mark: tuple[int, int, int]
    unknown: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    done: int
    results: dict[str, Message]
    started: dict[str, int]
    spawned: dict[str, tuple[int, str]]
    truncated: bool

    def __init__(self, session: Session | None = None) -> None:
        self.load(session or Session())

    def load(self, session: Session) -> None:
        """Starts over from ``session``, which stays as it is."""
        for name in Session.__struct_fields__:
            setattr(self, name, getattr(session, name))
        self.open_turn(session.turn)

    def open_turn(self, turn: OpenTurn | None) -> None:
        self.turn = turn
        self.calls = turn.calls if turn else ()
        self.done = turn.done if turn else 0
        self.results = dict(turn.results) if turn else {}
        self.started = dict(turn.started) if turn else {}
        self.spawned = dict(turn.spawned) if turn else {}
        self.truncated = turn.truncated if turn else False

    def freeze(self) -> Session:
        """The session so far."""
        if self.calls:
            self.turn = OpenTurn(
                self.calls, self.done, dict(self.results), dict(self.started), dict(self.spawned), self.truncated
            )
        else:
            self.turn = None
        return Session(*[getattr(self, name) for name in Session.__struct_fields__])
