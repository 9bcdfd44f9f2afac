"""``mcp_tools`` with an executor and an agent object, as a program uses it."""

from __future__ import annotations

from typing import Any

import pytest

import lousho_cli
from lousho_cli import AgentExecutor, ConfigurationError, ScriptedProvider, create_agent, memory_store

CALL = {"text": "", "tool_calls": [{"name": "fs__asks_two", "args": {}, "id": "c1"}]}


async def test_a_run_with_tools_of_a_server_pauses_on_its_question_and_goes_on(raw: Any) -> None:
    store, provider = memory_store(), ScriptedProvider([CALL, "done"])
    async with lousho_cli.mcp_tools({"fs": raw("modern-only")}) as tools:
        agent = create_agent(provider, store=store, tools=tools)
        paused = await agent.send("go", "s")
        assert (paused.finish_reason, paused.status) == ("awaiting-approval", "awaiting-approval")
    async with lousho_cli.mcp_tools({"fs": raw("modern-only")}) as tools:  # another process, days later
        agent = create_agent(provider, store=store, tools=tools)
        again = await agent.approvals.answer(paused.approval_id, "one")
        assert again.finish_reason == "awaiting-approval"
        done = await agent.approvals.answer(again.approval_id, '{"x": "two"}')
    assert (done.text, done.status) == ("done", "finished")
    (result,) = [message.content for message in done.messages if message.role == "tool"]
    assert '\\"x\\": \\"one\\"' in result
    assert '\\"x\\": \\"two\\"' in result


async def test_an_executor_takes_them_beside_others(raw: Any) -> None:
    def own(a: int) -> int:
        return a + 1

    turn = {"text": "", "tool_calls": [{"name": "own", "args": {"a": 1}}, {"name": "fs__echo", "args": {"b": 2}}]}
    async with lousho_cli.mcp_tools({"fs": raw(), "other": raw("no-tools")}) as tools:
        listed = [*tools, lousho_cli.function_tool(own)]
        done = await AgentExecutor.execute({"name": "a"}, "go", ScriptedProvider([turn, "done"]), listed)
    assert [message.content for message in done.messages if message.role == "tool"] == ["2", '"{\\"echo\\": {\\"b\\": 2}}"']


@pytest.mark.parametrize(
    ("field", "settings", "said"),
    [
        ("tools", {"tools": ["eco"]}, "did you mean echo?"),
        ("approval", {"approval": {"dis": "always"}}, "did you mean dies?"),
    ],
)
async def test_a_tool_the_server_does_not_have_is_named(raw: Any, field: str, settings: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        async with lousho_cli.mcp_tools({"fs": {**raw(), **settings}}):
            pytest.fail("it was opened")
    assert caught.value.field == f"mcp_servers.fs.{field}"
    assert said in caught.value.detail


async def test_no_servers_are_no_tools_and_need_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lousho_cli.tools.mcp.opening.find_spec", lambda name: None)
    async with lousho_cli.mcp_tools({}) as tools:
        assert tools == []
    with pytest.raises(ConfigurationError, match=r"pip install 'lousho\[mcp\]'"):
        async with lousho_cli.mcp_tools({"fs": {"command": "x"}}):
            pytest.fail("it was opened")


async def test_one_server_that_can_not_be_started_closes_the_others(raw: Any, notes: Any, helpers: Any) -> None:
    with pytest.raises(lousho_cli.McpServerError, match="the MCP server b can not be used: can not start no-such-program"):
        async with lousho_cli.mcp_tools({"a": raw(), "b": {"command": "no-such-program"}}):
            pytest.fail("it was opened")
    assert not any(map(helpers.lives, notes.pids))
