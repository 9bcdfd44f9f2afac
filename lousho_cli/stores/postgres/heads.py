"""The list of all sessions, from cached heads and the batches behind them.

A head says up to which seq it covers its log. While the log ends there it is all a list needs; otherwise what
stands behind is read. So a stale head never hides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import advance_all, head_of
from lousho_cli.core.pending import lane_of
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.heads import Head
from lousho_cli.domain.records import Batch
from lousho_cli.errors import DamagedLogError
from lousho_cli.ports.log_store import Heads
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.wire import texts
from lousho_cli.stores.row_claim import Held
from lousho_cli.stores.row_scan import Scan, scan_rows
from lousho_cli.stores.rows import checksum, head_in

_HEADS = """SELECT l.id, l.no, l.wake_at, l.base, l.head, h.crc, h.head
    FROM {s}.logs l LEFT JOIN {s}.heads h ON h.no = l.no WHERE l.head > 0"""
_BEHIND = """SELECT g.no, r.seq, r.line FROM unnest(%b::bigint[], %b::bigint[]) AS g (no, behind)
    CROSS JOIN LATERAL (SELECT seq, line FROM {s}.records WHERE records.no = g.no AND seq > g.behind ORDER BY seq) r"""
_PART = 200


class Row(NamedTuple):
    """What is kept of a log: its number, when it is to be woken, where it begins and ends, and its cached head."""

    id: str
    no: int
    wake_at: str | None
    base: int
    head: int
    crc: int | None
    data: bytes | None


def row_of(values: Sequence[Any]) -> Row:
    """A row of ``heads_of``."""
    log_id, no, wake_at, base, head, crc, data = values
    wake, checked = None if wake_at is None else wake_at.decode(), None if crc is None else int(crc)
    return Row(log_id.decode(), int(no), wake, int(base), int(head), checked, data)


def save(hand: Hand, held: Held, head: Head) -> None:
    """Replaces the head of a log that is still ours and ends where the head says, and notes when somebody should look at it."""
    data = encode_value(head)
    rests = (due_of(head), not to_do(head) and head.wake is not None, lane_of(head))
    hand.call("rest_own", *held, head.seq, *rests, checksum(data), data)


def due_of(head: Head) -> int | None:
    """When somebody should look at a session that stands as its head says, in ms since 1970; None for not before something comes.

    What is not all imported is looked at by nobody.
    """
    if head.importing:
        return None
    if to_do(head):
        return ms_of(head.updated_at)  # so that the longest untouched comes first
    return None if head.wake is None else ms_of(head.wake)


def to_do(head: Head) -> bool:
    """Whether a session has work that waits for no time. With background agents it has: they may have to be looked after.

    A background agent that has ended has, too: its lead may have to be told.
    """
    runs = head.run > 0 and head.status == "in-progress" and head.outcome is None
    if head.waits_for is None and (runs or bool(head.outline.waiting)):
        return True
    return any(head.agents.values()) if head.lead is None else head.outcome is not None and not head.agents


def ms_of(at: str) -> int:
    """A time of a record in ms since 1970; 0 for one that is none, so that somebody looks."""
    try:
        return round(datetime.fromisoformat(at).timestamp() * 1000)
    except ValueError:
        return 0


def list_all(hand: Hand) -> Heads:
    """The heads of a store."""
    return current(hand, [Row(*row)._replace(data=row[6] and row[6].encode()) for row in hand.rows(_HEADS)])


def some(hand: Hand, log_ids: Sequence[str]) -> Heads:
    """The heads of some sessions."""
    return current(hand, [row_of(values) for values in hand.call("heads_of", texts(log_ids))])


def one(hand: Hand, log_id: str) -> Head | None:
    """The head of one session, None for none.

    Raises:
        DamagedLogError: its log is damaged.
    """
    found = some(hand, (log_id,))
    for _, detail in found.damaged:
        raise DamagedLogError(detail)
    return found.heads[0] if found.heads else None


def current(hand: Hand, rows: Sequence[Row]) -> Heads:
    """The heads of some logs, each brought up to date by what stands behind it; that is read for many at once."""
    heads: list[Head] = []
    damaged: list[tuple[str, str]] = []
    stale: list[_Stale] = []
    for row in rows:
        known = head_in(row.crc, row.data)
        if known is not None and known.seq == row.head:
            heads.append(msgspec.structs.replace(known, id=row.id, wake_at=row.wake_at))
        else:
            stale.append(_Stale(row, known if known is not None and known.seq < row.head else None))
    while stale:
        part, stale = stale[:_PART], stale[_PART:]
        found = _behind(hand, part)
        for one_of in part:
            scanned = found.get(one_of.row.no, Scan(head=one_of.behind))
            if scanned.holes:
                hole = scanned.holes[0]
                damaged.append((one_of.row.id, f"session {one_of.row.id}: records {hole.first} to {hole.last} are {hole.detail}"))
            elif (head := one_of.advanced(scanned.batches)) is not None:
                heads.append(msgspec.structs.replace(head, id=one_of.row.id, wake_at=one_of.row.wake_at))
            else:
                stale.append(_Stale(one_of.row, None))  # its head can not be brought up to date: from the beginning then
    return Heads(tuple(heads), tuple(damaged))


class _Stale(NamedTuple):
    """A row, and the head in it, if that is of any use."""

    row: Row
    known: Head | None

    @property
    def behind(self) -> int:
        """Behind which seq to read."""
        return max(self.row.base - 1, 0 if self.known is None else self.known.seq)

    def advanced(self, batches: Sequence[Batch]) -> Head | None:
        """The head with what stands behind it; None where only the whole log tells."""
        if self.known is not None:
            return advance_all(self.known, batches)
        return advance_all(Head(), batches) or head_of(fold(batches))


def _behind(hand: Hand, stale: Sequence[_Stale]) -> dict[int, Scan]:
    """What stands behind the heads of some logs, by the numbers of the logs."""
    rows = hand.rows(_BEHIND, ([one.row.no for one in stale], [one.behind for one in stale]))
    lines: dict[int, list[tuple[int, bytes]]] = {}
    for no, seq, line in rows:
        lines.setdefault(no, []).append((seq, line.encode()))
    return {one.row.no: scan_rows(lines.get(one.row.no, ()), one.behind) for one in stale}
