"""Where each log of a database ends. A log that ends where it ended holds what it held; no batch is read to tell."""

from __future__ import annotations

from lousho_cli.stores.sqlite.database import Database

_ENDS = """SELECT id, no, head_crc,
    (SELECT max(key) FROM batches WHERE key BETWEEN logs.no << 24 AND (logs.no << 24) + 16777215) AS last
    FROM logs"""


def stamps(database: Database) -> dict[str, tuple[int, ...]]:
    """The stamp of each log by session id: the newest began last, then what else would change.

    Raises:
        StorageError: it can not be read.
    """
    return {log_id: (no, head_crc or 0, last or 0) for log_id, no, head_crc, last in database.query(_ENDS)}
