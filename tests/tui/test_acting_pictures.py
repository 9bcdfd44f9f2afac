"""What acting looks like, on a small terminal and on a wide one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.widgets import Checkbox, Select

from lousho_cli.app.results import PendingItem
from lousho_cli.tui.deeds import Deed
from lousho_cli.tui.screens.deed import DeedScreen
from lousho_cli.tui.widgets.json_editor import JsonEditor
from tests.tui.acting_bench import words
from tests.tui.conftest import Open, Seen

SIZES = pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])


@pytest.fixture
def here(sample: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The sample, where commands find it without being told."""
    sample.rename(folder / ".lousho")
    return Path(".lousho")


@SIZES
async def test_what_acting_looks_like(tui: Open, here: Path, size: tuple[int, int]) -> None:
    async with tui(here, "booking", size=size) as seen:
        await seen.press("a")
        seen.picture("approve")
        for said in ("5f2c8e0d9a1b3c4d", '"people": 4', "lousho approve 7f3a9c1e2b4d", "lousho reject 7f3a9c1e2b4d", "may cost money"):
            assert said in words(seen)
        await seen.press("shift+tab", "shift+tab", "shift+tab")
        editor = seen.app.screen.query_one(JsonEditor)
        assert editor.has_focus
        editor.text = editor.text.replace("4", "four")
        await seen.rest()
        seen.picture("edit")
        assert "is not JSON" in words(seen)
        await seen.press("escape", "escape")
        await _fork(seen)
        await seen.press("escape")
        seen.app.marked = ("trip", "trip.fork-1")
        await seen.press("c")
        seen.picture("compare")
        assert "trip and trip.fork-1 part at step" in words(seen)
        seen.app.marked = ()
        _tell(seen)
        await seen.rest()
        seen.picture("running")


async def _fork(seen: Seen) -> None:
    seen.app.screen.open("trip@1")
    await seen.rest()
    await seen.press("f")
    await seen.until(lambda: "nothing runs" in words(seen))
    seen.app.screen.query_one("#call", Select).value = "call_weather"
    await seen.rest()
    seen.app.screen.query_one("#result", JsonEditor).text = '{"forecast": "rain"}'
    seen.app.screen.query_one("#run", Checkbox).value = True
    await seen.until(lambda: "may cost money" in words(seen) and not seen.app.screen.query_one("#fork").disabled)
    await seen.press("escape")
    seen.picture("fork-form")


def _tell(seen: Seen) -> None:
    from lousho_cli.domain import events as e

    deed = Deed("approve book_table", "lousho approve 7f3a9c1e2b4d", "booking")
    for event in (
        e.ApprovalDecided(id="7f3a9c1e2b4d", approved=True),
        e.ToolStart(id="call_book", name="book_table", step=1),
        e.ToolDone(id="call_book", name="book_table", content='{"reference":"CLM-2041"}', step=1),
        e.StepStart(step=2),
        e.TextDelta(text="Done: your table is **booked**, reference CLM-2041. They hold it", step=2),
    ):
        deed.on_event(event)
    seen.app.actor.deeds.append(deed)
    seen.app.push_screen(DeedScreen(deed))


HOSTILE = ("[/dim] [b arr[0] [src: /a?b=2-]", "a\x1b[31mred\x1b]0;t\x07\x00\x9b1m\u202eevil\u200bzero\ufeff")


async def test_case_211_and_213_text_of_strangers_is_text_wherever_something_is_done(tui: Open, here: Path) -> None:
    async with tui(here, size=(160, 48)) as seen:
        for text in HOSTILE:
            for screen in await _screens(seen, text):
                assert not {letter for letter in screen if letter != "\n" and not letter.isprintable()}
                assert (text if "\x1b" not in text else "evil") in screen


async def _screens(seen: Seen, text: str) -> list[str]:
    """The screens on which something is done that holds a text wherever a stranger can put one."""
    item = PendingItem(
        id="7f3a9c1e2b4d",
        session="booking",
        tool="book" + text,
        args={text: [text]},
        digest="5f2c",
        created_at="2026-01-02T11:31:00.000Z",
        kind="tool",
        path=(text,),
        reason=text,
    )
    question = msgspec.structs.replace(item, kind="question", question=text, options=(text, "other"))
    deed = Deed(text, f"lousho {text}", "s")
    deed.tell(text)
    deed.warn(text)
    deed.end("failed", text)
    screens = []
    for screen in (seen.app.decision_screen(item, "approve"), seen.app.decision_screen(question, "approve"), DeedScreen(deed)):
        seen.app.push_screen(screen)
        await seen.rest()
        screens.append(seen.text)
    seen.app.say(text)
    return screens


def test_nothing_hides_in_what_is_edited() -> None:
    import json

    from lousho_cli.tui.plain import json_text

    value: Any = {"a": HOSTILE[1] + "é 日本 \ud800 \U000e0041"}
    text = json_text(value)
    assert json.loads(text) == value
    assert all(letter == "\n" or letter.isprintable() for letter in text)
    assert "\u200b" not in text and "é 日本" in text
