"""The list of sessions, as a person uses it."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tui.widgets.session_list import SessionList
from tests.tui.sample import NOW, at, begins, turn, write

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])


@SIZES
async def test_the_list_and_its_filter(tui: Any, sample: Path, size: tuple[int, int]) -> None:
    async with tui(sample, size=size) as seen:
        seen.picture("sessions")
        await seen.press("f")
        await seen.type("trip done")
        seen.picture("filter")
        shown = [line for line in seen.lines if " trip" in line]
        assert len(shown) >= 2
        assert "booking" not in seen.text


async def test_the_filter_stays_behind_enter_and_goes_with_escape(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        await seen.press("f")
        await seen.type("book")
        await seen.press("enter")
        assert isinstance(seen.app.focused, SessionList)
        assert "1 of 6" in seen.text
        await seen.press("escape")
        assert "report" in seen.text
        await seen.press("f")
        await seen.type("no such thing")
        assert "No session fits the filter" in seen.text


async def test_going_through_the_list(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        rows = seen.app.query_one(SessionList)
        assert rows.current == "import"
        await seen.press("j", "down")
        assert rows.current == "trip.fork-1"
        await seen.press("G")
        assert rows.current == "old"
        await seen.press("k", "up")
        assert rows.current == "trip"
        await seen.press("home", "up")
        assert rows.current == "import"
        await seen.press("pagedown")
        assert rows.current == "old"
        await seen.press("pageup")
        assert rows.current == "import"


async def test_sorting_and_grouping_say_so(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        await seen.press("s")
        assert "by id" in seen.text
        assert seen.app.query_one(SessionList).current == "import"  # the cursor stays on its session
        await seen.press("g")
        assert "grouped by agent" in seen.text
        assert "trip (3)" in seen.text
        await seen.press("home")
        assert seen.app.query_one(SessionList).current == "booking"  # a heading is no place to stop
        await seen.press("g")
        assert "└ trip.fork-1" in seen.text


async def test_opening_a_session_and_going_back(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        await seen.press("end", "enter")
        assert seen.app.screen.has_class("-in-session")
        assert not seen.app.query_one("#sessions").display
        await seen.press("escape")
        assert seen.app.query_one(SessionList).has_focus
        assert seen.app.query_one("#sessions").display


@pytest.mark.parametrize("wanted", ["booking", "trip@1"])
async def test_a_session_can_be_opened_at_the_start(tui: Any, sample: Path, wanted: str) -> None:
    async with tui(sample, wanted, size=(80, 24)) as seen:
        assert seen.app.query_one(SessionList).current == wanted.partition("@")[0]
        assert seen.app.screen.has_class("-in-session")


async def test_no_sessions_yet(tui: Any, tmp_path: Path) -> None:
    async with tui(tmp_path / "none", size=(80, 24)) as seen:
        assert "No sessions here yet" in seen.text
        assert "lousho run trip" in seen.text
        seen.picture("no-sessions")
    assert not (tmp_path / "none").exists()


async def test_a_damaged_session_is_named_and_the_others_are_there(tui: Any, sample: Path) -> None:
    log = sample / "sessions" / "report" / "log.jsonl"
    lines = log.read_bytes().split(b"\n")
    lines[1] = lines[1][:-9] + b"broken!!!"
    log.write_bytes(b"\n".join(lines))
    (sample / "sessions" / "report" / "head.json").unlink()
    async with tui(sample, size=(80, 24)) as seen:
        damaged = [line for line in seen.lines if "report" in line]
        assert "!" in damaged[0]
        assert "1 damaged" in seen.text
        assert "trip.fork-1" in seen.text
        await seen.press("f")
        await seen.type("damaged")
        await seen.press("enter", "enter", "escape", "escape")  # it can be opened like any other
        assert "6 sessions" in seen.text


async def test_looking_changes_not_one_byte(tui: Any, sample: Path) -> None:
    def everything() -> dict[str, tuple[bytes, int]]:
        return {
            str(path.relative_to(sample)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
            for path in [sample, *sample.rglob("*")]
        }

    before = everything()
    async with tui(sample, size=(160, 48), follow=True) as seen:
        await seen.until(lambda: seen.app.sessions is not None)
        for key in ("down", "enter", "enter", "tab", "escape", "escape", "w", "escape", "down", "down", "enter", "question_mark"):
            await seen.pilot.press(key)
        seen.app.look_at_sessions()
        await seen.pilot.pause(0.3)
    assert everything() == before


async def test_looking_changes_no_row_of_a_database_either(tui: Any, tmp_path: Path) -> None:
    """Who is the last to close a database writes its log back into it, and the log goes: other bytes, the same rows."""
    path = tmp_path / "lousho.db"
    theirs = SqliteStore(path)
    await write(theirs, "one", [begins("trip", "Go", minute=1), (at(1, 5), turn("Let me see.", 1))])
    await write(theirs, "two", [begins("trip", "Go", minute=2)])

    def rows() -> list[str]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return list(database.iterdump())

    def bytes_of() -> dict[str, bytes]:
        return {one.name: one.read_bytes() for one in (path, path.with_name("lousho.db-wal"))}

    bytes_before = bytes_of()
    async with tui(f"sqlite:{path}", size=(160, 48), follow=True) as seen:
        await seen.until(lambda: seen.app.sessions is not None and len(seen.app.sessions.rows) == 2)
        for key in ("down", "enter", "enter", "escape", "escape", "w", "escape"):
            await seen.pilot.press(key)
        await seen.until(lambda: not seen.app.keys_wait)
    assert bytes_of() == bytes_before  # while somebody else has it open, not one byte
    theirs.close()
    rows_before = rows()
    async with tui(f"sqlite:{path}", size=(80, 24)) as seen:
        assert "2 sessions" in seen.text
    assert rows() == rows_before


async def test_long_lists_scroll_and_only_draw_what_is_seen(tui: Any, tmp_path: Path) -> None:
    from lousho_cli.stores.file.store import FileStore

    store = FileStore(tmp_path)
    await write(store, "first", [begins("trip", "Go")])
    for number in range(60):
        shutil.copytree(tmp_path / "sessions" / "first", tmp_path / "sessions" / f"copy-{number:02}")
    async with tui(tmp_path, size=(80, 24)) as seen:
        await seen.press("s", "end")
        assert seen.app.query_one(SessionList).current == "first"
        assert "first" in seen.text
        assert "copy-00" not in seen.text
        await seen.press("home")
        assert "copy-00" in seen.text
        assert "61 sessions" in seen.text
        ages = [one for one in seen.lines if "copy-" in one]
        assert ages and all(re.search(r"\d[smhd] │$|\d[smhd] .│$|\d[smhd].│$", one) for one in ages), seen.text  # beside the scroll bar


def test_the_sample_is_looked_at_after_it_was_written() -> None:
    assert at(50) < NOW.strftime("%Y-%m-%dT%H:%M:%S")
