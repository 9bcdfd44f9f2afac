from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.app.demos import DEMOS, demo
from lousho_cli.app.init_project import init_project
from lousho_cli.domain.messages import Message, user
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.ports.tool import ToolContext
from lousho_cli.providers.scripted import ScriptedProvider


class Never:
    aborted = False
    reason = None

    async def wait(self) -> None:
        await asyncio.Event().wait()


async def ask(agent, messages) -> Message:
    provider = ScriptedProvider(agent.provider.turns, repeat_last=agent.provider.repeat_last)
    turns = sum(message.role == "assistant" for message in messages)
    events = [event async for event in provider.stream(ModelRequest(tuple(messages), turns=turns))]
    assert isinstance(events[-1], Answer)
    return events[-1].message


async def play(agent, result=None) -> list[Message]:
    """The demo to its end, with the tool's own result or another."""
    tools = {tool.name: tool for tool in build_tools(agent)}
    messages = [user(agent.first_input)]
    messages.append(await ask(agent, messages))
    (call,) = messages[-1].tool_calls
    args, issues = tools[call.name].validate(json.loads(call.arguments))
    assert issues == ()
    content = result or json.dumps(await tools[call.name].call(args, ToolContext(call.id, call.name, "s", "k", Never())))
    messages.append(Message("tool", content, tool_call_id=call.id, tool_name=call.name))
    messages.append(await ask(agent, messages))
    return messages


def test_every_demo_says_something_by_itself(tmp_path):
    for name in DEMOS:
        agent = demo(name, tmp_path)
        assert (agent.name, agent.path, agent.address) == (name, None, name)
        assert agent.first_input
    with pytest.raises(ConfigurationError):
        demo("none", tmp_path)


async def test_trip_answers_from_the_forecast(tmp_path):
    agent = demo("trip", tmp_path)
    assert agent.first_input == "Plan my trip"
    sunny = await play(agent)
    assert [call.id for call in sunny[1].tool_calls] == ["call_weather"]
    assert "coast" in sunny[-1].text and "Rain" not in sunny[-1].text and not sunny[-1].tool_calls
    rainy = await play(agent, '{"forecast":"rain"}')
    assert "museum" in rainy[-1].text and rainy[-1].text != sunny[-1].text
    assert all(tool.replay == "safe" and not tool.needs_approval for tool in build_tools(agent))


async def test_booking_needs_approval_and_tells_the_reference(tmp_path):
    agent = demo("booking", tmp_path)
    (tool,) = build_tools(agent)
    assert (tool.name, tool.needs_approval) == ("book_table", True)
    booked = await play(agent)
    assert [call.id for call in booked[1].tool_calls] == ["call_book"]
    assert json.loads(booked[2].content)["reference"] in booked[-1].text
    refused = await play(agent, '{"error":"ToolRejectedError"}')
    assert "did not book" in refused[-1].text


async def test_a_new_project_runs_as_it_is(tmp_path):
    written = init_project(tmp_path / "new")
    assert [str(path.relative_to(tmp_path / "new")) for path in written] == ["agent.yaml", str(Path("tools/weather.py")), "trip.eval.yaml"]
    agent = load_agent_file(tmp_path / "new" / "agent.yaml")
    messages = await play(__import__("msgspec").structs.replace(agent, first_input="Plan my trip"))
    assert json.loads(messages[1].tool_calls[0].arguments) == {"city": "Lisbon"}
    assert "coast" in messages[-1].text
    assert "city: Lisbon" in written[0].read_text()


def test_a_project_is_never_written_over(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "weather.py").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"tools/weather\.py"):
        init_project(tmp_path)
    assert (tmp_path / "tools" / "weather.py").read_text() == "mine" and not (tmp_path / "agent.yaml").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="is no folder"):
        init_project(tmp_path / "file")
