"""The monkey does what its seed says, and strikes where a store is most easily hurt."""

from __future__ import annotations

from pathlib import Path

import pytest
from monkey import POINTS, plan

from lousho_cli.stores import postgres

SOURCES = "".join(file.read_text() for file in Path(postgres.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("words", POINTS)
def test_what_it_waits_for_is_said_to_a_server(words: str) -> None:
    assert words in SOURCES


def test_a_seed_leads_to_the_same_each_time_and_another_to_something_else() -> None:
    first, again, other = (list(plan(seed, 10.0, 4, 0.2, 2.0)) for seed in (1, 1, 2))
    assert first == again != other
    assert {"kill", "freeze", "stall", "cut behind"} <= {deed.what for deed in plan(1, 1000.0, 4, 0.2, 2.0)}
    assert sum(deed.what.endswith("the server") for deed in plan(1, 10.0, 4, 0.2, 2.0, restarts=3)) == 3
