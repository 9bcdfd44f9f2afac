"""Where each log of a database ends. A log that ends where it ended holds what it held; no batch is read to tell."""

from __future__ import annotations

from lousho_cli.stores.sqlite.database import Database

_ENDS = """SELECT id, no, head_crc,
    (SELECT max(key) FROM batches WHERE key BETWEEN logs.no << 24 AND (logs.no << 24) + 16777215) AS last
    FROM logs ORDER BY no DESC LIMIT ?"""
_COUNT = "SELECT count(*) FROM logs"
_ALL = -1


def stamps(database: Database, newest: int | None = None) -> tuple[dict[str, tuple[int, ...]], int]:
    """The stamp of each log by session id: the newest began last, then what else would change.

    Args:
        newest: look at no more than so many, those that began last.

    Returns:
        The stamps, and how many logs were not looked at.

    Raises:
        StorageError: it can not be read.
    """
    rows = database.query(_ENDS, (_ALL if newest is None else newest,))
    left = 0 if newest is None or len(rows) < newest else max(int(database.query(_COUNT)[0][0]) - newest, 0)
    return {log_id: (no, head_crc or 0, last or 0) for log_id, no, head_crc, last in rows}, left
