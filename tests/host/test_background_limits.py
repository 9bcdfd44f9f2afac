"""How many agents a model may have run in the background, and how deep."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.background import BackgroundLimits, too_many
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.session import AgentState, Session
from lousho_cli.domain.shared import Shared
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from tests.host.agents import records_of


def calls(*ids: str, name: str = "scout") -> dict[str, Any]:
    return {"tool_calls": [{"id": one, "name": name, "args": {"input": "Dig", "background": True}} for one in ids]}


async def told(store: Any, thread: str = "t") -> list[str]:
    return [message.text for message in (await read_session(store, thread)).messages if message.role == "tool" and message.is_error]


async def test_a_model_that_wants_too_many_at_once_is_told_so_and_goes_on(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated(*["Gold."] * 3)
    agent = SubAgent({"name": "scout"}, provider=model, background=True)
    lead = define_harness(
        "acme/lead", ScriptedProvider([calls("a", "b", "c", "d"), "They dig.", *["I see."] * 3]), subagents={"scout": agent}
    )
    session = await host.open(lead, "t")
    await session.send("Hi", input_id="in")
    assert (await session.settled("in")).text == "They dig."
    (error,) = await told(store)
    assert "at most 3 may run in the background" in error
    assert [one.id for one in await records_of(store, "t", r.AgentStarted)] == ["a", "b", "c"]
    model.go.set()
    await host.idle("t")


@pytest.mark.parametrize("depth", [1, 2])
async def test_how_deep_agents_may_have_agents(host: HarnessHost, store: Any, depth: int) -> None:
    mole = SubAgent({"name": "mole"}, provider=ScriptedProvider(["Gold."]), background=True)
    turns = [calls("m", name="mole"), "It digs.", "I see."]
    scout = SubAgent({"name": "scout"}, provider=ScriptedProvider(turns), background=True, subagents={"mole": mole})
    script = ScriptedProvider([calls("s"), "It looks.", "I see."])
    lead = define_harness("acme/lead", script, subagents={"scout": scout}, background={"max_depth": depth})
    session = await host.open(lead, "t")
    await session.send("Hi", input_id="in")
    await session.settled("in")
    (started,) = await records_of(store, "t", r.AgentStarted)
    await session.agent_result("s")
    inner = [one.id for one in await records_of(store, started.session, r.AgentStarted)]
    refused = await told(store, started.session)
    assert (inner, len(refused)) == ((["m"], 0) if depth == 2 else ([], 1))
    assert all("at this depth (1)" in error for error in refused)
    await host.idle("t")


def test_agents_that_start_each_other_come_to_an_end() -> None:
    """A note that begins a turn, in which the model starts the next agent, counts on; a word of a person begins afresh."""
    ended = AgentState("scout", "x", outcome="completed")
    messages, agents = [user("Dig")], {}
    for number in range(12):
        assert too_many(Session(messages=Shared(messages), agents=agents), 0, BackgroundLimits()) is None
        messages += [
            Message("assistant", "", (ToolCall(f"c{number}", "scout"),)),
            Message("user", "[background agent scout has ended]", metadata={"agents": [f"c{number}"]}),
        ]
        agents = {**agents, f"c{number}": ended}
    why = too_many(Session(messages=Shared(messages), agents=agents), 0, BackgroundLimits())
    assert why is not None and why.startswith("at most 12 may be started")
    assert too_many(Session(messages=Shared([*messages, user("Once more")]), agents=agents), 0, BackgroundLimits()) is None


def test_limits_that_make_no_sense_are_refused() -> None:
    for wrong, error in (({"max_depth": -1}, RangeError), ({"deep": 1}, ConfigurationError), ({"max_running": "3"}, ConfigurationError)):
        with pytest.raises(error):
            define_harness("acme/lead", ScriptedProvider(["Hi."]), background=wrong)
