"""What a worker is to do, and what it says of itself."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from lousho_cli.app.agents import AgentChoice
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.results import PendingItem, RunDone, RunFailure
from lousho_cli.host.options import EXPIRES_AFTER_MS

CONCURRENCY = 4

STATUS_EVERY_S = 60.0
"""How often a worker says how it stands."""

WAIT_S = 30.0
"""How long a worker waits for a store that is away when it begins."""


class WorkOrder(msgspec.Struct, frozen=True):
    """What a worker is to do.

    once: only what is pending now, then end. status_every_s: how often it says how it stands, 0 for never. lease_ms: for how long a
    session stays its own when it is not heard of; then another host may take it. wait_s: how long it waits for a store that is away
    when it begins.
    """

    concurrency: int = CONCURRENCY
    once: bool = False
    flags: RunFlags = RunFlags()
    choice: AgentChoice = AgentChoice()
    status_every_s: float = STATUS_EVERY_S
    lease_ms: int = EXPIRES_AFTER_MS
    wait_s: float = WAIT_S


class Worked(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that happened to a session on a worker.

    taken: this worker drives it now. settled: an input came to its end, completed or aborted; failed: it failed. waits: for a
    person. left: it could not be gone on with, and is tried again later. given-back: it is driven here no more; ``pending``
    says that it has work left.
    """

    type: Literal["taken", "settled", "failed", "waits", "left", "given-back"]
    at: str
    session: str
    agent: str
    input_id: str | None = None
    done: RunDone | None = None
    waits: PendingItem | None = None
    error: RunFailure | None = None
    pending: bool = False


class StoreTimes(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How long the store took to answer a question of the worker, in milliseconds: ``questions`` of them since the last status."""

    questions: int
    median_ms: float
    max_ms: float


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker stands, as it says now and then, and at its end.

    running: sessions it drives. queued: those it has found and is about to drive. All others count from its start: done, inputs that
    ended, ``failed`` of them failed; waiting, how often a session came to wait for a person; claims_lost, sessions that another host
    took from it; cost_usd, None where a part of it is not known. store: None where it was asked nothing, or did not answer.
    """

    type: Literal["status"] = "status"
    at: str
    host: str
    pid: int
    running: int
    queued: int
    done: int
    failed: int
    waiting: int
    claims_lost: int
    cost_usd: float | None
    store: StoreTimes | None


class Standing(msgspec.Struct):
    """The numbers of a ``Status``, as they are now."""

    running: int = 0
    queued: int = 0
    done: int = 0
    failed: int = 0
    waiting: int = 0
    claims_lost: int = 0
    cost_usd: float | None = 0.0


class View(Protocol):
    """Who is shown what a worker does."""

    def say(self, what: Worked) -> None:
        """Something happened to a session."""

    def stand(self, standing: Standing) -> None:
        """How the worker stands now."""

    def report(self, status: Status) -> None:
        """How the worker stands, said now and then."""

    def warn(self, text: str, *, again: bool = False) -> None:
        """Something the person should know; the same once, unless it is to be said ``again``."""

    def tell(self, text: str) -> None:
        """A sentence about what is happening."""
