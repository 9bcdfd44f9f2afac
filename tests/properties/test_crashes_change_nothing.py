"""A conversation in which processes die ends as one in which none does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = st.lists(st.integers(0, 41), min_size=5, max_size=9)
TURNS, DEATHS = (
    st.lists(NUMBERS, min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(1, 14), st.booleans(), st.booleans()), max_size=14),
)


def compare(scenarios: Any, worlds: Any, new_disk: Callable[[], Any], death: Any, turns: Any, deaths: Any, said: int, named: bool) -> None:
    async def talk(deaths: Sequence[Any]) -> Any:
        disk = new_disk()
        try:
            script = [worlds.turn(numbers, scenarios.TOOLS) for numbers in turns]
            conversation = scenarios.Conversation(disk, script, deaths, named=named)
            for number in range(said):
                await conversation.say(f"message {number}")
            return await conversation.outcome()
        finally:
            disk.remove()

    assert asyncio.run(talk([death(*one) for one in deaths])) == asyncio.run(talk([]))


@pytest.fixture(params=["memory", "file", "sqlite", "plain"])
def kind(request: pytest.FixtureRequest) -> str:
    """The disks it is played on."""
    return str(request.param)


@pytest.fixture
def explore(scenarios: Any, worlds: Any, new_disk: Any, death: Any) -> Callable[[settings], None]:
    def go(how: settings) -> None:
        @how
        @given(turns=TURNS, deaths=DEATHS, said=st.integers(1, 3), named=st.booleans())
        def conversation(turns: Any, deaths: Any, said: int, named: bool) -> None:
            compare(scenarios, worlds, new_disk, death, turns, deaths, said, named)

        conversation()

    return go


@pytest.mark.slow  # many examples
def test_a_run_with_crashes_ends_as_one_without(explore: Any, profile: settings, examples: Callable[[int], int]) -> None:
    explore(settings(profile, max_examples=examples(70)))


@pytest.mark.sweep
def test_a_run_with_crashes_ends_as_one_without_many_times(explore: Any, profile: settings, examples: Callable[[int], int]) -> None:
    explore(settings(profile, derandomize=False, max_examples=examples(5000)))
