"""Agents whose instructions, tools and model are functions of what they are asked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.domain.agent import Agent
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.domain.plain import plain
from lousho_cli.errors import AbortedError, AgentDriftError, ConfigurationError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval


class Chooser:
    """An agent that answers in the language and with the model that the metadata names, with the tools of its plan. Notes each ask."""

    def __init__(self, **parts: Any) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.parts = {"instructions": self.instructions, "tools": self.tools, "model": self.model} | parts

    @property
    def agent(self) -> dict[str, Any]:
        return {"name": "agent"} | self.parts

    def instructions(self, ctx: Any) -> str:
        self.asked.append(("instructions", ctx))
        return f"Answer in {ctx.metadata['language']}: {ctx.input[-1].text}"

    async def tools(self, ctx: Any) -> list[str]:
        await asyncio.sleep(0)
        self.asked.append(("tools", ctx))
        return ["die", "search"] if ctx.metadata["plan"] == "paid" else ["die"]

    def model(self, ctx: Any) -> str:
        self.asked.append(("model", ctx))
        return f"{ctx.metadata['plan']}-model"

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


PAID = {"language": "Dutch", "plan": "paid", "tags": ["a", 1, None]}
FREE = {"language": "Greek", "plan": "free"}


class Seeing:
    """A model that notes the whole of what it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.name, self.model = inner, inner.name, inner.model
        self.requests: list[Any] = []

    async def stream(self, request: Any) -> Any:
        self.requests.append(request)
        async for event in self.inner.stream(request):
            yield event

    @property
    def models(self) -> list[Any]:
        return [request.model for request in self.requests]

    @property
    def offered(self) -> list[list[str]]:
        return [[tool.name for tool in request.tools] for request in self.requests]


@pytest.fixture
def tools(box: Any, bench: Any) -> Any:
    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)
    box.tool("search")
    return box.tools


async def cut(store: Any, bench: Any, tools: Any, chooser: Chooser, **options: Any) -> Seeing:
    model = Seeing(bench.Model(bench.Calls("die")))
    await bench.dies(bench.run(store, model, tools, "hello", agent=chooser.agent, metadata=PAID, **options))
    return model


async def test_a_new_run_asks_each_part_once_with_its_input_and_metadata(bench: Any, tools: Any) -> None:
    chooser, model = Chooser(), Seeing(bench.Model("done"))
    await bench.run(bench.memory(), model, tools, "hello", agent=chooser.agent, metadata=PAID)
    assert sorted(chooser.names) == ["instructions", "model", "tools"]
    for _, ctx in chooser.asked:
        assert [message.text for message in ctx.input] == ["hello"]
        assert (ctx.metadata, ctx.session_id) == (PAID, "s")
    assert (model.models, model.offered) == (["paid-model"], [["die", "search"]])
    assert [message.text for message in model.requests[0].messages] == ["Answer in Dutch: hello", "hello"]


async def test_de_184_a_checkpoint_holds_the_context_and_the_chosen_model(store: Any, bench: Any, tools: Any) -> None:
    await cut(store, bench, tools, Chooser())
    config = (await store.again().saved()).run_config
    assert config["model"] == "paid-model"
    assert config["ctx"]["metadata"] == PAID
    assert [message["content"] for message in config["ctx"]["input"]] == ["hello"]
    json.dumps(config)


async def test_de_184_a_crash_resume_asks_with_the_saved_context_and_keeps_the_model(store: Any, bench: Any, tools: Any) -> None:
    first = await cut(store, bench, tools, Chooser())
    chooser, model = Chooser(), Seeing(bench.Model(None, "done"))
    events: list[str] = []
    result = await bench.run(
        store.again(), model, tools, [], agent=chooser.agent, metadata=FREE, on_event=lambda event: events.append(event.type)
    )
    assert (result.text, sorted(chooser.names)) == ("done", ["instructions", "tools"])
    assert all((ctx.metadata, ctx.input[-1].text) == (PAID, "hello") for _, ctx in chooser.asked)
    assert (model.models, model.offered) == (["paid-model"], first.offered)
    assert "agent.drift" not in events
    assert (await store.again().saved()).run_config["ctx"]["metadata"] == PAID


