"""Tables: what one has to type stays whole on a terminal; the rest gives way. A pipe gets everything."""

from __future__ import annotations

import io
import os
import pty
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lousho_cli.cli.output import Output
from lousho_cli.cli.render.times import expiry
from lousho_cli.cli.table import cell, fitted, width_of
from lousho_cli.domain import records as r

Terminal = Callable[..., str]
WAITS = "7f3a9c1e2b4d"


@pytest.fixture
def terminal(process: Any) -> Terminal:
    """Runs a command on a terminal and gives what it shows, without colours."""

    def run(*args: str, columns: str = "80") -> str:
        main, side = pty.openpty()
        process(*args, environ={"COLUMNS": columns, "TERM": "xterm"}, stdout=side)
        os.close(side)
        shown = b""
        try:
            while piece := os.read(main, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(main)
        return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode().replace("\r\n", "\n"))

    return run


def _recent(**ago: int) -> str:
    return (datetime.now(UTC) - timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def test_a_terminal_of_80_columns_shows_every_id_whole(terminal: Terminal, store: Any, trip: Any, waiting: Any) -> None:
    store("booking.fork-12", waiting(tool="book_a_table_for_everybody", args={"name": "x" * 90}), at=_recent(hours=3, minutes=1))
    store("trip", trip())
    listed = terminal("list")
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert "booking.fork-12 " in listed
    assert WAITS in listed
    assert "3h ago" in listed
    history = terminal("history", "booking.fork-12")
    assert "booking.fork-12@1/1.1 " in history
    assert "3h ago" in history
    pending = terminal("pending")
    assert f"{WAITS} " in pending
    assert "booking.fork-12 " in pending
    assert all(len(line) <= 80 for line in pending.splitlines())


def test_an_id_longer_than_the_terminal_is_still_whole(terminal: Terminal, store: Any, trip: Any) -> None:
    store("a" * 100, trip())
    assert "a" * 100 in terminal("list")
    assert "a" * 100 + "@1/1.1" in terminal("history", "a" * 100)


def test_columns_0_is_a_terminal_that_does_not_say_its_width(terminal: Terminal, store: Any, trip: Any) -> None:
    store("trip", trip())
    assert terminal("list", columns="0") == terminal("list", columns="80") != ""
    assert "Usage: lousho" in terminal("--help", columns="0")


def test_a_pipe_has_whole_times_and_says_what_has_expired(lousho: Any, store: Any, waiting: Any) -> None:
    store("booking", waiting(), at="2026-01-02T03:04:05.000Z")
    assert "2026-01-02T03:04:05.000Z" in lousho("list").out
    assert f"{WAITS} (book_table)" in lousho("list").out


def test_a_pipe_has_why_a_session_failed_whole_and_where_it_pushes_nothing_apart(lousho: Any, store: Any, trip: Any) -> None:
    why = "the server said no, " * 9 + "and that was all"
    store("trip", trip())
    store("booking", [*trip()[:-1], [r.InputSettled("in-1", "failed", error=why)]])
    names, *rows = lousho("list").out.splitlines()
    assert names.endswith("  UPDATED                   ERROR")
    assert max(len(row) for row in rows if row.startswith("trip")) < 120
    [row] = [row for row in rows if row.startswith("booking")]
    assert row.endswith(f"Z  {why}")
    assert " failed  " in row


@pytest.mark.parametrize("command", ["list", "pending"])
@pytest.mark.parametrize("by", ["flag", "variable"])
def test_colour_that_was_asked_for_is_in_a_pipes_tables_too(
    lousho: Any, store: Any, waiting: Any, command: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store("booking", waiting())
    assert "\x1b" not in lousho(command).out
    if by == "variable":
        monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = lousho(command, *(["--color", "always"] if by == "flag" else [])).out
    assert "\x1b[1mID" in coloured
    assert "\x1b[36m" in coloured


def test_columns_give_way_in_order_and_never_below_their_least() -> None:
    assert fitted([10, 30, 20], [None, 5, 5], [1, 2], 44) == [10, 10, 20]
    assert fitted([10, 30, 20], [None, 5, 5], [1, 2], 30) == [10, 5, 11]
    assert fitted([90, 3, 20], [None, 5, 5], [1, 2], 30) == [90, 3, 5]
    assert fitted([10, 10], [None, 5], [1], 80) == [10, 10]


@pytest.mark.parametrize("text", ["short", "x" * 40, "東京" * 10, "é" * 30])
def test_a_cell_takes_exactly_its_width(text: str) -> None:
    from rich.cells import cell_len

    assert cell_len(cell(text, 12)) == 12


@pytest.mark.parametrize(("said", "width"), [("100", 100), ("0", 80), ("-3", 80), ("wide", 80), ("", 80)])
def test_the_width_is_what_columns_says_else_80(said: str, width: int) -> None:
    assert width_of({"COLUMNS": said}, None) == width


def test_what_has_expired_is_marked_on_a_terminal_and_in_a_pipe() -> None:
    out = Output(io.StringIO())
    assert expiry(out, "2026-01-02T03:04:05.000Z") == "2026-01-02T03:04:05.000Z (expired)"
    later = _recent(hours=-5, minutes=-1)
    assert expiry(out, later) == later
    out.terminal = True
    assert expiry(out, "2026-01-02T03:04:05.000Z") == "expired"
    assert expiry(out, later) == "in 5h"
    assert expiry(out, None) == "-"
