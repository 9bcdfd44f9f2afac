"""``create_agent``: one object that sends, streams, resumes and forks over one store."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from lousho_cli import Agent, ScriptedProvider, create_agent, define_tool, memory_store
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import (
    AgentDriftError,
    ConfigurationError,
    InputRejectedError,
    NotFoundError,
    RangeError,
    SDKError,
    SessionAwaitingApprovalError,
    SessionBusyError,
)


def agent_on(stores: Any, model: Any, tools: Any = (), **options: Any) -> Any:
    """An agent over a pair of stores, given as a dictionary."""
    options.setdefault("instructions", "Be brief.")
    given = None if stores is None else {"checkpoints": stores.checkpoints, "approvals": stores.approvals}
    return create_agent(model, store=given, tools=tools, **options)


async def cut(stores: Any, bench: Any, box: Any, session_id: str = "s") -> None:
    """A session that died in its tool: the first run of ``die`` ends the process."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    await bench.dies(agent_on(stores, bench.Model(bench.Calls("die")), box.tools).send("go", session_id))


async def test_de_135_nothing_pending_is_none(store: Any, bench: Any) -> None:
    model = bench.Model("done")
    agent = agent_on(store, model)
    assert await agent.resume("unknown") is None
    assert await agent.stream_resume("unknown").result() is None
    await agent.send("go", "s")
    assert await agent.resume("s") is None
    events = [event async for event in agent.stream_resume("s")]
    assert (events, len(model.asked)) == ([], 1)
    if store.log_store:
        assert await store.log_store.head("unknown") is None, "asking left no trace"


async def test_de_142_send_and_stream_checkpoint_in_the_one_store(store: Any, bench: Any) -> None:
    agent = agent_on(store, bench.Model("one", "two"), name="trip")
    first = await agent.send("go", "a")
    stream = agent.stream("go", "b")
    events = [event.type async for event in stream]
    assert (events[0], events[-1]) == ("run.start", "run.done")
    for session_id, result in (("a", first), ("b", await stream.result())):
        saved = await store.saved(session_id)
        assert (saved.status, saved.messages, saved.agent_id) == ("finished", result.messages, "trip")
    assert bench.shape(first.messages) == ["system:Be brief.", "user:go", "assistant:one"]


async def test_the_store_is_an_object_with_both_parts(bench: Any) -> None:
    store = memory_store()
    agent = create_agent(bench.Model("one"), store=store)
    await agent.send("go", "a")
    assert (await store.checkpoints.load("a")).status == "finished"


@pytest.mark.parametrize("way", ["resume", "stream_resume"])
async def test_de_143_resume_finishes_what_died_under_send(store: Any, bench: Any, box: Any, way: str) -> None:
    await cut(store, bench, box)
    model = bench.Model(None, "done")
    agent = agent_on(store.again(), model, box.tools)
    if way == "resume":
        result = await agent.resume("s")
    else:
        stream = agent.stream_resume("s")
        assert "tool.done" in [event.type async for event in stream]
        result = await stream.result()
    assert (result.text, result.session_id, box.ran, len(model.asked)) == ("done", "s", ["c1", "c1"], 1)
    assert (await store.saved()).status == "finished"
    assert await agent.resume("s") is None


async def test_de_144_send_continues_a_finished_conversation(store: Any, bench: Any) -> None:
    await agent_on(store, bench.Model("one")).send("first", "s")
    result = await agent_on(store.again(), bench.Model(None, "two")).send("second", "s")
    assert bench.shape(result.messages)[1:] == ["user:first", "assistant:one", "user:second", "assistant:two"]
    assert result.steps == 1


async def test_send_on_a_run_that_was_cut_finishes_its_calls_before_the_message(store: Any, bench: Any, box: Any) -> None:
    await cut(store, bench, box)
    result = await agent_on(store.again(), bench.Model(None, "done"), box.tools).send("and now?", "s")
    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1", "result:c1", "user:and now?", "assistant:done"]


