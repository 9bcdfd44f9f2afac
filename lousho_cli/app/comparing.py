"""Two sessions, or two checkpoints, side by side."""

from __future__ import annotations

import msgspec

from lousho_cli.app.showing import Point, read_point
from lousho_cli.app.usage import Totals, session_totals, totals_of
from lousho_cli.core.alignment import Change, Pair, paired_steps
from lousho_cli.core.compare import Drift, compare_trajectories
from lousho_cli.core.limits import used_with_sub_agents
from lousho_cli.core.matching import Mode
from lousho_cli.core.trajectory import Comparable, Step
from lousho_cli.ports.sessions import Sessions


class TokenTotals(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Tokens of both sides."""

    a: int
    b: int


class UsageOfBoth(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What both sides used, their sub-agents included: all runs of a session, of a checkpoint the run it belongs to."""

    a: Totals
    b: Totals


class Compared(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Two sessions step by step. ``diverged_at`` is left out when no step differs.

    ``drift`` is the table an eval prints, ``changes`` every difference between paired steps,
    ``matches`` whether b passes for a under ``mode``; without one, whether nothing differs.
    """

    a: tuple[Step, ...]
    b: tuple[Step, ...]
    drift: tuple[Drift, ...]
    changes: tuple[Change, ...]
    matches: bool
    tokens: TokenTotals
    usage: UsageOfBoth
    diverged_at: int | None = None
    mode: Mode | None = None


async def compare(store: Sessions | None, a: str, b: str, *, mode: Mode | None = None) -> tuple[Compared, tuple[Point, Point]]:
    """How ``b`` differs from ``a``, and what the two addresses meant.

    Raises:
        ConfigurationError: one is no address, or there is no such mode.
        NotFoundError: one is not there.
    """
    left, right = await read_point(store, a), await read_point(store, b)
    found = compare_trajectories(_comparable(left), _comparable(right), mode=mode)
    usage = UsageOfBoth(a=_used(left), b=_used(right))
    compared = Compared(
        a=found.a,
        b=found.b,
        drift=found.drift,
        changes=found.changes,
        diverged_at=found.diverged_at,
        mode=mode,
        matches=found.matches,
        tokens=TokenTotals(a=usage.a.total_tokens, b=usage.b.total_tokens),
        usage=usage,
    )
    return compared, (left, right)


def pairs_of(compared: Compared) -> list[Pair]:
    """Which step of one side is which of the other, in order, as indexes."""
    return paired_steps(compared.a, compared.b)


def _comparable(point: Point) -> Comparable:
    checkpoint = point.checkpoint
    if checkpoint is not None and point.address.seq is None:
        return checkpoint
    # A cut between two marks, or before the first: the fold as it stands there.
    session = point.loaded.session
    return {
        "messages": (*session.messages, *session.held),
        "finish_reason": session.finish_reason,
        "usage": {"total_tokens": session.usage.total_tokens},
    }


def _used(point: Point) -> Totals:
    return session_totals(point.loaded.session) if point.mark is None else totals_of(used_with_sub_agents(point.mark))
