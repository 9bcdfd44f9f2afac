"""``define_tool``: a tool from its parts, or as a decorator.

    charge = define_tool(name="charge", description="Charge the customer", input=Charge, execute=run)

    @define_tool(replay="safe")
    async def weather(city: str) -> dict: ...

With ``input`` the function gets its arguments as one value, an instance of the model or a
dictionary; without it, each parameter is an argument, as in ``function_tool``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, ToolContext, takes_context
from lousho_cli.tools.function import FunctionTool, Replay, check_function, description_of, function_tool, name_of
from lousho_cli.tools.schema import ArgumentSchema

if TYPE_CHECKING:
    from pydantic import BaseModel

NeedsApproval = bool | Callable[..., Any]

_FEW, _WITH_CONTEXT = "the arguments", "the arguments and the context"


@overload
def define_tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def define_tool(
    *,
    execute: Callable[..., Any],
    name: str | None = ...,
    description: str | None = ...,
    input: type[BaseModel] | Mapping[str, Any] | None = ...,
    needs_approval: NeedsApproval = ...,
    replay: Replay | None = ...,
    durable: bool = ...,
    read_only: bool = ...,
    edits: bool = ...,
    uses_host_folder: bool = ...,
) -> FunctionTool: ...


@overload
def define_tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    input: type[BaseModel] | Mapping[str, Any] | None = ...,
    needs_approval: NeedsApproval = ...,
    replay: Replay | None = ...,
    durable: bool = ...,
    read_only: bool = ...,
    edits: bool = ...,
    uses_host_folder: bool = ...,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def define_tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    input: type[BaseModel] | Mapping[str, Any] | None = None,
    execute: Callable[..., Any] | None = None,
    needs_approval: NeedsApproval = False,
    replay: Replay | None = None,
    durable: bool = False,
    read_only: bool = False,
    edits: bool = False,
    uses_host_folder: bool = False,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Makes a tool; without ``execute``, the decorator that makes one of the function below it.

    Args:
        name: the function's own when not given.
        description: what the model is told; the first line of the docstring when not given.
        input: the arguments: a model class of pydantic, a JSON Schema of an object, or None for the
            parameters of the function.
        execute: sync (then it runs on a worker thread) or async. With ``input`` it is called with the
            arguments, an instance of the model or a dictionary, and, if it takes a second parameter, the
            ``ToolContext``. It returns anything JSON can hold and raises to give the model an error.
        needs_approval: a bool, or a function of the arguments, as ``execute`` gets them, and perhaps the
            context: True or "ask" asks a person, False or "approve" runs it, "deny" or {"deny": reason} does
            not. It may be async. Without ``input`` the arguments come as a dictionary.
        replay: whether a call that was cut may run again (``safe``) or must not (``never``); None leaves it to the run.
        durable: it does its work in steps (``ctx.step``), so a call that was cut may run again unless ``replay`` says otherwise.
        read_only: it changes nothing, so it may run in plan mode. edits: it only edits files of the working folder, so the
            mode accept-edits does not ask about it.
        uses_host_folder: it works in a folder of the host, so a thread that has used it stays on the host whose stable id it ran under.

    Raises:
        ConfigurationError: a part that can not be one; ``field`` names it.
    """
    if function is not None and execute is not None:
        raise ConfigurationError("the function was given twice", field="execute", hint="Decorate it, or pass it as execute.")
    if durable:
        replay = replay or "safe"
    changes = {"read_only": read_only, "edits": edits, "uses_host_folder": uses_host_folder}
    made = partial(_made, name=name, description=description, input=input, needs_approval=needs_approval, replay=replay, changes=changes)
    body = execute or function
    return made if body is None else made(body)


def _made(
    function: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    input: type[BaseModel] | Mapping[str, Any] | None,
    needs_approval: NeedsApproval,
    replay: Replay | None,
    changes: Mapping[str, bool],
) -> FunctionTool:
    check_function(function)
    if input is None:
        _must_not_be_whole(function)
        return function_tool(function, name=name, description=description, replay=replay, needs_approval=needs_approval, **changes)
    arguments = _WholeArguments(input, takes_context(function))
    _must_take(function, "execute", arguments.with_context)
    if callable(needs_approval):
        needs_approval = arguments.asked_by(needs_approval)
    told = description_of(function) if description is None else description
    return FunctionTool(function, arguments, name or name_of(function), told, replay, needs_approval, **changes)


class _WholeArguments:
    """Arguments that a function gets as one value, with the context behind it where it has a place for that."""

    def __init__(self, described: Any, with_context: bool) -> None:
        self.with_context = with_context
        self._read: Callable[[Any], Any] = lambda args: args
        if isinstance(described, Mapping):
            checks = ArgumentSchema(described)
            self.schema, self._validate = checks.schema, checks.validate
        elif isinstance(described, type):
            from lousho_cli.tools.model_arguments import ModelArguments

            model = ModelArguments(described)
            self.schema, self._validate, self._read = model.schema, model.validate, model.read
        else:
            raise ConfigurationError(
                f"input is {described!r:.60}", field="input", hint="Use a model class of pydantic, a JSON Schema, or None."
            )

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return self._validate(args)

    def bind(self, args: Any, context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        value = self._read(args)
        return [value, context] if self.with_context else [value], {}

    def asked_by(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """An approval function that gets the arguments as the tool does."""
        with_context = takes_context(check)
        _must_take(check, "needs_approval", with_context)
        if with_context:
            return lambda args, context: check(self._read(args), context)
        return lambda args: check(self._read(args))


def _must_take(function: Callable[..., Any], field: str, with_context: bool) -> None:
    """Refuses at once what would fail in every call."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return  # one of Python's own that does not say what it takes
    try:
        signature.bind(*(("args", "context") if with_context else ("args",)))
    except TypeError as error:
        wanted = _WITH_CONTEXT if with_context else _FEW
        raise ConfigurationError(
            f"{name_of(function)} can not be called with {wanted}: {error}",
            field=field,
            hint="It takes one parameter for the arguments and, if it wants it, a second one for the context.",
        ) from error


def _must_not_be_whole(function: Callable[..., Any]) -> None:
    """``execute(args, ctx)`` without ``input`` is a slip: its first parameter would be the one argument called args."""
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):
        return
    whole = parameters.get("args")
    if whole is not None and whole.annotation is whole.empty and whole.kind is not whole.VAR_POSITIONAL:
        raise ConfigurationError(
            f"{name_of(function)} takes its arguments as one value, but nothing says what they are",
            field="input",
            hint="Give input, or name and type each parameter.",
        )
