"""What holds for the calls of a tool: its server's settings, and what the tool says of itself. Pure.

What a tool says of itself is a hint of whoever wrote the server, so nothing but an explicit word lets it run unasked.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.tools.mcp.spec import ServerSpec


class Hints(msgspec.Struct, frozen=True):
    """What a tool says of itself; None where it says nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


def needs_approval(spec: ServerSpec, tool: str, hints: Hints) -> bool:
    """Whether a person must approve each call of a tool, by its own name."""
    word = spec.approval if isinstance(spec.approval, str) else spec.approval.get(tool, "auto")
    if word != "auto":
        return word == "always"
    return not (hints.read_only is True or hints.destructive is False)


def replay(spec: ServerSpec, hints: Hints) -> Literal["safe", "never"] | None:
    """What a call that was cut means; None leaves it to the run."""
    if spec.replay is not None:
        return spec.replay
    return "safe" if hints.read_only is True or hints.idempotent is True else None
