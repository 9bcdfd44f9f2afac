"""Servers that do what no server should: each ends in a clear error or is lived with, and none hangs."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from typing import Any

import pytest

from lousho_cli.errors import McpServerError


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("silent", "did not answer within 0.5 s"),
        ("never-lists", "did not answer within 0.5 s"),
        ("pages", "lists its tools without end"),
        ("old", "Unsupported protocol version from the server: 1999-01-01"),
        ("only-garbage", "it wrote what is no message: Welcome!  Listening."),
    ],
)
async def test_a_server_that_can_not_be_used_is_named_with_the_reason(raw: Any, opened: Any, mode: str, said: str) -> None:
    with pytest.raises(McpServerError) as caught:
        async with opened(raw(mode, connect_timeout_ms=500 if "0.5" in said else 10_000), "fs"):
            pytest.fail("it was opened")
    assert caught.value.code == "LOUSHO_MCP_SERVER_FAILED"
    assert caught.value.server == "fs"
    assert "the MCP server fs can not be used" in caught.value.detail
    assert said in caught.value.detail
    assert caught.value.detail.isprintable()


async def test_pages_that_always_go_on_are_left(raw: Any, opened: Any) -> None:
    with pytest.raises(McpServerError, match="without end"):
        async with opened(raw("endless-pages")):
            pytest.fail("it was opened")


async def test_lines_that_are_no_messages_are_passed_over(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw("garbage")) as tools:
        assert await tools["echo"].call({"a": 1}, call.context) == '{"echo": {"a": 1}}'


async def test_a_line_without_an_end_ends_the_server(raw: Any, opened: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("lousho_cli.tools.mcp.stdio.MAX_LINE_BYTES", 2 * 1024 * 1024)
    with pytest.raises(McpServerError, match="a line of more than 2 MiB"):
        async with opened(raw("endless-line")):
            pytest.fail("it was opened")


async def test_a_server_that_floods_its_complaints_still_answers(raw: Any, opened: Any, call: Any, capfd: Any) -> None:
    async with opened(raw("floods")) as tools:
        assert await tools["echo"].call({}, call.context) == '{"echo": {}}'
    assert capfd.readouterr() == ("", "")


async def test_tools_of_one_name_are_one_and_odd_names_are_made_valid(raw: Any, opened: Any, call: Any) -> None:
    listed = [
        {"name": "twice", "description": "first", "inputSchema": {"type": "object"}},
        {"name": "twice", "description": "second", "inputSchema": {"type": "object"}},
        {"name": "a b", "inputSchema": {"type": "object"}},
        {"name": "a\x1b[31mb\x00", "description": "red \x1b[31malert\x1b[0m\x07\nnext", "inputSchema": {"type": "object"}},
        {"name": "n" * 200, "inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {"type": "object"}},
    ]
    async with opened(raw(tools=listed)) as tools:
        assert len(tools) == 5
        assert all(len(tool.name) <= 64 and tool.name.replace("-", "_").isidentifier() for tool in tools.values())
        assert tools["twice"].description == "first"
        red = next(tool for name, tool in tools.items() if "31mb" in name)
        assert red.description == "red alert\nnext"
        assert await red.call({}, call.context) == '{"a\\u001b[31mb\\u0000": {}}'  # called by the name its server knows


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "tools.0.inputSchema.type"),
        ({"type": "object", "properties": {"a": {"type": "thing"}}}, "its tool 't' can not be used: this is no JSON Schema"),
        ([], "inputSchema"),
        ("nothing", "inputSchema"),
    ],
)
async def test_a_schema_that_is_none_is_named(raw: Any, opened: Any, schema: Any, said: str) -> None:
    with pytest.raises(McpServerError, match=said):
        async with opened(raw(tools=[{"name": "t", "inputSchema": schema}])):
            pytest.fail("it was opened")


async def test_a_tool_with_a_schema_that_is_none_can_be_left_out(raw: Any, opened: Any) -> None:
    listed = [
        {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": {"type": 3}}}},
        {"name": "good", "inputSchema": {"type": "object"}},
    ]
    async with opened({**raw(tools=listed), "tools": ["good"]}) as tools:
        assert list(tools) == ["good"]


async def test_a_server_without_tools_has_none(raw: Any, opened: Any) -> None:
    async with opened(raw("no-tools")) as tools:
        assert tools == {}


async def test_the_list_is_fixed_for_the_run(raw: Any, opened: Any, call: Any, make_call: Any, notes: Any, helpers: Any) -> None:
    import asyncio

    async with opened(raw("changes", timeout_ms=10_000)) as tools:
        hanging = asyncio.ensure_future(tools["hangs"].call({}, call.context))
        await helpers.until_async(lambda: "call hangs" in notes.lines)
        call.signal.abort()
        with pytest.raises(Exception, match="aborted"):
            await hanging
        assert await tools["echo"].call({}, make_call().context) == '{"echo": {}}'


async def test_what_it_asks_of_us_that_we_do_not_do_is_refused(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw()) as tools:
        assert "Sampling not supported" in await tools["samples"].call({}, call.context)


async def test_an_answer_that_is_none_is_an_error_of_the_call(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw(), "fs") as tools:
        with pytest.raises(Exception, match="the MCP server fs: it sent what the protocol does not know: .*content"):
            await tools["not_a_result"].call({}, call.context)
        assert await tools["echo"].call({}, call.context) == '{"echo": {}}'


async def test_a_server_that_reads_no_more_holds_up_nobody(raw: Any, opened: Any, call: Any, notes: Any, helpers: Any) -> None:
    async with opened(raw(timeout_ms=200), "fs") as tools:
        for args in ({}, {"much": "x" * 5_000_000}):
            with pytest.raises(Exception, match="the MCP server fs: did not answer within 0.2 s"):
                await tools["deafens"].call(args, call.context)
    assert not any(map(helpers.lives, notes.pids))


async def test_a_server_that_stays_is_killed_with_what_it_started(raw: Any, opened: Any, notes: Any, helpers: Any) -> None:
    async with opened(raw("stays")):
        assert len(notes.pids) == 2
    assert not any(map(helpers.lives, notes.pids))


def test_pipes_that_somebody_else_holds_open_are_closed_before_the_loop_is(
    raw: Any, opened: Any, notes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)

    async def run() -> None:
        async with opened(raw("leaves-one")):
            pass

    try:
        asyncio.run(run())
        gc.collect()
    finally:
        os.kill(notes.pids[-1], signal.SIGKILL)
    assert complaints == []