async def test_de_184_also_with_a_new_message_to_the_unfinished_run(store: Any, bench: Any, tools: Any) -> None:
    await cut(store, bench, tools, Chooser())
    chooser, model = Chooser(), Seeing(bench.Model(None, "done"))
    await bench.run(store.again(), model, tools, "and more", agent=chooser.agent, metadata=FREE)
    assert all(ctx.input[-1].text == "hello" for _, ctx in chooser.asked)
    assert model.models == ["paid-model"]


async def test_de_184_the_saved_model_stands_against_a_changed_one(store: Any, bench: Any, tools: Any) -> None:
    await cut(store, bench, tools, Chooser(model="first"))
    model = Seeing(bench.Model(None, "done"))
    await bench.run(store.again(), model, tools, [], agent=Chooser(model="second").agent, on_agent_drift="error")
    assert model.models == ["first"]


async def test_a_model_that_nobody_chose_is_the_providers_of_today(store: Any, bench: Any, tools: Any) -> None:
    await cut(store, bench, tools, Chooser(model=None))
    assert (await store.again().saved()).run_config["model"] is None
    model = Seeing(bench.Model(None, "done", model="m-2"))
    events: list[Any] = []
    await bench.run(store.again(), model, tools, [], agent=Chooser(model=None).agent, on_event=events.append)
    drift = next(event for event in events if event.type == "agent.drift")
    assert (drift.model.from_, drift.model.to, model.models) == ("m-1", "m-2", ["m-2"])


async def test_what_a_function_gives_now_is_compared_with_what_it_gave(store: Any, bench: Any, tools: Any) -> None:
    await cut(store, bench, tools, Chooser())
    other = Chooser(instructions=lambda ctx: "Something else")
    with pytest.raises(AgentDriftError, match="instructions changed"):
        await bench.run(store.again(), bench.Model(), tools, [], agent=other.agent, on_agent_drift="error")


async def test_the_next_message_of_a_finished_session_asks_afresh(store: Any, bench: Any, tools: Any) -> None:
    await bench.run(store, Seeing(bench.Model("one")), tools, "hello", agent=Chooser().agent, metadata=PAID)
    chooser, model = Chooser(), Seeing(bench.Model(None, "two"))
    await bench.run(store.again(), model, tools, "next", agent=chooser.agent, metadata=FREE)
    assert all((ctx.metadata, [message.text for message in ctx.input]) == (FREE, ["next"]) for _, ctx in chooser.asked)
    assert (model.models, model.offered) == (["free-model"], [["die"]])
    assert (await store.again().saved()).run_config == {
        "ctx": {"input": [{"role": "user", "content": "next"}], "metadata": FREE},
        "model": "free-model",
    }


async def test_only_the_new_messages_of_a_history_that_is_sent_again_are_its_input(store: Any, bench: Any, tools: Any) -> None:
    first = await bench.run(store, bench.Model("one"), tools, "hello", agent=Chooser().agent, metadata=PAID)
    chooser = Chooser()
    whole = [*first.messages, {"role": "user", "content": "next"}]
    await bench.run(store.again(), bench.Model(None, "two"), tools, whole, agent=chooser.agent, metadata=FREE)
    assert all([message.text for message in ctx.input] == ["next"] for _, ctx in chooser.asked)


async def test_where_nothing_new_comes_nobody_is_asked(store: Any, bench: Any, tools: Any) -> None:
    await bench.run(store, bench.Model("one"), tools, "hello", agent=Chooser().agent, metadata=PAID)
    before, chooser = await store.saved(), Chooser()
    result = await bench.run(store.again(), bench.Model(), tools, [], agent=chooser.agent, metadata=FREE)
    assert (result.text, chooser.asked, await store.again().saved()) == ("one", [], before)
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(store.again(), bench.Model(), tools, [], agent=chooser.agent, session_id="new")
    assert (raised.value.code, chooser.asked) == ("LOUSHO_CONFIG_MISSING_INPUT", [])


async def test_a_session_that_waits_for_a_person_asks_nobody(store: Any, bench: Any, box: Any) -> None:
    box.tool("die", needs_approval=True)
    await bench.run(store, bench.Model(bench.Calls("die")), box.tools, agent=Chooser().agent, metadata=PAID)
    chooser = Chooser()
    with pytest.raises(Exception, match="waits"):
        await bench.run(store.again(), bench.Model(), box.tools, "next", agent=chooser.agent)
    assert chooser.asked == []


async def test_de_184_a_fixed_agent_saves_none(store: Any, bench: Any, tools: Any) -> None:
    await bench.run(store, bench.Model("done"), tools, metadata=PAID)
    assert (await store.saved()).run_config is None


