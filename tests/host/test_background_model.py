"""Background agents that a model or a tool starts, groups of them, and agents that wait for a person."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.texts import HOST_STOPPED_MESSAGE
from lousho_cli.errors import ConfigurationError, InputRejectedError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import record_decision
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.ports.tool import ToolContext
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.define import define_tool
from tests.host.agents import lead, notes, records_of, scout

IN_BACKGROUND = {"tool_calls": [{"id": "c1", "name": "scout", "args": {"input": "Look around", "background": True}}]}


def delegating(provider: Any, *turns: Any, **options: Any) -> Any:
    """A lead whose model may have a scout run in the background."""
    agent = SubAgent({"name": "scout"}, provider=provider, background=True)
    return define_harness("acme/lead", ScriptedProvider([*turns]), subagents={"scout": agent}, **options)


async def test_a_model_has_an_agent_run_in_the_background_and_is_told_of_its_end(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("Found it.")
    session = await host.open(delegating(model, IN_BACKGROUND, "It looks.", "It found it."), "t", user="ada")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "It looks."
    await model.begun.wait()
    assert [message.text for message in (await read_session(store, "t")).messages if message.role == "tool"] == [
        '{"agent":"c1","started":true}'
    ]
    model.go.set()
    assert (await session.agent_result("c1")).text == "Found it."
    assert (await session.settled("agents.c1")).text == "It found it."
    assert (await records_of(store, "t", r.AgentStarted))[0].by == "ada"
    assert len(await notes(store)) == 1


async def test_a_model_waits_for_an_agent_that_is_not_to_run_in_the_background(host: HarnessHost, store: Any) -> None:
    call = {"tool_calls": [{"id": "c1", "name": "scout", "args": {"input": "Look around", "background": False}}]}
    session = await host.open(delegating(ScriptedProvider(["Found it."]), call, "It found it."), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "It found it."
    assert await records_of(store, "t", r.AgentStarted) == []


@pytest.mark.parametrize("resumes", [True, False])
async def test_ds_102_an_agent_that_a_model_started_runs_again_unless_that_is_off(lasting: Any, gated: Any, resumes: bool) -> None:
    model, durability = gated("Never said."), {} if resumes else {"resume_background_agents": False}
    first, second = create_harness_host({"log": lasting}), create_harness_host({"log": lasting})
    session = await first.open(delegating(model, IN_BACKGROUND, "It looks.", durability=durability), "t")
    await session.send("Hi", input_id="a")
    await session.settled("a")
    await model.begun.wait()
    await first.close(recoverable=True)
    again = delegating(ScriptedProvider(["Found it."]), IN_BACKGROUND, "It looks.", "I see.", durability=durability)
    result = await (await second.open(again, "t")).agent_result("c1")
    assert (result.text, result.error) == (("Found it.", None) if resumes else ("", HOST_STOPPED_MESSAGE))
    await second.close()


async def test_ds_103_what_a_turn_that_runs_again_had_started_gives_its_stored_results(store: Any, gated: Any) -> None:
    began, go, scouts = asyncio.Event(), asyncio.Event(), gated("Found it.")
    scouts.go.set()

    @define_tool(replay="safe")
    async def wait_here() -> str:
        """Wait."""
        began.set()
        await go.wait()
        return "waited"

    both = {"tool_calls": [{"id": "f", "name": "scout", "args": {"input": "Look here"}}, *IN_BACKGROUND["tool_calls"]]}
    turns = [both, {"tool_calls": [{"id": "w", "name": "wait_here"}]}, "Done.", "I see."]
    harness = delegating(scouts, *turns, tools=[wait_here], abort_grace_ms=0)
    scouts._answers.append("Found it too.")
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(harness, "t")
    await session.send("Hi", input_id="a")
    await began.wait()
    await session.agent_result("c1")
    await first.close(recoverable=True)
    go.set()
    session = await second.open(harness, "t")
    assert (await session.settled("a")).text == "Done."
    assert (await session.agent_result("c1")).outcome == "completed"
    assert (await session.settled("agents.c1")).text == "I see."
    assert len(scouts.asked) == 2
    assert [one.attempt for one in await records_of(store, "t", r.RunResumed)] == [1]
    assert len(await records_of(store, "t", r.AgentStarted)) == 1
    await second.close()


async def test_ds_187_a_group_that_a_tool_had_started_gives_its_stored_results_when_it_runs_again(store: Any, gated: Any) -> None:
    began, go, scouts, seen = asyncio.Event(), asyncio.Event(), gated("One.", "Two."), []
    scouts.go.set()
    opened: asyncio.Queue[Any] = asyncio.Queue()

    @define_tool(replay="safe")
    async def ask_both(ctx: ToolContext) -> list[str]:
        """Ask two."""
        session = await opened.get()
        group = await session.start_agents([("scout", "Left"), {"name": "scout", "input": "Right"}], group_id=ctx.tool_call_id)
        found = [(await session.agent_result(one)).text for one in group.agents]
        seen.append(sorted(found))
        began.set()
        await go.wait()
        return found

    turns = [{"tool_calls": [{"id": "g", "name": "ask_both"}]}, "Done."]
    harness = lead(*turns, agent=define_harness("scout", scouts), tools=[ask_both], abort_grace_ms=0)
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(harness, "t")
    opened.put_nowait(session)
    await session.send("Hi", input_id="a")
    await began.wait()
    await first.close(recoverable=True)
    go.set()
    session = await second.open(harness, "t")
    opened.put_nowait(session)
    assert (await session.settled("a")).text == "Done."
    assert seen == [["One.", "Two."], ["One.", "Two."]]
    assert (len(scouts.asked), len(await records_of(store, "t", r.AgentStarted))) == (2, 2)
    await second.close()


async def test_one_note_tells_of_a_group_once_its_last_agent_has_ended(host: HarnessHost, store: Any, gated: Any) -> None:
    slow = gated("Late.")
    agents = {"quick": scout("At once."), "slow": define_harness("slow", slow)}
    session = await host.open(define_harness("acme/lead", ScriptedProvider(["I see."]), agents=agents), "t")
    group = await session.start_agents([("quick", "Run"), ("slow", "Walk")], start_turn_when_done=True)
    quick, late = group.agents
    await session.agent_result(quick)
    assert await notes(store) == []
    slow.go.set()
    await session.agent_result(late)
    assert (await session.settled(f"agents.{group.id}")).text == "I see."
    assert await notes(store) == [
        f"[background agent quick ({quick}) has ended]\nAt once.\n\n[background agent slow ({late}) has ended]\nLate."
    ]


async def test_the_same_agent_started_twice_is_started_once(host: HarnessHost, store: Any) -> None:
    session = await host.open(lead(agent=scout("Found it.")), "t")
    assert await session.start_agent("scout", "Look around", agent_id="one") == "one"
    assert await session.start_agent("scout", "Look around", agent_id="one") == "one"
    assert (await session.agent_result("one")).text == "Found it."
    assert len(await records_of(store, "t", r.AgentStarted)) == 1
    with pytest.raises(ConfigurationError) as raised:
        await session.start_agent("scuot", "Look around")
    assert raised.value.hint == "It has: scout."


async def test_another_agent_can_not_be_started_under_a_known_id(host: HarnessHost, gated: Any) -> None:
    session = await host.open(lead(agent=define_harness("scout", gated("Found it."))), "t")
    await session.start_agent("scout", "Look around", agent_id="one")
    with pytest.raises(InputRejectedError):
        await session.start_agent("scout", "Look away", agent_id="one")


async def test_ds_209_events_are_read_on_every_host_while_the_owner_runs_an_agent(store: Any, gated: Any) -> None:
    model = gated("Found it.")
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    harness = lead("Hello.", agent=define_harness("scout", model))
    session, other = await first.open(harness, "t"), await second.open(harness, "t")
    key = await session.start_agent("scout", "Look around")
    seen: list[tuple[str, Any]] = []
    async for event in other.events():
        seen.append((event.type, getattr(event, "agent_id", None)))
        if event.type == "agent.started":
            await session.send("Hi", input_id="a")
        elif event.type == "run.done":
            model.go.set()
        elif event.type == "agent.ended":
            assert event.text == "Found it."
            break
    assert [kind for kind, agent in seen if agent == key] == ["agent.started", "agent.ended"]
    await asyncio.gather(first.close(), second.close())


@pytest.mark.parametrize("approved", [True, False])
async def test_an_agent_that_stood_still_for_a_person_goes_on_although_it_is_not_to_run_again(store: Any, approved: bool) -> None:
    @define_tool(needs_approval=True)
    def dig() -> str:
        """Dig."""
        return "gold"

    agent = scout({"tool_calls": [{"id": "d", "name": "dig"}]}, "Gold.", tools=[dig])
    harness = lead("Nothing.", agent=agent)
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(harness, "t")
    key = await session.start_agent("scout", "Dig")
    handle = await session.agent(key)
    waits = (await handle.settled(key)).waits_for
    await first.close(recoverable=True)
    await record_decision({"id": str(waits), "approved": approved}, handle.thread_id, store.checkpoints)
    assert [one.thread_id for one in await second.resume_pending([harness])] == ["t"]
    session = await second.open(harness, "t")
    assert (await session.agent_result(key)).text == "Gold."
    await second.close()


async def test_ds_212_an_agent_that_waits_for_a_person_holds_nothing(store: Any) -> None:
    @define_tool(needs_approval=True)
    def dig() -> str:
        """Dig."""
        return "gold"

    agent = scout({"tool_calls": [{"id": "d", "name": "dig"}]}, "Gold.", tools=[dig])
    harness = lead("Nothing.", agent=agent)
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(harness, "t")
    key = await session.start_agent("scout", "Dig")
    handle = await session.agent(key)
    assert (await handle.settled(key)).outcome == "interrupted"
    await first.idle(handle.thread_id)
    (status,) = await session.agents()
    (waits,) = await handle.pending()
    assert (status.status, status.waits_for) == ("waiting", waits.id)
    assert (await store.owner("t"), await store.owner(status.session)) == (None, None)
    assert await second.resume_pending([harness]) == []
    await first.close(recoverable=True)
    session = await second.open(harness, "t")  # any host may take the answer
    await (await session.agent(key)).approve(waits.id)
    assert (await session.agent_result(key)).text == "Gold."
    assert await notes(store) == [f"[background agent scout ({key}) has ended]\nGold."]
    await second.close()


async def test_an_agent_that_has_agents_of_its_own_ends_with_them(lasting: Any, gated: Any) -> None:
    def nested(model: Any) -> Any:
        own = SubAgent({"name": "mole"}, provider=model, background=True)
        call = {"tool_calls": [{"id": "m", "name": "mole", "args": {"input": "Dig", "background": True}}]}
        return lead("Nothing.", agent=scout(call, "It digs.", "It found gold.", subagents={"mole": own}))

    model = gated("Never said.")
    first, second = create_harness_host({"log": lasting}), create_harness_host({"log": lasting})
    session = await first.open(nested(model), "t")
    key = await session.start_agent("scout", "Dig", run_again_after_crash=True)
    handle = await session.agent(key)
    assert (await handle.settled(key)).text == "It digs."
    await model.begun.wait()
    assert [(one.id, one.status) for one in await session.agents()] == [(key, "running")]  # the scout rests, its mole does not
    await first.close(recoverable=True)
    again = nested(ScriptedProvider(["Gold."]))
    (taken,) = await second.resume_pending([again])
    assert taken.thread_id == "t"
    session = await second.open(again, "t")
    assert (await session.agent_result(key)).text == "It found gold."
    assert await notes(lasting) == [f"[background agent scout ({key}) has ended]\nIt found gold."]
    await second.close()


async def test_a_sub_agent_can_not_run_in_the_background_where_nobody_looks_after_it() -> None:
    agent = SubAgent({"name": "scout"}, provider=ScriptedProvider(["Found it."]), background=True)
    result = await AgentExecutor.execute(
        agent={"name": "lead"}, input="Hi", provider=ScriptedProvider([IN_BACKGROUND, "I see."]), subagents={"scout": agent}
    )
    (told,) = [message.text for message in result.messages if message.role == "tool"]
    assert "can not run in the background here" in told
    assert result.text == "I see."
