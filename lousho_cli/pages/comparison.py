"""Two runs as a page shows them: which steps and calls stand side by side, and which of them differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.alignment import call_key, paired_calls, paired_steps, same_call, step_key
from lousho_cli.core.trajectory import Step, StepCall


class CallRow(msgspec.Struct, frozen=True):
    """Two calls side by side, by their place in the step; None where a side has none. ``same``: they ask for the same and gave the same."""

    a: int | None
    b: int | None
    same: bool


class StepRow(msgspec.Struct, frozen=True):
    """Two steps side by side, by their place in the run. ``drifts``: their calls differ, not only what was said or given."""

    a: int | None
    b: int | None
    same: bool
    drifts: bool
    calls: tuple[CallRow, ...]


class SideBySide(msgspec.Struct, frozen=True):
    """Both runs, and the rows in which they are shown. ``first``: the row to look at first, None where nothing differs."""

    a: tuple[Step, ...]
    b: tuple[Step, ...]
    rows: tuple[StepRow, ...]
    first: int | None


def side_by_side(a: Sequence[Step], b: Sequence[Step], *, by_calls: bool = False) -> SideBySide:
    """Two runs in rows.

    Args:
        by_calls: look first at where the calls part, if they do anywhere, whatever was said before.
    """
    rows = tuple(_row(a, b, left, right) for left, right in paired_steps(a, b))
    drifting = next((place for place, row in enumerate(rows) if row.drifts), None) if by_calls else None
    first = drifting if drifting is not None else next((place for place, row in enumerate(rows) if not row.same), None)
    return SideBySide(tuple(a), tuple(b), rows, first)


def _row(a: Sequence[Step], b: Sequence[Step], left: int | None, right: int | None) -> StepRow:
    if left is None or right is None:
        calls = b[right].tools if right is not None else a[left].tools if left is not None else ()
        alone = tuple(CallRow(n if left is not None else None, n if right is not None else None, False) for n in range(len(calls)))
        return StepRow(left, right, False, True, alone)
    one, other = a[left], b[right]
    drifts = [call_key(call) for call in one.tools] != [call_key(call) for call in other.tools]
    return StepRow(left, right, step_key(one) == step_key(other), drifts, _calls(one.tools, other.tools))


def _calls(a: Sequence[StepCall], b: Sequence[StepCall]) -> tuple[CallRow, ...]:
    return tuple(CallRow(i, j, i is not None and j is not None and same_call(a[i], b[j])) for i, j in paired_calls(a, b))
