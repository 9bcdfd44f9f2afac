"""What every log store offers beyond its port: the views over its logs, and pruning. None of it is loaded before it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lousho_cli.ports.log_store import LogStore

if TYPE_CHECKING:
    from lousho_cli.stores.pruning import Pruned
    from lousho_cli.stores.views import ApprovalView, CheckpointView


class Viewed:
    """A log store that is a checkpoint store and an approval store as well."""

    @property
    def checkpoints(self: LogStore) -> CheckpointView:
        """The checkpoint store over these logs."""
        from lousho_cli.stores.views import CheckpointView

        return CheckpointView(self)

    @property
    def approvals(self: LogStore) -> ApprovalView:
        """The approval store over these logs."""
        from lousho_cli.stores.views import ApprovalView

        return ApprovalView(self)


class Prunable:
    """A log store that removes what is old in it."""

    async def prune(self: LogStore, older_than_ms: float) -> Pruned:
        """Removes sessions not touched for so many milliseconds, checkpoints that old, and approvals decided before.

        Raises:
            ConfigurationError: the age is no number from 0.
            StorageError: the store can not be read or written.
        """
        from lousho_cli.stores.machine import due_now
        from lousho_cli.stores.pruning import prune

        return await prune(self, older_than_ms, now=due_now())
