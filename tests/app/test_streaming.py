"""Events as lines with a cursor."""

from __future__ import annotations

import pytest

from lousho_cli.app.streaming import Lines
from lousho_cli.domain.events import StepSaved, ToolStart


def cursors(*places: tuple[str, int, int]) -> list[tuple[int, int]]:
    lines = Lines()
    made = [lines.of(StepSaved(session=session, cursor=seq, index=index)) for session, seq, index in places]
    assert [line["seq"] for line in made] == list(range(len(made))), "numbered through"
    return [(line["cursor"]["seq"], line["cursor"]["index"]) for line in made]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([(1, 0), (1, 1), (2, 0)], [(1, 0), (1, 1), (2, 0)]),
        ([(2, 1), (0, 0), (0, 1), (5, 0)], [(2, 1), (2, 2), (2, 3), (5, 0)]),  # what was refused in between stands nowhere
    ],
)
def test_the_cursor_rises_and_is_never_the_same_twice(given: list[tuple[int, int]], shown: list[tuple[int, int]]) -> None:
    assert cursors(*(("s", *place) for place in given)) == shown


def test_each_session_has_its_own_cursor() -> None:
    assert cursors(("a", 7, 0), ("b", 1, 0), ("a", 7, 1), ("b", 1, 1)) == [(7, 0), (1, 0), (7, 1), (1, 1)]


def test_a_line_keeps_what_the_event_says() -> None:
    line = Lines().of(ToolStart(seq=3, timestamp="t", session="trip", cursor=7, step=2, id="c1", name="weather"))
    assert (line["type"], line["session"], line["step"], line["data"]) == ("tool.start", "trip", 2, {"id": "c1", "name": "weather"})
