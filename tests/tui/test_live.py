"""A session that another process drives, as a person sees it meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.ring_list import RingList
from tests.tui.conftest import Open
from tests.tui.test_ring import bytes_of

ROOT = Path(__file__).parents[2]


class Other:
    """The other process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def does(self, *things: str) -> None:
        """Returns once they are in the log."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(*things, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline().split() == list(things)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def other(where: str) -> Iterator[Other]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tui.leaving_process", where],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Other(process)
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_case_215_what_another_process_writes_is_seen_and_the_person_stays_where_they_read(
    tui: Open, tmp_path: Path, kind: str
) -> None:
    where = f"sqlite:{tmp_path / 'l.db'}" if kind == "sqlite" else str(tmp_path / "s")
    with other(where) as process:
        process.does("begin", "turn")
        before = bytes_of(tmp_path) if kind == "file" else {}
        async with tui(where, "live", size=(120, 30), follow=True) as seen:
            await seen.until(lambda: "calls weather" in seen.text)
            assert {path: bytes_of(tmp_path).get(path) for path in before} == before  # not even that somebody looks on
            await seen.until(lambda: "▶ now goes on" in seen.text)
            process.does("start")
            await seen.until(lambda: "▶ now runs weather" in seen.text)
            process.does("result", "write")
            await seen.until(lambda: "is being written" in seen.text and "Take the coast," in seen.text)
            process.does("more")
            await seen.until(lambda: "then the cliff path." in seen.text)
            await seen.pilot.press("enter")
            text = seen.app.screen.query_one(Document)
            await seen.until(lambda: text.has_focus)
            await seen.pilot.press("home")
            process.does("end")
            await seen.until(lambda: "“Take the coast" in seen.text and "3 checkpoints" in seen.text)
            await seen.until(lambda: "is being written" not in seen.text)
            assert text._at.item == 0


async def test_a_process_that_is_killed_is_told_to_be_gone(tui: Open, tmp_path: Path) -> None:
    with other(str(tmp_path)) as process:
        process.does("begin", "turn", "start")
        async with tui(tmp_path, "live", size=(120, 30), follow=True) as seen:
            await seen.until(lambda: "▶ now runs weather" in seen.text)
            process.kill()
            await seen.until(lambda: "✗ now cut while weather ran" in seen.text)
            await seen.until(lambda: "cut while weather ran · nobody" in seen.text)
            row = seen.app.screen.query_one(RingList).current
            assert row is not None and row.address == "live"
