"""The waiting room: what waits for a person, with its exact arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.results import PendingItem
from lousho_cli.tui.screens.waiting_room import WaitingRoom
from lousho_cli.tui.state.waits import expires, wait_of
from tests.tui.sample import NOW

ITEM = PendingItem(
    id="7f3a9c1e2b4d",
    session="s",
    tool="book",
    args={"place": "Café", "people": 4},
    digest="5f2c",
    created_at="2026-01-02T11:31:00.000Z",
    kind="tool",
    path=("lead", "scout"),
    expires_at="2026-01-02T13:00:00.000Z",
)


def test_a_wait_whole() -> None:
    wait = wait_of(ITEM, NOW)
    facts = dict(wait.facts)
    assert facts["inside"] == "lead › scout"
    assert facts["digest"] == "5f2c"
    assert facts["since"].endswith("(29m ago)")
    assert facts["expires"].endswith("(in 1h)")
    assert "\n".join(wait.args) == '{\n  "place": "Café",\n  "people": 4\n}'
    assert wait.commands == ("lousho approve 7f3a9c1e2b4d", "lousho reject 7f3a9c1e2b4d")


@pytest.mark.parametrize(("at", "said"), [(None, ""), ("2026-01-02T11:59:59.000Z", "expired"), ("2026-01-02T12:05:00.000Z", "in 5m")])
def test_when_it_is_too_late(at: str | None, said: str) -> None:
    import msgspec

    assert expires(msgspec.structs.replace(ITEM, expires_at=at), NOW) == said


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_the_waiting_room(tui: Any, sample: Path, size: tuple[int, int]) -> None:
    async with tui(sample, size=size) as seen:
        await seen.press("w")
        seen.picture("waiting-room")
        for said in ("approve book_table", "5f2c8e0d9a1b3c4d", '"people": 4', "expires in 2d", "lousho approve 7f3a9c1e2b4d"):
            assert said in seen.text
        await seen.press("w")
        assert not isinstance(seen.app.screen, WaitingRoom)


async def test_enter_opens_the_session_that_waits(tui: Any, sample: Path) -> None:
    async with tui(sample, size=(80, 24)) as seen:
        await seen.press("w", "enter")
        assert not isinstance(seen.app.screen, WaitingRoom)
        assert seen.app.screen.has_class("-in-session")
        await seen.press("escape")
        from lousho_cli.tui.widgets.session_list import SessionList

        assert seen.app.query_one(SessionList).current == "booking"


async def test_nobody_waits(tui: Any, tmp_path: Path) -> None:
    async with tui(tmp_path, size=(80, 24)) as seen:
        await seen.press("w")
        assert "Nothing waits for a person" in seen.text
        await seen.press("enter", "escape")
        assert not isinstance(seen.app.screen, WaitingRoom)
