"""The program with a mouse, which nobody needs; and the last line, whose keys can be clicked."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.screen import Screen

from lousho_cli.tui.screens.help import HelpScreen
from lousho_cli.tui.widgets.checkpoint import CheckpointPane
from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.fork_tree import ForkTree
from lousho_cli.tui.widgets.key_line import KeyLine
from lousho_cli.tui.widgets.ring import RingPane
from lousho_cli.tui.widgets.ring_list import RingList
from lousho_cli.tui.widgets.tab_line import TabLine
from tests.tui.conftest import Open, Seen
from tests.tui.voyage import voyage


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    return await voyage(tmp_path)


async def click(seen: Seen, what: type, x: int, y: int, *, times: int = 1) -> None:
    await seen.pilot.click(what, offset=(x, y), times=times)
    await seen.rest()


async def test_a_click_chooses_and_a_second_one_opens(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(120, 40)) as seen:
        rows, pane = seen.app.screen.query_one(RingList), seen.app.screen.query_one(CheckpointPane)
        await click(seen, RingList, 5, 1)
        assert pane.address == "voyage@1/2.2"
        await click(seen, RingList, 5, 3)  # what happened belongs to the checkpoint above it
        assert pane.address == "voyage@1/2.2" and rows.has_focus
        await click(seen, RingList, 5, 0, times=2)
        assert pane.address == "voyage@1/3.1" and seen.app.screen.query_one(Document).has_focus
        assert pane.has_class("-lit") and not seen.app.screen.query_one(RingPane).has_class("-lit")
        await click(seen, TabLine, 16, 0)
        assert pane.tab == "changes"
        await click(seen, ForkTree, 8, 2, times=2)
        assert seen.app.screen.query_one(RingPane).border_title == "ring of voyage.fork-1"


async def test_the_wheel_moves_and_a_click_goes_to_a_line_and_opens_it(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(120, 24)) as seen:
        text = seen.app.screen.query_one(Document)
        await seen.press("enter", "home")
        for _ in range(2):
            await seen.pilot._post_mouse_events([MouseScrollDown], Document)
        assert text._seen()[0][0].item > 2
        for _ in range(4):
            await seen.pilot._post_mouse_events([MouseScrollUp], Document)
        assert text._seen()[0][0].item == 0
        region = text.region
        call = next(at for at in range(region.height) if "▸ weather" in seen.lines[region.y + at])
        await click(seen, Document, 4, call, times=2)
        assert any("arguments" in line for line in seen.lines)
        await click(seen, Document, 4, call)
        assert not any("arguments" in line for line in seen.lines)


async def test_the_last_line_keeps_the_way_out_where_there_is_little_room(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(60, 20)) as seen:
        assert "enter read it" in seen.lines[-1] and "q leave ? keys w waiting room" in seen.lines[-1]
        assert "fork from here" not in seen.lines[-1]  # there is no room for it
        keys = seen.app.screen.query_one(KeyLine)
        await click(seen, KeyLine, seen.lines[-1].index("? keys") + 1 - keys.region.x, 0)
        assert isinstance(seen.app.screen, HelpScreen)


async def test_a_move_in_the_ring_lays_nothing_out_anew(tui: Open, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = 0
    lay_out = Screen._refresh_layout

    def counted(self: Screen[object], *args: object, **more: object) -> None:
        nonlocal laid_out
        laid_out += 1
        lay_out(self, *args, **more)  # type: ignore[arg-type]

    async with tui(store, "voyage", size=(160, 48)) as seen:
        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        await seen.press("down", "down", "up", "end", "enter", "3", "escape")
        assert not laid_out
        await seen.press("left", "home")
        assert laid_out  # another session is another ring