async def test_a_fixed_agent_may_be_gone_on_with_by_a_dynamic_one(store: Any, bench: Any, tools: Any) -> None:
    await bench.dies(bench.run(store, bench.Model(bench.Calls("die")), tools))
    chooser, model = Chooser(instructions=lambda ctx: "Be brief."), Seeing(bench.Model(None, "done"))
    assert (await bench.run(store.again(), model, tools, [], agent=chooser.agent, metadata=PAID)).text == "done"
    assert model.models == ["paid-model"]
    assert all((ctx.input, ctx.metadata) == ((), PAID) for _, ctx in chooser.asked)


async def test_de_184_an_approval_asks_with_the_saved_context(store: Any, bench: Any, box: Any) -> None:
    box.tool("die", needs_approval=True)
    box.tool("search")
    first = await bench.run(store, bench.Model(bench.Calls("die")), box.tools, "hello", agent=Chooser().agent, metadata=PAID)
    chooser, model = Chooser(), Seeing(bench.Model(None, "paid"))
    options = {"agent": chooser.agent, "metadata": FREE, "on_agent_drift": "error"}
    result = await bench.decide(store.again(), first.approval_id, model, box.tools, options=options)
    assert (result.text, sorted(chooser.names)) == ("paid", ["instructions", "tools"])
    assert all((ctx.metadata, ctx.session_id) == (PAID, "s") for _, ctx in chooser.asked)
    assert (model.models, model.offered) == (["paid-model"], [["die", "search"]])


async def test_de_184_a_pause_that_only_its_snapshot_keeps_has_it_too(bench: Any, box: Any) -> None:
    stores = bench.custom()
    box.tool("die", needs_approval=True)
    options = {"session_id": None, "checkpoint_store": None}
    first = await bench.run(stores, bench.Model(bench.Calls("die")), box.tools, "hello", agent=Chooser().agent, metadata=PAID, **options)
    chooser, model = Chooser(), Seeing(bench.Model(None, "paid"))
    decision = {"id": first.approval_id, "approved": True}
    result = await resume_after_approval(decision, stores.approvals, box.tools, model, {"agent": chooser.agent, "on_agent_drift": "error"})
    assert (result.text, model.models) == ("paid", ["paid-model"])
    assert all((ctx.metadata, ctx.session_id) == (PAID, None) for _, ctx in chooser.asked)


async def test_de_184_an_approval_without_an_agent_goes_on_with_the_one_that_paused(store: Any, bench: Any, box: Any) -> None:
    """Also in a second run, whose instructions the transcript does not hold."""
    box.tool("die", needs_approval=True)
    box.tool("search")
    await bench.run(store, bench.Model("hi"), box.tools, "hello", agent=Chooser().agent, metadata=FREE)
    paused = await bench.run(store, bench.Model(None, bench.Calls("die")), box.tools, "next", agent=Chooser().agent, metadata=PAID)
    model = Seeing(bench.Model(None, None, "paid"))
    result = await bench.decide(store.again(), paused.approval_id, model, box.tools, options={"on_agent_drift": "error"})
    assert (result.text, model.models, model.offered) == ("paid", ["paid-model"], [["die", "search"]])


async def test_a_fork_keeps_the_context_and_the_model(ringed: Any, bench: Any, tools: Any) -> None:
    await cut(ringed, bench, tools, Chooser())
    fork = await AgentExecutor.fork("s", 1, ringed.checkpoints)
    assert fork.checkpoint.run_config["ctx"]["metadata"] == PAID
    chooser, model = Chooser(), Seeing(bench.Model(None, "done"))
    await bench.run(ringed.again(), model, tools, [], agent=chooser.agent, session_id=fork.session_id, on_agent_drift="error")
    assert all((ctx.metadata, ctx.input[-1].text, ctx.session_id) == (PAID, "hello", fork.session_id) for _, ctx in chooser.asked)
    assert model.models == ["paid-model"]


