"""What a server asks in the middle of a call, as a question for a person; and the answer as the form it asked for. Pure.

A form is asked for as one question. With a single field its plain value is an answer, with several it is a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from lousho_cli.errors import AskPerson, SignInRequired
from lousho_cli.tools.mcp.names import clean, one_line

_TEXT, _PART = 2000, 300
_TRUE, _FALSE = {"true", "yes", "y"}, {"false", "no", "n"}


class Form(NamedTuple):
    """What a server wants to know: its message, and the JSON Schema of an object with plain fields."""

    server: str
    message: str
    schema: Mapping[str, Any]

    @property
    def fields(self) -> Mapping[str, Any]:
        """The schema of each field."""
        found = self.schema.get("properties")
        return found if isinstance(found, Mapping) else {}


class NotAnAnswer(ValueError):
    """An answer that the form does not take, and why."""


def question(form: Form, refused: str = "") -> AskPerson:
    """What to ask a person. ``refused``: why the answer before was none."""
    lines = [f"The MCP server {form.server} asks: {clean(form.message, _TEXT)}"]
    if refused:
        lines.insert(0, f"That was no answer: {refused}.")
    options: tuple[str, ...] = ()
    if len(form.fields) == 1:
        name, field = next(iter(form.fields.items()))
        options = _options(field)
        lines.append(f"Answer with the value of {_described(form, name, field)}.")
    elif form.fields:
        lines += [f"- {_described(form, name, field)}" for name, field in form.fields.items()]
        lines.append("Answer with a JSON object of these fields.")
    else:
        options = ("ok",)
        lines.append("Answer ok to go on, or reject.")
    return AskPerson("\n".join(lines), options=options)


def sign_in(server: str, url: str, message: str) -> SignInRequired:
    """What to ask a person who has to open an address first."""
    return SignInRequired(url, f"The MCP server {server} asks: {clean(message, _TEXT)}\nOpen {clean(url, _TEXT)}, then approve.")


def is_web_address(url: str) -> bool:
    """Whether a person may be sent there."""
    return url.lower().startswith(("http://", "https://")) and not any(character.isspace() for character in url)


def content_of(form: Form, answer: str) -> dict[str, Any]:
    """The fields that an answer fills in.

    Raises:
        NotAnAnswer: it does not fit the form.
    """
    if not form.fields:
        return {}
    given = _object(answer)
    if given is None or (len(form.fields) == 1 and not given.keys() & form.fields.keys()):
        if len(form.fields) > 1:
            raise NotAnAnswer("it is no JSON object")
        name, field = next(iter(form.fields.items()))
        given = {name: _typed(answer, field)}
    _check(form, given)
    return given


def _object(answer: str) -> dict[str, Any] | None:
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _typed(answer: str, field: Any) -> Any:
    """The text of a single field as the value it stands for."""
    kind = field.get("type") if isinstance(field, Mapping) else None
    if kind == "boolean" and answer.strip().lower() in _TRUE | _FALSE:
        return answer.strip().lower() in _TRUE
    if kind in ("integer", "number", "array", "boolean"):
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            return answer
    return answer


def _check(form: Form, given: dict[str, Any]) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator
    from referencing.exceptions import Unresolvable

    unknown = [name for name in given if name not in form.fields]
    if unknown:
        raise NotAnAnswer(f"there is no field {one_line(unknown[0], _PART)}")
    try:
        Draft202012Validator.check_schema(dict(form.schema))
        error = next(iter(Draft202012Validator(dict(form.schema)).iter_errors(given)), None)
    except (SchemaError, Unresolvable, RecursionError):
        return  # the server will say what is wrong with it
    if error is not None:
        where = ".".join(map(str, error.absolute_path))
        raise NotAnAnswer(one_line(f"{where}: {error.message}" if where else error.message, _PART))


def _options(field: Any) -> tuple[str, ...]:
    if not isinstance(field, Mapping):
        return ()
    if field.get("type") == "boolean":
        return ("true", "false")
    listed = field.get("enum")
    if isinstance(listed, list):
        return tuple(item for item in listed if isinstance(item, str))
    titled = field.get("oneOf")
    found = [item.get("const") for item in titled if isinstance(item, Mapping)] if isinstance(titled, list) else []
    return tuple(item for item in found if isinstance(item, str))


def _described(form: Form, name: str, field: Any) -> str:
    required = form.schema.get("required")
    parts = [str(field.get("type", "any")) if isinstance(field, Mapping) else "any"]
    if not isinstance(required, list) or name not in required:
        parts.append("may be left out")
    if options := _options(field):
        parts.append("one of " + ", ".join(options))
    said = next((str(field[key]) for key in ("description", "title") if field.get(key)), "") if isinstance(field, Mapping) else ""
    return one_line(f"{name} ({'; '.join(parts)}){f': {said}' if said else ''}", _PART)
