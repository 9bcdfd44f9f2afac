"""The one ``store`` of a ``create_agent`` agent: where it checkpoints, and where its approvals wait."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.given_stores import APPROVALS, CHECKPOINTS, lacking, to_be_awaited
from lousho_cli.ports.checkpoints import ApprovalStore, CheckpointStore
from lousho_cli.stores.memory import memory_store


class AgentStores:
    """The two stores behind one object, or one dictionary, that has ``checkpoints`` and ``approvals``.

    Without ``approvals``, what waits for a person waits in this process alone.

    Raises:
        ConfigurationError: it is no store, or a part of it lacks a method.
    """

    def __init__(self, store: Any) -> None:
        self._checkpoints: CheckpointStore | None = _part(store, "checkpoints", CHECKPOINTS)
        approvals = _part(store, "approvals", APPROVALS) or memory_store().approvals
        self.approvals: ApprovalStore = approvals if hasattr(approvals, "log_store") else RememberingApprovals(approvals)
        if store is not None and self._checkpoints is None and _part(store, "approvals", ()) is None:
            raise ConfigurationError(
                f"{store!r:.80} is no store of an agent: it has neither checkpoints nor approvals",
                field="store",
                hint="Pass memory_store(), a FileStore, or any object or dictionary with checkpoints and approvals.",
            )

    @property
    def kept(self) -> CheckpointStore | None:
        """Where sessions are kept, None for nowhere."""
        return self._checkpoints

    @property
    def checkpoints(self) -> CheckpointStore:
        """Where sessions are kept.

        Raises:
            ConfigurationError: nowhere (code LOUSHO_CONFIG_MISSING_CHECKPOINT_STORE).
        """
        if self._checkpoints is None:
            raise ConfigurationError(
                "a session needs a store that keeps it",
                field="store",
                code="LOUSHO_CONFIG_MISSING_CHECKPOINT_STORE",
                hint="Give create_agent a store with checkpoints, for instance FileStore('.lousho').",
            )
        return self._checkpoints


class RememberingApprovals:
    """Somebody's approval store; where it can not list what waits in it, with what this process saw come to wait there."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._seen: dict[str, PendingApproval] = {}

    async def save(self, pending: PendingApproval, snapshot: ExecutionSnapshot) -> None:
        """As the store behind it."""
        await self._store.save(pending, snapshot)
        self._seen[pending.id] = pending

    async def resolve(self, approval_id: str) -> Any | None:
        """As the store behind it."""
        found = await self._store.resolve(approval_id)
        self._seen.pop(approval_id, None)
        return found

    async def list(self) -> list[PendingApproval]:
        """What waits there, oldest first; from a store that can not say, what this process left there and did not decide."""
        listed = getattr(self._store, "list", None)
        if listed is not None:
            with suppress(ConfigurationError):
                return list(await listed())
        return list(self._seen.values())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)  # the methods a store may have or not: asking for them asks it


def _part(store: Any, name: str, methods: tuple[str, ...]) -> Any:
    part = store.get(name) if isinstance(store, Mapping) else getattr(store, name, None)
    lacks = None if part is None else lacking(part, methods)
    if lacks is not None:
        raise ConfigurationError(f"the {name} of the store can not {lacks}", field=f"store.{name}", hint=f"It needs {', '.join(methods)}.")
    return None if part is None else to_be_awaited(part, methods)
