"""Hooks: a caller's own functions around tools, model calls and the end of a run.

    pre_tool(call)             before a call may run, and again when an approved one goes on (``call.resumed``):
                               None, {"deny": reason}, {"result": value}, {"error": value}, which the model reads as the result
                               of a call that failed, or {"input": arguments}
    post_tool(result)          behind a success, an error and a pause: None or {"result": value}, what the model sees instead
    before_model(request)      None, or the ``ModelRequest`` to send instead; it never enters the transcript
    after_model(request, answer)   None, or the ``Answer`` to record instead; pieces of it were told as they came, and are recorded nowhere
    on_abort(abort)            once, as soon as a run is aborted or stopped; the end of the run waits for it, but no longer
                               than for tools that do not stop
    on_run_end(end)            once, with the result or the error

Each may be sync, and is then called on the loop's thread, or async. One that raises stops the run with a ``HookError``;
``on_abort`` and ``on_run_end`` can no longer stop anything: what they raise is logged.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError, HookError, ProviderError
from lousho_cli.executor.interrupts import ESCAPES, is_cancelled

log_to = logging.getLogger("lousho")

KINDS = ("pre_tool", "post_tool", "before_model", "after_model", "on_abort", "on_run_end")

Function = Callable[..., Any]


class Hook(msgspec.Struct, frozen=True):
    """Some of the functions above, under a name that errors and records show."""

    name: str = ""
    pre_tool: Function | None = None
    post_tool: Function | None = None
    before_model: Function | None = None
    after_model: Function | None = None
    on_abort: Function | None = None
    on_run_end: Function | None = None


class HookCall(msgspec.Struct, frozen=True):
    """A call that is about to run. Its arguments may be changed in place, which counts as ``{"input": …}``.

    resumed: a person approved exactly these arguments; a hook that changes them keeps the call from running.
    """

    tool_name: str
    args: Any
    tool_call_id: str
    session_id: str | None = None
    resumed: bool = False


class HookResult(msgspec.Struct, frozen=True):
    """What became of a call. ``args`` are None where it did not come so far; ``result`` is None for a pause.

    status: ``success``, ``error`` (``result`` is then the error object the model gets), or ``pause``.
    """

    tool_name: str
    args: Any
    tool_call_id: str
    status: Literal["success", "error", "pause"]
    result: Any = None
    session_id: str | None = None


class HookAbort(msgspec.Struct, frozen=True):
    """An abort. ``recoverable``: a stop that another process goes on from. ``running``: the calls that were running."""

    reason: str
    recoverable: bool
    session_id: str | None
    running: tuple[ToolCall, ...] = ()


class HookEnd(msgspec.Struct, frozen=True):
    """The end of a run, or its pause: one of ``result`` and ``error``."""

    session_id: str | None
    result: Any = None
    error: BaseException | None = None


class Hooks:
    """The hooks of a run, by kind, in the order they were given."""

    def __init__(self, hooks: Iterable[Hook] = ()) -> None:
        given = list(hooks)
        by_kind = {kind: tuple((hook.name, getattr(hook, kind)) for hook in given if getattr(hook, kind) is not None) for kind in KINDS}
        self.pre_tool, self.post_tool = by_kind["pre_tool"], by_kind["post_tool"]
        self.before_model, self.after_model = by_kind["before_model"], by_kind["after_model"]
        self.on_abort, self.on_run_end = by_kind["on_abort"], by_kind["on_run_end"]


NO_HOOKS = Hooks()


def hooks_from(value: Any, field: str = "hooks") -> Hooks:
    """Reads the hooks that a caller gave: a list of ``Hook`` values, dictionaries, or objects with such methods.

    Raises:
        ConfigurationError: ``field`` names the first that is none.
    """
    if value is None or value == ():
        return NO_HOOKS
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise ConfigurationError(f"{field} is a {type(value).__name__}", field=field, hint="Use a list of hooks.")
    return Hooks(_hook(item, f"{field}.{number}") for number, item in enumerate(value))


def _hook(item: Any, path: str) -> Hook:
    if isinstance(item, Mapping):
        given = dict(item)
        unknown = [str(name) for name in given if name not in Hook.__struct_fields__]
        if unknown:
            raise ConfigurationError(f"a hook has no {unknown[0]}", field=f"{path}.{unknown[0]}", hint=f"It may have {', '.join(KINDS)}.")
    else:
        given = {kind: getattr(item, kind, None) for kind in KINDS} | {"name": getattr(item, "name", "")}
    functions = {kind: function for kind in KINDS if (function := given.get(kind)) is not None}
    if not functions:
        raise ConfigurationError(f"{path} is no hook: it has none of {', '.join(KINDS)}", field=path)
    for kind, function in functions.items():
        if not callable(function):
            raise ConfigurationError(f"{path}.{kind} is no function", field=f"{path}.{kind}")
    name = given.get("name") or (path if isinstance(item, (Hook, Mapping)) else type(item).__name__)
    return Hook(text_of(name), **functions)


async def ask(name: str, function: Function, *given: Any) -> Any:
    """What a caller's function says.

    Raises:
        HookError: it raised. A ``ProviderError`` is passed on as it is: a hook around the model may speak for it.
    """
    try:
        value = function(*given)
        return await value if inspect.isawaitable(value) else value
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise HookError(name, "was cancelled from inside") from error
    except ProviderError:
        raise
    except (Exception, *ESCAPES) as error:
        raise HookError(name, f"failed: {type(error).__name__}: {text_of(error)[:300]}".rstrip(": ")) from error


async def tell(function: Function, name: str, *given: Any) -> None:
    """Tells a hook of what it can not change; what it raises is logged."""
    try:
        await ask(name, function, *given)
    except (HookError, ProviderError) as error:
        log_to.warning("%s", error.detail)


def said(name: str, value: Any, *keys: str) -> tuple[str, Any] | None:
    """Reads what a hook gave: nothing, or a dictionary with one of ``keys``; its key and value.

    Raises:
        HookError: it is something else.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        found = [key for key in keys if key in value]
        if len(found) == 1 and len(value) == 1:
            return found[0], value[found[0]]
    wanted = " or ".join(f'{{"{key}": …}}' for key in keys)
    raise HookError(name, f"gave {text_of(value)[:60]!r}; it may give None or {wanted}")
