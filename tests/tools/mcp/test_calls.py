"""Calls: what comes back, what a call that fails tells the model, servers that die and are started again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.errors import AskPerson, SignInRequired
from lousho_cli.tools.mcp.failures import McpToolError


async def test_results_reach_the_model_as_text_or_data(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw()) as tools:
        assert await tools["echo"].call({"deep": [1, {"a": None}]}, call.context) == '{"echo": {"deep": [1, {"a": null}]}}'
        both = await tools["structured"].call({}, call.context)
        assert both == {"content": "about 2 things", "structuredContent": {"things": [1, None], "big": 2**70}}
        assert await tools["odd"].call({}, call.context) == "[image image/png, 3 bytes, not shown]\n[resource map file:///map]\ninside"


async def test_text_that_is_none_is_mended_where_it_can_be(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw(timeout_ms=5_000)) as tools:
        assert await tools["torn"].call({}, call.context) == "a\ufffdb\ufffd"


async def test_an_error_of_a_tool_and_a_refusal_are_told(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw(), "fs") as tools:
        with pytest.raises(McpToolError, match="^no such place$"):
            await tools["fails"].call({}, call.context)
        with pytest.raises(McpToolError, match="^the MCP server fs: not with these$"):
            await tools["refuses"].call({}, call.context)


async def test_a_server_that_dies_in_a_call_is_named_and_started_again_for_the_next(raw: Any, opened: Any, call: Any, notes: Any) -> None:
    async with opened(raw(), "fs") as tools:
        with pytest.raises(McpToolError) as caught:
            await tools["dies"].call({}, call.context)
        said = "the MCP server fs is gone: its connection was closed; it ended with exit code 7; it said: cannot open the database"
        assert str(caught.value) == said
        assert await tools["echo"].call({}, call.context) == '{"echo": {}}'
        assert len(notes.pids) == 2


async def test_what_a_server_was_lent_is_not_told_in_its_complaints(raw: Any, opened: Any, call: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("LENT", "ghp_0123456789")
    async with opened(raw(pass_env=["LENT"])) as tools:
        with pytest.raises(McpToolError, match=r"cannot open the database \[secret\]$"):
            await tools["dies"].call({}, call.context)


async def test_nor_is_a_secret_that_a_program_gave_it(raw: Any, opened: Any, call: Any) -> None:
    settings = raw()
    settings["env"] |= {"LENT": "ghp_0123456789", "LENT_TOKEN": "ghp_0123456789"}
    async with opened(settings) as tools:
        with pytest.raises(McpToolError, match=r"cannot open the database \[secret\]$"):
            await tools["dies"].call({}, call.context)


async def test_a_server_that_dies_each_time_is_not_started_for_ever(raw: Any, opened: Any, call: Any, notes: Any) -> None:
    async with opened(raw(), "fs") as tools:
        for _ in range(4):
            with pytest.raises(McpToolError, match="exit code 7"):
                await tools["dies"].call({}, call.context)
        with pytest.raises(McpToolError, match="died 4 times in this run and is not started again"):
            await tools["echo"].call({}, call.context)
        assert len(notes.pids) == 4


async def test_a_server_that_died_between_calls_is_started_again_unseen(raw: Any, opened: Any, call: Any, notes: Any, helpers: Any) -> None:
    import os
    import signal

    async with opened(raw()) as tools:
        os.kill(notes.pids[0], signal.SIGKILL)
        await helpers.until_async(lambda: not helpers.lives(notes.pids[0]))
        await helpers.until_async(lambda: not tools["echo"]._server._connection.alive)
        assert await tools["echo"].call({}, call.context) == '{"echo": {}}'


async def test_a_call_that_takes_too_long_is_cancelled_there_too(raw: Any, opened: Any, call: Any, notes: Any, helpers: Any) -> None:
    async with opened(raw(timeout_ms=1000), "fs") as tools:
        with pytest.raises(McpToolError, match="^the MCP server fs: did not answer within 1 s$"):
            await tools["hangs"].call({}, call.context)
        await helpers.until_async(lambda: "notifications/cancelled" in notes.lines)
        assert await tools["echo"].call({}, call.context) == '{"echo": {}}'


async def test_an_abort_cancels_the_call_there_too(raw: Any, opened: Any, call: Any, notes: Any, helpers: Any) -> None:
    async with opened(raw(), "fs") as tools:
        hanging = asyncio.ensure_future(tools["hangs"].call({}, call.context))
        await helpers.until_async(lambda: "call hangs" in notes.lines)
        call.signal.abort()
        with pytest.raises(McpToolError, match="stopped because the run was aborted"):
            await hanging
        await helpers.until_async(lambda: "notifications/cancelled" in notes.lines)


async def test_a_task_that_is_cancelled_cancels_its_call(raw: Any, opened: Any, call: Any, notes: Any, helpers: Any) -> None:
    async with opened(raw()) as tools:
        hanging = asyncio.ensure_future(tools["hangs"].call({}, call.context))
        await helpers.until_async(lambda: "call hangs" in notes.lines)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        await helpers.until_async(lambda: "notifications/cancelled" in notes.lines)


async def test_the_lists_of_several_pages_are_one(raw: Any, opened: Any) -> None:
    async with opened(raw("two-pages")) as tools:
        assert list(tools)[:3] == ["asks_two", "deafens", "dies"], "in an order that is always the same"
        assert len(tools) == 13


async def test_a_server_that_knows_only_the_newer_protocol_asks_by_its_results(raw: Any, opened: Any, call: Any, make_call: Any) -> None:
    async with opened(raw("modern-only"), "fs") as tools:
        with pytest.raises(AskPerson, match="The MCP server fs asks: Say it"):
            await tools["asks_two"].call({}, call.context)
        with pytest.raises(AskPerson, match="Say it"):
            await tools["asks_two"].call({}, make_call(answers=("one",)).context)
        done = await tools["asks_two"].call({}, make_call(answers=("one", '{"x": "two"}')).context)
        assert '"content": {"x": "one"}' in done
        assert '"content": {"x": "two"}' in done
        assert done.endswith('"st"]')


async def test_a_refusal_that_wants_a_sign_in_asks_for_one(raw: Any, opened: Any, call: Any) -> None:
    async with opened(raw(), "fs") as tools:
        with pytest.raises(SignInRequired) as caught:
            await tools["signs_in"].call({}, call.context)
        assert caught.value.url == "https://example.com/in"
        with pytest.raises(McpToolError, match="first sign in"):
            await tools["signs_in"].call({"url": "javascript:alert(1)"}, call.context)


async def test_a_server_sees_the_variables_it_is_given_and_no_others(raw: Any, opened: Any, monkeypatch: Any) -> None:
    from lousho_cli.tools.mcp.spec import spec_from
    from lousho_cli.tools.mcp.stdio import environment

    ours = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "OTHER": "o"}
    spec = spec_from("gh", {"command": "gh", "env": {"PATH": "/usr/bin", "A": "1"}, "pass_env": ["GITHUB_TOKEN", "MISSING"]})
    assert environment(spec, ours) == {"PATH": "/usr/bin", "GITHUB_TOKEN": "t", "A": "1"}
