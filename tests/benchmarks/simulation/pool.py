"""The sessions that are due, as the server's index of them gives them away."""

from __future__ import annotations

import heapq
from collections import deque

_LONGEST_S = 0.5  # no question takes longer on the server


class Session:
    """One that has work.

    left: the steps it has before it. due_at: since when it waits for a host. lost_at: when its owner died.
    """

    __slots__ = ("due_at", "left", "lost_at", "offered_until", "owner", "ready")

    def __init__(self, left: int) -> None:
        self.left = left
        self.owner: object = None
        self.ready = False  # nobody owns it, and it is offered to nobody
        self.offered_until = self.due_at = 0.0
        self.lost_at: float | None = None


class Pool:
    """Gives each session to one who asks, the longest untouched first, and to no other until that offer lapses."""

    def __init__(self, offer_s: float) -> None:
        self.ready = 0
        self._offer_s = offer_s
        self._waiting: deque[Session] = deque()
        self._offers: list[tuple[float, int, Session]] = []
        self._held: list[tuple[float, int, Session]] = []
        self._given: deque[tuple[float, float, int]] = deque()
        self._number = 0

    def add(self, session: Session, due_at: float) -> None:
        """It has work, and nobody drives it."""
        session.owner, session.ready, session.due_at = None, True, due_at
        self._waiting.append(session)
        self.ready += 1

    def claim(self, session: Session, owner: object) -> None:
        """Somebody drives it from now on."""
        self.ready -= session.ready
        session.owner, session.ready, session.offered_until = owner, False, 0.0

    def hold(self, session: Session, until: float) -> None:
        """Its owner died; the lease is over then, and whoever frees what dead owners hold frees it."""
        heapq.heappush(self._held, (until, self._next(), session))

    def free_held(self, at: float) -> None:
        """Frees what dead owners hold."""
        while self._held and self._held[0][0] <= at:
            until, _, session = heapq.heappop(self._held)
            self.add(session, until)

    def some(self, at: float, room: int) -> list[Session]:
        """What somebody is given who asks and has so much room."""
        while self._offers and self._offers[0][0] <= at:
            until, _, session = heapq.heappop(self._offers)
            if session.owner is None and not session.ready and session.offered_until == until:
                self.add(session, session.due_at)
        found: list[Session] = []
        while self._waiting and len(found) < room:
            session = self._waiting.popleft()
            if session.ready:
                session.ready = False
                self.ready -= 1
                found.append(session)
        return found

    def offer(self, found: list[Session], begun: float, ends: float) -> int:
        """They were given to who asked then; gives how many rows others had locked meanwhile."""
        for session in found:
            session.offered_until = ends + self._offer_s
            heapq.heappush(self._offers, (session.offered_until, self._next(), session))
        while self._given and self._given[0][1] <= begun - _LONGEST_S:
            self._given.popleft()
        locked = sum(count for since, until, count in self._given if until > begun and since < ends)
        if found:
            self._given.append((begun, ends, len(found)))
        return locked

    def _next(self) -> int:
        self._number += 1
        return self._number
