"""Whether one run passes for another by what it called: four modes, of rising and falling strictness. Pure.

Each looks at the calls alone, by name and arguments. Texts, results and call ids do not count; a call made twice counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from lousho_cli.core.alignment import call_key
from lousho_cli.core.trajectory import StepCall, Trajectory
from lousho_cli.errors import ConfigurationError

Mode = Literal["strict", "unordered", "subset", "superset"]
MODES: tuple[Mode, ...] = ("strict", "unordered", "subset", "superset")


def trajectories_match(wanted: Trajectory, made: Trajectory, mode: Mode) -> bool:
    """Whether run ``made`` passes for run ``wanted``.

    strict: message for message the same roles, and step for step the same calls, those of one step in whatever order.
    unordered: exactly the calls of the other, in whatever order and steps.
    subset: no call that the other did not make. superset: every call that the other made.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode == "strict":
        alike = wanted.roles == made.roles or not (wanted.roles and made.roles)
        return alike and [_bag(step.tools) for step in wanted.steps] == [_bag(step.tools) for step in made.steps]
    return calls_match(wanted.calls, made.calls, mode)


def calls_match(wanted: Iterable[StepCall], made: Iterable[StepCall], mode: Mode) -> bool:
    """The same for calls alone, as somebody wrote them down; strict: these, in this order, and no other.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode == "strict":
        return [call_key(call) for call in wanted] == [call_key(call) for call in made]
    left, right = _bag(wanted), _bag(made)
    if mode == "unordered":
        return right == left
    if mode == "subset":
        return right <= left
    if mode == "superset":
        return right >= left
    raise ConfigurationError(f"there is no mode {mode}", field="mode", hint=f"One of {', '.join(MODES)}.")


def _bag(calls: Iterable[StepCall]) -> Counter[Any]:
    return Counter(map(call_key, calls))
