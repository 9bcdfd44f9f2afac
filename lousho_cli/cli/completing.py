"""What the shell is offered for a word: ids, addresses, names. From the heads alone; a failure offers nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Offer = list[tuple[str, str]]


MOST_BATCHES = 50
"""So many batches of a session are offered behind its ``#``, the newest."""


def complete_sessions(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Session ids, each with its status, newest first."""
    return _offer(ctx, lambda head: [(head.id, head.status)])


def complete_addresses(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Session ids and, once one is written with its ``@`` or ``#``, its steps or the batches of its log, newest first."""
    name, at, _ = incomplete.partition("@")
    if at:
        return _offer(ctx, lambda head: [(f"{head.id}@{step}", "step") for step in range(head.step, 0, -1)] if head.id == name else [])
    name, hash_, _ = incomplete.partition("#")
    if hash_:
        return _offer(ctx, lambda head: [(f"{head.id}#{seq}", "batch") for seq in _newest(head.seq)] if head.id == name else [])
    return complete_sessions(ctx, args, incomplete)


def complete_approvals(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Ids of what waits for a person, each with its tool and session; for ``answer`` only what asks for an answer."""
    asks = getattr(ctx, "info_name", None) == "answer"

    def waiting(head: Any) -> Offer:
        return [(wait.id, f"{wait.named_tool} in {head.id}") for wait in head.waits if not asks or wait.kind in ("question", "secret")]

    return _offer(ctx, waiting, pauses=True)


def complete_agents(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """Names of agents that have sessions here."""
    return sorted(set(_offer(ctx, lambda head: [(head.agent, "")] if head.agent else [])))


def complete_targets(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """The demos, and agent files and folders here."""
    import os

    from lousho_cli.app.demos import DEMOS

    folder = os.path.dirname(incomplete)
    offers: Offer = [] if folder else [(name, "demo") for name in DEMOS]
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:  # a folder that is not there, or not ours, holds nothing to offer
        return offers
    for entry in entries:
        if entry.is_dir() and not entry.name.startswith("."):
            offers.append((os.path.join(folder, entry.name) + "/", "folder"))
        elif entry.name.endswith((".yaml", ".yml", ".json", ".py")):
            offers.append((os.path.join(folder, entry.name), "file"))
    return offers


def complete_models(ctx: Any, args: list[str], incomplete: str) -> Offer:
    """The providers that ``--model`` may name; their models are known to their servers alone."""
    from lousho_cli.app.provider_types import TYPES

    return [(f"{name}/", kind.base_url or "") for name, kind in TYPES.items() if kind.wire != "script" and name.startswith(incomplete)]


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
    newest = sorted(heads, key=lambda head: (head.updated_at, head.id), reverse=True)
    return [offer for head in newest for offer in of(head)]


def _newest(seq: int) -> range:
    return range(seq, max(seq - MOST_BATCHES, 0), -1)
