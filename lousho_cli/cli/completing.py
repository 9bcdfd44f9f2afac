"""What the shell is offered for a word: ids, addresses, names. From the heads alone; a failure offers nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Offer = list[tuple[str, str]]


def complete_sessions(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Session ids, each with its status."""
    return _offer(ctx, lambda head: [(head.id, head.status)])


def complete_addresses(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Session ids and, once one is written with its ``@``, its steps."""
    if "@" not in incomplete:
        return complete_sessions(ctx, args, incomplete)
    name = incomplete.partition("@")[0]
    return _offer(ctx, lambda head: [(f"{head.id}@{step}", "step") for step in range(1, head.step + 1)] if head.id == name else [])


def complete_approvals(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Ids of what waits for a person, each with its tool and session."""
    return _offer(ctx, lambda head: [(head.waits_for.id, f"{head.waits_for.tool} in {head.id}")] if head.waits_for else [], pauses=True)


def complete_agents(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Names of agents that have sessions here."""
    return sorted(set(_offer(ctx, lambda head: [(head.agent, "")] if head.agent else [])))


def complete_schemas(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Names that ``lousho schema`` knows."""
    from lousho_cli.app.schemas import NAMES

    return [(name, "") for name in NAMES]


def _offer(ctx: Any, of: Callable[[Any], Iterable[tuple[str, str]]], *, pauses: bool = False) -> Offer:
    from lousho_cli.app.sessions import heads_here
    from lousho_cli.errors import SDKError

    flag = getattr(ctx.find_root().obj, "store", None)
    try:
        heads = heads_here(flag, pauses=pauses)
    except (SDKError, OSError):  # a shell that waits for a word must not be told about a store
        return []
    return [offer for head in heads for offer in of(head)]
