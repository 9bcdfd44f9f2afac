"""What one simulation comes to, and what breaks first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .knobs import Knobs
from .model import World

SETTINGS = {
    "processors": "fewer hosts with a higher --concurrency each, or a larger server",
    "room": "--concurrency, or more hosts",
    "connections": "a pooler with ?listen=, ?connections=, or the server's max_connections",
    "notifications": "stores in several databases, or a faster disk for the server's log",
}
"""What can run out, and the setting that moves it."""


class Figures(msgspec.Struct, frozen=True):
    """Of the steady time, unless a line says else; shares are of 1.

    inputs_s, renewals_s, asks_s: a second. asks_empty: the share of the questions for work that found none; locked_s: rows a second that
    others had locked. posted_s: looks a second for what was left for any session. told_s: listeners told, a second.
    used: processors of the server, by what for. wait_p99_ms: for one of them. found_ms: from an input's commit until a host has it,
    half of them and nearly all. unfound: sessions that wait for a host at its end. driven: at once. lost: sessions that the dead hosts
    drove; lost_s: from then until the last of them is driven again, None where that takes longer than was simulated. queue: the
    longest of the server behind the deaths. late: renewals that came too late. shares: how much of what can run out is taken;
    first: what does, at the greatest.
    """

    hosts: int
    sessions: int
    inputs_s: float
    renewals_s: float
    renewals_share: float
    asks_s: float
    asks_empty: float
    locked_s: float
    posted_s: float
    told_s: float
    used: dict[str, float]
    wait_p99_ms: float
    found_ms: tuple[float, float]
    unfound: int
    driven: int
    lost: int
    lost_s: float | None
    queue: int
    late: int
    shares: dict[str, float]
    first: str

    @property
    def processors(self) -> float:
        return sum(self.used.values())


def simulate(knobs: Knobs) -> Figures:
    """Runs once: steady, then with the deaths."""
    world = World(knobs)
    world.run(knobs.warm_s)
    world.reset()
    world.run(knobs.warm_s + knobs.steady_s)
    server, counts, seconds = world.server, world.counts, knobs.steady_s
    used = {kind: round(spent / seconds, 3) for kind, spent in sorted(server.used.items(), key=lambda one: -one[1])}
    busy = sum(server.used.values()) or 1.0
    asks = server.asked["find"]
    steady = {
        "hosts": knobs.hosts,
        "sessions": knobs.sessions,
        "inputs_s": round(counts["inputs"] / seconds, 2),
        "renewals_s": round(server.asked["renew"] / seconds, 2),
        "renewals_share": round(server.used["renew"] / busy, 4),
        "asks_s": round(asks / seconds, 1),
        "asks_empty": round(counts["empty"] / max(asks, 1), 3),
        "locked_s": round(counts["locked"] / seconds, 1),
        "posted_s": round(server.asked["posted"] / seconds, 2),
        "told_s": round(counts["told"] / seconds, 1),
        "used": used,
        "wait_p99_ms": _ms(server.waits, 0.99),
        "found_ms": (_ms(world.found_after, 0.5), _ms(world.found_after, 0.99)),
        "unfound": world.pool.ready,
        "driven": world.driven,
        "shares": _shares(world, busy / seconds),
    }
    late = _deaths(world)
    first = max(steady["shares"], key=lambda name: steady["shares"][name])
    return Figures(**steady, **late, first=first)


def _deaths(world: World) -> dict[str, object]:
    knobs, begun, late = world.knobs, world.now, world.renewals_late
    world.reset()
    world.kill(world.random.sample(world.hosts, round(knobs.dead * knobs.hosts)))
    lost = len(world.lost)
    world.run(begun + knobs.storm_s, lambda: not world.lost)
    last = None if world.lost else round(max(world.takeovers, default=0.0), 2)
    return {"lost": lost, "lost_s": last, "queue": world.server.longest_queue, "late": late}


def _shares(world: World, processors: float) -> dict[str, float]:
    knobs = world.knobs
    notifying_s = (knobs.costs.post / 1e6 + knobs.costs.flush / 1e6) if knobs.listens else 0.0
    room = sum(host.running for host in world.hosts) / (knobs.hosts * knobs.concurrency)
    behind = knobs.arrivals_s * knobs.steps * knobs.step_s / (knobs.hosts * knobs.concurrency)
    return {
        "processors": round(processors / knobs.processors, 3),
        "room": round(max(room, behind), 3),
        "connections": round(knobs.most_connections / knobs.max_connections, 3),
        "notifications": round(knobs.arrivals_s * notifying_s, 3),
    }


def _ms(seconds: Sequence[float], part: float) -> float:
    return round(sorted(seconds)[int(len(seconds) * part)] * 1000, 1) if seconds else 0.0
