"""Which step of one run is which step of the other, and what differs between them.

Counting steps from the front makes one inserted step change all that follow. So equal
steps are found first, wherever they stand; between them, steps that call the same tools,
or some of them, are the same step with a change, and what is left over was added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from lousho_cli.core.trajectory import Step, StepCall
from lousho_cli.core.values import Difference, differences, kind_of, parse

Pair = tuple[int | None, int | None]
"""An index on each side, None where that side has nothing."""

MOST_PLACES = 20
"""So many places of one value are told apart; the rest is counted. A list with an item more at its front has as many as items."""

WHOLE = "(root)"
"""Where the sides part that have no place in common: a text, a number, or a result on one side alone."""

Names = tuple[str, ...]
"""The tools of a step, in call order."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One difference.

    kind: ``added`` is only in b, ``removed`` only in a, ``changed`` in both.
    field: ``call`` (a whole call), ``args``, ``result``, or ``text``.
    a_step, b_step: the step on each side, from 1; None where that side has no such step.
    tool, path: the tool, and where in its arguments or result the sides part; ``(root)`` for the whole.
    a, b: the values there, left out where a side has none.
    more: how many more places of the same arguments or result part, without a change of their own.
    """

    kind: Literal["added", "removed", "changed"]
    field: Literal["call", "args", "result", "text"]
    a_step: int | None = None
    b_step: int | None = None
    tool: str | None = None
    path: str | None = None
    a: Any | UnsetType = UNSET
    b: Any | UnsetType = UNSET
    more: int = 0

    @property
    def where(self) -> str:
        """The step on both sides, the tool, the field and the path in it, in words."""
        where = [f"step {self.a_step or self.b_step}" if self.a_step == self.b_step else _steps(self.a_step, self.b_step)]
        return ", ".join(where + [part for part in (self.tool, self.field, self.path) if part and part != WHOLE])

    def describe(self, width: int = 200) -> str:
        """The difference in one line, each value cut to ``width`` characters."""
        said = self.where
        if self.kind == "added":
            return f"{said}: added {_shown(self.b, width)}"
        if self.kind == "removed":
            return f"{said}: removed {_shown(self.a, width)}"
        left, right = _shown(self.a, width), _shown(self.b, width)
        if kind_of(self.a) != kind_of(self.b) and UNSET not in (self.a, self.b):
            left, right = f"{left} ({kind_of(self.a)})", f"{right} ({kind_of(self.b)})"
        return f"{said}: {left} -> {right}"


def changes(a: Sequence[Step], b: Sequence[Step]) -> tuple[Change, ...]:
    """Every difference between two runs, in the order of the steps. Call ids never differ."""
    found: list[Change] = []
    for left, right in paired_steps(a, b):
        found.extend(_of_step(a[left] if left is not None else None, b[right] if right is not None else None, left, right))
    return tuple(found)


def paired_steps(a: Sequence[Step], b: Sequence[Step]) -> list[Pair]:
    """Which step of one run is which of the other, in order."""
    return list(_align([step_key(step) for step in a], [step_key(step) for step in b], _names(a), _names(b)))


def paired_calls(a: Sequence[StepCall], b: Sequence[StepCall]) -> list[Pair]:
    """Which call of one step is which of the other, in order."""
    names = [[(call.name,) for call in calls] for calls in (a, b)]
    return list(_align([call_key(call) for call in a], [call_key(call) for call in b], names[0], names[1]))


def same_call(a: StepCall, b: StepCall) -> bool:
    """Whether two calls ask for the same and gave the same, ids aside."""
    return bool(call_key(a) == call_key(b) and _result_key(a) == _result_key(b))


def step_key(step: Step) -> Any:
    """Equal where two steps do not differ: text, calls and results by value, ids aside."""
    return step.text, tuple((call_key(call), _result_key(call)) for call in step.tools)


def call_key(call: StepCall) -> Any:
    """Equal where two calls ask for the same: the name, and the arguments by value."""
    return call.name, parse(call.args).key


def _result_key(call: StepCall) -> Any:
    return None if call.result is None else parse(call.result).key


def _names(steps: Sequence[Step]) -> list[Names]:
    return [tuple(call.name for call in step.tools) for step in steps]


def _align(a: Sequence[Any], b: Sequence[Any], a_names: Sequence[Names], b_names: Sequence[Names]) -> Iterator[Pair]:
    """Pairs what is equal in order, then, in each gap, what has the same tools, then some; the rest stands alone."""
    for same, a_from, a_to, b_from, b_to in _blocks(a, b):
        if same:
            yield from zip(range(a_from, a_to), range(b_from, b_to), strict=True)
            continue
        for alike, i, i_end, j, j_end in _blocks(a_names[a_from:a_to], b_names[b_from:b_to]):
            lefts, rights = range(a_from + i, a_from + i_end), range(b_from + j, b_from + j_end)
            if alike:
                yield from zip(lefts, rights, strict=True)
            else:
                yield from _overlapping(lefts, rights, a_names, b_names)


def _overlapping(lefts: range, rights: range, a_names: Sequence[Names], b_names: Sequence[Names]) -> Iterator[Pair]:
    """Pairs what has a name in common, in order, so that a call more or less does not make another step."""
    cursor = rights.start
    for left in lefts:
        match = next((right for right in range(cursor, rights.stop) if not set(a_names[left]).isdisjoint(b_names[right])), None)
        if match is None:
            yield left, None
            continue
        yield from ((None, right) for right in range(cursor, match))
        yield left, match
        cursor = match + 1
    yield from ((None, right) for right in range(cursor, rights.stop))


def _blocks(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[bool, int, int, int, int]]:
    import difflib

    # The common start and end are cut off first: most runs share them, and the matcher's time grows with the square.
    head = next((i for i, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), min(len(a), len(b)))
    room = min(len(a), len(b)) - head
    tail = next((i for i in range(room) if a[-1 - i] != b[-1 - i]), room)
    if head:
        yield True, 0, head, 0, head
    matcher = difflib.SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False)
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        yield tag == "equal", head + a_from, head + a_to, head + b_from, head + b_to
    if tail:
        yield True, len(a) - tail, len(a), len(b) - tail, len(b)


def _of_step(a: Step | None, b: Step | None, left: int | None, right: int | None) -> Iterator[Change]:
    a_step = None if left is None else left + 1
    b_step = None if right is None else right + 1
    a_calls, b_calls = a.tools if a else (), b.tools if b else ()
    if a and b and a.text != b.text:
        yield Change("changed", "text", a_step, b_step, a=a.text, b=b.text)
    elif a is None and b and not b_calls:
        yield Change("added", "text", None, b_step, b=b.text)
    elif b is None and a and not a_calls:
        yield Change("removed", "text", a_step, None, a=a.text)
    for i, j in paired_calls(a_calls, b_calls):
        yield from _of_call(None if i is None else a_calls[i], None if j is None else b_calls[j], a_step, b_step)


def _of_call(a: StepCall | None, b: StepCall | None, a_step: int | None, b_step: int | None) -> Iterator[Change]:
    if a is None or b is None:
        if b is not None:
            yield Change("added", "call", a_step, b_step, tool=b.name, b=parse(b.args).value)
        elif a is not None:
            yield Change("removed", "call", a_step, b_step, tool=a.name, a=parse(a.args).value)
        return
    for field, left, right in (("args", a.args, b.args), ("result", a.result, b.result)):
        parted = _parted(left, right)
        shown = parted[:MOST_PLACES]
        for number, (path, was, now) in enumerate(shown, 1):
            more = len(parted) - len(shown) if number == len(shown) else 0
            yield Change("changed", "args" if field == "args" else "result", a_step, b_step, a.name, path or WHOLE, was, now, more)


def _parted(a: str | None, b: str | None) -> list[Difference]:
    if a is None or b is None:
        left, right = UNSET if a is None else parse(a).value, UNSET if b is None else parse(b).value
        return [] if a is b else [Difference("", left, right)]
    left, right = parse(a), parse(b)
    if left.key == right.key:
        return []
    # Equal as values and yet not the same: one side is no JSON and reads like the other's text.
    return list(differences(left.value, right.value)) or [Difference("", a, b)]


def _steps(a_step: int | None, b_step: int | None) -> str:
    if a_step is None:
        return f"step {b_step} of b"
    return f"step {a_step} of a" if b_step is None else f"step {a_step} (b: {b_step})"


def _shown(value: Any, width: int) -> str:
    import json

    text = "nothing" if value is UNSET else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else text[:width] + "…"
