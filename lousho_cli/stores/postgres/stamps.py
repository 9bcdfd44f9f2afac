"""Where each log of a schema ends. A log that ends where it ended holds what it held; no batch is read to tell."""

from __future__ import annotations

from lousho_cli.stores.postgres.hand import Hand

_ENDS = "SELECT l.id, l.no, coalesce(h.crc, 0), l.head FROM {s}.logs l LEFT JOIN {s}.heads h ON h.no = l.no"


def stamps(hand: Hand) -> dict[str, tuple[int, ...]]:
    """The stamp of each log by session id: the newest began last, then what else would change."""
    return {log_id: (no, crc, head) for log_id, no, crc, head in hand.rows(_ENDS)}
