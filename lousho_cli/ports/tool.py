"""Something a model may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from lousho_cli.domain.approvals import Question
from lousho_cli.domain.issues import Issue

__all__ = ["Issue", "Signal", "Tool", "ToolContext"]


class Signal(Protocol):
    """Tells a tool that its run is being aborted."""

    @property
    def aborted(self) -> bool: ...

    @property
    def reason(self) -> Any: ...

    async def wait(self) -> None:
        """Returns once it is aborted."""


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool is told about its call.

    tool_call_id: the model's id, the same when the call runs again; an idempotency key within a session.
    idempotency_key: the same over attempts and hosts, other in a fork.
    rerun: True when this call was started before and has no recorded result.
    spawned: a command tool reports its process here (pid, start time) right after the spawn.
    """

    tool_call_id: str
    tool_name: str
    session_id: str | None
    idempotency_key: str
    signal: Signal
    rerun: bool = False
    spawned: Callable[[int, str], None] = lambda pid, started: None


class Tool(Protocol):
    """A tool. All but ``call`` and ``reap`` is pure and may be asked at any time.

    schema: JSON Schema of the arguments, an object.
    replay: what to do with a call that was cut: ``safe`` runs it again, ``never`` tells the model
        that nobody knows; None leaves it to the run.
    needs_approval: a bool, or a function (args) -> bool | "ask" | "approve" | "deny" | {"deny": reason},
        sync or async; True and "ask" pause the run.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...

    @property
    def replay(self) -> Literal["safe", "never"] | None: ...

    @property
    def needs_approval(self) -> bool | Callable[..., Any]: ...

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        """The arguments with defaults and coercions applied, as plain JSON data, and what is wrong with them."""

    def question(self, args: Any) -> Question | None:
        """What to ask a person instead of running, None for an ordinary tool."""

    async def call(self, args: Any, context: ToolContext) -> Any:
        """Runs it and returns anything JSON can hold. Raises to give the model an error result."""

    async def reap(self, pid: int, started: str) -> bool:
        """Kills what a cut call left running, if it still is that process; True when it was. No-op by default."""
