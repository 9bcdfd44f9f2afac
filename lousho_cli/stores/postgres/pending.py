"""Which sessions somebody should drive, found by an index of those that are due and free, lane by lane, and without reading the others.

A lane is what the sessions of one agent of one tenant share (``core.pending.lane_of``). Whoever asks goes through the lanes from where
it stopped, and looks at the first few that are due in each: so the cost of asking does not grow with what waits, and nobody's work
waits for all the work of somebody else. What waits for a time stands apart until that comes. Now and then what dead owners hold is
freed, and what has no lane yet, as it never rested, gets one.

A background agent is the work of its lead, which is due whenever it comes to rest. Where all agents of a lead are well, it is put to rest
like any other that waits: an agent that is to be looked after is due itself, and who finds it there makes its lead due.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from random import random
from typing import NamedTuple

from lousho_cli.core.pending import has_work, lane_end, lane_of, off_limits
from lousho_cli.domain.heads import Head
from lousho_cli.errors import SDKError
from lousho_cli.ports.log_store import Heads
from lousho_cli.ports.undriven import Cared, Looked, agents_of
from lousho_cli.stores.postgres import heads
from lousho_cli.stores.postgres.database import Database
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.presence import Presence
from lousho_cli.stores.postgres.wire import YES, texts

OFFER_MS = 2_000
"""How long what was given to one is given to no other."""

TIDY_EVERY_S, TIDYING, TIDY_AT_LEAST_S = 1.0, 20, 5.0
"""How often one who asks frees what dead owners hold: the first time, while no more than ``TIDYING`` do; of more, each the seldomer, down
to the second time.
"""

DRAWN = 4
"""How many, of all who are told of work and have room, ask for it at once. Were it all, nearly all would ask in vain, and with some
hundred of them that would be most of what the server does. If none of them takes it, whoever looks next by itself does."""

_AGENTS_MS, _DAMAGED_MS = 10_000, 60_000
"""How long one is given to nobody that is a background agent to be looked after, or the lead of one that could not say that it is well; or
which can not be read.
"""

_PASSED_S, _MOST_PASSED = 60.0, 10_000
"""How long one is passed over by who may not go on with it himself, as others may; and how many of them are remembered."""

_ROUNDS = 50
_LEAST_LANES, _AMONG_STRANGE = 8, 64
_LATER = f"UPDATE {{s}}.logs SET offered_ms = {NOW_MS} + %s WHERE id = ANY(%s)"
_AGAIN = f"UPDATE {{s}}.logs SET offered_ms = 0 WHERE id = ANY(%s) AND owner IS NULL AND offered_ms <= {NOW_MS}"
# At once, whatever it waits for; and never as it was, so that who has seen it before does not put it to rest.
_LEAD_IS_DUE = "UPDATE {s}.logs SET due_ms = least(coalesce(due_ms, 1) - 1, 0), waits = false, offered_ms = 0 WHERE id = %s"
_LANES = (
    """UPDATE {s}.logs l SET lane = g.lane FROM unnest(%s::text[], %s::text[]) AS g (id, lane) WHERE l.id = g.id AND l.lane <> g.lane"""
)
_NOTHING = "UPDATE {s}.logs SET due_ms = NULL WHERE id = ANY(%s) AND owner IS NULL AND head = 0"


class _Found(NamedTuple):
    """A session with work; ``sure`` False where only its background agents may be that. ``no``, ``was_due``: as in ``_Given``."""

    head: Head
    sure: bool
    no: int
    was_due: int


class _Given(NamedTuple):
    """A session that was free and due, and is now given to no other for a while; ``posted``: something was left for it."""

    row: heads.Row
    was_due: int
    lane: str
    posted: bool


class _Walk(NamedTuple):
    """What came of going through lanes from one on: the last of them, how many there were, and what was given out."""

    last: str
    lanes: int
    given: list[_Given]


class Pending:
    """What one store object asks of the index, and whose turn was last."""

    def __init__(self, database: Database, presence: Presence) -> None:
        self._database, self._presence = database, presence
        self._last = ""
        self._tidied_at = -TIDY_EVERY_S
        self._hosts = 1
        self._passed: dict[str, float] = {}
        self._given: dict[str, float] = {}

    async def some(self, store: Looked, limit: int, now: str, without: Collection[str], strange: Collection[str]) -> tuple[Head, ...]:
        """See ``Index.pending``; ``store`` is the store itself."""
        find = partial(self._find, now=now, strange=[lane_end(agent) for agent in strange])
        nothing: list[_Found] = []
        wanted: list[Head] = []
        for _ in range(_ROUNDS):
            asked, seen = limit - len(wanted), [*without, *(head.id for head in wanted)]
            found = await self._database.read(partial(find, limit=asked, without=seen), nothing)
            well: list[tuple[_Found, bool]] = []
            for one in found:
                cared = Cared(True, True) if one.sure else await agents_of(store, one.head, now)
                if cared.wanted:
                    wanted.append(one.head)
                else:
                    well.append((one, cared.sure))
            if well:
                await self._database.run(partial(_put_off, well=well))
            if len(found) < asked or not well:
                break  # else there may be more behind those that had nothing
        at = time.monotonic()
        self._given = {log_id: given for log_id, given in self._given.items() if at - given < OFFER_MS / 1000}
        self._given.update((head.id, at) for head in wanted)
        return tuple(wanted)

    def give_back(self) -> None:
        """What was given here just now, and was not taken, is for anybody again. Whoever goes calls this."""
        at = time.monotonic()
        given = [log_id for log_id, given in self._given.items() if at - given < OFFER_MS / 1000]
        if given:
            with suppress(SDKError):  # then it waits until its moment is over
                self._database.now(lambda hand: hand.run(_AGAIN, (given,)), patience_s=0.5)

    def is_drawn(self) -> bool:
        """Whether this one is among the few who ask for what all are told of."""
        return random() * self._hosts < DRAWN  # noqa: S311 - nothing secret

    def _find(self, hand: Hand, limit: int, now: str, without: list[str], strange: list[str]) -> list[_Found]:
        """Up to ``limit`` sessions, from the lane behind the last on, once around at most."""
        due_ms = heads.ms_of(now)
        if time.monotonic() - self._tidied_at >= min(TIDY_EVERY_S * max(1.0, self._hosts / TIDYING), TIDY_AT_LEAST_S):
            self._tidy(hand, due_ms)
            self._tidied_at = time.monotonic()
        found: list[_Found] = []
        seen = [*without, *self._passed_over()]
        begin, around = self._last, False
        for _ in range(_ROUNDS):
            asked = limit - len(found)
            lanes = max(asked, _AMONG_STRANGE if strange else _LEAST_LANES)
            last, walked, given = _walk(hand, self._last, lanes, asked, due_ms, seen, strange)
            with_work, led = self._with_work(hand, given, now)
            found += with_work
            seen += [one.row.id for one in given]
            if len(found) >= limit:
                self._last = given[-1].lane
                break
            if led or len(given) == asked:
                continue  # a lead is due now; or some of them were none, and there may be more in these lanes
            ended = walked < lanes  # there is no lane behind: it goes on with the first
            self._last = "" if ended else last
            if around and (ended or self._last >= begin):
                break
            around = around or ended
            if around and not begin:
                break
        return found

    def _passed_over(self) -> list[str]:
        now = time.monotonic()
        if len(self._passed) > _MOST_PASSED:
            self._passed.clear()
        self._passed = {log_id: until for log_id, until in self._passed.items() if until > now}
        return list(self._passed)

    def _with_work(self, hand: Hand, given: Sequence[_Given], now: str) -> tuple[list[_Found], bool]:
        """Those of some that were given which have work, and whether a lead was made due. What turns out to have none is put to rest."""
        there = heads.current(hand, [one.row for one in given if one.row.head]) if given else Heads()
        known = {head.id: head for head in there.heads}
        self._passed.update((log_id, time.monotonic() + _PASSED_S) for log_id, _ in there.damaged)
        found, led = [], False
        for row, was_due, lane, posted in given:
            log_id, head = row.id, known.get(row.id)
            if head is None:
                continue
            if off_limits(head):
                self._passed[log_id] = time.monotonic() + _PASSED_S
                continue
            sure = posted or has_work(head, now)
            if head.lead is not None:
                done = _look_after(hand, head, row.no, was_due, now, sure=sure)
                led = led or done
                if sure and not done:
                    self._passed[log_id] = time.monotonic() + _PASSED_S
            elif sure or any(head.agents.values()):
                found.append(_Found(head, sure, row.no, was_due))
            else:
                hand.call("rest_free", row.no, was_due, head.seq, _wakes(head))
            if lane != (now_lane := lane_of(head)):
                hand.run(_LANES, ([log_id], [now_lane]))
        return found, led

    def _tidy(self, hand: Hand, due_ms: int) -> None:
        (_, hosts), *rows = hand.call("free_dead", texts(self._presence.gone(hand)), due_ms)
        self._hosts = int(hosts)
        if not rows:
            return
        ends = {log_id.decode(): int(head) for log_id, head in rows}
        known = heads.some(hand, list(ends))
        hand.run(_LANES, ([head.id for head in known.heads], [lane_of(head) for head in known.heads]))
        hand.run(_NOTHING, ([log_id for log_id, head in ends.items() if not head],))
        hand.run(_LATER, (_DAMAGED_MS, [log_id for log_id, _ in known.damaged]))


def _look_after(hand: Hand, agent: Head, no: int, was_due: int, now: str, *, sure: bool) -> bool:
    """Makes the lead of a background agent due where that has work, ``sure``, or has ended; whether it did.

    One that has work is due until somebody took it. One that has ended rests once its lead is due or was told of it; whoever drove it
    tells the lead in the next moment, and has that for it.
    """
    ended = agent.outcome is not None and not agent.agents
    if ended and not sure and 0 <= heads.ms_of(now) - heads.ms_of(agent.updated_at) < OFFER_MS:
        return False
    led = (sure or ended) and _make_lead_due(hand, agent)
    if led and sure:
        hand.run(_LATER, (_AGENTS_MS - OFFER_MS, [agent.id]))
    elif not sure:
        hand.call("rest_free", no, was_due, agent.seq, None if ended else _wakes(agent))
    return led


def _make_lead_due(hand: Hand, agent: Head) -> bool:
    """Makes due who leads all that lead to an agent; False where one of them is gone, can not be read, or was told of its agent's end."""
    seen, led = {agent.id}, agent
    while led.lead is not None and led.lead not in seen:
        seen.add(led.lead)
        above = heads.some(hand, (led.lead,)).heads
        if not above or led.id not in above[0].agents.values():
            return False
        led = above[0]
    hand.run(_LEAD_IS_DUE, (led.id,))
    return True


