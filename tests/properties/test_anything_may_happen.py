"""Whatever happens to sessions, in whatever order, every promise holds (DESIGN 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(0, 41), min_size=7, max_size=9)
TURNS, SCRIPTS = st.lists(NUMBERS, min_size=1, max_size=6), st.lists(NUMBERS, min_size=1, max_size=16)


@pytest.fixture(params=["memory", "file", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    """The disks it is played on."""
    return str(request.param)


@pytest.fixture
def explore(worlds: Any, new_disk: Any) -> Callable[[settings], None]:
    def go(how: settings) -> None:
        @how
        @given(turns=TURNS, script=SCRIPTS)
        def anything(turns: Any, script: Any) -> None:
            disk = new_disk()
            world = worlds.World(disk, [worlds.turn(numbers) for numbers in turns])
            try:
                asyncio.run(world.play(script))
            except BaseException as error:
                note("\n".join(world.story))
                raise AssertionError(f"{type(error).__name__}: {error}") from error
            finally:
                disk.remove()

        anything()

    return go


@pytest.mark.slow  # many examples
def test_every_invariant_holds_whatever_happens(explore: Any, profile: settings, examples: Callable[[int], int]) -> None:
    explore(settings(profile, max_examples=examples(100)))


@pytest.mark.sweep
def test_every_invariant_holds_whatever_happens_many_times(explore: Any, profile: settings, examples: Callable[[int], int]) -> None:
    explore(settings(profile, derandomize=False, max_examples=examples(5000)))
