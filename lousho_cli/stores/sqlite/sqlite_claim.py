"""The right to write one log of a file, as this process holds it."""

from __future__ import annotations

from lousho_cli.stores.row_claim import RowClaim


class SqliteClaim(RowClaim):
    """A claim that a ``SqliteStore`` gave. ``synced`` is what the file itself says is durable."""
