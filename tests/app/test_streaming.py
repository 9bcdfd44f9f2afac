"""Events as lines with a cursor."""

from __future__ import annotations

from lousho_cli.app.streaming import Lines
from lousho_cli.executor.events import Event


def test_the_cursor_rises_and_is_never_the_same_twice() -> None:
    lines = Lines()
    cursors = [lines.of(Event("x", n, "t", cursor=seq))["cursor"] for n, seq in enumerate((0, 2, 2, 1, 5, 0))]
    assert cursors == [
        {"seq": 0, "index": 0},
        {"seq": 2, "index": 0},
        {"seq": 2, "index": 1},
        {"seq": 2, "index": 2},
        {"seq": 5, "index": 0},
        {"seq": 5, "index": 1},
    ]


def test_a_line_keeps_what_the_event_says() -> None:
    line = Lines().of(Event("tool.start", 3, "t", "trip", 7, 2, {"name": "weather"}))
    assert (line["type"], line["session"], line["step"], line["data"]) == ("tool.start", "trip", 2, {"name": "weather"})
