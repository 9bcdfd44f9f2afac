"""Servers to call: one written by hand that starts fast, and those of the official SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.mcp.opening import mcp_tools

HERE = Path(__file__).parent


class Notes:
    """What a server wrote down."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    @property
    def pids(self) -> list[int]:
        return [int(line.removeprefix("pid ")) for line in self.lines if line.startswith("pid ")]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


Raw = Callable[..., dict[str, Any]]


@pytest.fixture
def raw(notes: Notes) -> Raw:
    """The settings of the server written by hand. ``mode``: what is wrong with it. ``tools``: what it lists."""

    def settings(mode: str = "", tools: Any = None, **further: Any) -> dict[str, Any]:
        env = {"MODE": mode, "NOTES": str(notes.path)} | ({"TOOLS": json.dumps(tools)} if tools is not None else {})
        return {"command": sys.executable, "args": ["-S", "-E", str(HERE / "raw_server.py")], "env": env, **further}

    return settings


@pytest.fixture
def sdk(notes: Notes) -> dict[str, Any]:
    """The settings of the SDK's server on standard input and output."""
    return {"command": sys.executable, "args": [str(HERE / "stdio_server.py")], "env": {"NOTES": str(notes.path)}}


Opened = Callable[..., AbstractAsyncContextManager[dict[str, Tool]]]


@pytest.fixture
def opened() -> Opened:
    """The tools of one server, by their own names."""
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def opening(settings: dict[str, Any], name: str = "s"):
        async with mcp_tools({name: settings}) as tools:
            yield {tool.name.removeprefix(f"{name}__"): tool for tool in tools}

    return opening


class WebServer:
    """The SDK's server over HTTP, which can be killed and started again at the same port."""

    def __init__(self, token: str = "") -> None:
        self._env = os.environ | {"TOKEN": token}
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "http_server.py")],
            env=self._env | {"PORT": str(self.port)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer(token="right")
    yield server
    server.stop()
