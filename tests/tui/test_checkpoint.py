"""A checkpoint and its tabs, as a person reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.tui.state.checkpoint_view import TABS
from lousho_cli.tui.widgets.checkpoint import CheckpointPane
from lousho_cli.tui.widgets.document import Document
from tests.tui.conftest import Open, Seen
from tests.tui.test_ring import still
from tests.tui.voyage import voyage


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    return await voyage(tmp_path)


def document(seen: Seen) -> list[str]:
    """What can be seen of the open tab, line by line."""
    region = seen.app.screen.query_one(Document).region
    return [line[region.x : region.right - 1].rstrip() for line in seen.lines[region.y : region.bottom]]


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_every_tab_has_its_picture(tui: Open, store: Path, size: tuple[int, int]) -> None:
    async with tui(store, "voyage@2.2", size=size) as seen:
        await seen.press("enter")
        await seen.until(lambda: "search" in seen.lines[-1])
        for number, tab in enumerate(TABS, 1):
            await seen.press(str(number))
            assert seen.app.screen.query_one(CheckpointPane).tab == tab
            await still(seen)
            seen.picture(f"tab-{tab}")
        await seen.press("right_square_bracket", "left_square_bracket", "left_square_bracket")
        assert seen.app.screen.query_one(CheckpointPane).tab == "usage"


async def test_a_call_is_opened_and_closed_and_the_person_goes_out_to_the_left(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(120, 40)) as seen:
        await seen.press("enter", "home")
        assert not any("arguments" in line for line in document(seen))
        await seen.press(*["down"] * 9)
        assert document(seen)[9].startswith("  ▸ trains")
        await seen.press("enter")
        assert "05:00  platform 1  Cascais" in "\n".join(document(seen))
        await seen.press("pagedown", "pagedown")
        assert "page 2 of 4" in "\n".join(document(seen))
        await seen.press("home", *["down"] * 9, "right", "left", "left")
        assert document(seen)[9].startswith("  ▸ trains")
        await seen.press("left", "left")
        assert not seen.app.screen.query_one(Document).has_focus


async def test_everything_is_folded_markdown_is_shown_as_written_and_messages_are_jumped_to(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(120, 40)) as seen:
        await seen.press("enter", "z")
        assert [line.split(" ")[1] for line in document(seen)[:5]] == ["system", "user", "assistant", "assistant", "assistant"]
        await seen.press("z", "v")
        assert "  # Two days in Lisbon" in document(seen)
        await seen.press("v", "home", "right_curly_bracket", "right_curly_bracket", "left_curly_bracket")
        assert "  Two days in Lisbon" in document(seen)


async def test_a_search_counts_jumps_and_opens_what_hides_the_place(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(120, 40)) as seen:
        pane = seen.app.screen.query_one(CheckpointPane)
        await seen.press("enter", "home", "slash")
        await seen.type("platform 2")
        assert str(pane.border_subtitle) == "platform 2: 1 of 57"
        assert any("05:05  platform 2" in line for line in document(seen))  # its call was closed
        await seen.press("enter", "n")
        assert str(pane.border_subtitle) == "platform 2: 2 of 57"
        await seen.press("N", "N")
        assert str(pane.border_subtitle) == "platform 2: 57 of 57"
        assert any("23:45  platform 2  Cascais" in line for line in document(seen))  # on a page that was never drawn
        await still(seen)
        seen.picture("search")
        await seen.press("escape")
        assert str(pane.border_subtitle) == "" and seen.app.screen.query_one(Document).has_focus
        await seen.press("slash")
        await seen.type("nowhere")
        assert str(pane.border_subtitle) == "nowhere: not found"
        await seen.press("enter", "n", "escape", "4", "slash")
        await seen.type("two days")
        assert "two days: 1 of" in str(pane.border_subtitle)
