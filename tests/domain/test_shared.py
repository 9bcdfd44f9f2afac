"""The shared list: what is dropped from its front is let go, and nobody's view changes."""

from __future__ import annotations

import gc
import weakref

import pytest

from lousho_cli.core.accumulator import Accumulator
from lousho_cli.core.fold import apply
from lousho_cli.domain import records as r
from lousho_cli.domain.shared import Growing, Shared


class Thing:
    """Something whose end can be seen."""


@pytest.mark.parametrize("kept", [0, 1, 50, 300])
def test_what_was_dropped_does_not_stay_in_memory(kept: int) -> None:
    growing: Growing[Thing] = Growing(Shared())
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    for _ in range(5_000):
        thing = Thing()
        alive.add(thing)
        growing.append(thing)
        growing.keep_newest(kept)
        assert len(growing) == min(len(growing.view()), kept)
    del thing
    gc.collect()
    assert kept <= len(alive) <= 2 * kept + 100


@pytest.mark.parametrize("dropped", [0, 3])
def test_what_stands_behind_a_place_is_the_slice_from_there(dropped: int) -> None:
    growing = Growing(Shared(range(8)))
    growing.keep_newest(8 - dropped)
    view = growing.view()
    growing.append(8)
    for place in range(12):
        assert view.behind(place) == view[place:] == list(range(dropped, 8))[place:]
        assert view[place : place - 2] == list(range(dropped, 8))[place : place - 2]


def test_views_given_earlier_keep_theirs() -> None:
    growing: Growing[int] = Growing(Shared())
    views = []
    for number in range(1_000):
        growing.append(number)
        growing.keep_newest(5)
        views.append(growing.view())
    assert [list(view) for view in views] == [list(range(max(number - 4, 0), number + 1)) for number in range(1_000)]
    other = Growing(views[500])
    other.append(-1)
    assert list(other) == [496, 497, 498, 499, 500, -1]
    assert list(growing) == [995, 996, 997, 998, 999]


def test_the_ring_holds_no_business_state_of_marks_that_left_it() -> None:
    fold = Accumulator()
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()
    for seq in range(1, 2_001):
        state = Thing()
        alive.add(state)
        apply(fold, r.Batch(seq, 1, "at", (r.BusinessState(state), r.Mark(seq, limit=50))))
    del state
    gc.collect()
    assert [mark.step for mark in fold.freeze().marks] == list(range(1_951, 2_001))
    assert len(alive) < 200
