"""Who torments them: from a seed, what it does to whom and when, and the diary of what it did.

The plan depends on the seed alone. What comes of it depends on the machine, so the diary says what was done in truth.
"""

from __future__ import annotations

import heapq
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

from crew import Crew, Place
from diary import EVERYBODY, Diary
from pg_server import Server

_DEEDS = {
    "kill": 25,  # SIGKILL, and another one comes
    "blink": 15,  # stopped for less than a lease
    "sleep": 6,  # stopped for longer than a lease
    "freeze": 12,  # the same, at the moment it says one of ``POINTS``: the answer waits for it
    "cut": 15,  # its connections are cut
    "cut before": 8,  # the connection is cut on which it next says one of ``POINTS``, before the server hears it
    "cut behind": 12,  # or once the server has done it, and its answer is lost
    "cut everybody's": 4,
    "hang": 8,  # nothing goes through, in either direction, for less than a lease
    "part": 4,  # nor for longer than one
    "stall": 10,  # the same, from the moment it says one of ``POINTS``: the server hears it when others may have its sessions
    "refuse": 5,  # its connections are cut, and it gets no other for a while
    "end": 4,  # SIGTERM, and another one comes
}


_APPEND, _TAKE, _TAKE_FROM, _REST, _GIVE, _RENEW = POINTS = (
    ".append_",
    ".take_free(",
    "since, ttl_ms FROM",
    ".rest_own(",
    ".give_back(",
    "ON CONFLICT (token) DO UPDATE",
)
"""Words of the statements that append, take a free log, take one from its owner, put one to rest, give one back, and renew the lease."""

_PATIENCE_S = 0.5
"""How long is waited until a process says one of these."""


class Deed(NamedTuple):
    """Something to be done. ``lasts`` is in seconds, 0 for what is over at once; ``point`` where a connection is to be cut."""

    at: float
    what: str
    worker: int
    lasts: float = 0.0
    point: str = ""


def plan(seed: int, seconds: float, workers: int, every_s: float, lease_s: float, restarts: int = 1) -> Iterator[Deed]:
    """What a seed leads to. The server is started anew ``restarts`` times, killed or stopped; the person is killed too.

    Args:
        every_s: how often something is done, more or less.
    """
    chance = random.Random(seed)
    for number in range(restarts):
        restart_at = seconds * (number + chance.uniform(0.4, 0.6)) / restarts
        yield Deed(restart_at, chance.choice(["kill the server", "stop the server"]), -1, chance.uniform(0.1, 1.0))
    yield Deed(seconds * chance.random(), "kill", -1)
    at = 0.0
    while (at := at + chance.expovariate(1 / every_s)) < seconds:
        (what,) = chance.choices(list(_DEEDS), list(_DEEDS.values()))
        short, long = chance.uniform(0.02, 0.5) * lease_s, chance.uniform(1.2, 1.8) * lease_s
        lasts = {"blink": short, "hang": short, "refuse": short, **dict.fromkeys(("sleep", "freeze", "part", "stall"), long)}.get(what, 0.0)
        deed = Deed(at, what, chance.randrange(workers), lasts, chance.choice((*POINTS, *(_APPEND,) * 4)))
        if at + lasts < seconds + _PATIENCE_S:  # what would go on when the rest is over is not begun
            yield deed


class Monkey:
    """Carries a plan out, and tells a diary."""

    def __init__(self, crew: Crew, server: Server, diary: Diary) -> None:
        self._crew, self._server = crew, server
        self._note = diary.note
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._busy: set[Place] = set()

    def rage(self, deeds: Iterator[Deed]) -> None:
        """Does all that is planned; on return everybody is left alone, and lives."""
        began = time.monotonic()
        for deed in deeds:
            self._at(began + deed.at, partial(self._do, deed))
        while self._later:
            self.revive()
            at, _, act = heapq.heappop(self._later)
            time.sleep(max(at - time.monotonic(), 0.0))
            act()

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._later, (moment, next(self._number), act))

    def _do(self, deed: Deed) -> None:
        if deed.what.endswith("the server"):
            self._restart(deed)
            return
        place = self._crew.workers[deed.worker] if deed.worker >= 0 else self._crew.person
        began, pid = time.time(), place.process.pid
        if deed.what == "cut everybody's":
            for one in self._crew.places:
                one.proxy.cut_all()
            self._note(deed.what, EVERYBODY, 0, began)
        elif deed.what.startswith("cut"):
            if deed.what == "cut":
                place.proxy.cut_all()
            else:
                place.proxy.cut_at(deed.point, done=deed.what == "cut behind")
            self._note(deed.what, place.name, pid, began)
        elif deed.what == "kill":
            place.kill()
            place.start()
            self._note(deed.what, place.name, pid, began)
        elif place in self._busy:
            return
        elif deed.what == "end":
            self._end(place, began)
        elif deed.what in ("freeze", "stall"):
            self._wait_for(deed, place)
        else:
            self._trouble(deed, place, began)

    def _end(self, place: Place, began: float) -> None:
        """Tells a process to end, and puts another in its place once it has: it may take its time, as a tool may."""
        process = place.process
        process.terminate()

        def look() -> None:
            if place.process is process and process.poll() is None:
                self._at(time.monotonic() + 0.1, look)
                return
            self._busy.discard(place)
            self._note("end", place.name, process.pid, began)

        self._busy.add(place)
        look()

    def revive(self) -> None:
        """Puts another process where one ended by itself, as what keeps services running does: told to end, or the server was away."""
        for place in self._crew.places:
            if place.process.poll() is not None:
                began, pid = time.time(), place.process.pid
                place.ended()
                place.start()
                self._note("found ended", place.name, pid, began)

    def _wait_for(self, deed: Deed, place: Place) -> None:
        """Something that lasts, which begins when the process next says something; not at all where it says nothing for long."""
        process, hit = place.process, threading.Event()
        gives_up = time.monotonic() + _PATIENCE_S

        def act() -> None:
            if deed.what == "freeze":
                process.send_signal(signal.SIGSTOP)
            else:
                place.proxy.silent = True
            hit.set()

        def look() -> None:
            if hit.is_set():
                self._goes_on(deed, place, process, time.time())
            elif time.monotonic() < gives_up or not place.proxy.forget():
                self._at(time.monotonic() + 0.01, look)
            else:
                self._busy.discard(place)

        self._busy.add(place)
        place.proxy.at(deed.point, act)
        look()

    def _trouble(self, deed: Deed, place: Place, began: float) -> None:
        """Something that lasts; meanwhile the process may be killed, but nothing else that lasts begins there."""
        if deed.what in ("blink", "sleep"):
            place.process.send_signal(signal.SIGSTOP)
        elif deed.what == "refuse":
            place.proxy.refuse()
        else:
            place.proxy.silent = True
        self._busy.add(place)
        self._goes_on(deed, place, place.process, began)

    def _goes_on(self, deed: Deed, place: Place, process: subprocess.Popen[bytes], began: float) -> None:
        def over() -> None:
            process.send_signal(signal.SIGCONT)  # nothing to one that was killed
            place.proxy.refuse(False)
            place.proxy.silent = False
            self._busy.discard(place)
            self._note(deed.what, place.name, process.pid, began)

        self._at(time.monotonic() + deed.lasts, over)

    def _restart(self, deed: Deed) -> None:
        began = time.time()
        if deed.what == "kill the server":
            self._server.kill()
        else:
            self._server.stop()
        time.sleep(deed.lasts)  # so long it is away
        self._server.start()
        self._note(deed.what, EVERYBODY, 0, began)
