"""Tools whose JSON Schema was written by hand, checked with jsonschema.

The validator is built once for each tool; building one takes forty times as long as using it.
jsonschema is imported with the first check, because it is slow to import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any, Literal

from lousho_cli.domain.approvals import Question
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, ToolContext, takes_context
from lousho_cli.tools.function import check_name
from lousho_cli.tools.worker import workers

MAX_ISSUES = 20
"""More than these help no model."""

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
"""What ``type`` may say in a JSON Schema."""


class ArgumentSchema:
    """A hand-written JSON Schema of arguments, ready to check them.

    Raises:
        ConfigurationError: it is no JSON Schema, or not one of an object. ``field`` is the dotted path inside it.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for

        kind = schema.get("type", "object")
        if kind != "object":
            raise ConfigurationError(f"the arguments of a tool are an object, but the schema says {kind!r}", field="type")
        self.schema: dict[str, Any] = {"type": "object", **schema}
        validator = validator_for(self.schema, default=Draft202012Validator)
        try:
            validator.check_schema(self.schema)
        except SchemaError as error:
            field = ".".join(map(str, error.absolute_path))
            hint = f"The types are: {', '.join(TYPES)}." if field.endswith("type") else ""
            raise ConfigurationError(f"this is no JSON Schema: {error.message}", field=field, hint=hint) from error
        self._validator: Any = validator(self.schema)

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        """The arguments with defaults and coercions applied, and what is wrong with them."""
        from referencing.exceptions import Unresolvable

        ready = completed({} if args is None else args, self.schema)
        try:
            errors = islice(self._validator.iter_errors(ready), MAX_ISSUES)
            found = [issue for error in errors for issue in _issues(error)]
        except Unresolvable as error:
            found = [Issue("(root)", f"the tool's schema refers to something it does not hold: {error}")]
        except RecursionError:
            found = [Issue("(root)", "the arguments are nested too deeply")]
        return ready, tuple(sorted(found, key=lambda issue: issue.path))


def completed(value: Any, schema: Any) -> Any:
    """``value`` with the defaults of ``properties`` filled in, and digits sent as text turned into the integer asked for.

    Only what stands plainly in ``properties`` and ``items`` is looked at. The value given is not changed.
    """
    if not isinstance(schema, dict):
        return value
    if isinstance(value, str) and schema.get("type") == "integer" and value.strip().lstrip("-").isdecimal() and len(value) <= 1000:
        return int(value)
    if isinstance(value, list) and "items" in schema:
        return [completed(item, schema["items"]) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    whole = {key: completed(item, properties.get(key)) for key, item in value.items()}
    for key, inner in properties.items():
        if key not in whole and isinstance(inner, dict) and "default" in inner:
            whole[key] = deepcopy(inner["default"])
    return whole


def _issues(error: Any) -> list[Issue]:
    path = [str(part) for part in error.absolute_path]
    if error.validator == "required" and isinstance(error.instance, dict):
        name = next((name for name in error.validator_value if f"{name!r} is a required" in error.message), None)
        if name is not None:
            return [Issue(".".join([*path, name]), "is required")]
    if error.validator == "additionalProperties" and error.validator_value is False and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        if not error.schema.get("patternProperties"):
            return [Issue(".".join([*path, str(name)]), "is not an argument of this tool") for name in error.instance if name not in known]
    return [Issue(".".join(path) or "(root)", error.message[:500])]


class BySchema:
    """The part of a tool that follows from the JSON Schema of its arguments; it never asks a person by itself."""

    _arguments: ArgumentSchema

    @property
    def schema(self) -> Mapping[str, Any]:
        return self._arguments.schema

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return self._arguments.validate(args)

    def question(self, args: Any) -> Question | None:
        return None


class SchemaTool(BySchema):
    """A tool given as its parts.

    Args:
        schema: JSON Schema of the arguments, an object.
        execute: takes the arguments as one dictionary and, if it has a second parameter, the ``ToolContext``.
            Sync (then it runs on the worker thread) or async.
        read_only, edits: as for ``function_tool``.

    Raises:
        ConfigurationError: a name or a schema that can not be one.
    """

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        execute: Callable[..., Any],
        replay: Literal["safe", "never"] | None = None,
        needs_approval: bool | Callable[..., Any] = False,
        *,
        read_only: bool = False,
        edits: bool = False,
    ) -> None:
        from inspect import iscoroutinefunction

        self.name = check_name(name)
        self.description = description
        self.replay = replay
        self.needs_approval = needs_approval
        self.read_only, self.edits = read_only, edits
        self._arguments = ArgumentSchema(schema)
        self._execute = execute
        self._async = iscoroutinefunction(execute)
        self._takes_context = takes_context(execute)

    async def call(self, args: Any, context: ToolContext) -> Any:
        given = (args, context) if self._takes_context else (args,)
        result = self._execute(*given) if self._async else await workers().run(lambda: self._execute(*given), session=context.log_id)
        return await result if hasattr(result, "__await__") else result

    async def reap(self, pid: int, started: str) -> bool:
        return False