async def test_de_173_a_fork_over_the_agents_store_is_resumed_by_its_id(ringed: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    agent = agent_on(ringed, bench.Model(bench.Calls("book"), lambda request: f"it said {request.messages[-1].text}"), box.tools)
    await agent.send("go", "s")
    before = await ringed.saved("s")
    fork = await agent.fork("s", 1, {"tool_result": {"tool_call_id": "c1", "result": "rain"}})
    assert (fork.session_id, fork.step) == ("s.fork-1", 1)
    result = await agent.resume(fork.session_id)
    assert (result.text, box.ran) == ('it said "rain"', ["c1"])
    assert await ringed.saved("s") == before
    named = await agent.session("s").fork(1, new_session_id="other")
    assert named.session_id == "other"
    assert await agent.session("other").pending() is not None


async def test_a_fork_of_a_step_there_is_not_says_what_there_is(ringed: Any, bench: Any) -> None:
    agent = agent_on(ringed, bench.Model("one"))
    await agent.send("go", "s")
    with pytest.raises(NotFoundError) as refused:
        await agent.fork("s", 7)
    assert (refused.value.code, refused.value.kept) == ("LOUSHO_CHECKPOINT_NOT_FOUND", ("1",))


SURFACES = {
    "resume": lambda agent: agent.resume("s"),
    "stream_resume": lambda agent: agent.stream_resume("s").result(),
    "session.resume": lambda agent: agent.session("s").resume(),
    "session.stream_resume": lambda agent: agent.session("s").stream_resume().result(),
    "send": lambda agent: agent.send("more", "s"),
    "stream": lambda agent: agent.stream("more", "s").result(),
    "session.send": lambda agent: agent.session("s").send("more"),
    "session.stream": lambda agent: agent.session("s").stream("more").result(),
}


@pytest.mark.parametrize("surface", SURFACES)
async def test_de_180_every_way_to_go_on_checks_drift_first(store: Any, bench: Any, box: Any, surface: str) -> None:
    await cut(store, bench, box)
    before, model = await store.saved(), bench.Model()
    changed = agent_on(store.again(), model, box.tools, instructions="Be long.", on_agent_drift="error")
    with pytest.raises(AgentDriftError, match="instructions changed"):
        await SURFACES[surface](changed)
    assert (model.asked, box.ran, await store.saved()) == ([], ["c1"], before)
    same = agent_on(store.again(), bench.Model(None, "done"), box.tools, on_agent_drift="error")
    assert (await SURFACES[surface](same)).text == "done"


async def test_de_181_warn_is_the_default_and_a_call_may_say_otherwise(store: Any, bench: Any, box: Any, caplog: Any) -> None:
    await cut(store, bench, box)
    changed = agent_on(store.again(), bench.Model(None, "done"), box.tools, instructions="Be long.")
    with pytest.raises(AgentDriftError):
        await changed.resume("s", on_agent_drift="error")
    with caplog.at_level(logging.WARNING, "lousho"):
        assert (await changed.resume("s")).text == "done"
    assert "instructions changed" in caplog.text


async def test_a_pending_session_that_waits_raises_on_resume(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    agent = agent_on(store, bench.Model(bench.Calls("pay")), box.tools)
    paused = await agent.send("go", "s")
    for goes_on in (agent.resume("s"), agent.stream_resume("s").result(), agent.send("hello?", "s"), agent.session("s").resume()):
        with pytest.raises(SessionAwaitingApprovalError) as waiting:
            await goes_on
        assert waiting.value.approval_id == paused.approval_id


async def test_an_approval_that_is_gone_from_its_store_is_asked_for_again(bench: Any, box: Any) -> None:
    stores = bench.custom(approvals=bench.PlainWithLoad)
    box.tool("pay", needs_approval=True)
    agent = agent_on(stores, bench.Model(bench.Calls("pay")), box.tools)
    first = await agent.send("go", "s")
    stores.approvals.texts.clear()
    again = await agent.resume("s")
    assert again.finish_reason == "awaiting-approval"
    assert again.approval_id != first.approval_id


async def test_input_that_others_left_behind_a_finished_turn_is_work(bench: Any, tmp_path: Any) -> None:
    stores = bench.file(tmp_path)
    agent = agent_on(stores, bench.Model("one", "two"))
    await agent.send("first", "s")
    await stores.log_store.post("s", Post(id="p1", kind="input", at="2026-01-01T00:00:00.000Z", body=[msgspec.to_builtins(user("second"))]))
    assert (await agent.resume("s")).text == "two"


async def test_options_of_the_agent_hold_for_every_run_and_those_of_a_call_beat_them(bench: Any, box: Any) -> None:
    box.tool("book")
    agent = agent_on(bench.memory(), bench.Model(bench.Calls("book"), bench.Calls("book"), "done"), box.tools, max_steps=1)
    assert (await agent.send("go", "s")).finish_reason == "max-steps"
    assert (await agent.send("go", "t", max_steps=2)).steps == 2
    assert (await agent.send("go", "u", max_steps=3)).text == "done"


async def test_events_go_to_the_agents_listener_too(bench: Any) -> None:
    heard: list[str] = []
    agent = agent_on(bench.memory(), bench.Model("one", "two"), on_event=lambda event: heard.append(event.type))
    await agent.send("go", "s")
    assert heard[-1] == "run.done"
    heard.clear()
    streamed = [event.type async for event in agent.stream("more", "s")]
    assert streamed == heard
    heard.clear()
    seen: list[str] = []
    await agent.stream("more", "t", on_event=lambda event: seen.append(event.type)).result()
    assert (heard, seen[-1]) == ([], "run.done")


async def test_an_input_id_given_to_send_makes_twice_once(log_stores: Any, bench: Any) -> None:
    model = bench.Model("one")
    agent = agent_on(log_stores, model)
    first = await agent.send("go", "s", input_id="in-1")
    again = await agent.send("go", "s", input_id="in-1")
    assert (again.text, len(model.asked), again.messages) == (first.text, 1, first.messages)
    with pytest.raises(InputRejectedError):
        await agent.send("other", "s", input_id="in-1")


async def test_instructions_tools_and_model_may_be_functions(bench: Any, box: Any) -> None:
    tool = box.tool("book")
    agent = create_agent(
        bench.Model(bench.Calls("book"), "done"),
        store=memory_store(),
        instructions=lambda ctx: f"For {ctx.metadata['user']}.",
        tools=lambda ctx: [tool],
        model=lambda ctx: "m-2",
    )
    result = await agent.send("go", "s", metadata={"user": "us"})
    assert (bench.shape(result.messages)[0], box.ran) == ("system:For us.", ["c1"])


async def test_a_session_needs_a_store(bench: Any) -> None:
    agent = create_agent(bench.Model("one"))
    for needs in (agent.send("go", "s"), agent.resume("s"), agent.fork("s", 1), agent.stream("go", "s").result()):
        with pytest.raises(ConfigurationError) as refused:
            await needs
        assert (refused.value.code, refused.value.field) == ("LOUSHO_CONFIG_MISSING_CHECKPOINT_STORE", "store")
    with pytest.raises(ConfigurationError, match="needs a store"):
        agent.session()
    assert (await agent.send("go")).text == "one", "without a session id none is needed"


async def test_without_a_store_what_waits_waits_in_this_process(bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    agent = create_agent(bench.Model(bench.Calls("pay"), "paid"), tools=box.tools)
    paused = await agent.send("go")
    assert [pending.id for pending in await agent.approvals.list()] == [paused.approval_id]
    assert (await agent.approvals.resolve(paused.approval_id, True)).text == "paid"
    assert (await agent.approvals.list(), box.ran) == ([], ["c1"])


@pytest.mark.parametrize(
    ("options", "field", "hint"),
    [
        ({"max_stpes": 3}, "max_stpes", "Did you mean max_steps?"),
        ({"zzz": 3}, "zzz", "It takes the options"),
        ({"checkpoint_store": 1}, "checkpoint_store", "one call"),
        ({"signal": None}, "signal", "one call"),
        ({"max_steps": 0}, "max_steps", "whole number"),
        ({"on_agent_drift": "explode"}, "on_agent_drift", "warn"),
        ({"requires_approval": "pay"}, "requires_approval", "list"),
        ({"tools": [1]}, "tools", "define_tool"),
        ({"store": 5}, "store", "memory_store"),
        ({"store": {"checkpoints": object()}}, "store.checkpoints", "save"),
        ({"model": 5}, "agent", ""),
        ({"name": ""}, "name", "lists"),
    ],
)
def test_what_makes_no_sense_is_refused_when_the_agent_is_made(bench: Any, options: dict[str, Any], field: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        create_agent(bench.Model("one"), **options)
    assert refused.value.field == field
    assert hint in refused.value.hint


def test_a_missing_provider_has_its_code() -> None:
    with pytest.raises(ConfigurationError) as refused:
        create_agent(None)  # type: ignore[arg-type]
    assert refused.value.code == "LOUSHO_CONFIG_MISSING_PROVIDER"
    with pytest.raises(RangeError):
        create_agent(ScriptedProvider([{"text": "hi"}]), tool_concurrency=-1)


@pytest.mark.parametrize(
    ("way", "options", "hint"),
    [
        ("send", {"checkpoint_store": 1}, "create_agent"),
        ("send", {"max_step": 1}, "max_steps"),
        ("resume", {"input_id": "x"}, "send"),
        ("stream", {"nothing": 1}, "options"),
    ],
)
async def test_a_wrong_option_of_a_call_is_named(bench: Any, way: str, options: dict[str, Any], hint: str) -> None:
    agent = agent_on(bench.memory(), bench.Model("one"))
    calls = {
        "send": lambda: agent.send("go", "s", **options),
        "resume": lambda: agent.resume("s", **options),
        "stream": lambda: agent.stream("go", "s", **options).result(),
    }
    with pytest.raises(ConfigurationError) as refused:
        await calls[way]()
    assert refused.value.field == next(iter(options))
    assert hint in refused.value.hint


async def test_a_tool_that_a_plain_function_is_not_says_how_to_make_one(bench: Any) -> None:
    with pytest.raises(SDKError, match="define_tool"):
        create_agent(bench.Model("one"), tools=[lambda city: city])


async def test_two_at_once_on_one_session_of_a_log_store(log_stores: Any, bench: Any) -> None:
    agent: Any = None

    async def second(request: Any) -> str:
        with pytest.raises(SessionBusyError):
            await agent.send("me too", "s")
        return "done"

    agent = agent_on(log_stores, bench.Model(second))
    assert (await agent.send("go", "s")).text == "done"


async def test_an_agent_struct_is_not_needed_but_its_fingerprint_is_the_same(bench: Any) -> None:
    """A session that ``AgentExecutor`` began is gone on with by ``create_agent`` without drift."""
    from lousho_cli import AgentExecutor

    stores = bench.memory()

    @define_tool
    async def look(n: int = 0) -> str:
        """Looks."""
        return "seen"

    with pytest.raises(Exception, match="fails"):
        await AgentExecutor.execute(
            Agent("agent", "Be brief."),
            "go",
            bench.Model(bench.Calls("look"), RuntimeError("fails")),
            [look],
            session_id="s",
            checkpoint_store=stores.checkpoints,
        )
    agent = agent_on(stores, bench.Model(None, "done"), [look], on_agent_drift="error")
    assert (await agent.resume("s")).text == "done"
