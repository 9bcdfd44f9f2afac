"""The fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

import zlib

from lousho_cli.domain.codec import decode_state
from lousho_cli.domain.state import CACHE_SHAPE, State
from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import Held

_SAVE = """INSERT INTO {s}.snapshots (no, seq, crc, state)
    SELECT no, %s, %s, %s FROM {s}.logs WHERE no = %s AND owner = %s AND epoch = %s
    ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, crc = excluded.crc, state = excluded.state"""
_LOAD = "SELECT crc, state FROM {s}.snapshots JOIN {s}.logs USING (no) WHERE id = %s AND seq <= head"


def save(hand: Hand, held: Held, seq: int, data: bytes) -> bool:
    """Replaces the snapshot of a log; False where the log is no longer ours."""
    return bool(hand.run(_SAVE, (seq, zlib.crc32(data, CACHE_SHAPE), data.decode(), *held)))


def load(hand: Hand, log_id: str) -> tuple[State, int] | None:
    """The state a snapshot holds and its size in bytes; None when it is of no use for the log as it stands."""
    for crc, text in hand.rows(_LOAD, (log_id,)):
        data = text.encode()
        if zlib.crc32(data, CACHE_SHAPE) == crc:
            try:
                return decode_state(data), len(data)
            except StorageError:
                return None
    return None
