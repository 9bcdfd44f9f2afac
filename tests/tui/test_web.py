"""The program in a browser: nothing without the token, and with it the same keys as on a terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import ClientSession, WSServerHandshakeError, web

from lousho_cli.tui.web import guarded

CHROMIUM = shutil.which("chromium")


@asynccontextmanager
async def _served() -> AsyncIterator[str]:
    runner = web.AppRunner(await guarded(["tui"], "http://127.0.0.1:1", "right-token"), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_without_the_token_everything_is_forbidden() -> None:
    async with _served() as base, httpx.AsyncClient(base_url=base, trust_env=False) as client:
        for path in ("/", "/ws", "/static/js/textual.js", "/right-toke/", "/wrong/ws", "//right-token/", "/download/x", "/r%C3%A9/"):
            assert (await client.get(path)).status_code == 403, path
        page = await client.get("/right-token/")
        assert page.status_code == 200
        assert "/right-token/ws" in page.text
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert (await client.get("/right-token/static/js/textual.js")).status_code == 200
        async with ClientSession() as session:
            with pytest.raises(WSServerHandshakeError) as refused:
                await session.ws_connect(f"{base}/wrong/ws")
            assert refused.value.status == 403


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
async def test_in_a_browser(sample: Path) -> None:
    from playwright.async_api import async_playwright

    words = ["-m", "lousho_cli", "tui", "--web", "--store", str(sample)]
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    server = await asyncio.create_subprocess_exec(
        sys.executable, *words, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert server.stdout is not None
    try:
        address = (await asyncio.wait_for(server.stdout.readline(), 60)).decode().strip()
        assert address.startswith("http://127.0.0.1:")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            page = await browser.new_page(viewport={"width": 1000, "height": 600})
            drawn: list[bytes] = []
            asked: list[str] = []

            def listen(socket: Any) -> None:
                socket.on("framereceived", lambda data: drawn.append(data if isinstance(data, bytes) else data.encode()))

            page.on("websocket", listen)
            page.on("requestfinished", lambda request: asked.append(request.url))
            await page.goto(address)
            await _until(lambda: b"booking" in b"".join(drawn))
            await page.wait_for_function("document.activeElement.matches('.xterm-helper-textarea')")  # without a click
            await page.keyboard.press("w")
            await _until(lambda: b"5f2c8e0d9a1b3c4d" in b"".join(drawn))
            await page.keyboard.press("q")
            await page.wait_for_selector("body.-closed", state="attached", timeout=30_000)
            await browser.close()
        assert {url.split("/")[2] for url in asked if url.startswith("http")} == {address.split("/")[2]}
        server.terminate()
        assert await asyncio.wait_for(server.wait(), 30) == 143
    finally:
        if server.returncode is None:
            server.kill()


async def _until(fact: Any) -> None:
    async with asyncio.timeout(60):
        while not fact():
            await asyncio.sleep(0.02)
