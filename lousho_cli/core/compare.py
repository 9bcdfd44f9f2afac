"""Two runs side by side: where they part first, and what drifted.

Three answers of rising detail. ``diverged_at`` is the first step that differs, counted
from the front. ``drift`` is the table an eval prints: tools, arguments, step count,
finish reason. ``changes`` pairs the steps up, so that an inserted one is one difference,
and names the path and both values of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lousho_cli.core.alignment import Change, call_key, changes, step_key
from lousho_cli.core.ignoring import without_arguments
from lousho_cli.core.matching import Mode, trajectories_match
from lousho_cli.core.trajectory import Comparable, Step, Trajectory, trajectory_of

UNKNOWN = "-"
"""Stands in the drift table for what a side does not say: a list of messages has no finish reason."""


class Drift(msgspec.Struct, frozen=True):
    """One row of the drift table: ``field`` is tools, args, steps, finishReason or tokens; ``UNKNOWN`` where not known."""

    field: str
    committed: str
    current: str


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How run ``b`` differs from run ``a``.

    diverged_at: the first step that differs, from 1, call ids aside; None, and left out when written, if none does.
    a, b: each run's steps.
    drift: the table; texts and results never drift.
    changes: every difference between paired steps.
    matches: whether b passes for a under the mode that was asked for (see ``compare_trajectories``).
    """

    diverged_at: int | None = None
    a: tuple[Step, ...]
    b: tuple[Step, ...]
    drift: tuple[Drift, ...]
    changes: tuple[Change, ...]
    matches: bool


def compare_trajectories(
    a: Comparable | Trajectory,
    b: Comparable | Trajectory,
    *,
    mode: Mode | None = None,
    usage: bool = False,
    ignore: Iterable[str] = (),
) -> Comparison:
    """Compares run ``b``, the current one, with run ``a``, the committed one.

    Args:
        a, b: checkpoints, dictionaries of checkpoints, lists of messages, or trajectories.
        mode: what ``matches`` asks for: see ``core.matching``; None asks that nothing diverges, texts and results
            included, and that nothing that is known on both sides drifts.
        usage: let the number of tokens drift, too.
        ignore: arguments that do not count, and are not shown: see ``core.ignoring``.

    Raises:
        ConfigurationError: one of them is none of these, or there is no such mode.
    """
    left, right = (without_arguments(_read(side), ignore) for side in (a, b))
    diverged_at = _diverged_at(left.steps, right.steps)
    drift = tuple(_drift(left, right, usage))
    return Comparison(
        diverged_at=diverged_at,
        a=left.steps,
        b=right.steps,
        drift=drift,
        changes=() if diverged_at is None else changes(left.steps, right.steps),
        matches=_same(diverged_at, drift) if mode is None else trajectories_match(left, right, mode),
    )


def matches(a: Comparable | Trajectory, b: Comparable | Trajectory, mode: Mode | None = None) -> bool:
    """Whether run ``b`` passes for run ``a``, as ``compare_trajectories`` says.

    Raises:
        ConfigurationError: as ``compare_trajectories``.
    """
    return compare_trajectories(a, b, mode=mode).matches


def _read(side: Comparable | Trajectory) -> Trajectory:
    return side if isinstance(side, Trajectory) else trajectory_of(side)


def _same(diverged_at: int | None, drift: Sequence[Drift]) -> bool:
    return diverged_at is None and all(UNKNOWN in {row.committed, row.current} for row in drift)


def _diverged_at(a: Sequence[Step], b: Sequence[Step]) -> int | None:
    for number, (left, right) in enumerate(zip(a, b, strict=False), 1):
        if left != right and step_key(left) != step_key(right):
            return number
    return None if len(a) == len(b) else min(len(a), len(b)) + 1


def _drift(a: Trajectory, b: Trajectory, usage: bool) -> list[Drift]:
    found = _tool_drift(a.steps, b.steps)
    rows = [("steps", str(len(a.steps)), str(len(b.steps))), ("finishReason", a.finish_reason or UNKNOWN, b.finish_reason or UNKNOWN)]
    if usage:
        rows.append(("tokens", _number(a.total_tokens), _number(b.total_tokens)))
    return found + [Drift(field, before, after) for field, before, after in rows if before != after]


def _tool_drift(a: Sequence[Step], b: Sequence[Step]) -> list[Drift]:
    left, right = ([call for step in steps for call in step.tools] for steps in (a, b))
    before, after = ([call.name for call in calls] for calls in (left, right))
    if before != after:
        return [Drift("tools", " > ".join(before) or "none", " > ".join(after) or "none")]
    return [
        Drift("args", f"{one.name} {one.args}", f"{other.name} {other.args}")
        for one, other in zip(left, right, strict=True)
        if one.args != other.args and call_key(one) != call_key(other)
    ]


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
