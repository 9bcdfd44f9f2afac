"""What waits for a person, and what the person decided.

A wait is bound to the exact call: its digest is taken over the arguments after
validation and hooks, and that is what is shown, checked and run.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

import msgspec

from lousho_cli.domain.agent import Agent, Fingerprint
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.plain import plain
from lousho_cli.domain.unfolding import unfolds
from lousho_cli.domain.usage import RunUsage, StepUsage

WaitKind = Literal["tool", "question", "sign-in", "secret"]


class Question(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a person is asked: a text, optional choices, and whether other text is welcome.

    ``url``: where to sign in. ``schema``: the JSON Schema of the answer.
    """

    text: str
    options: tuple[str, ...] = ()
    allow_free_text: bool = True
    secret: bool = False
    url: str | None = None
    schema: Any = None


class PendingApproval(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that waits for a person.

    ``args`` is the validated object a tool would get; ``path`` names the enclosing
    sub-agents, outermost first, and ``calls`` the calls that started them; times are ISO 8601 in UTC.
    ``hooked``: hooks made ``args`` of what the model asked for. ``reason``: why a rule has it asked.
    ``step``: the name under which running code asks; None where the run stopped for it.
    """

    id: str
    tool_call_id: str
    tool_name: str
    args: Any
    digest: str
    created_at: str
    expires_at: str | None = None
    kind: WaitKind = "tool"
    question: Question | None = None
    agent_id: str = ""
    session_id: str = ""
    path: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    hooked: bool = False
    reason: str | None = None
    step: str | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """The ids of the calls that lead to the one it is of, that one last."""
        return (*self.calls, self.tool_call_id)

    @property
    def holds_up(self) -> str:
        """The call of the lead's own turn that can not end before this is decided."""
        return self.calls[0] if self.calls else self.tool_call_id


class ApprovalDecision(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a person decided. ``note`` is the reason of a rejection or the answer to a question.

    ``args`` replaces the arguments (an edit); None leaves them. ``digest``, where given,
    must equal that of the pending approval. Set by us: ``expired``, when it came too late; ``kind``, that of
    what was decided; ``pinned``, the arguments that were shown, where they are not simply those of the model;
    ``answers``, what was answered to a call that asked in the middle, each time it did.
    """

    id: str
    approved: bool
    note: str | None = None
    args: Any = None
    digest: str | None = None
    by: str | None = None
    expired: bool = False
    kind: WaitKind = "tool"
    pinned: Any = None
    answers: tuple[str, ...] = ()


class ExecutionSnapshot(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The run at its pause, stored beside the pending approval, so that it can go on anywhere.

    ``remaining_tool_calls`` are the calls of the turn after the paused one, in order;
    None in data written before they were stored. ``children`` are the sub-agents that had not ended, by the
    call that started each, as a ``domain.state.State`` in plain JSON. ``decisions``: what was decided on calls of
    the turn before, by call.
    """

    agent: Agent
    current_messages: tuple[Message, ...]
    pending_tool_call: PendingApproval
    steps: int
    session_id: str | None = None
    remaining_tool_calls: tuple[ToolCall, ...] | None = None
    usage: RunUsage | None = None
    step_usage: tuple[StepUsage, ...] = ()
    agent_fingerprint: Fingerprint | None = None
    business_state: Any = None
    max_steps: int | None = None
    run_config: Any = None
    children: dict[str, Any] = {}
    run_id: str = ""
    decisions: dict[str, ApprovalDecision] = {}


class StoredApproval(msgspec.Struct, frozen=True, gc=False):
    """What an approval store gives back: the pending approval and the run it paused."""

    pending: PendingApproval
    snapshot: ExecutionSnapshot


def digest_of(args: Any) -> str:
    """First 16 hex digits of SHA-256 over the key-sorted compact JSON of validated arguments, as they are stored."""
    try:
        text = _sorted_json(plain(args)[0] if unfolds(args) else args)
    except (ValueError, TypeError, RecursionError):
        text = _sorted_json(plain(args)[0])
    return hashlib.sha256(text).hexdigest()[:16]


def _sorted_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
