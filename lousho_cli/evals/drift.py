"""How a case that was recorded again differs from what is committed: the table of ``lousho eval --drift``. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lousho_cli.core.compare import Drift, compare_trajectories
from lousho_cli.core.trajectory import Step, Trajectory

DriftRow = Drift
"""One row: ``field`` is tools, args, steps, finishReason, tokens or cassette, as in a comparison of two sessions."""

MISSING = (DriftRow("cassette", "missing", "recorded"),)
NOT_RECORDED = (DriftRow("cassette", "present", "not recorded"),)


class Parting(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first step that parts, from 1, as each side has it; None where a side has no such step. ``why``: each difference in a line."""

    step: int
    committed: Step | None = None
    current: Step | None = None
    why: tuple[str, ...] = ()


def drift_rows(
    committed: Trajectory | None, current: Trajectory | None, *, usage: bool = False, ignore: Iterable[str] = ()
) -> tuple[DriftRow, ...]:
    """Where two recordings of a case differ in what they did; none where they do not. Texts and results never drift.

    Args:
        committed, current: the trajectory of each, None where nothing is recorded.
        usage: let the number of tokens drift, too.
        ignore: arguments that do not count: ``since``, ``filter.since``, ``search:since`` for those of one tool.
    """
    if committed is None or current is None:
        return () if committed is current else MISSING if committed is None else NOT_RECORDED
    return compare_trajectories(committed, current, usage=usage, ignore=ignore).drift


def first_parting(committed: Trajectory | None, current: Trajectory | None, *, ignore: Iterable[str] = ()) -> Parting | None:
    """The first step whose calls differ, or that one side alone has; None where there is none.

    A text that differs is no drift, so what the model said does not count here, nor does what a tool gave.
    """
    if committed is None or current is None:
        return None
    found = compare_trajectories(_calls_only(committed), _calls_only(current), ignore=ignore)
    if found.diverged_at is None:
        return None
    place = found.diverged_at - 1
    why = tuple(change.describe() for change in found.changes if found.diverged_at in (change.a_step, change.b_step))
    return Parting(found.diverged_at, _at(committed, place), _at(current, place), why)


def _calls_only(run: Trajectory) -> Trajectory:
    steps = tuple(Step("", tuple(msgspec.structs.replace(call, result=None) for call in step.tools)) for step in run.steps)
    return msgspec.structs.replace(run, steps=steps)


def _at(run: Trajectory, place: int) -> Step | None:
    return run.steps[place] if place < len(run.steps) else None
