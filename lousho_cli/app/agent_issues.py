"""What is wrong with an agent file: all of it at once, each by its dotted path, with the nearest right name."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ValidationError

from lousho_cli.app.agent_mcp import server_issues
from lousho_cli.app.agent_schema import AgentModel
from lousho_cli.app.policy_issues import policy_issues
from lousho_cli.app.provider_types import FIELDS, NAMES, TYPES
from lousho_cli.app.secrets import mask_url
from lousho_cli.app.suggestions import nearest
from lousho_cli.core.masking import names_secret
from lousho_cli.tools.builtin import BUILTINS

_OF_SOME_WIRE = frozenset[str]().union(*FIELDS.values())
_KEPT_OUT = "no credential belongs in an agent file"
_FOR_COMMAND = {"input", "env", "secrets"}
_TIMED = ("shell", "http")
_KEY_FIELDS = {"api_key", "apikey", "key", "token", "api_token", "secret", "password"}


class Wrong(msgspec.Struct, frozen=True):
    """One thing wrong. ``near`` is the field that an unknown one was probably meant to be."""

    path: str
    message: str
    kind: Literal["invalid", "unknown", "unsupported"] = "invalid"
    near: str | None = None


def shape_issues(error: ValidationError, root: type[BaseModel] = AgentModel) -> list[Wrong]:
    """What pydantic found in a file of this kind. A required field whose misspelling stands there is not reported missing besides."""
    found = [_issue(dict(issue), root) for issue in error.errors(include_url=False, include_context=True)]
    meant = {f"{parent}{issue.near}" for issue in found if issue.near for parent in [issue.path[: issue.path.rfind(".") + 1]]}
    return [issue for issue in found if not (issue.message == "is required" and issue.path in meant)]


def _issue(issue: dict[str, Any], root: type[BaseModel]) -> Wrong:
    loc = [part for part in issue["loc"] if not (isinstance(part, str) and part.startswith("<"))]
    path = ".".join(map(str, loc)) or "(root)"
    if issue["type"] == "extra_forbidden":
        return _unknown(path, loc, root)
    return Wrong(path, in_words(issue))


def _unknown(path: str, loc: Sequence[Any], root: type[BaseModel]) -> Wrong:
    name = str(loc[-1])
    if loc[0] in ("provider", "judge") and name.lower() in _KEY_FIELDS:
        return Wrong(path, f"{_KEPT_OUT}; name its environment variable with api_key_env")
    near = nearest(name, _fields_at(loc[:-1], root))
    return Wrong(path, f"did you mean {near}?" if near else "unknown field", "unknown", near)


_PLAIN = {
    "missing": "is required",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def in_words(issue: Mapping[str, Any]) -> str:
    """What pydantic found wrong with a value, as a person says it."""
    kind, context = issue["type"], issue.get("ctx", {})
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "literal_error":
        near = nearest(issue["input"], context["expected"].replace("'", "").replace(" or ", ", ").split(", ")) if _is_text(issue) else None
        return f"must be {context['expected']}" + (f"; did you mean {near}?" if near else "")
    if kind == "value_error":
        return str(context["error"])
    return str(issue["msg"]).replace("Input should be", "must be").replace("Value should", "must").replace("String should", "must")


def _is_text(issue: Mapping[str, Any]) -> bool:
    return isinstance(issue["input"], str)


def _fields_at(loc: Sequence[Any], root: type[BaseModel]) -> list[str]:
    """The names of the fields that may stand at a place of the file."""
    model = root
    names_an_item = False
    for part in loc:
        if names_an_item or isinstance(part, int):
            names_an_item = False
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = next(iter(_models(annotation)), None)
        if inner is None:
            return []
        model, names_an_item = inner, typing.get_origin(annotation) is dict
    return list(model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a type is made of."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def meaning_issues(raw: Mapping[str, Any], names: Sequence[str]) -> Iterator[Wrong]:
    """What pydantic can not see: fields that do not go together, and names of tools that are not there.

    Args:
        raw: the file's data, valid or not.
        names: names of tools that a module gave directly.
    """
    provider, tools, policy = raw.get("provider"), raw.get("tools"), raw.get("policy")
    if isinstance(provider, Mapping):
        yield from _provider_issues(provider)
    entries = tools if isinstance(tools, list) else []
    for number, entry in enumerate(entries):
        yield from _tool_issues(f"tools.{number}", entry)
    delegates = raw.get("subagents")
    others = delegates if isinstance(delegates, Mapping) else ()
    known = {*names, *BUILTINS, *(name for entry in entries for name in _names_of(entry)), *map(str, others)}
    # What a Python function that has no name here is called is known once it is loaded; ``build_tools`` looks then.
    unnamed = any(isinstance(entry, Mapping) and entry.get("python") and not entry.get("name") for entry in entries)
    servers = raw.get("mcp_servers")
    used = [str(name) for name in servers] if isinstance(servers, Mapping) else []
    yield from (Wrong(path, why) for path, why in policy_issues(policy, None if unnamed else known, used))
    yield from _double_names(entries)
    yield from (Wrong(path, why) for path, why in server_issues(servers))


def _provider_issues(provider: Mapping[str, Any]) -> Iterator[Wrong]:
    kind = next((name for name in NAMES if name == provider.get("type")), None)
    if kind is not None:
        preset = TYPES[kind]
        for name in provider:
            if name in _OF_SOME_WIRE - FIELDS[preset.wire]:
                yield Wrong(f"provider.{name}", f"is not for a provider of type {kind}")
        if provider.get("model") is None and preset.model is None:
            yield Wrong("provider.model", "is required")
    if kind == "scripted" and (provider.get("turns") is None) == (provider.get("turns_file") is None):
        yield Wrong("provider.turns", "give turns or turns_file, one of the two")
    yield from _credential_issues(provider)


def _credential_issues(provider: Mapping[str, Any]) -> Iterator[Wrong]:
    headers = provider.get("headers")
    for name in headers if isinstance(headers, Mapping) else ():
        if str(name).lower() in ("authorization", "proxy-authorization", "cookie") or names_secret(str(name)):
            yield Wrong(f"provider.headers.{name}", f"{_KEPT_OUT}; name its environment variable with api_key_env or headers_env")
    for name, instead in (("base_url", "name its environment variable with api_key_env"), ("proxy", "HTTPS_PROXY may hold it")):
        address = provider.get(name)
        if isinstance(address, str) and mask_url(address) != address:
            yield Wrong(f"provider.{name}", f"{_KEPT_OUT}; {instead}")


def _tool_issues(path: str, entry: Any) -> Iterator[Wrong]:
    if isinstance(entry, str):
        if entry not in BUILTINS:
            yield Wrong(path, f"there is no built-in tool {entry}" + _meant(entry, BUILTINS))
        return
    if not isinstance(entry, Mapping):
        return
    kind = next((kind for kind in ("python", "command") if entry.get(kind) is not None), "name")
    if kind == "python":
        yield from (
            Wrong(f"{path}.{name}", "is not for a Python function") for name in ("command", "timeout", *_FOR_COMMAND) if name in entry
        )
        if isinstance(entry["python"], str) and not _is_python_address(entry["python"]):
            yield Wrong(f"{path}.python", "must be file.py:name")
    elif kind == "command":
        if entry.get("name") is None:
            yield Wrong(f"{path}.name", "is required")
        yield from _secret_issues(path, entry)
    elif not isinstance(entry.get("name"), str):
        yield Wrong(path, "give name, command or python")
    elif entry["name"] not in BUILTINS:
        hint = _meant(entry["name"], BUILTINS)
        yield Wrong(f"{path}.command", f"is required, because there is no built-in tool {entry['name']}" + hint)
    else:
        for name in ("description", "read_only", *_FOR_COMMAND, *(() if entry["name"] in _TIMED else ("timeout",))):
            if name in entry:
                yield Wrong(f"{path}.{name}", f"is not for the built-in tool {entry['name']}")


def _names_of(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    if not isinstance(entry, Mapping):
        return []
    name = entry.get("name") or str(entry.get("python") or "").rpartition(":")[2]
    return [name] if isinstance(name, str) and name else []


def _secret_issues(path: str, entry: Mapping[str, Any]) -> Iterator[Wrong]:
    described, named = entry.get("input"), entry.get("secrets")
    known = described.get("properties") if isinstance(described, Mapping) else None
    for name in named if isinstance(named, list) else ():
        if not isinstance(known, Mapping) or name not in known:
            yield Wrong(f"{path}.secrets", f"there is no argument {name}")


def _double_names(entries: Sequence[Any]) -> Iterator[Wrong]:
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        for name in _names_of(entry):
            if name in seen:
                yield Wrong(f"tools.{number}", f"another tool is called {name} already")
            seen.add(name)


def _is_python_address(text: str) -> bool:
    file, colon, name = text.rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def _meant(name: str, known: Any) -> str:
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""
