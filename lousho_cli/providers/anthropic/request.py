"""A model request as the body of a Messages call.

The same transcript gives the same bytes, in every process, and a longer one begins with those of a shorter: keys have
a fixed order, tools come as given, messages stand last. Only the cache marks move. They are no part of what a server
compares when it looks for a prefix it knows, so a request still hits what was written under the marks of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.anthropic.native import Block
from lousho_cli.providers.anthropic.parts import text_block
from lousho_cli.providers.anthropic.turns import Turn, may_think, turns_of
from lousho_cli.providers.wire.asked import asked
from lousho_cli.providers.wire.surrogates import mended

RESERVED = frozenset({"model", "messages", "system", "max_tokens", "stream"})
"""Keys of the body that the run itself fills in."""

MAX_TOKENS = 8192
"""How long an answer may be unless told: every model that is served today takes it."""

MAX_TOKENS_THINKING = 32_000
"""The same where the model itself decides how much it thinks, which counts as well; all that do take twice this."""

_MARK = {"type": "ephemeral"}


def endpoint(base_url: str) -> str:
    """The address of Messages under ``base_url``: with or without ``/v1``, a final slash, or the whole of it."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith("/messages"):
        path += "/messages" if path.endswith("/v1") else "/v1/messages"
    return urlunsplit(parts._replace(path=path))


def default_max_tokens(extra_body: Mapping[str, Any]) -> int:
    """How long an answer may be: where a budget for thinking is set, that many tokens more."""
    thinking = extra_body.get("thinking")
    if not isinstance(thinking, Mapping):
        return MAX_TOKENS
    if thinking.get("type") == "adaptive":
        return MAX_TOKENS_THINKING
    budget = thinking.get("budget_tokens")
    return MAX_TOKENS + (budget if isinstance(budget, int) and budget > 0 else 0)


def encode_request(request: ModelRequest, model: str, extra_body: Mapping[str, Any], *, max_tokens: int, prompt_cache: bool) -> bytes:
    """The body. ``tools`` of ``extra_body``, such as the server's own search, stand behind those of the run."""
    system = [text_block(message.text) for message in request.messages if message.role == "system" and message.text.strip()]
    tools = [*map(wire_tool, request.tools), *extra_body.get("tools", ())]
    turns = turns_of(request.messages)
    extra_body = {**extra_body, **asked(request, "thinking")}
    if prompt_cache if request.prompt_cache is None else request.prompt_cache:
        _mark(system, tools, turns)
    body: dict[str, Any] = {"model": model, "max_tokens": max_tokens, **extra_body, "stream": True}
    body.pop("tools", None)
    if _thinks(extra_body) and not may_think(turns):
        del body["thinking"]
    if tools:
        body["tools"] = tools
    if system:
        body["system"] = system
    body["messages"] = [turn.on_wire() for turn in turns]
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(body))


def _thinks(extra_body: Mapping[str, Any]) -> bool:
    """Whether thinking is on: a server then demands it of the model's last answer. One that decides by itself does not."""
    thinking = extra_body.get("thinking")
    return isinstance(thinking, Mapping) and thinking.get("type") == "enabled"


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description.strip() else {}
    schema = tool.schema if "type" in tool.schema else {"type": "object", **tool.schema}
    return {"name": tool.name, **described, "input_schema": schema}


def _mark(system: list[Block], tools: list[Block], turns: Sequence[Turn]) -> None:
    """Puts three of the four marks a request may have: what never changes, the newest user's turn, and the one before it.

    The newest is what the next request reads; the one before is what this one reads, even when so many blocks came
    since that a server would not look back as far. A prompt too short to be kept is just not kept.
    """
    fixed = system or tools
    if fixed:
        fixed[-1] = fixed[-1] | {"cache_control": _MARK}
    for turn in [turn for turn in turns if turn.role == "user"][-2:]:
        blocks = turn.said or turn.results
        blocks[-1] = blocks[-1] | {"cache_control": _MARK}
