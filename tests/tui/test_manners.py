"""Keys, help, palette and colours; text of strangers in the list; other processes that write, and a store that goes away."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.pending import list_pending
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tui.keys import KEYS, bindings, display
from lousho_cli.tui.plain import cell, content, harmless, line
from lousho_cli.tui.screens.help import HelpScreen
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
