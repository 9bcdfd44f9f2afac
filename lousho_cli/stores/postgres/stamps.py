"""Where each log of a schema ends. A log that ends where it ended holds what it held; no batch is read to tell."""

from __future__ import annotations

from lousho_cli.stores.postgres.hand import Hand

_ENDS = """SELECT l.id, l.no, coalesce(h.crc, 0), l.head FROM {s}.logs l LEFT JOIN {s}.heads h ON h.no = l.no
    ORDER BY l.no DESC LIMIT %s"""
_COUNT = "SELECT count(*) FROM {s}.logs"


def stamps(hand: Hand, newest: int | None = None) -> tuple[dict[str, tuple[int, ...]], int]:
    """The stamp of each log by session id: the newest began last, then what else would change.

    Args:
        newest: look at no more than so many, those that began last.

    Returns:
        The stamps, and how many logs were not looked at.
    """
    rows = hand.rows(_ENDS, (newest,))
    left = 0 if newest is None or len(rows) < newest else max(int(hand.rows(_COUNT)[0][0]) - newest, 0)
    return {log_id: (no, crc, head) for log_id, no, crc, head in rows}, left
