"""Background agents: threads of their own, each of which ends with one note where it was started."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.texts import HOST_STOPPED_MESSAGE
from lousho_cli.errors import ConfigurationError, NotFoundError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.define import define_tool
from tests.host.agents import lead, left_running, notes, records_of, scout
from tests.host.left import left


async def test_an_agent_runs_beside_the_thread_and_its_end_is_noted(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("Found it.")
    session = await host.open(lead("Hello.", "I saw.", agent=define_harness("scout", model)), "t")
    key = await session.start_agent("scout", "Look around")
    await model.begun.wait()
    assert [(one.id, one.name, one.status) for one in await session.agents()] == [(key, "scout", "running")]
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "Hello."  # the thread is free meanwhile
    model.go.set()
    result = await session.agent_result(key)
    assert (result.outcome, result.text) == ("completed", "Found it.")
    assert await session.agents() == ()
    assert await notes(store) == [f"[background agent scout ({key}) has ended]\nFound it."]
    assert len(await records_of(store, "t", r.RunStarted)) == 1
    with pytest.raises(NotFoundError):
        await session.agent_result("nobody")


@pytest.mark.parametrize("wake", [False, True])
async def test_ds_098_an_agent_that_is_not_to_run_again_has_failed_with_one_note_and_a_turn_if_asked(
    store: Any, gated: Any, wake: bool
) -> None:
    key = await left_running(store, gated, start_turn_when_done=wake)
    second = create_harness_host({"log": store})
    again = lead("I see.", agent=scout("Not asked."))
    assert [one.thread_id for one in await second.resume_pending([again])] == ["t"]
    session = await second.open(again, "t")
    result = await session.agent_result(key)
    assert (result.outcome, result.error, result.code) == ("failed", HOST_STOPPED_MESSAGE, "host_stopped")
    assert await notes(store) == [f"[background agent scout ({key}) has failed]\n{HOST_STOPPED_MESSAGE}"]
    if wake:
        assert (await session.settled(f"agents.{key}")).text == "I see."
    await second.idle("t")
    assert len(await records_of(store, "t", r.RunStarted)) == int(wake)
    await second.close()


async def test_ds_186_an_agent_that_a_host_stop_ended_says_the_fixed_text(store: Any, gated: Any) -> None:
    key = await left_running(store, gated)
    second = create_harness_host({"log": store})
    session = await second.open(lead(agent=scout("Not asked.")), "t")  # opening alone takes it up
    assert (await session.agent_result(key)).error == HOST_STOPPED_MESSAGE
    (ended,) = await records_of(store, "t", r.AgentEnded)
    assert (ended.outcome, ended.error) == ("failed", HOST_STOPPED_MESSAGE)
    await second.close()


async def test_ds_189_a_recoverable_close_stops_agents_and_writes_no_end(store: Any, gated: Any) -> None:
    key = await left_running(store, gated)
    assert await records_of(store, "t", r.AgentEnded, r.Appended) == []
    (started,) = await records_of(store, "t", r.AgentStarted)
    assert started.id == key
    assert await records_of(store, started.session, r.InputSettled, r.ToolFinished) == []
    assert (await store.owner("t"), await store.owner(started.session)) == (None, None)


async def test_a_plain_close_cancels_agents(store: Any, gated: Any) -> None:
    model, first = gated("Never said."), create_harness_host({"log": store})
    session = await first.open(lead(agent=define_harness("scout", model)), "t")
    key = await session.start_agent("scout", "Look around", start_turn_when_done=True)
    await model.begun.wait()
    await first.close()
    (ended,) = await records_of(store, "t", r.AgentEnded)
    assert (ended.id, ended.outcome) == (key, "aborted")
    second = create_harness_host({"log": store})
    assert await second.resume_pending([lead(agent=scout("Not asked."))]) == []
    assert await records_of(store, "t", r.RunStarted) == []  # nobody is woken for what was cancelled
    await second.close()


async def test_ds_101_to_run_again_takes_a_log_that_survives(gated: Any) -> None:
    host = create_harness_host({"log": MemoryStore()})
    session = await host.open(lead(agent=scout("Found it.")), "t")
    with pytest.raises(ConfigurationError) as raised:
        await session.start_agent("scout", "Look around", run_again_after_crash=True)
    assert raised.value.field == "run_again_after_crash"
    assert await session.agents() == ()
    await host.close()


async def test_ds_099_an_agent_runs_again_with_what_it_had_done(lasting: Any, gated: Any) -> None:
    ran: list[str] = []
    hanging, began = asyncio.Event(), asyncio.Event()

    @define_tool
    def look() -> str:
        """Look."""
        ran.append("look")
        return "a door"

    @define_tool(replay="safe")
    async def open_it() -> str:
        """Open it."""
        ran.append("open")
        began.set()
        await hanging.wait()
        return "open"

    turns = [{"tool_calls": [{"id": "1", "name": "look"}]}, {"tool_calls": [{"id": "2", "name": "open_it"}]}, "A door, open."]
    agent = scout(*turns, tools=[look, open_it], abort_grace_ms=0)
    first, second = create_harness_host({"log": lasting}), create_harness_host({"log": lasting})
    session = await first.open(lead(agent=agent), "t")
    key = await session.start_agent("scout", "Look around", run_again_after_crash=True)
    await began.wait()
    await first.close(recoverable=True)
    hanging.set()
    await second.resume_pending([lead(agent=agent)])
    result = await (await second.open(lead(agent=agent), "t")).agent_result(key)
    assert (result.outcome, result.text, ran) == ("completed", "A door, open.", ["look", "open", "open"])
    (started,) = await records_of(lasting, "t", r.AgentStarted)
    assert len(await records_of(lasting, started.session, r.InputReceived)) == 1
    assert [one.attempt for one in await records_of(lasting, started.session, r.RunResumed)] == [1]  # handed over
    await second.close()


async def test_ds_100_an_agent_runs_again_until_no_attempt_is_left(lasting: Any, gated: Any) -> None:
    key = await left_running(lasting, gated, run_again_after_crash=True)
    (started,) = await records_of(lasting, "t", r.AgentStarted)
    await left(lasting, (r.RunResumed(1),), thread=started.session)  # whoever it was handed to began, and died
    model, second = gated("Not asked."), create_harness_host({"log": lasting})
    again = lead(agent=define_harness("scout", model, durability={"max_attempts": 1}))
    result = await (await second.open(again, "t")).agent_result(key)
    assert (result.outcome, result.code, model.asked) == ("failed", "attempts_exhausted", [])
    await second.close()


async def test_the_recover_hook_is_not_asked_about_an_agent(lasting: Any, gated: Any) -> None:
    key = await left_running(lasting, gated, run_again_after_crash=True)
    asked: list[Any] = []
    durability = {"recover": lambda info: asked.append(info)}
    again = lead(agent=scout("Found it.", durability=durability), durability=durability)
    second = create_harness_host({"log": lasting})
    assert (await (await second.open(again, "t")).agent_result(key)).text == "Found it."
    assert asked == []
    await second.close()


async def test_ds_104_an_agent_that_ended_is_not_touched_by_recovery(store: Any, gated: Any) -> None:
    model, first = gated("Never said."), create_harness_host({"log": store})
    agents = {"scout": scout("Found it."), "slow": define_harness("slow", model)}
    harness = define_harness("acme/lead", ScriptedProvider(["Nothing."]), agents=agents)
    session = await first.open(harness, "t")
    done, slow = await session.start_agent("scout", "Look around"), await session.start_agent("slow", "Look closely")
    await session.agent_result(done)
    await model.begun.wait()
    await first.close(recoverable=True)
    second = create_harness_host({"log": store})
    session = await second.open(harness, "t")
    await session.agent_result(slow)
    assert await notes(store) == [
        f"[background agent scout ({done}) has ended]\nFound it.",
        f"[background agent slow ({slow}) has failed]\n{HOST_STOPPED_MESSAGE}",
    ]
    assert (await session.agent_result(done)).text == "Found it."
    await second.close()


async def test_ds_105_however_often_it_is_recovered_there_is_one_note(store: Any, gated: Any) -> None:
    key = await left_running(store, gated)
    second, third = create_harness_host({"log": store}), create_harness_host({"log": store})
    again = lead(agent=scout("Not asked."))
    session, other = await asyncio.gather(second.open(again, "t"), third.open(again, "t"))
    await asyncio.gather(second.recover(), third.recover("t"), session.recover_pending_work(), other.recover_pending_work())
    await session.agent_result(key)
    await asyncio.gather(second.recover(), third.recover("t"), session.recover_pending_work(), other.recover_pending_work())
    await asyncio.gather(second.idle("t"), third.idle("t"))
    assert len(await notes(store)) == len(await records_of(store, "t", r.AgentEnded)) == 1
    await asyncio.gather(second.close(), third.close())


async def test_ds_106_a_note_that_waited_for_a_busy_turn_is_there_once_after_a_crash(store: Any, gated: Any) -> None:
    began, go = asyncio.Event(), asyncio.Event()

    @define_tool(replay="safe")
    async def wait_here() -> str:
        """Wait."""
        began.set()
        await go.wait()
        return "waited"

    harness = lead(
        {"tool_calls": [{"id": "w", "name": "wait_here"}]}, "Done.", agent=scout("Found it."), tools=[wait_here], abort_grace_ms=0
    )
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(harness, "t")
    await session.send("Hi", input_id="a")
    await began.wait()
    key = await session.start_agent("scout", "Look around")
    await session.agent_result(key)
    await first.close(recoverable=True)
    go.set()
    session = await second.open(harness, "t")
    assert (await session.settled("a")).text == "Done."
    transcript = [(message.role, message.text) for message in (await read_session(store, "t")).messages]
    note = ("user", f"[background agent scout ({key}) has ended]\nFound it.")
    assert transcript[1:] == [("assistant", ""), ("tool", '"waited"'), note, ("assistant", "Done.")]
    await second.close()


async def test_a_thread_is_idle_once_its_agents_rest(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("Found it.")
    session = await host.open(lead("I see.", agent=define_harness("scout", model)), "t")
    key = await session.start_agent("scout", "Look around", start_turn_when_done=True)
    idle = asyncio.ensure_future(host.idle("t"))
    await model.begun.wait()
    assert not idle.done()
    model.go.set()
    await idle
    assert (await session.settled(f"agents.{key}")).text == "I see."


async def test_no_sweep_takes_an_agent_for_a_thread_of_its_own(store: Any, gated: Any) -> None:
    await left_running(store, gated)
    (started,) = await records_of(store, "t", r.AgentStarted)
    head = await store.head(started.session)
    assert (head.lead, head.parent, head.harness) == ("t", "t", "acme/lead:scout")
    second = create_harness_host({"log": store})
    assert await second.resume_pending([define_harness("acme/lead:scout", ScriptedProvider(["Never."]))]) == []
    await second.close()


async def test_resting_waits_for_background_agents_and_gives_what_came_of_them(store: Any, gated: Any) -> None:
    model = gated("Found it.")
    host = create_harness_host({"log": store})
    session = await host.open(lead("Hello.", "I heard.", agent=define_harness("scout", model)), "t")
    await session.start_agent("scout", "Look around", start_turn_when_done=True)
    assert (await session.execute("Hi")).text == "Hello."
    resting = asyncio.ensure_future(session.rest())
    await model.begun.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not resting.done()
    model.go.set()
    rested = await resting
    assert rested is not None and rested.text == "I heard."
    await host.close()
