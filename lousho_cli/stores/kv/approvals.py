"""Approvals in KV, one key each."""

from __future__ import annotations

import builtins
from typing import Any

from lousho_cli.core.stored import approval_of_text, approval_text
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval
from lousho_cli.ports.clock import Clock
from lousho_cli.stores.kv.checks import check_ttl_seconds, key_of
from lousho_cli.stores.kv.namespace import Keys, check_size


class KVApprovalStore:
    """Approvals in a KV namespace, under ``<prefix><id>``.

    **Taking once is best effort here.** KV has no transactions: a pause is read and then deleted, so two who decide at the
    same moment, or at two places before the first delete is seen, may both get it. Where a call must never run twice,
    keep its approvals in a store of files, SQLite or PostgreSQL.

    Args:
        namespace: as for ``KVCheckpointStore``.
        prefix: what every key begins with.
        ttl_seconds: how long a pause lives; 60 or more, None for ever.
        clock: for waits; the system's when not given.

    Raises:
        RangeError: a time that makes no sense.
        ConfigurationError: the namespace lacks a method.
    """

    def __init__(self, namespace: Any, prefix: str = "approvals/", ttl_seconds: int | None = None, *, clock: Clock | None = None) -> None:
        self._ttl = check_ttl_seconds(ttl_seconds)
        self._prefix = prefix
        self._keys = Keys(namespace, clock)

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """Stores a pause, or opens one again that was taken.

        Raises:
            StorageError: it could not be written; past 25 MiB nothing is sent.
        """
        text = check_size(approval_text(pending, snapshot), f"the run that waits for {pending.id}")
        await self._keys.put(self._key(pending.id), text, self._ttl)

    async def load(self, approval_id: str) -> StoredApproval | None:
        """The pause, without taking it; None when unknown or taken.

        Raises:
            StorageError: the namespace failed, or what is there is none.
        """
        key = self._key(approval_id)
        text = await self._keys.get(key)
        return None if text is None else approval_of_text(text, key)

    async def resolve(self, approval_id: str) -> StoredApproval | None:
        """Takes the pause, as far as KV allows: see the class. Raises like ``load``; what can not be read stays."""
        found = await self.load(approval_id)
        if found is not None:
            await self._keys.delete(self._key(approval_id))
        return found

    async def list(self) -> builtins.list[PendingApproval]:
        """Everything that waits, oldest first.

        Raises:
            ConfigurationError: the namespace can not list its keys.
            StorageError: the namespace failed, or one of them can not be read.
        """
        found = []
        for key in await self._keys.list(self._prefix):
            text = await self._keys.get(key)
            if text is not None:  # taken just now, or not to be seen here yet
                found.append(approval_of_text(text, key).pending)
        return sorted(found, key=lambda pending: pending.created_at)

    def _key(self, approval_id: str) -> str:
        return key_of(self._prefix, approval_id, "approval_id", 0)
