"""The fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

from lousho_cli.domain.state import State
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.rows import checksum, state_in

_SAVE = """INSERT INTO {s}.snapshots (no, seq, crc, state)
    SELECT no, %s, %s, %s FROM {s}.logs WHERE no = %s AND owner = %s AND epoch = %s
    ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, crc = excluded.crc, state = excluded.state"""
_LOAD = "SELECT crc, state FROM {s}.snapshots JOIN {s}.logs USING (no) WHERE id = %s AND seq <= head"


def save(hand: Hand, held: Held, seq: int, data: bytes) -> bool:
    """Replaces the snapshot of a log; False where the log is no longer ours."""
    return bool(hand.run(_SAVE, (seq, checksum(data), data.decode(), *held)))


def load(hand: Hand, log_id: str) -> tuple[State, int] | None:
    """The state a snapshot holds and its size in bytes; None when it is of no use for the log as it stands."""
    for crc, text in hand.rows(_LOAD, (log_id,)):
        return state_in(crc, text.encode())
    return None
