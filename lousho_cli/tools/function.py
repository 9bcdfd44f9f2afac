"""A Python function as a tool: its name, docstring and signature say all a model needs to know.

An async function runs on the loop, any other on the one kept worker thread. pydantic is
imported only when a function is made a tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from lousho_cli.domain.approvals import Question
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, ToolContext
from lousho_cli.tools.worker import BRIEF_SECONDS, worker

if TYPE_CHECKING:
    from lousho_cli.tools.signature import Signature

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


class FunctionTool:
    """A tool made of a function; see ``function_tool``."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        name: str,
        description: str,
        replay: Replay | None = None,
        needs_approval: bool | Callable[..., Any] = False,
    ) -> None:
        self.function = function
        self.name = name
        self.description = description
        self.replay = replay
        self.needs_approval = needs_approval
        self._signature = signature
        self._async = _is_async(function)
        self._brief = True

    @property
    def schema(self) -> Mapping[str, Any]:
        return self._signature.schema

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return self._signature.validate({} if args is None else args)

    def question(self, args: Any) -> Question | None:
        return None

    async def call(self, args: Any, context: ToolContext) -> Any:
        positional, named = self._signature.bind({} if args is None else args, context)
        run = partial(self.function, *positional, **named)
        try:
            result = run() if self._async else await self._on_worker(run)
            return await result if hasattr(result, "__await__") else result
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # These would end the whole process, or pass for something else, where only a tool went wrong.
            raise RuntimeError(f"the tool raised {type(error).__name__}: {error}") from error

    async def reap(self, pid: int, started: str) -> bool:
        return False

    async def _on_worker(self, run: Callable[[], Any]) -> Any:
        begin = perf_counter()
        try:
            return await worker().run(run, brief=self._brief)
        finally:
            self._brief = perf_counter() - begin < BRIEF_SECONDS


def function_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    replay: Replay | None = None,
    needs_approval: bool | Callable[..., Any] = False,
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

    Raises:
        ConfigurationError: no usable name, or a parameter that JSON can not describe.
    """
    from inspect import getdoc, isasyncgenfunction, isgeneratorfunction

    from lousho_cli.tools.signature import read_signature

    if not callable(function):
        raise ConfigurationError(f"{function!r} is no function", field="tools")
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise ConfigurationError(f"{function.__name__} is a generator, but a tool returns its result", field="tools")
    own = name or getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", type(function).__name__)
    if description is None:
        described = function.func if isinstance(function, partial) else function
        description = (getdoc(described) or "").strip().partition("\n")[0]
    return FunctionTool(function, read_signature(function), check_name(own), description, replay, needs_approval)


def _is_async(function: Callable[..., Any]) -> bool:
    from inspect import iscoroutinefunction

    inner = function.func if isinstance(function, partial) else function
    return iscoroutinefunction(inner) or iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004 - not asking if it is callable
