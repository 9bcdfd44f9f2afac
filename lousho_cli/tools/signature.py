"""A Python signature as the description of a tool's arguments, read through pydantic.

One model per function. Its fields have numbers for names and the parameters as aliases, so that
no parameter can collide with an attribute of pydantic's models. Imports pydantic at the top:
import this module late.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import CONTEXT_NAMES, Issue, ToolContext

_Kind = inspect._ParameterKind


class Signature(msgspec.Struct, frozen=True):
    """What a function takes.

    schema: JSON Schema of the arguments, context left out.
    check, write: of pydantic's model of them. The methods of its class would do the same, and cost more than what they do.
    fields: those of the model, each with the name of its parameter.
    positional: those that can not be passed by name, in order.
    context: the parameter that gets the ``ToolContext``, None when none does.
    open: whether the function takes any further named argument.
    """

    schema: dict[str, Any]
    check: Callable[[Any], BaseModel]
    write: Callable[..., Any]
    fields: tuple[tuple[str, str], ...]
    positional: tuple[str, ...]
    context: str | None
    open: bool

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        """The arguments as plain JSON data with defaults and coercions, and what is wrong with them."""
        try:
            return self.write(self.check(args), mode="json", by_alias=True, round_trip=True), ()
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            return args, tuple(issue_of(issue["type"], issue["loc"], issue["msg"]) for issue in found)
        except (ValueError, RecursionError) as error:  # nested too deeply, or half a character in a name
            return args, (Issue("(root)", f"can not be written as JSON: {error}"),)

    def bind(self, args: Any, context: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with, for arguments that ``validate`` gave.

        Raises:
            ValueError: they are not valid.
        """
        checked = self.check(args)
        named: dict[str, Any] = {}
        for field, name in self.fields:
            named[name] = getattr(checked, field)
        if self.open:
            named.update(checked.model_extra or {})
        if self.context is not None:
            named[self.context] = context
        return [named.pop(name) for name in self.positional] if self.positional else [], named


_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not an argument of this tool",
    "model_type": "must be an object with the arguments by name",
}


def issue_of(kind: str, path: tuple[int | str, ...], message: str) -> Issue:
    """One of pydantic's errors as an issue, in words that a model can act on."""
    return Issue(dotted(path), _WORDS.get(kind, message))


def dotted(path: tuple[int | str, ...]) -> str:
    """A path as text: ``city``, ``days.0.date``, ``(root)``."""
    return ".".join(str(part) for part in path) or "(root)"


def read_signature(function: Callable[..., Any]) -> Signature:
    """Reads what a function takes.

    Raises:
        ConfigurationError: a parameter that has no meaning in JSON. ``field`` names it.
    """
    parameters = _parameters(function)
    hints = _hints(function, parameters)
    context = next((p.name for p in parameters if _wants_context(p, hints)), None)
    shown = [p for p in parameters if p.name != context and p.kind is not _Kind.VAR_KEYWORD]
    is_open = any(p.kind is _Kind.VAR_KEYWORD for p in parameters)
    fields = {f"p{number}": _field(p, hints) for number, p in enumerate(shown)}
    try:
        config = ConfigDict(extra="allow" if is_open else "forbid", arbitrary_types_allowed=False)
        model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)  # type: ignore[call-overload]
        schema = without_titles(model.model_json_schema(by_alias=True))
    except (PydanticUserError, TypeError, NameError) as error:
        first = str(error).splitlines()[0]
        raise ConfigurationError(
            f"the parameters of {_name(function)} can not be described in JSON: {first}", field=_name(function)
        ) from error
    positional = tuple(p.name for p in parameters if p.kind is _Kind.POSITIONAL_ONLY)
    names = tuple((f"p{number}", p.name) for number, p in enumerate(shown))
    check, write = model.__pydantic_validator__.validate_python, model.__pydantic_serializer__.to_python
    return Signature(schema, check, write, names, positional, context, is_open)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{_name(function)} has no signature to read: {error}", field=_name(function)) from error
    if any(p.kind is _Kind.VAR_POSITIONAL for p in parameters):
        raise ConfigurationError(
            f"{_name(function)} takes *args, but the arguments of a tool have names", field=_name(function), hint="Name each parameter."
        )
    return parameters


def _hints(function: Callable[..., Any], parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """The types of the parameters; the return type is left alone, so it may be one that exists for type checkers only."""
    inner: Any = function.func if isinstance(function, partial) else function
    owner, inner = getattr(inner, "__self__", None), inspect.unwrap(inner)
    if not hasattr(inner, "__globals__"):
        owner = inner if owner is None else owner
        inner = getattr(inner, "__func__", None) or inspect.unwrap(type(inner).__call__)
    scope = getattr(inner, "__globals__", {}) | _type_parameters(owner if isinstance(owner, type) else type(owner), inner)
    scope.setdefault("ToolContext", ToolContext)  # often imported under TYPE_CHECKING
    given = {p.name: p.annotation for p in parameters if p.annotation is not inspect.Parameter.empty}
    try:
        return typing.get_type_hints(SimpleNamespace(__annotations__=given), globalns=scope, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise ConfigurationError(
            f"the types of {_name(function)} can not be read: {error}",
            field=_name(function),
            hint="A type must be importable where the function is defined, outside any TYPE_CHECKING block.",
        ) from error


def _type_parameters(owner: type, function: Any) -> dict[str, Any]:
    """The names of ``class Tools[T]``, in it and all it inherits from, and of ``def tool[T]``: Python 3.12 has them, and no module does."""
    found: dict[str, Any] = {}
    for one in (*reversed(owner.__mro__), function):
        named = getattr(one, "__type_params__", ())
        if isinstance(named, tuple):  # ``type`` has a descriptor of that name
            found |= {each.__name__: each for each in named}
    return found


def _wants_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    if parameter.name not in hints:
        return parameter.name in CONTEXT_NAMES
    hint = hints[parameter.name]
    return hint is ToolContext or ToolContext in typing.get_args(hint)


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> tuple[Any, Any]:
    hint = hints.get(parameter.name, Any)
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    if isinstance(default, FieldInfo):  # ``days: int = Field(3, gt=0)``
        hint = Annotated[hint, default]
        return hint, Field(default_factory=default.default_factory, alias=parameter.name) if default.default_factory else Field(
            ... if default.is_required() else default.default, alias=parameter.name
        )
    return hint, Field(default, alias=parameter.name)


def without_titles(schema: Any, names: bool = False) -> Any:
    """Drops pydantic's titles, which only repeat the names; ``names`` says that the keys here are names of the user's."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_titles(item, names=not names and key in ("properties", "$defs"))
        if key not in ("default", "const", "enum", "examples") or names
        else item
        for key, item in schema.items()
        if names or not (key == "title" and isinstance(item, str))
    }
