"""Servers of the official SDK, as most are: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.errors import AskPerson, McpServerError, SignInRequired
from lousho_cli.tools.mcp.failures import McpToolError


@pytest.mark.slow  # the SDK takes a second to load, here and in the server
async def test_over_standard_input_and_output(sdk: Any, opened: Any, call: Any, make_call: Any, notes: Any) -> None:
    async with opened(sdk, "fs") as tools:
        add, wipe, echo = tools["add"], tools["wipe"], tools["echo"]
        assert (add.name, add.description, add.schema["required"]) == ("fs__add", "Adds two numbers.", ["a", "b"])
        assert (add.needs_approval, add.replay, add.read_only) == (False, "safe", True)
        assert (wipe.needs_approval, wipe.replay, wipe.read_only) == (True, None, False)
        assert echo.needs_approval, "it says nothing of itself"
        assert add.validate({"a": "1"})[1][0].path == "b"
        assert await add.call({"a": 1, "b": 2}, call.context) == {"result": 3}
        assert await tools["picture"].call({}, call.context) == "a map\n[image image/png, 6 bytes, not shown]"
        with pytest.raises(McpToolError, match="no such place"):
            await tools["fails"].call({}, call.context)
        assert len((await tools["big"].call({"size": 3_000_000}, call.context))["result"]) == 3_000_000
        assert "List roots not supported" in (await tools["names_roots"].call({}, call.context))["result"]
        await _answers_in_a_row(tools["book"], make_call, notes)
        with pytest.raises(SignInRequired):
            await tools["opens"].call({}, call.context)
        assert await tools["opens"].call({}, make_call(answers=("",)).context) == {"result": "signed in: accept"}


async def _answers_in_a_row(book: Any, make_call: Any, notes: Any) -> None:
    """A tool that asks twice: each time it runs again from its beginning, with the answers so far."""
    with pytest.raises(AskPerson) as caught:
        await book.call({}, make_call().context)
    said = "The MCP server fs asks: Who travels?\n- name (string): Name\n- seats (integer): how many places\nAnswer with a JSON object"
    assert caught.value.text.startswith(said)
    wrong, right = '{"name": "Ann", "seats": 20}', '{"name": "Ann", "seats": 2}'
    with pytest.raises(AskPerson, match="^That was no answer: seats: 20 is greater than the maximum of 9"):
        await book.call({}, make_call(answers=(wrong,)).context)
    with pytest.raises(AskPerson, match="How") as caught:
        await book.call({}, make_call(answers=(wrong, right)).context)
    assert caught.value.options == ("train", "bus")
    done = await book.call({}, make_call(answers=(wrong, right, "bus")).context)
    assert done == {"booked": True, "name": "Ann", "seats": 2, "way": "bus"}
    assert notes.lines.count("book begins") == 4
    assert notes.lines.count("booked") == 1, "a call that waits for an answer goes no further"
    names = ("Bob", "Cid")
    calls = [book.call({}, make_call(answers=(json.dumps({"name": name, "seats": 1}), "train")).context) for name in names]
    assert [one["name"] for one in await asyncio.gather(*calls)] == ["Bob", "Cid"], "each gets its own answers"


@pytest.mark.slow  # the same, with a server that is started twice
async def test_over_http(web: Any, opened: Any, call: Any, make_call: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("WEB_TOKEN", "Bearer right")
    settings = {"url": web.url, "headers_env": {"Authorization": "WEB_TOKEN"}}
    async with opened(settings, "web") as tools:
        assert await tools["add"].call({"a": 1, "b": 2}, call.context) == {"result": 3}
        with pytest.raises(AskPerson, match="The MCP server web asks: Hello whom"):
            await tools["greet"].call({}, call.context)
        pairs = [("Hi", "Ann"), ("Ho", "Bob"), ("Hey", "Cid")]
        calls = [tools["greet"].call({"greeting": word}, make_call(answers=(name,)).context) for word, name in pairs]
        assert [one["result"] for one in await asyncio.gather(*calls)] == ["Hi Ann", "Ho Bob", "Hey Cid"], "each gets its own answer"
        with pytest.raises(McpToolError, match="^the MCP server web is gone: its connection was closed"):
            await tools["dies"].call({}, call.context)
        web.stop()
        web.start()
        assert await tools["add"].call({"a": 2, "b": 2}, call.context) == {"result": 4}
    monkeypatch.setenv("WEB_TOKEN", "Bearer wrong")
    with pytest.raises(McpServerError, match="HTTP 401: it wants a token or a key, which headers_env sends") as caught:
        async with opened(settings, "web"):
            pytest.fail("it was opened")
    assert "wrong" not in str(caught.value)


async def test_an_address_where_nobody_listens(opened: Any) -> None:
    with pytest.raises(McpServerError, match="the MCP server web can not be used: ConnectError"):
        async with opened({"url": "http://127.0.0.1:1/mcp"}, "web"):
            pytest.fail("it was opened")
