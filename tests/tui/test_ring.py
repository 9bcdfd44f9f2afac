"""The ring and the fork tree, as a person moves in them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lousho_cli.tui.widgets.checkpoint import CheckpointPane
from lousho_cli.tui.widgets.ring import RingPane
from lousho_cli.tui.widgets.ring_list import RingList
from tests.tui.conftest import Open, Seen
from tests.tui.voyage import voyage


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    return await voyage(tmp_path)


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file below a folder, by what is in it and when it was written."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}" for path in files}


async def still(seen: Seen) -> None:
    """Waits until the last line is drawn too, which comes after all others."""
    await seen.until(lambda: "leave" in seen.lines[-1])
    await seen.pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_a_person_walks_through_a_ring(tui: Open, store: Path, size: tuple[int, int]) -> None:
    before = bytes_of(store)
    async with tui(store, "voyage", size=size) as seen:
        rows, checkpoint = seen.app.screen.query_one(RingList), seen.app.screen.query_one(CheckpointPane)
        assert rows.has_focus and checkpoint.address == "voyage@1/3.1"
        assert "6 checkpoints" in seen.text and "resumed, attempt 2" in seen.text
        await still(seen)
        seen.picture("ring")
        await seen.press("down")
        assert checkpoint.address == "voyage@1/2.2" and "voyage@1/2.2" in seen.text
        await seen.press("j", "j")
        assert checkpoint.address == "voyage@1/1.3"
        await seen.press("k")
        assert checkpoint.address == "voyage@1/2.1"
        await seen.press("end")
        assert checkpoint.address == "voyage@1/1.1"
        await seen.press("pageup", "home")
        assert checkpoint.address == "voyage@1/3.1"
        await seen.press("pagedown", "enter")
        assert not rows.has_focus
        await seen.press("escape")
        assert rows.has_focus
        await seen.press("left")
        assert not rows.has_focus
    assert bytes_of(store) == before


async def test_another_branch_is_opened_from_the_fork_tree(tui: Open, store: Path) -> None:
    async with tui(store, "voyage") as seen:
        await seen.press("tab")
        await seen.press("down", "enter")
        assert seen.app.screen.query_one(RingPane).border_title == "ring of voyage.fork-1"
        assert "forked from voyage at step 1" in seen.text and "from step 1" in seen.text
        await still(seen)
        seen.picture("fork")


async def test_an_address_opens_the_ring_at_that_checkpoint(tui: Open, store: Path) -> None:
    async with tui(store, "voyage@2.1") as seen:
        row = seen.app.screen.query_one(RingList).current
        assert row is not None and row.address == "voyage@1/2.1"
        assert seen.app.screen.query_one(CheckpointPane).address == "voyage@1/2.1"


async def test_a_session_that_went_away_is_said_and_the_program_goes_on(tui: Open, store: Path) -> None:
    import shutil

    async with tui(store, "voyage", follow=True) as seen:
        await seen.until(lambda: "6 checkpoints" in seen.text)
        shutil.rmtree(next(store.rglob("sessions/voyage")))
        await seen.until(lambda: "○ voyage  gone" in seen.text)
        await seen.pilot.press("down", "up", "enter")
        await seen.until(lambda: "forked from voyage at step 1" in seen.text)


async def test_damage_is_told_in_the_ring_by_sign_and_word(tui: Open, store: Path) -> None:
    log = next(store.rglob("sessions/voyage/log.jsonl"))
    lines = log.read_bytes().split(b"\n")
    lines[6] = lines[6][:-9] + b'damage"}]'
    log.write_bytes(b"\n".join(lines))
    async with tui(store, "voyage") as seen:
        assert "! damaged · " in seen.text
        assert any("! batches" in line for line in seen.lines)


async def test_sixteen_colours_are_enough(tui: Open, store: Path) -> None:
    async with tui(store, "voyage", size=(80, 24), theme="ansi-dark") as seen:
        assert "resumed, attempt 2" in seen.text
        await seen.press("enter", "t")
        assert "Tower of Belém" in seen.text
