"""A server over HTTP that forgets its sessions, proxies on the way, and what a header may hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError

RESULTS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}},
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "added"}]},
}


class Small:
    """A server with one tool and one session at a time, which it may ``forget``."""

    def __init__(self) -> None:
        self.session = 1
        self.calls: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.asked_as_proxy = 0

    def forget(self) -> None:
        self.session += 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            first, *rest = head.strip().split("\r\n")
            self.asked_as_proxy += "http://" in first
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.headers.append(headers)
            status, told, extra = self.answer(first.partition(" ")[0], headers, json.loads(body) if body else {})
            data = json.dumps(told).encode() if told else b""
            lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(data)}", *extra, "", ""]
            writer.write("\r\n".join(lines).encode() + data)
            await writer.drain()

    def answer(self, verb: str, headers: dict[str, str], asked: dict[str, Any]) -> tuple[str, Any, list[str]]:
        method = asked.get("method")
        if verb != "POST":
            return "405 no", None, []
        if method != "initialize" and headers.get("mcp-session-id") != str(self.session):
            return "404 Not Found", {"jsonrpc": "2.0", "id": asked.get("id"), "error": {"code": -32600, "message": "Session not found"}}, []
        if "id" not in asked:
            return "202 Accepted", None, []
        if method == "tools/call":
            self.calls.append(self.session)
        extra = [f"Mcp-Session-Id: {self.session}"] if method == "initialize" else []
        return "200 OK", {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[str(method)]}, extra


@pytest.fixture
async def small() -> AsyncIterator[Any]:
    server = Small()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await server.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    server.url = f"http://127.0.0.1:{server.port}/mcp"  # type: ignore[attr-defined]
    async with listening:
        yield server


async def test_a_server_that_forgot_its_session_is_greeted_again_and_the_call_made_once(small: Any, opened: Any, call: Any) -> None:
    async with opened({"url": small.url}) as tools:
        for _ in range(6):  # more often than a server that dies is started again
            assert await tools["add"].call({}, call.context) == "added"
            small.forget()
    assert small.calls == [1, 2, 3, 4, 5, 6]


async def test_calls_side_by_side_over_a_session_that_is_lost(small: Any, opened: Any, make_call: Any) -> None:
    async with opened({"url": small.url}) as tools:
        small.forget()
        assert await asyncio.gather(*(tools["add"].call({}, make_call().context) for _ in range(3))) == ["added"] * 3


async def test_a_server_on_this_machine_is_asked_past_the_proxies_of_the_environment(
    small: Any, opened: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with opened({"url": small.url}) as tools:
        assert await tools["add"].call({}, call.context) == "added"


async def test_any_other_server_is_asked_through_them(small: Any, opened: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{small.port}")
    async with opened({"url": "http://mcp.test/mcp"}) as tools:
        assert await tools["add"].call({}, call.context) == "added"
    assert small.asked_as_proxy


async def test_blanks_around_a_value_are_not_sent(small: Any, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_TOKEN", " Bearer right \n")
    async with opened({"url": small.url, "headers_env": {"Authorization": "WEB_TOKEN"}}):
        assert small.headers[0]["authorization"] == "Bearer right"


@pytest.mark.parametrize("value", ["hidden ", "hidden\r\nx: y", "hiddén"])
async def test_a_value_that_can_not_be_sent_is_named_and_not_told(opened: Any, value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"mcp_servers\.s\.headers\.X-Tok: holds what no header can") as caught:
        async with opened({"url": "http://127.0.0.1:1/mcp", "headers": {"X-Tok": value}}):
            pytest.fail("it was opened")
    assert "hidd" not in str(caught.value)
