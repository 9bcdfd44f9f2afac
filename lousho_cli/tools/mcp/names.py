"""What a model calls the tools of a server, and how what a server says of itself is shown. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 64
"""Characters that every provider accepts in the name of a tool."""

SEPARATOR = "__"

_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Each tool's name for the model, ``<server>__<tool>``, by its own; valid on every wire and unlike any other here.

    A name that had to be changed so that it is like another's, or was too long, ends in digits that are made of the
    whole of it. So what one tool is called never depends on the order of the list.
    """
    own = list(dict.fromkeys(tools))
    wanted = {tool: f"{server}{SEPARATOR}{_OTHER.sub('_', tool)}" for tool in own}
    shared = Counter(wanted.values())
    return {tool: _fitting(server, tool, name, shared[name] > 1) for tool, name in wanted.items()}


def _fitting(server: str, tool: str, name: str, is_shared: bool) -> str:
    exact = name == f"{server}{SEPARATOR}{tool}"
    if len(name) <= LONGEST and tool and (exact or not is_shared):
        return name
    mark = sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}-{mark}"


def clean(text: str, limit: int) -> str:
    """``text`` without what moves a cursor, colours or rings, cut at ``limit`` characters."""
    told = _CONTROL.sub("", text)
    return told if len(told) <= limit else told[: limit - 1] + "…"


def one_line(text: str, limit: int = 300) -> str:
    """The same as one line."""
    return clean(" ".join(text.split()), limit)
