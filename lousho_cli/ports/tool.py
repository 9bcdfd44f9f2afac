"""Something a model may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from lousho_cli.domain.approvals import Question
from lousho_cli.domain.issues import Issue
from lousho_cli.ports.credentials import RunCredentials
from lousho_cli.ports.steps import Steps

__all__ = ["CONTEXT_NAMES", "Issue", "RunContext", "RunInfo", "Signal", "Steps", "Tool", "ToolContext", "takes_context"]

CONTEXT_NAMES = ("ctx", "context", "tool_context")
"""A parameter of one of these names that has no type gets the context of the call."""


class Signal(Protocol):
    """Tells a tool that its run is being aborted."""

    @property
    def aborted(self) -> bool: ...

    @property
    def reason(self) -> Any: ...

    async def wait(self) -> None:
        """Returns once it is aborted."""


class RunInfo(msgspec.Struct, frozen=True):
    """The run that a call belongs to.

    log_id: the session's id. id: the run's own in it, which is that of the input it began with: the same in
    every attempt and on every host.
    epoch: grows each time somebody takes the session over, so that a system outside can refuse who lost it.
    credentials: those of the person who sent that input, where the host has a credential store.
    """

    log_id: str = ""
    id: str = ""
    epoch: int = 0
    credentials: RunCredentials = RunCredentials()

    def idempotency_key(self, step: str, scope: str | None = None) -> str:
        """A key for one side effect, ``{log_id}:{scope}:{step}``; other in a fork.

        Args:
            step: names the effect among those of the scope.
            scope: the run's id where none is given. In a tool, give the call's id: two calls then get two keys.
        """
        return f"{self.log_id}:{self.id if scope is None else scope}:{step}"


class RunContext(msgspec.Struct, frozen=True):
    """What stands around a call."""

    run: RunInfo = RunInfo()


class ToolContext(msgspec.Struct, frozen=True):
    """What a tool is told about its call.

    tool_call_id: the model's id, the same when the call runs again; an idempotency key within a session.
    idempotency_key: the same over attempts and hosts, other in a fork: ``context.run.idempotency_key`` of the
        tool's name, with the call's id as scope.
    rerun: True when this call was started before and has no recorded result.
    spawned: a command tool reports its process here (pid, start time) right after the spawn.
    answers: what a person answered to the ``AskPerson`` that this call raised, each time it did.
    in_background: has one of the run's sub-agents, by its name, run beside it with an input; None where nobody could look after it.
    step: named steps within the call: ``step.do`` for work that is not done again, ``step.ask`` for a person.
    """

    tool_call_id: str
    tool_name: str
    session_id: str | None
    idempotency_key: str
    signal: Signal
    rerun: bool = False
    spawned: Callable[[int, str], None] = lambda pid, started: None
    context: RunContext = RunContext()
    answers: tuple[str, ...] = ()
    step: Steps = Steps()
    in_background: Callable[[str, str], Awaitable[Any]] | None = None

    def append(self, *records: Mapping[str, Any]) -> None:
        """Keeps records of your own for the log, with a ``type`` of your own; they land there together with the call's result.

        Where the call is cut, or the run is aborted first, none does. What the ``project`` of a harness says of them, the model
        reads behind the results.

        Raises:
            ConfigurationError: one is no record, of a reserved type, or one that ``project`` fails on; or the call stands in no log.
        """
        self.step.stage(records)

    @property
    def log_id(self) -> str:
        """The log that the call stands in; '' where it stands in none."""
        return self.context.run.log_id

    @property
    def answer(self) -> str | None:
        """The newest of ``answers``, '' for one that was only approved; None when nobody was asked."""
        return self.answers[-1] if self.answers else None


class Tool(Protocol):
    """A tool. All but ``call`` and ``reap`` is pure and may be asked at any time.

    schema: JSON Schema of the arguments, an object.
    replay: what to do with a call that was cut: ``safe`` runs it again, ``never`` tells the model
        that nobody knows; None leaves it to the run.
    needs_approval: a bool, or a function (args) or (args, context) -> bool | "ask" | "approve" | "deny" |
        {"deny": reason}, sync or async; True and "ask" pause the run.

    It may also have ``read_only`` (it changes nothing, so it may run in plan mode) and ``edits`` (it only edits files
    of the working folder, so the mode accept-edits does not ask about it), and ``uses_host_folder`` (it works in a folder of
    the host, so a host with a stable id keeps a thread that used it); each is False where it is missing.
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
        """Runs it and returns anything JSON can hold. Raises to give the model an error result.

        An error that has a ``tool_error_kind`` says with it which kind of error the model is told of.
        """

    async def reap(self, pid: int, started: str) -> bool:
        """Kills what a cut call left running, if it still is that process; True when it was. No-op by default."""


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a function of the arguments has a place for the context behind them.

    A second parameter with a default is none, unless it has one of the context's names: it may hold what a loop bound.
    """
    from inspect import Parameter, signature

    try:
        parameters = list(signature(function).parameters.values())
    except (ValueError, TypeError):
        return False
    placed = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if len(placed) < 2:
        return any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    return placed[1].default is Parameter.empty or placed[1].name in CONTEXT_NAMES
