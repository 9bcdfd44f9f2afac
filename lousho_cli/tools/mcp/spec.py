"""How a server is reached and how its tools are called, as a frozen value. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec

from lousho_cli.errors import ConfigurationError

Word = Literal["auto", "always", "never"]
"""Whether a call needs a person's approval; ``auto`` asks unless the tool says that it changes or destroys nothing."""

DEFAULT_CALL_TIMEOUT_MS = 120_000
DEFAULT_CONNECT_TIMEOUT_MS = 30_000

SERVER_NAME = re.compile(r"(?=.{1,32}$)[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
"""No two underscores in a row and none at an end: those part it from the name of a tool."""

_FOR_COMMAND = ("args", "env", "pass_env")
_FOR_URL = ("headers", "headers_env")
_VALUE = re.compile(r"([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One server.

    command, args: the program to start; ``folder`` is where, that of this process for None. It sees the few variables any
        program needs (``PATH``, ``HOME`` …), those of ours that ``pass_env`` names, and ``env``.
    url: of a server over streamable HTTP, in place of a command. headers: sent with each request; headers_env: headers whose
        values stand in environment variables, by header.
    approval: for all of its tools, or for some by their own names; the others are ``auto``.
    replay: what a call that was cut means, for all of its tools; None goes by what each says of itself.
    tools: only these, by their own names; None for all.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    pass_env: tuple[str, ...] = ()
    folder: Path | None = None
    url: str = ""
    headers: dict[str, str] = {}
    headers_env: dict[str, str] = {}
    approval: Word | dict[str, Word] = "auto"
    timeout_ms: int = DEFAULT_CALL_TIMEOUT_MS
    connect_timeout_ms: int = DEFAULT_CONNECT_TIMEOUT_MS
    replay: Literal["safe", "never"] | None = None
    tools: tuple[str, ...] | None = None

    @property
    def field(self) -> str:
        """Where it stands in an agent file."""
        return f"mcp_servers.{self.name}"


def meaning_issues(name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with a server beside the kinds of its fields, each as the field ('' for the whole) and why."""
    if not SERVER_NAME.fullmatch(name):
        yield "", "the name of a server has 1 to 32 letters, digits, hyphens and single underscores between them"
    command, url = given.get("command"), given.get("url")
    if command and url:
        yield "url", "give command or url, not both"
    elif not command and not url:
        yield "", "give command or url, one of the two"
    else:
        others, owner = (_FOR_COMMAND, "command") if url else (_FOR_URL, "url")
        yield from ((field, f"is for a server with a {owner}") for field in others if given.get(field))
    if isinstance(url, str) and url and not re.match(r"https?://[^/\s]", url, re.IGNORECASE):
        yield "url", "must be an address that begins with http:// or https://"
    yield from _header_issues(*(_names(given.get(field)) for field in _FOR_URL))
    fixed = given.get("headers")
    for header, value in fixed.items() if isinstance(fixed, Mapping) else ():
        if not _VALUE.fullmatch(str(value)):
            yield f"headers.{header}", "holds what no header can"


def _header_issues(fixed: list[str], named: list[str]) -> Iterator[tuple[str, str]]:
    for field, headers in zip(_FOR_URL, (fixed, named), strict=True):
        yield from ((f"{field}.{header}", "is no name of a header") for header in headers if not _HEADER.fullmatch(header))
    lower = {header.lower() for header in fixed}
    yield from ((f"headers_env.{header}", "stands in headers too") for header in named if header.lower() in lower)


def _names(headers: Any) -> list[str]:
    return [str(header) for header in headers] if isinstance(headers, Mapping) else []


def spec_from(name: str, value: Any, folder: Path | None = None) -> ServerSpec:
    """Reads a server that a program gives: a ``ServerSpec``, or a dictionary with its fields.

    Raises:
        ConfigurationError: ``field`` is the path of what is wrong with it.
    """
    field = f"mcp_servers.{name}"
    if isinstance(value, ServerSpec):
        return value
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{field} is {value!r:.60}", field=field, hint="Give a dictionary with a command or a url.")
    known = [known for known in ServerSpec.__struct_fields__ if known not in ("name", "folder")]
    for key in value:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            told = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(known)}."
            raise ConfigurationError(f"{field} has a field {key!r:.60} that is none", field=f"{field}.{key}", hint=told)
    try:
        spec = msgspec.convert({**value, "name": name}, ServerSpec)
    except msgspec.ValidationError as error:
        said, _, at = str(error).partition(" - at `$")
        where = field + at.rstrip("`")
        raise ConfigurationError(f"{where}: {said}", field=where) from error
    for at, why in meaning_issues(name, value):
        where = f"{field}.{at}" if at else field
        raise ConfigurationError(f"{where}: {why}", field=where)
    for at in ("timeout_ms", "connect_timeout_ms"):
        if (given := getattr(spec, at)) < 1:
            raise ConfigurationError(f"{field}.{at} is {given}", field=f"{field}.{at}", hint="Use whole milliseconds from 1 up.")
    return msgspec.structs.replace(spec, folder=folder)
