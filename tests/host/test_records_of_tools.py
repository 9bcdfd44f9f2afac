"""Records of one's own that a tool keeps: what they say to the model."""

from __future__ import annotations

from typing import Any

from lousho_cli import ToolContext, define_tool
from lousho_cli.domain import records as r
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.host.host import HarnessHost
from lousho_cli.providers.scripted import ScriptedProvider
from tests.host.left import Model, calling, harness, records


@define_tool(replay="safe")
async def look(ctx: ToolContext) -> str:
    """Looks."""
    ctx.append({"type": "acme.weather", "said": "It rains."}, {"type": "acme.quiet"})
    return "seen"


def said(record: Any) -> Any:
    if record.get("said") == "broken":
        raise LookupError("no such thing")
    return record.get("said")


async def test_ds_028_what_the_record_of_a_tool_says_stands_behind_its_results(host: HarnessHost, store: Any) -> None:
    model = Model(calling("look", "other"), "Take a coat.")
    other = define_tool(name="other", execute=lambda: "else", replay="safe")
    session = await host.open(harness(model, tools=[look, other], project=said), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "Take a coat."
    assert [message.text for message in model.asked[1]] == ["Hi", "", '"seen"', '"else"', "It rains."]
    assert [message.text for message in await session.messages()][:5] == ["Hi", "", '"seen"', '"else"', "It rains."]
    assert [one.type for one in await records(store, r.Foreign)] == ["acme.weather", "acme.quiet"]


async def test_a_record_whose_projection_fails_is_an_error_of_the_tool(host: HarnessHost, store: Any) -> None:
    @define_tool(replay="safe")
    async def breaks(ctx: ToolContext) -> str:
        """Breaks."""
        ctx.append({"type": "acme.weather", "said": "broken"})
        return "unreachable"

    model = Model(calling("breaks"), "I see.")
    session = await host.open(harness(model, tools=[breaks], project=said), "t")
    await session.send("Hi", input_id="a")
    await session.settled("a")
    assert "no such thing" in model.asked[1][-1].text
    assert await records(store, r.Foreign) == []


async def test_what_the_record_of_a_sub_agent_s_tool_says_is_for_that_agent(host: HarnessHost, store: Any) -> None:
    inner = Model(calling("look"), "It rains, says the record.")
    scout = SubAgent({"name": "scout"}, provider=inner, tools=[look])
    script = ScriptedProvider([{"tool_calls": [{"name": "scout", "id": "s", "args": {"input": "Look"}}]}, "A coat, then."])
    session = await host.open(harness(script, subagents={"scout": scout}, project=said), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "A coat, then."
    assert inner.asked[1][-1].text == "It rains."
    assert "It rains." not in [message.text for message in await session.messages()]
