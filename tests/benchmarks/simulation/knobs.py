"""What is simulated: how many hosts and sessions, what they do, and the times that lousho goes by, taken from its code."""

from __future__ import annotations

import msgspec

from lousho_cli.app import asking
from lousho_cli.app.worked import CONCURRENCY
from lousho_cli.host.options import Ownership
from lousho_cli.stores.postgres import pending
from lousho_cli.stores.postgres.address import DEFAULT_CONNECTIONS
from lousho_cli.stores.postgres.lookout import ALONE_S, LISTENING_S

from .costs import MEASURED, Costs

_OWNERSHIP = Ownership()


class Knobs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Times are in seconds.

    hosts: workers, each of which drives at most ``concurrency`` sessions at once. sessions: all there are; each gets an input once in
    ``every_s``, takes ``steps`` steps of ``step_s`` for it, and waits. dead: the part of the hosts that dies at one moment.
    processors, max_connections: the server's. distance_s: a message there and its answer back. listens: hosts are told of work.
    pooled: the connections of a pooler that all hosts share but for listening, 0 for none.
    warm_s, steady_s, storm_s: how long before anything counts, until hosts die, and at most behind that.
    """

    hosts: int = 100
    sessions: int = 1_000_000
    concurrency: int = CONCURRENCY
    every_s: float = 86_400.0
    steps: int = 5
    step_s: float = 3.0
    dead: float = 0.1
    processors: int = 8
    max_connections: int = 1000
    distance_s: float = 0.0005
    listens: bool = True
    pooled: int = 0
    seed: int = 1
    warm_s: float = 10.0
    steady_s: float = 20.0
    storm_s: float = 120.0
    costs: Costs = MEASURED

    ttl_s: float = _OWNERSHIP.expires_after_ms / 1000
    renew_s: float = _OWNERSHIP.renews_ms / 1000
    look_every_s: float = asking.LOOK_EVERY_S
    least_s: float = asking._LEAST_S
    most_s: float = asking._MOST_S
    share: float = asking._SHARE
    tidy_every_s: float = pending.TIDY_EVERY_S
    tidy_at_least_s: float = pending.TIDY_AT_LEAST_S
    tidying: int = pending.TIDYING
    drawn: int = pending.DRAWN
    offer_s: float = pending.OFFER_MS / 1000
    connections: int = DEFAULT_CONNECTIONS

    @property
    def posted_s(self) -> float:
        """How often a host that drives something looks for posts of all its sessions."""
        return LISTENING_S if self.listens else ALONE_S

    @property
    def tidy_s(self) -> float:
        """How often a host that asks frees what dead owners hold."""
        return min(self.tidy_every_s * max(1.0, self.hosts / self.tidying), self.tidy_at_least_s)

    @property
    def arrivals_s(self) -> float:
        """Inputs a second, while all sessions wait."""
        return self.sessions / self.every_s

    @property
    def most_connections(self) -> int:
        """How many connections the server may have to bear: the pools of the hosts, or the pooler's, and those that listen."""
        return (self.pooled or self.hosts * self.connections) + self.hosts * self.listens
