"""Which sessions somebody should drive, found by an index of those that are due and without reading the others."""

from __future__ import annotations

from lousho_cli.core.pending import has_work
from lousho_cli.domain.heads import Head
from lousho_cli.stores.postgres import heads
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.presence import Presence

OFFER_MS = 2_000
"""How long what was given to one is given to no other."""

_WIDER = 4
# What another was given between two lines of this is seen only where its row is locked, so what it must be is said there again.
_FIND = f"""WITH due AS (
        SELECT l.no, l.owner, l.ttl_ms, l.due_ms FROM {{s}}.logs l
        WHERE l.due_ms IS NOT NULL AND l.due_ms <= %s AND l.offered_ms < {NOW_MS} - {OFFER_MS}
        ORDER BY l.due_ms LIMIT %s),
    free AS (
        SELECT due.no, row_number() OVER (PARTITION BY h.tenant, h.agent ORDER BY due.due_ms, due.no) AS turn
        FROM due LEFT JOIN {{s}}.owners o ON o.token = due.owner LEFT JOIN {{s}}.heads h ON h.no = due.no
        WHERE o.token IS NULL OR o.renewed_ms + due.ttl_ms <= {NOW_MS} OR o.token = ANY(%s)),
    chosen AS (
        SELECT l.no, free.turn FROM {{s}}.logs l JOIN free ON free.no = l.no
        WHERE l.due_ms <= %s AND l.offered_ms < {NOW_MS} - {OFFER_MS}
        ORDER BY free.turn, l.no LIMIT %s FOR UPDATE OF l SKIP LOCKED)
    UPDATE {{s}}.logs l SET offered_ms = {NOW_MS} FROM chosen WHERE l.no = chosen.no
    RETURNING l.id, l.no, l.due_ms, chosen.turn, EXISTS (SELECT 1 FROM {{s}}.posts p WHERE p.no = l.no)"""
_REST = """UPDATE {s}.logs SET due_ms = %s WHERE no = %s AND due_ms = %s AND owner IS NULL AND head = %s
    AND NOT EXISTS (SELECT 1 FROM {s}.posts p WHERE p.no = logs.no)"""


def find(hand: Hand, presence: Presence, limit: int, now: str) -> tuple[Head, ...]:
    """The heads of up to ``limit`` sessions with work that nobody drives. One that turns out to have none is put to rest."""
    gone = [token for token, place in hand.rows("SELECT token, place FROM {s}.owners") if presence.is_gone(token, place)]
    due_ms = heads.ms_of(now)
    rows = hand.rows(_FIND, (due_ms, limit * _WIDER + 1000, gone, due_ms, limit))
    known = {head.id: head for head in heads.some(hand, [row[0] for row in rows]).heads}
    found = []
    for log_id, no, was_due, _, posted in sorted(rows, key=lambda row: row[3]):
        head = known.get(log_id)
        if head is None:
            continue
        if head.lead is None and (posted or has_work(head, now) or any(head.agents.values())):
            found.append(head)
        else:
            due = heads.ms_of(head.wake_at) if head.wake_at is not None else heads.due_of(head)
            hand.run(_REST, (due, no, was_due, head.seq))
    return tuple(found)
