"""A page in a real Chromium: what a person sees in it, what it asks for, and what goes wrong in it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

CHROMIUM = shutil.which("chromium")


class Seen:
    """The page that is open, what it asked for, and what went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.asked: list[str] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text))

    async def texts(self, selector: str) -> list[str]:
        found: list[str] = await self.page.locator(selector).all_inner_texts()
        return found

    async def open(self, summary: Any) -> None:
        """Clicks what a fold shows of itself, and waits until the page has filled it in: a browser tells of it a moment later."""
        one = await summary.element_handle()  # what it fills in may hold others of its kind
        await one.evaluate("one => { one.told = new Promise((done) => one.parentNode.addEventListener('toggle', done, { once: true })); }")
        await one.click()
        await one.evaluate("one => one.told.then(() => true)")


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def tab() -> AsyncIterator[Seen]:
    """One tab of one Chromium for all tests of pages."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield Seen(await browser.new_page())


@pytest_asyncio.fixture(loop_scope="session")
async def look(tab: Seen, tmp_path: Path) -> AsyncIterator[Any]:
    """Opens an HTML text as a file. A page may ask for nothing but itself, and nothing may go wrong in it."""

    async def open_page(html: str, *, height: int = 700, scheme: str = "light") -> Seen:
        file = tmp_path / "page.html"
        file.write_text(html, "utf-8")
        await tab.page.set_viewport_size({"width": 1000, "height": height})
        await tab.page.emulate_media(media="screen", color_scheme=scheme)
        await tab.page.goto(file.as_uri())
        return tab

    tab.asked.clear()
    tab.faults.clear()
    yield open_page
    assert [url for url in tab.asked if not url.endswith("/page.html")] == []
    assert tab.faults == []
