"""Arguments described by a model of pydantic: the schema a model sees, the check, and the instance a tool gets.

Imports pydantic at the top: import this module late.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue
from lousho_cli.tools.signature import issue_of, without_titles


class ModelArguments:
    """The arguments of a tool as a class.

    Raises:
        ConfigurationError: no class of pydantic's, or one that JSON can not describe, or whose values are no objects.
    """

    def __init__(self, model: type) -> None:
        if not issubclass(model, BaseModel):
            raise ConfigurationError(
                f"{model.__name__} is no model of pydantic", field="input", hint="Derive it from pydantic.BaseModel, or give a JSON Schema."
            )
        self._model: type[BaseModel] = model
        try:
            schema = without_titles(model.model_json_schema(by_alias=True))
        except (PydanticUserError, TypeError, NameError) as error:
            first = str(error).splitlines()[0]
            raise ConfigurationError(f"{model.__name__} can not be described in JSON: {first}", field="input") from error
        self.schema: dict[str, Any] = _rooted(schema)
        if self.schema.get("type") != "object":
            raise ConfigurationError(f"the arguments of a tool are an object, but {model.__name__} is none", field="input")

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        """The arguments as plain JSON data with defaults and coercions, and what is wrong with them."""
        try:
            checked = self._model.model_validate({} if args is None else args)
            return self._written(checked, args), ()
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            return args, tuple(issue_of(issue["type"], issue["loc"], issue["msg"]) for issue in found)
        except (ValueError, RecursionError) as error:  # nested too deeply, or half a character in a name
            return args, (Issue("(root)", f"can not be written as JSON: {error}"),)

    def read(self, args: Any) -> BaseModel:
        """The instance for arguments that ``validate`` gave.

        Raises:
            ValueError: they are not valid.
        """
        return self._model.model_validate({} if args is None else args)

    def _written(self, checked: BaseModel, args: Any) -> Any:
        """What a person sees and approves. A model that is not what it writes (a masked secret, other names) keeps what came."""
        written = checked.model_dump(mode="json", by_alias=True, round_trip=True, warnings="none")
        try:
            same = self._model.model_validate(written) == checked
        except ValidationError:
            same = False
        return written if same else args


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """A model that refers to itself is described by a reference at the root; what reads schemas wants the object there."""
    reference = schema.get("$ref", "")
    name = reference.removeprefix("#/$defs/")
    found = schema.get("$defs", {}).get(name) if reference else None
    return schema if found is None else {**found, "$defs": schema["$defs"]}
