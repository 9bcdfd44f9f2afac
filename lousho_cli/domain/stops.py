"""Why a run was stopped before it had its answer: a guardrail, a spent budget, or somebody's abort."""

from __future__ import annotations

from typing import Literal

import msgspec

GuardKind = Literal["input", "tool", "output"]


class Tripped(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="guardrail"):
    """A guardrail that blocked: its name, what it looked at, why, and the tool of the call where it looked at one."""

    name: str
    kind: GuardKind
    reason: str = ""
    tool_name: str | None = None


class Spent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="budget"):
    """A limit that was reached. ``value`` is what was used, None where that is not known; ``scope`` is what it is counted over."""

    limit: str
    value: float | None
    max: float
    scope: str = "run"


class Aborted(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="abort"):
    """An abort. ``name`` tells ``TimeoutError`` from ``AbortError``; ``message`` is the reason that was given."""

    name: str = "AbortError"
    message: str = ""


Stop = Tripped | Spent | Aborted
