"""What several functions of ``app`` give back: runs, what waits, forks, checks.

Each is the ``data`` of a command's JSON, field for field; a field with a default is left out when
there is nothing to say. ``lousho schema NAME`` is made from these types and from those that stand
beside their one function (``sessions``, ``histories``, ``showing``, …). Fields are only ever added.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lousho_cli.app.usage import Usage
from lousho_cli.domain.agent import AgentDrift
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.stops import Aborted, Spent, Tripped

Status = Literal["in-progress", "awaiting-approval", "finished"]
Outcome = Literal["completed", "failed", "aborted"]


class PendingItem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that waits for a person. ``url``: where to sign in; ``reason``: why a rule has it asked.

    ``step``: the name under which running code asks; ``schema``: the JSON Schema of the answer.
    """

    id: str
    session: str
    tool: str
    args: Any
    digest: str
    created_at: str
    kind: str
    path: tuple[str, ...]
    expires_at: str | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    tool_call_id: str | None = None
    url: str | None = None
    reason: str | None = None
    step: str | None = None
    schema: Any = None

    @property
    def named_tool(self) -> str:
        """The tool behind the names of the sub-agents that it is called in: ``scout/pay``."""
        return "/".join((*self.path, self.tool))


class RunFailure(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Why a run did not come to its end."""

    message: str
    code: str | None = None


class RunDone(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A run that came back: ended, paused or stopped. guardrail, budget, abort_reason: what stopped it before it had its answer."""

    session: str
    status: Status
    finish_reason: str
    text: str
    steps: int
    usage: Usage
    outcome: Outcome | None = None
    approval_id: str | None = None
    error: RunFailure | None = None
    guardrail: Tripped | None = None
    budget: Spent | None = None
    abort_reason: Aborted | None = None


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """An error as JSON has it."""

    code: str
    message: str
    hint: str
    retryable: bool
    session: str | None
    step: int | None


class NotResumed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session that ``resume --all`` could not go on with."""

    session: str
    error: ErrorBody


class Forked(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A fork that was made."""

    session: str
    step: int
    parent: str


class ResumeCheck(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What resuming a session would do.

    again: those of ``will_run`` and ``may_ask`` that had been started before. may_ask: calls that run unless their tool,
    or one in front of them, wants a person to decide. will_ask: the call that a person must decide on;
    behind: those that wait for that decision. background: the sessions of background agents that go on with it.
    inputs: those that wait, and have their turns then. driven_by: who drives it now, in words.
    """

    session: str
    verdict: Literal["missing-tool", "drift", "in-doubt", "needs-person", "safe"]
    will_run: tuple[ToolCall, ...]
    in_doubt: tuple[ToolCall, ...]
    drift: AgentDrift | None = None
    first_request_tokens: int | None = None
    approval_id: str | None = None
    missing_tools: tuple[str, ...] = ()
    again: tuple[ToolCall, ...] = ()
    may_ask: tuple[ToolCall, ...] = ()
    will_ask: tuple[ToolCall, ...] = ()
    behind: tuple[ToolCall, ...] = ()
    background: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    driven_by: str | None = None
    nothing_pending: bool = False
