"""``KVStore``: checkpoints and approvals of one namespace, side by side."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.history_limit import DEFAULT_HISTORY_LIMIT
from lousho_cli.ports.clock import Clock
from lousho_cli.stores.kv.approvals import KVApprovalStore
from lousho_cli.stores.kv.checkpoints import KVCheckpointStore

CHECKPOINTS, APPROVALS = "checkpoints/", "approvals/"


class KVStore:
    """``checkpoints`` under ``<prefix>checkpoints/``, ``approvals`` under ``<prefix>approvals/``.

    It keeps checkpoints, not logs: what that means is said in ``KVCheckpointStore`` and ``KVApprovalStore``.

    Args:
        namespace: ``CloudflareKV``, or any object with ``get``, ``put`` and ``delete``, such as a Workers KV binding.
        prefix: what every key begins with.
        history_limit: how many saves of a session are kept, 0 for none.
        checkpoint_ttl_seconds, approval_ttl_seconds: how long each lives after it was written; None for ever.
        clock: for entry ids and waits; the system's when not given.

    Raises:
        RangeError: a limit or a time that makes no sense.
        ConfigurationError: the namespace lacks a method.
    """

    def __init__(
        self,
        namespace: Any,
        prefix: str = "",
        history_limit: int = DEFAULT_HISTORY_LIMIT,
        checkpoint_ttl_seconds: int | None = None,
        approval_ttl_seconds: int | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.checkpoints = KVCheckpointStore(namespace, prefix + CHECKPOINTS, history_limit, checkpoint_ttl_seconds, clock=clock)
        self.approvals = KVApprovalStore(namespace, prefix + APPROVALS, approval_ttl_seconds, clock=clock)