async def test_an_input_that_others_left_is_asked_with_itself(log_stores: Any, bench: Any, tools: Any) -> None:
    """It begins a run of its own, as the one that goes on has no step left."""

    async def leave(request: Any) -> str:
        post = Post("p1", "input", "2026-01-01T00:00:00.000Z", "somebody", plain([user("from others")])[0])
        await log_stores.log_store.post("s", post)
        return "one"

    def model_of(ctx: Any) -> str:
        return f"model for {ctx.input[-1].text}"

    model = Seeing(bench.Model(leave, "two"))
    await bench.run(log_stores, model, tools, "hello", agent=Chooser(model=model_of).agent, metadata=PAID, max_steps=1)
    assert model.models == ["model for hello", "model for from others"]
    assert (await log_stores.again().saved()).run_config["model"] == "model for from others"


async def test_one_that_others_left_waits_on_when_its_agent_can_not_be_made(log_stores: Any, bench: Any, tools: Any, caplog: Any) -> None:
    async def leave(request: Any) -> str:
        post = Post("p1", "input", "2026-01-01T00:00:00.000Z", "somebody", plain([user("from others")])[0])
        await log_stores.log_store.post("s", post)
        return "one"

    def fails(ctx: Any) -> str:
        if ctx.input[-1].text == "from others":
            raise RuntimeError("not now")
        return "m"

    result = await bench.run(log_stores, bench.Model(leave), tools, "hello", agent=Chooser(model=fails).agent, metadata=PAID, max_steps=1)
    assert (result.text, "not now" in caplog.text) == ("one", True)
    result = await bench.run(log_stores.again(), bench.Model(None, "two"), tools, [], agent=Chooser(model="m").agent, metadata=PAID)
    assert result.text == "two"


@pytest.mark.parametrize("part", ["instructions", "tools", "model"])
async def test_a_function_that_fails_is_named_and_nothing_is_written(store: Any, bench: Any, tools: Any, part: str) -> None:
    def fails(ctx: Any) -> Any:
        raise RuntimeError("no configuration server")

    model = bench.Model("done")
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(store, model, tools, agent=Chooser(**{part: fails}).agent, metadata=PAID)
    assert (raised.value.code, raised.value.field) == ("LOUSHO_CONFIG_RESOLVER_FAILED", f"agent.{part}")
    assert "RuntimeError: no configuration server" in raised.value.detail
    assert (model.asked, await store.saved()) == ([], None)
    if store.log_store:
        assert (await store.log_store.read("s")).head == 0
    assert (await bench.run(store.again(), model, tools, agent=Chooser().agent, metadata=PAID)).text == "done"


async def test_one_that_wants_to_end_the_process_has_failed(bench: Any, tools: Any) -> None:
    def leaves(ctx: Any) -> Any:
        raise SystemExit(3)

    with pytest.raises(ConfigurationError, match="SystemExit: 3"):
        await bench.run(bench.memory(), bench.Model("done"), tools, agent=Chooser(instructions=leaves).agent, metadata=PAID)


async def test_one_that_fails_in_the_middle_of_its_tools_is_named_too(bench: Any, tools: Any) -> None:
    def fails(ctx: Any) -> Any:
        yield "die"
        raise RuntimeError("no more")

    with pytest.raises(ConfigurationError, match="RuntimeError: no more") as raised:
        await bench.run(bench.memory(), bench.Model("done"), tools, agent=Chooser(tools=fails).agent, metadata=PAID)
    assert (raised.value.code, raised.value.field) == ("LOUSHO_CONFIG_RESOLVER_FAILED", "agent.tools")


async def test_on_resume_too_and_the_approval_waits_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("die", needs_approval=True)
    first = await bench.run(store, bench.Model(bench.Calls("die")), box.tools, agent=Chooser().agent, metadata=PAID)
    before = await store.saved()

    async def fails(ctx: Any) -> Any:
        raise RuntimeError("no configuration server")

    with pytest.raises(ConfigurationError) as raised:
        await bench.decide(store.again(), first.approval_id, bench.Model(), box.tools, options={"agent": Chooser(tools=fails).agent})
    assert raised.value.code == "LOUSHO_CONFIG_RESOLVER_FAILED"
    assert (box.ran, await store.again().saved()) == ([], before)
    assert (await bench.decide(store.again(), first.approval_id, bench.Model(None, "paid"), box.tools)).text == "paid"


@pytest.mark.parametrize(
    ("part", "given"),
    [
        ("instructions", 7),
        ("instructions", ["a"]),
        ("model", b"m"),
        ("tools", "die"),
        ("tools", 3),
        ("tools", [3]),
        ("tools", ["die", "die"]),
    ],
)
async def test_what_can_not_be_used_is_refused(bench: Any, tools: Any, part: str, given: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), bench.Model("done"), tools, agent=Chooser(**{part: lambda ctx: given}).agent, metadata=PAID)
    assert (raised.value.code, raised.value.field) == ("LOUSHO_CONFIG_RESOLVER_FAILED", f"agent.{part}")


