"""The fold at a seq, so that a long log need not be read from its beginning. A cache."""

from __future__ import annotations

from lousho_cli.domain.state import State
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.wire import YES
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.rows import checksum, state_in


def save(hand: Hand, held: Held, seq: int, data: bytes) -> bool:
    """Replaces the snapshot of a log; False where the log is no longer ours."""
    ((saved,),) = hand.call("save_snapshot", *held, seq, checksum(data), data)
    return bool(saved == YES)


def load(hand: Hand, log_id: str) -> tuple[State, int] | None:
    """The state a snapshot holds and its size in bytes; None when it is of no use for the log as it stands."""
    for crc, data in hand.call("snapshot_of", log_id):
        return state_in(int(crc), data)
    return None
