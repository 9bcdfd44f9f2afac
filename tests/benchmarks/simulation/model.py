"""Hosts and sessions over one server, event by event. What waits for a person is a number, what has work an object."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from random import Random
from typing import Any

from .knobs import Knobs
from .pool import Pool, Session
from .server import Server

_SETTLES_S = 1.0
"""Within it hosts come to own what they would, and to renew it, had they run for long."""

# How often each waits for the disk.
_CLAIM_COMMITS, _REST_COMMITS = 2, 5


class Host:
    """A worker. ``waits`` is the number of the wait it is in, None while it asks or has no room."""

    __slots__ = ("alive", "full", "last_s", "owned", "renewed_at", "renews", "running", "soonest", "tidied_at", "waits")

    def __init__(self) -> None:
        self.alive, self.full, self.renews = True, False, False
        self.running = 0
        self.owned: dict[Session, None] = {}
        self.last_s = self.soonest = self.renewed_at = self.tidied_at = 0.0
        self.waits: int | None = None


class World:
    """One run. ``counts`` are of what happened since ``reset``."""

    def __init__(self, knobs: Knobs) -> None:
        self.knobs, self.random = knobs, Random(knobs.seed)
        self.server = Server(knobs.processors, knobs.costs.flush / 1e6)
        self.pool = Pool(knobs.offer_s)
        self.hosts = [Host() for _ in range(knobs.hosts)]
        self.now = 0.0
        self.waiting = knobs.sessions
        self.lost: set[Session] = set()
        self.takeovers: list[float] = []
        self.renewals_late = self.driven = 0
        self._waiters: dict[Host, None] = {}
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = count()
        self.reset()
        self._begin()

    def reset(self) -> None:
        """Begins to count anew."""
        self.server.reset()
        self.counts = dict.fromkeys(("empty", "missed", "locked", "found", "twice", "told", "inputs"), 0)
        self.found_after: list[float] = []

    def run(self, until: float, done: Callable[[], bool] = lambda: False) -> None:
        """Lets time pass until then, or until something is done."""
        while self._events and self._events[0][0] <= until and not done():
            self.now, _, act, arguments = heapq.heappop(self._events)
            act(*arguments)
        self.now = self.now if done() else until

    def _at(self, when: float, act: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self._events, (when, next(self._number), act, arguments))

    def _ask(self, kind: str, us: float, act: Callable[..., None], *arguments: Any, **how: Any) -> None:
        """Has the server do something; then ``act`` follows where it was asked."""
        away = self.knobs.distance_s / 2
        self._at(self.server.serve(self.now + away, kind, us, **how) + away, act, *arguments)

    # How it begins: as if it had gone on for long

    def _begin(self) -> None:
        knobs = self.knobs
        for host in self.hosts:
            host.tidied_at = -self.random.random() * knobs.tidy_s
            self._at(self.random.random() * knobs.look_every_s, self._look, host)
            self._at(self.random.random() * knobs.posted_s, self._look_for_posts, host)
        driven = knobs.arrivals_s * knobs.steps * knobs.step_s
        for number in range(round(min(driven, 0.95 * knobs.hosts * knobs.concurrency))):
            self.drive(self.hosts[number % knobs.hosts])
        if knobs.arrivals_s:
            self._at(self.random.expovariate(knobs.arrivals_s), self._arrives)

    def drive(self, host: Host) -> None:
        """Has a host drive a session from the beginning on, in the middle of its steps."""
        host.running += 1
        self._at(self.random.random() * _SETTLES_S, self._claimed, host, Session(self.random.randint(1, self.knobs.steps)))

    # Inputs

    def _arrives(self) -> None:
        knobs, costs = self.knobs, self.knobs.costs
        if self.waiting > 0:
            self.waiting -= 1
            self.counts["inputs"] += 1
            heard = knobs.hosts if knobs.listens else 0
            session = Session(knobs.steps)
            self._ask("post", costs.post + costs.told * heard, self._posted, session, notifies=True)
        self._at(self.now + self.random.expovariate(knobs.arrivals_s), self._arrives)

    def _posted(self, session: Session) -> None:
        self.pool.add(session, self.now)
        if self.knobs.listens:
            self.counts["told"] += sum(host.alive for host in self.hosts)
            for host in list(self._waiters):
                if self.random.random() * len(self.hosts) < self.knobs.drawn:
                    self._wait_no_more(host)

    # Looking for work

    def _look(self, host: Host) -> None:
        room = self.knobs.concurrency - host.running
        if not host.alive:
            return
        if room <= 0:
            host.full = True
            return
        knobs, costs = self.knobs, self.knobs.costs
        us = costs.find
        if self.now - host.tidied_at >= knobs.tidy_s:
            host.tidied_at = self.now
            us += costs.tidy + costs.per_owner * knobs.hosts
            self.pool.free_held(self.now)
        found = self.pool.some(self.now, room)
        us += costs.per_found * len(found)
        away = knobs.distance_s / 2
        ends = self.server.serve(self.now + away, "find", us, commits=bool(found))
        self.counts["locked"] += self.pool.offer(found, self.server.begun_at, ends)
        self.counts["found"] += len(found)
        self.counts["empty"] += not found
        self.counts["missed"] += not found and self.pool.ready > 0
        self.found_after += [ends - session.due_at for session in found]
        self._at(ends + away, self._answered, host, found, room, self.now)

    def _answered(self, host: Host, found: list[Session], room: int, asked_at: float) -> None:
        if not host.alive:
            return
        host.last_s = self.now - asked_at
        for session in found:
            host.running += 1
            self._ask("claim", self.knobs.costs.claim, self._claimed, host, session, commits=_CLAIM_COMMITS)
        if len(found) < room:
            self._wait(host)
        else:
            self._look_soon(host)

    def _look_soon(self, host: Host) -> None:
        host.full = False
        self._at(self.now + min(host.last_s, self.knobs.most_s), self._look, host)

    def _wait(self, host: Host) -> None:
        knobs = self.knobs
        host.soonest = self.now + min(max(knobs.least_s, host.last_s * knobs.share), knobs.most_s)
        host.waits = next(self._number)
        self._waiters[host] = None
        self._at(self.now + (0.75 + self.random.random() / 2) * knobs.look_every_s, self._waited, host, host.waits)

    def _waited(self, host: Host, number: int) -> None:
        if host.waits == number:
            self._wait_no_more(host)

    def _wait_no_more(self, host: Host) -> None:
        host.waits = None
        del self._waiters[host]
        self._at(max(host.soonest, self.now), self._look_soon, host)

    # Driving a session

    def _claimed(self, host: Host, session: Session) -> None:
        if session.owner is not None:
            self.counts["twice"] += 1
            self._one_less(host)
            return
        if not host.alive:
            return
        knobs = self.knobs
        self.pool.claim(session, host)
        self.driven += 1
        if session in self.lost:
            self.lost.discard(session)
            self.takeovers.append(self.now - (session.lost_at or 0.0))
        host.owned[session] = None
        host.renewed_at = self.now  # taking one renews the lease
        if not host.renews:
            host.renews = True
            self._at(self.now + knobs.renew_s * (self.random.random() if self.now < _SETTLES_S else 1.0), self._renew, host)
        self._think(host, session)

    def _think(self, host: Host, session: Session) -> None:
        self._at(self.now + self.random.expovariate(1 / self.knobs.step_s), self._step, host, session)

    def _step(self, host: Host, session: Session) -> None:
        if session.owner is host and host.alive:
            costs = self.knobs.costs
            self._ask("append", costs.step, self._stepped, host, session, commits=costs.commits)

    def _stepped(self, host: Host, session: Session) -> None:
        session.left -= 1
        if session.left > 0:
            self._think(host, session)
        elif session.owner is host and host.alive:
            self._ask("rest", self.knobs.costs.rest, self._rested, host, session, commits=_REST_COMMITS)

    def _rested(self, host: Host, session: Session) -> None:
        if session.owner is host and host.alive:
            session.owner = None
            self.driven -= 1
            del host.owned[session]
            self.waiting += 1
            self._one_less(host)

    def _one_less(self, host: Host) -> None:
        host.running -= 1
        if host.full and host.alive:
            self._look_soon(host)

    def _look_for_posts(self, host: Host) -> None:
        if host.alive:
            if host.owned:
                self.server.serve(self.now, "posted", self.knobs.costs.posted)
            self._at(self.now + self.knobs.posted_s, self._look_for_posts, host)

    # Leases

    def _renew(self, host: Host) -> None:
        if not host.alive:
            return
        if not host.owned:
            host.renews = False
            return
        self._ask("renew", self.knobs.costs.renew, self._renewed, host, self.now, commits=1)

    def _renewed(self, host: Host, asked_at: float) -> None:
        knobs = self.knobs
        self.renewals_late += self.now - host.renewed_at > knobs.ttl_s
        host.renewed_at = self.now
        self._at(asked_at + knobs.renew_s, self._renew, host)

    # Deaths

    def kill(self, hosts: Sequence[Host]) -> None:
        """Some hosts die at once, and what they own is free when their leases are over."""
        for host in hosts:
            host.alive = False
            host.waits = None
            self._waiters.pop(host, None)
            for session in host.owned:
                session.lost_at = self.now
                self.lost.add(session)
                self.pool.hold(session, host.renewed_at + self.knobs.ttl_s)
                self.driven -= 1
