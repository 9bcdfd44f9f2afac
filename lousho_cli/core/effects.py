"""What deciding is told, and what it answers: the facts of an agent and of this process, and the effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lousho_cli.core import gate
from lousho_cli.core.limits import Limits
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.session import InputState
from lousho_cli.domain.stops import Aborted, Spent, Tripped
from lousho_cli.domain.texts import RUN_CANCEL_REASON

MayJoin = Callable[[str, InputState, str | None], bool]
"""Whether an input, by its id, may enter the run that somebody (the last argument) began. Never raises."""


class AgentFacts(msgspec.Struct, frozen=True):
    """What deciding needs to know of the agent.

    tools: by name, those it has today. ``begin``: how a new run of it is recorded, but for the input's id.
    tool_concurrency: how many calls may run at once; None for no limit.
    limits: what a run may use; None for no limit. max_duration_ms: the time a run may take.
    guards_input: guardrails look at input before it enters the transcript.
    late_fails: a run whose time is up has failed; else that is a limit it came to, and it has ended.
    cut_answer_ends: an answer that the output limit cut within a call ends the run; else the model is told and asked again.
    may_join: which input may enter a run that goes on; None lets all in.
    """

    tools: Mapping[str, gate.GatedTool]
    begin: r.RunStarted
    policy: gate.Policy = gate.Policy()
    max_steps: int = 10
    tool_concurrency: int | None = None
    limits: Limits | None = None
    approval_ttl_ms: int | None = None
    max_duration_ms: int | None = None
    guards_input: bool = False
    late_fails: bool = False
    cut_answer_ends: bool = False
    may_join: MayJoin | None = None


ASKED_TO_STOP = Aborted(message=RUN_CANCEL_REASON)
"""What is known of an abort that somebody asked for in the log."""


class Live(msgspec.Struct, frozen=True, gc=False):
    """What deciding needs to know of this process.

    in_flight: ids of the calls it is running; ``consulting`` of those whose approval function is being asked,
    ``consulted`` what such functions said; ``salt`` makes new ids this process's own; ``calling_model`` while an answer is on its way.
    aborted: the user's abort; why: what is known of it. late: the time of the run is up.
    over: a limit that an agent this one works for has reached.
    tripped: the guardrail that refused the input or the answer of this run; refused: ids of inputs it refused; cleared: of those let in.
    stopping: a stop that another process will go on from, or a fatal error.
    """

    now: str
    salt: str = ""
    in_flight: frozenset[str] = frozenset()
    consulting: frozenset[str] = frozenset()
    consulted: Mapping[str, gate.Consulted] = {}
    calling_model: bool = False
    aborted: bool = False
    over: Spent | None = None
    why: Aborted = ASKED_TO_STOP
    tripped: Tripped | None = None
    refused: tuple[str, ...] = ()
    cleared: frozenset[str] = frozenset()
    late: bool = False
    stopping: bool = False


class Write(msgspec.Struct, frozen=True, gc=False):
    """Record this; there is nothing to perform."""

    records: tuple[r.Record, ...]


class CallModel(msgspec.Struct, frozen=True, gc=False):
    """Ask the model for step ``step``."""

    step: int


class ConsultTool(msgspec.Struct, frozen=True, gc=False):
    """Ask hooks, guardrails and the tool's own approval function about this call. ``resumed``: a person approved it."""

    call: ToolCall
    args: Any
    resumed: bool = False


class RunCall(msgspec.Struct, frozen=True, gc=False):
    """Run this call.

    rerun: it was started before and nobody knows how that ended. decision: what a person said of it.
    args: None for a sub-agent that goes on: it has its input. ruling: the rule or mode that lets it run.
    """

    call: ToolCall
    args: Any
    rerun: bool = False
    decision: ApprovalDecision | None = None
    ruling: r.PermissionDecided | None = None

    @property
    def first(self) -> tuple[r.Record, ...]:
        """What is recorded before it begins."""
        started = r.ToolStarted(self.call.id)
        return (started,) if self.ruling is None else (self.ruling, started)


class CheckInput(msgspec.Struct, frozen=True, gc=False):
    """Have guardrails look at an input that is to enter the run."""

    input_id: str


class FinishCall(msgspec.Struct, frozen=True, gc=False):
    """Tell the hooks of a result that no tool gave, and record it."""

    call: ToolCall
    settled: gate.Settle

    @property
    def first(self) -> tuple[r.Record, ...]:
        """What is recorded before it."""
        return (self.settled.ruling,) if self.settled.ruling is not None else ()


class Throw(msgspec.Struct, frozen=True, gc=False):
    """Fail the run: it was stopped, and its caller wants that as an error."""

    stop: Tripped | Spent


class Rest(msgspec.Struct, frozen=True, gc=False):
    """Nothing happens any more unless somebody comes: the run ended, waits, failed or was aborted."""


Effect = Write | CallModel | ConsultTool | RunCall | CheckInput | FinishCall | Throw | Rest
