"""A person in front of ``lousho tui``: a sample store, the program without a terminal, pictures of it."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from lousho_cli.tui.picture import svg_of
from lousho_cli.tui.program import Lousho
from lousho_cli.tui.reading import Reader
from tests.tui.sample import NOW
from tests.tui.sample import sample as write_sample

PICTURES = Path(__file__).parent / "pictures"


@pytest.fixture
async def sample(tmp_path: Path) -> Path:
    """A store with a session in every state, with fixed times and ids."""
    return await write_sample(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder below an empty home, and an environment that says nothing."""
    home = tmp_path / "home"
    here = home / "work"
    here.mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("LOUSHO_", "XDG_")) and name != "LOUSHO_PICTURES":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    return here


class Seen:
    """The program as a person sees it and presses its keys."""

    def __init__(self, app: Lousho, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    async def press(self, *keys: str) -> None:
        """Presses keys one after the other, each once what the one before began is done."""
        for key in keys:
            await self.pilot.press(key)
            await self.rest()

    async def type(self, text: str) -> None:
        """Types a text into what has the focus."""
        await self.pilot.press(*("space" if letter == " " else letter for letter in text))
        await self.rest()

    async def rest(self) -> None:
        """Waits until everything that was begun is done. Only where the program does not keep looking."""
        await self.until(lambda: not self.app.keys_wait)
        for _ in range(3):
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    async def until(self, fact: Callable[[], Any]) -> None:
        """Waits for a fact; fails when it does not come true."""
        for _ in range(2000):
            if fact():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("it never came true; the screen is:\n" + self.text)

    @property
    def lines(self) -> list[str]:
        """The screen as lines of text."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        """The screen as text."""
        return "\n".join(self.lines)

    def picture(self, name: str) -> None:
        """Compares the screen with the picture of this name; ``LOUSHO_PICTURES=new`` writes it instead."""
        path = PICTURES / f"{name}-{self.app.size.width}x{self.app.size.height}.svg"
        now = svg_of(self.app)
        if os.environ.get("LOUSHO_PICTURES") == "new":
            path.write_text(now, encoding="utf-8")
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if now != old:
            changed = difflib.unified_diff(_words(old), _words(now), "was", "is", lineterm="", n=0)
            raise AssertionError(f"{path.name} looks different; LOUSHO_PICTURES=new writes it anew:\n" + "\n".join(changed))


def _words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.replace("&#160;", " "))


Open = Callable[..., AbstractAsyncContextManager[Seen]]


async def _no_idling(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """In place of Textual's wait for a processor that has nothing to do, which on a busy machine takes a second a key."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.fixture
def tui(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the program on a store, without a terminal: ``async with tui(store, size=(80, 24)) as seen``."""

    monkeypatch.setattr("textual.app.wait_for_idle", _no_idling)
    monkeypatch.setattr("textual.pilot.wait_for_idle", _no_idling)

    @asynccontextmanager
    async def open_it(
        store: Path | str,
        session: str | None = None,
        *,
        size: tuple[int, int] = (160, 48),
        follow: bool = False,
        theme: str = "dark",
        agents: Sequence[str] = (),
    ) -> AsyncIterator[Seen]:
        app = Lousho(Reader(str(store)), session, now=lambda: NOW, follow=follow, agents=agents)
        app.theme = theme
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            seen = Seen(app, pilot)
            if not follow:
                await seen.rest()
            yield seen

    return open_it
