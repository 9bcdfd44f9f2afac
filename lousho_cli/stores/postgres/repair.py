"""Makes a damaged log one that can be written again, losing nothing that can still be read.

The rows as they were are kept in the table ``damaged``, under the id of the session and a number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lousho_cli.domain.records import Batch
from lousho_cli.stores.mending import mendable, mended
from lousho_cli.stores.postgres import logs
from lousho_cli.stores.postgres.claims import require_owner
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim

if TYPE_CHECKING:
    from lousho_cli.stores.postgres.store import PostgresStore

_NUMBER = "SELECT coalesce(max(number), 0) + 1 FROM {s}.damaged WHERE id = %s"
_KEEP = "INSERT INTO {s}.damaged (id, number, seq, line) SELECT %s, %s, seq, line FROM {s}.records WHERE no = %s AND seq >= %s"


async def repair(store: PostgresStore, session_id: str) -> str | None:
    """Repairs one session; says where the damaged log is kept, None when there was nothing to repair.

    Raises:
        SessionBusyError: somebody drives it.
        LogVersionError: a newer version wrote it, which alone knows how to repair it.
        StorageError: nothing in it is valid, or it can not be written.
    """
    claim = await store.take(session_id, os.uname().nodename)
    try:
        found = await store.database.run(partial(logs.scan, log_id=session_id))
        parted = mendable(session_id, store.address.shown, found.batches, found.holes)
        if parted is None:
            return None
        number = (await store.database.run(lambda hand: hand.rows(_NUMBER, (session_id,))))[0][0]
        place = f'"{store.address.schema}".damaged, id {session_id}, number {number}'
        batches = mended(*parted, claim.epoch, claim.host, place)
        await store.database.run(partial(_replace, claim, number, batches))
        return place
    finally:
        await store.release(claim)


def _replace(claim: PostgresClaim, number: int, batches: Sequence[Batch], hand: Hand) -> None:
    no, session_id = claim.held.no, claim.log_id
    lines = logs.lines_of(batches)
    with hand.transaction():
        require_owner(hand, claim)
        if hand.rows("SELECT 1 FROM {s}.damaged WHERE id = %s AND number = %s", (session_id, number)):
            return  # done before a connection was lost
        base = hand.rows("SELECT base FROM {s}.logs WHERE no = %s FOR UPDATE", (no,))[0][0]
        hand.run(_KEEP, (session_id, number, no, base))
        for table in ("records", "heads", "snapshots"):
            hand.run(f"DELETE FROM {{s}}.{table} WHERE no = %s", (no,))
        hand.run(
            "INSERT INTO {s}.records (no, seq, epoch, line) SELECT %s, v.* FROM unnest(%b::bigint[], %b::bigint[], %b::text[]) v",
            (no, [seq for seq, _ in lines], [batch.epoch for batch in batches], [text for _, text in lines]),
        )
        hand.run(
            "UPDATE {s}.logs SET base = least(base, %s), head = %s, head_epoch = %s, synced = %s, due_ms = 0 WHERE no = %s",
            (lines[0][0], lines[-1][0], claim.epoch, lines[-1][0], no),
        )