async def test_a_function_cancelled_from_inside_has_failed(bench: Any, tools: Any) -> None:
    async def gives_up(ctx: Any) -> str:
        raise asyncio.CancelledError

    with pytest.raises(ConfigurationError, match="cancelled from inside"):
        await bench.run(bench.memory(), bench.Model("done"), tools, agent=Chooser(instructions=gives_up).agent, metadata=PAID)


async def test_tools_may_be_given_as_they_are(store: Any, bench: Any, box: Any) -> None:
    own = bench.Box()
    own.tool("own")
    box.tool("search")
    agent = {"name": "agent", "tools": lambda ctx: [*own.tools, "search", "unknown"]}
    model = Seeing(bench.Model(bench.Calls("own", "search"), "done"))
    await bench.run(store, model, box.tools, agent=agent)
    assert (model.offered[0], own.ran, box.ran) == (["own", "search"], ["c1"], ["c2"])


async def test_no_tools_of_its_own_means_all(bench: Any, tools: Any) -> None:
    model = Seeing(bench.Model("done"))
    await bench.run(None, model, tools, agent=Agent("agent", tools=lambda ctx: None))  # type: ignore[arg-type]
    assert model.offered == [["die", "search"]]


async def test_a_function_can_change_neither_what_another_sees_nor_what_is_kept(bench: Any, tools: Any) -> None:
    stores, given = bench.memory(), {"language": "Dutch", "plan": "paid", "tags": []}

    def meddles(ctx: Any) -> str:
        ctx.metadata["plan"] = "free"
        ctx.metadata["tags"].append("x")
        return "Be brief."

    model = Seeing(bench.Model("done"))
    await bench.run(stores, model, tools, agent=Chooser(instructions=meddles).agent, metadata=given)
    assert (model.models, given["tags"]) == (["paid-model"], [])
    assert (await stores.saved()).run_config["ctx"]["metadata"] == given


@pytest.mark.parametrize("wrong", [{"a": object()}, {"a": float("nan")}, {1: "a"}, {"a": b"x"}, {"a": {2}}, ["a"], "a"])
async def test_metadata_that_could_not_be_kept_is_refused(bench: Any, tools: Any, wrong: Any) -> None:
    chooser = Chooser()
    for agent in (chooser.agent, {"name": "agent"}):
        with pytest.raises(ConfigurationError) as raised:
            await bench.run(bench.memory(), bench.Model("done"), tools, agent=agent, metadata=wrong)
        assert raised.value.field == "metadata"
    assert chooser.asked == []


async def test_wrong_settings_are_refused_before_anybody_is_asked(bench: Any, tools: Any) -> None:
    chooser = Chooser()
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), bench.Model("done"), tools, agent=chooser.agent, metadata=PAID, max_steps=0)
    assert (raised.value.field, chooser.asked) == ("max_steps", [])


async def test_an_abort_does_not_wait_for_a_function(log_stores: Any, bench: Any, tools: Any) -> None:
    controller, waiting = AbortController(), asyncio.Event()

    async def hangs(ctx: Any) -> str:
        waiting.set()
        await asyncio.Event().wait()
        return "never"

    running = asyncio.ensure_future(
        bench.run(log_stores, bench.Model("done"), tools, agent=Chooser(tools=hangs).agent, metadata=PAID, signal=controller.signal)
    )
    await asyncio.wait_for(waiting.wait(), 30)
    controller.abort()
    with pytest.raises(AbortedError):
        await asyncio.wait_for(running, 30)
    assert (await log_stores.log_store.read("s")).head == 0
    assert (await bench.run(log_stores.again(), bench.Model("done"), tools)).text == "done"


async def test_nor_does_one_that_came_before_it_was_asked(bench: Any, tools: Any) -> None:
    controller, model = AbortController(), bench.Model("done")
    controller.abort()

    async def hangs(ctx: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    running = bench.run(bench.memory(), model, tools, agent=Chooser(model=hangs).agent, metadata=PAID, signal=controller.signal)
    with pytest.raises(AbortedError):
        await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(running)), 30)
    assert model.asked == []
