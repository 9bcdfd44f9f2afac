"""Whatever happens to sessions, in whatever order, every promise holds (DESIGN 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(0, 40), max_size=10)
TURNS, SCRIPTS = st.lists(NUMBERS, min_size=1, max_size=6), st.lists(NUMBERS, min_size=1, max_size=12)


def play(worlds: Any, new_disk: Any, turns: Any, script: Any) -> None:
    world = worlds.World(new_disk(), [worlds.turn(numbers) for numbers in turns])
    asyncio.run(world.play(script))


@settings(settings.get_profile("properties"), max_examples=60)
@given(turns=TURNS, script=SCRIPTS)
def test_every_invariant_holds_whatever_happens(worlds: Any, new_disk: Any, turns: Any, script: Any) -> None:
    play(worlds, new_disk, turns, script)


@pytest.mark.sweep
@settings(settings.get_profile("properties"), derandomize=False, max_examples=3000)
@given(turns=TURNS, script=SCRIPTS)
def test_every_invariant_holds_whatever_happens_many_times(worlds: Any, new_disk: Any, turns: Any, script: Any) -> None:
    play(worlds, new_disk, turns, script)