def _put_off(hand: Hand, well: Sequence[tuple[_Found, bool]]) -> None:
    """Puts leads to rest whose background agents are well; those of which one could not say so, only for a while."""
    resting = [one for one, sure in well if sure]
    for one in resting:
        hand.call("rest_free", one.no, one.was_due, one.head.seq, _wakes(one.head))
    if resting:
        hand.run(_AGAIN, ([one.head.id for one in resting],))  # what comes for one from here on need not wait
    if len(resting) < len(well):
        hand.run(_LATER, (_AGENTS_MS - OFFER_MS, [one.head.id for one, sure in well if not sure]))


def _wakes(head: Head) -> int | None:
    """When one is due that has no work now, None for not before something comes."""
    at = head.wake_at or head.wake
    return None if at is None else heads.ms_of(at)


def _walk(hand: Hand, behind: str, lanes: int, limit: int, due_ms: int, without: Sequence[str], strange: Sequence[str]) -> _Walk:
    """Goes through up to so many lanes, and gives up to ``limit`` sessions out. More are looked at, as those who ask in the same moment
    pass over each other's; but so few that each is looked up by the index, whatever else there is.
    """
    wider = limit * 4 + 64
    first, *rows = hand.call("find_work", behind, lanes, wider, limit, due_ms, OFFER_MS, texts(without), texts(strange))
    given = [
        _Given(heads.row_of((log_id, no, *rest)), int(was_due), lane.decode(), posted == YES)
        for log_id, no, was_due, lane, posted, *rest in rows
    ]
    return _Walk(first[3].decode(), int(first[1]), given)
