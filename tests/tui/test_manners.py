"""Keys, help, palette and colours; text of strangers in the list; other processes that write, and a store that goes away."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.widgets import Input

from lousho_cli.app.pending import list_pending
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tui.keys import KEYS, bindings, display
from lousho_cli.tui.plain import cell, content, harmless, line
from lousho_cli.tui.reading import Reader
from lousho_cli.tui.screens.help import HelpScreen
from lousho_cli.tui.state.session_rows import Sessions
from lousho_cli.tui.themes import THEMES, first_theme
from lousho_cli.tui.widgets.session_list import SessionList
from tests.tui.sample import at, begins, ends, turn, write

HOSTILE = ["[/dim]", "[b", "arr[0]", "[src: /a?b=2-]", '["a","b"]', "[red]x[/red]", "[@click=app.quit]y[/]"]


# Text of strangers


@pytest.mark.parametrize("text", HOSTILE)
def test_case_211_brackets_are_text(text: str) -> None:
    assert content(text).plain == text == cell(text, len(text))


def test_case_213_nothing_a_terminal_would_obey_is_left() -> None:
    text = "a\x1b[31mred\x1b]0;t\x07\x00\x9b1m\u202eevil\u200bzero\ufeff\u2028\ud800"
    for shown in (harmless(text), line(text), cell(text, 200), content(text).plain):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\ufeff\ud800]", shown)
        assert "red" in shown
        assert "\\x1b" in shown


@pytest.mark.parametrize("text", ["a" * 1_000_000, "👩‍💻" * 50, "日本語のセッション", "\t\ttabs", "e\u0301" * 40, "", "x\ny"])
@pytest.mark.parametrize("width", [0, 1, 2, 7, 12])
def test_a_cell_is_as_wide_as_it_says(text: str, width: int) -> None:
    from rich.cells import cell_len

    assert cell_len(cell(text, width)) == width
    assert "\n" not in cell(text, width)


async def test_hostile_agents_and_errors_in_the_list(tui: Any, tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    for number, text in enumerate([*HOSTILE, "\x1b[31mred\x1b[0m \x00", "\u202eevil", "x" * 1_000_000, "👩‍💻 日本"]):
        failed = [r.InputSettled("in-1", "failed", error=text)]
        await write(store, f"s{number:02}", [begins(text[:2000], text, minute=number), (at(number, 5), failed)])
    async with tui(tmp_path, size=(110, 30)) as seen:
        await seen.press("s", "g", "G", "g")
        assert "11 sessions" in seen.text
        for text in HOSTILE:
            assert text in seen.text
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", seen.text)
        assert all(len(one) <= 110 for one in seen.lines)
        await seen.press("f")
        await seen.type("[red]")
        assert "1 of 11" in seen.text


# Keys


def test_each_key_of_a_place_does_one_thing() -> None:
    for place in {key.where for key in KEYS}:
        pressed = [one for key in KEYS if key.where == place for one in key.pressed.split(",")]
        assert len(pressed) == len(set(pressed)), place
        assert bindings(place)


async def test_the_help_shows_every_key_of_the_table(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(160, 48)) as seen:
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, HelpScreen)
        told = str(seen.app.screen.query("#help Static").first().render())
        for key in KEYS:
            assert re.search(rf"{re.escape(display(key))} +{re.escape(key.words)}\n", told), key
        await seen.press("question_mark")
        assert not isinstance(seen.app.screen, HelpScreen)


async def test_the_help_begins_with_the_keys_that_hold_where_the_person_is(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        for way, first, others in (((), "sessions", "waiting room"), (("w",), "waiting room", "sessions")):
            await seen.press(*way, "question_mark")
            headings = [place for one in seen.lines for place in {key.where for key in KEYS} if f"│ {place}  " in one]
            assert first == headings[0] and others not in headings, seen.text
            await seen.press("j", "space", "k", "b", "escape")


@pytest.mark.parametrize("way", [(), ("enter",), ("w",), ("question_mark",), ("f", "enter")], ids=" ".join)
async def test_q_leaves_from_everywhere(tui: Any, sample: Path, way: tuple[str, ...]) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        await seen.press(*way)
        await seen.pilot.press("q")
        assert seen.app._exit


async def test_the_palette_does_what_the_keys_do(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        commands = {command.title: command.callback for command in seen.app.get_system_commands(seen.app.screen)}
        assert {"Waiting room", "Filter", "Sort", "Leave"} <= commands.keys()
        commands["Sort"]()
        await seen.rest()
        assert "by id" in seen.text
        await seen.pilot.press("ctrl+p")
        await seen.until(lambda: "Search for commands" in seen.text)
        await seen.pilot.press(*"waiting")
        await seen.until(lambda: "waiting room" in seen.text.lower())


async def test_case_213_what_is_pasted_into_the_filter_is_shown_as_text_and_not_endless(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        box = seen.app.query_one("#filter", Input)
        await seen.press("f")
        seen.app._driver.send_message(Paste("boo\x1b]0;t\x07\x9b1m\u202e\tking\nrm -rf" + "x" * 100_000))
        await seen.until(lambda: box.value == "boo]0;t1m king")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", seen.text)
        seen.app._driver.send_message(Paste("y" * 100_000))
        await seen.until(lambda: len(box.value) == 200)
        await seen.type("z")
        assert box.value.endswith("y")
        await seen.press("escape", "f")
        await seen.type("book")
        assert "1 of 6" in seen.text


async def test_what_is_typed_at_once_behind_a_key_means_what_it_means_there(tui: Any, sample: Path) -> None:
    def all_at_once(*keys: str) -> None:
        for key in keys:
            seen.app._driver.send_message(Key(key, key if len(key) == 1 else None))

    async with tui(sample, size=(80, 24)) as seen:
        box = seen.app.query_one("#filter", Input)
        rows = seen.app.query_one(SessionList)
        all_at_once("f", *"qgfork")
        await seen.until(lambda: box.value == "qgfork")
        all_at_once("escape", "f", *"trip", "down", "down", "w", "escape", "w", "j", "w", "enter", "escape", "g")
        await seen.until(lambda: "grouped by agent" in seen.text)
        assert (box.value, rows.current) == ("trip", "trip")
        all_at_once("f", "end", *"x")
        seen.app._driver.send_message(Paste("yz"))
        all_at_once("1")
        await seen.until(lambda: box.value == "tripxyz1")
        all_at_once("escape", "enter", "h", "s")
        await seen.until(lambda: "by id" in seen.text)


# Colours


@pytest.mark.parametrize(("colours", "theme"), [("truecolor", "dark"), ("256", "dark"), ("standard", "ansi-dark"), (None, "ansi-dark")])
def test_a_terminal_with_sixteen_colours_gets_its_own(colours: str | None, theme: str) -> None:
    assert first_theme(colours) == theme


async def test_t_goes_through_the_themes_and_each_draws_the_list(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        for theme in [*THEMES[1:], THEMES[0]]:
            await seen.press("t")
            assert seen.app.theme == theme.name
            assert "approve book_table" in seen.text
            if theme.name in {"light", "ansi-dark"}:
                seen.picture(f"theme-{theme.name}")


# Other processes


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_case_215_what_another_process_writes_is_seen(tui: Any, tmp_path: Path, kind: str) -> None:
    where = str(tmp_path) if kind == "file" else f"sqlite:{tmp_path / 'lousho.db'}"
    theirs = FileStore(tmp_path) if kind == "file" else SqliteStore(tmp_path / "lousho.db")
    await write(theirs, "one", [begins("trip", "Go", minute=1), (at(1, 5), turn("Let me see.", 1))])
    await write(theirs, "two", [begins("trip", "Go", minute=2)])
    async with tui(where, size=(80, 24), follow=True) as seen:
        await seen.until(lambda: "‖ 2 unfinished" in seen.text)
        await seen.pilot.press("down")
        rows = seen.app.query_one(SessionList)
        assert rows.current == "one"
        await write(theirs, "two", [(at(3), [r.Turn(Message("assistant", "Done."), "stop", "small"), *ends("Done.", 1)[1:]])])
        await write(theirs, "three", [begins("trip", "Go", minute=4)])
        await seen.until(lambda: "3 sessions" in seen.text and "done" in seen.text)
        assert rows.current == "one"  # the cursor stays where the person put it
        claim = await theirs.claim("one", "desk")
        await seen.until(lambda: "▶ 1 running" in seen.text)
        await theirs.release(claim)
        await seen.until(lambda: "running" not in seen.text)
    assert not (await list_pending(theirs)).items


async def test_a_store_that_goes_away_is_said_and_seen_again(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24), follow=True) as seen:
        await seen.until(lambda: "6 sessions" in seen.text)
        sample.rename(sample.with_name("elsewhere"))
        await seen.until(lambda: "the store is gone" in seen.text)
        assert "booking" in seen.text  # what was read stays
        await seen.pilot.press("down", "s", "w", "escape")
        shutil.move(sample.with_name("elsewhere"), sample)
        await seen.until(lambda: "6 sessions" in seen.text and "gone" not in seen.text)


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_another_store_in_the_place_of_the_one_that_was_open_is_seen(tui: Any, tmp_path: Path, kind: str) -> None:
    def store(name: str) -> Any:
        return FileStore(tmp_path / name) if kind == "file" else SqliteStore(tmp_path / name)

    first, second = store("here"), store("other")
    await write(first, "one", [begins("trip", "Go", minute=1)])
    await write(second, "two", [begins("trip", "Go", minute=2)])
    if kind == "sqlite":
        first.close()
        second.close()
    where = str(tmp_path / "here") if kind == "file" else f"sqlite:{tmp_path / 'here'}"
    async with tui(where, size=(80, 24), follow=True) as seen:
        await seen.until(lambda: "one" in [row.id for row in (seen.app.sessions or Sessions()).rows])
        (tmp_path / "here").rename(tmp_path / "old")
        (tmp_path / "other").rename(tmp_path / "here")
        await seen.until(lambda: [row.id for row in seen.app.sessions.rows] == ["two"])
        assert not seen.app.trouble


def test_who_leaves_does_not_wait_for_a_slow_disk(sample: Path) -> None:
    """The thread that reads is one that Python does not wait for at its end."""
    reader = Reader(str(sample))
    reads, goes_on = Event(), Event()

    async def slow(store: Any) -> None:
        reads.set()
        goes_on.wait()

    asked = reader._lists.begin(slow)
    assert reads.wait(60)
    assert all(thread.daemon for thread in enumerate_threads() if thread.name == "lousho-lists")
    began = time.monotonic()
    assert reader.first() is None  # nor does the first screen
    assert time.monotonic() - began < 30
    reader.close()
    goes_on.set()
    asked.result(60)


async def test_what_came_too_late_for_the_first_screen_comes_next(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.tui.reading._FIRST_S", 0)
    reader = Reader(str(sample))
    found = reader.first() or await reader.sessions()
    assert found is not None and len(found.rows) == 6
    assert await reader.sessions() is None  # nothing has changed since
    reader.close()
