"""Budgets of a run: what it may use in tokens and money, and whether that is used up."""

from __future__ import annotations

from typing import Literal

import msgspec

from lousho_cli.domain.session import Marked, Session
from lousho_cli.domain.stops import Spent
from lousho_cli.domain.usage import RunUsage


class Limits(msgspec.Struct, frozen=True):
    """What a run may use, its sub-agents included; None for no limit.

    on_exceeded: ``stop`` ends the run with what it has, ``throw`` fails it.
    """

    max_tokens: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost_usd: float | None = None
    on_exceeded: Literal["stop", "throw"] = "stop"

    @property
    def bounded(self) -> bool:
        """Whether there is a limit at all."""
        return any(getattr(self, name) is not None for name in self.__struct_fields__[:-1])


def used_with_sub_agents(point: Session | Marked) -> RunUsage:
    """What a run has used so far, or up to a checkpoint, by the sub-agents that go on too."""
    usage = point.usage
    for child in point.children.values():
        usage = usage.delegating(used_with_sub_agents(child))
    return usage


def spent(usage: RunUsage, limits: Limits) -> Spent | None:
    """The first limit that is reached, None where none is. A cost nobody knows counts as reached: it can not be watched."""
    tokens: tuple[tuple[str, int | None, int], ...] = (
        ("max_tokens", limits.max_tokens, usage.tokens_with_delegated),
        ("max_input_tokens", limits.max_input_tokens, usage.input_tokens + usage.delegated.input_tokens),
        ("max_output_tokens", limits.max_output_tokens, usage.output_tokens + usage.delegated.output_tokens),
    )
    for name, most, used in tokens:
        if most is not None and used >= most:
            return Spent(name, used, most)
    if limits.max_cost_usd is None:
        return None
    cost = usage.cost_with_delegated
    return Spent("max_cost_usd", cost, limits.max_cost_usd) if cost is None or cost >= limits.max_cost_usd else None
