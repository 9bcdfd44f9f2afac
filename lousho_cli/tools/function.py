"""A Python function as a tool: its name, docstring and signature say all a model needs to know.

An async function runs on the loop, any other on the worker thread of its session. pydantic is
imported only when a function is made a tool.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import Any, Literal, Protocol

from lousho_cli.domain.approvals import Question
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, ToolContext
from lousho_cli.tools.worker import BRIEF_SECONDS, workers

Replay = Literal["safe", "never"]

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider accepts as the name of a tool."""


def check_name(name: Any) -> str:
    """``name``, when it can be the name of a tool.

    Raises:
        ConfigurationError: it can not.
    """
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} can not be the name of a tool", field="name", hint="Use 1 to 64 letters, digits, underscores and hyphens."
        )
    return name


class Arguments(Protocol):
    """What a function is called with: a JSON Schema, the check of what a model sent, and how the function gets it."""

    @property
    def schema(self) -> Mapping[str, Any]: ...

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        """The arguments as plain JSON data with defaults and coercions, and what is wrong with them."""

    def bind(self, args: Any, context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with, by place and by name, for arguments that ``validate`` gave."""


class FunctionTool:
    """A tool made of a function; see ``function_tool`` and ``define_tool``. The function stays at ``function``.

    Raises:
        ConfigurationError: no usable name, or a ``replay`` or ``needs_approval`` that means nothing.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        name: str,
        description: str,
        replay: Replay | None = None,
        needs_approval: bool | Callable[..., Any] = False,
        *,
        read_only: bool = False,
        edits: bool = False,
        uses_host_folder: bool = False,
    ) -> None:
        check_name(name)
        _check_policy(replay, needs_approval)
        self.function = function
        self.name = name
        self.description = description
        self.replay = replay
        self.needs_approval = needs_approval
        self.read_only, self.edits, self.uses_host_folder = read_only, edits, uses_host_folder
        self._arguments = arguments
        self._async = _is_async(function)
        self._brief = True

    @property
    def takes_context(self) -> bool:
        """Whether the function is given the context of its calls."""
        return getattr(self._arguments, "context", None) is not None or bool(getattr(self._arguments, "with_context", False))

    @property
    def schema(self) -> Mapping[str, Any]:
        return self._arguments.schema

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return self._arguments.validate({} if args is None else args)

    def question(self, args: Any) -> Question | None:
        return None

    async def call(self, args: Any, context: ToolContext) -> Any:
        positional, named = self._arguments.bind({} if args is None else args, context)
        try:
            if self._async:
                result = self.function(*positional, **named)
            else:
                result = await self._on_worker(partial(self.function, *positional, **named), context.log_id)
            return await result if type(result) is CoroutineType or isinstance(result, Awaitable) else result
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # These would end the whole process, or pass for something else, where only a tool went wrong.
            raise RuntimeError(f"the tool raised {type(error).__name__}: {error}") from error

    async def reap(self, pid: int, started: str) -> bool:
        return False

    async def _on_worker(self, run: Callable[[], Any], session: str) -> Any:
        begin = perf_counter()
        try:
            return await workers().run(run, self._brief, session)
        finally:
            self._brief = perf_counter() - begin < BRIEF_SECONDS


def function_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    replay: Replay | None = None,
    needs_approval: bool | Callable[..., Any] = False,
    read_only: bool = False,
    edits: bool = False,
    uses_host_folder: bool = False,
) -> FunctionTool:
    """Makes a function a tool.

    Args:
        function: sync or async; each parameter's type is part of the schema. A parameter of type
            ``ToolContext``, or one without a type called ``ctx``, ``context`` or ``tool_context``,
            gets the context of the call and is not shown to the model.
        name: the function's own when not given.
        description: the first line of the docstring when not given.
        replay: whether a call that was cut may run again (``safe``) or must not (``never``).
        needs_approval: a bool, or a function of the arguments; see ``ports.tool.Tool``.
        read_only: it changes nothing, so it may run in plan mode. edits: it only edits files of the working folder, so the
            mode accept-edits does not ask about it.

    Raises:
        ConfigurationError: no usable name, or a parameter that JSON can not describe.
    """
    from lousho_cli.tools.signature import read_signature

    check_function(function)
    named = name or name_of(function)
    described = description_of(function) if description is None else description
    return FunctionTool(
        function,
        read_signature(function),
        check_name(named),
        described,
        replay,
        needs_approval,
        read_only=read_only,
        edits=edits,
        uses_host_folder=uses_host_folder,
    )


def check_function(function: Any) -> None:
    """Lets only pass what can be called and returns its result.

    Raises:
        ConfigurationError: it is something else.
    """
    from inspect import isasyncgenfunction, isgeneratorfunction

    if not callable(function):
        raise ConfigurationError(f"{function!r} is no function", field="tools")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise ConfigurationError(f"{function.__name__} is a generator, but a tool returns its result", field="tools")


def name_of(function: Callable[..., Any]) -> str:
    """The function's own name."""
    own = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", type(function).__name__)
    return str(own)


def description_of(function: Callable[..., Any]) -> str:
    """The first line of the docstring, '' when there is none."""
    from inspect import getdoc

    described = function.func if isinstance(function, partial) else function
    return (getdoc(described) or "").strip().partition("\n")[0]


def _check_policy(replay: object, needs_approval: object) -> None:
    """A word nobody knows would let a call run that must not."""
    if replay not in (None, "safe", "never"):
        raise ConfigurationError(f"replay is {replay!r:.60}", field="replay", hint="Use 'safe', 'never', or None to leave it to the run.")
    if not isinstance(needs_approval, bool) and not callable(needs_approval):
        raise ConfigurationError(
            f"needs_approval is {needs_approval!r:.60}", field="needs_approval", hint="Use True, False, or a function of the arguments."
        )


def _is_async(function: Callable[..., Any]) -> bool:
    from inspect import iscoroutinefunction

    inner = function.func if isinstance(function, partial) else function
    return iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - not asking if it is callable
