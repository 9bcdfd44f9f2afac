"""``agent.approvals``: what waits in the agent's store, and going on once it is decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lousho_cli import create_agent, define_tool
from lousho_cli.errors import AgentDriftError, ConfigurationError, NotFoundError, ResumeToolMissingError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.tools.builtin.ask_question import make


def agent_on(stores: Any, model: Any, tools: Any = (), **options: Any) -> Any:
    store = {"checkpoints": stores.checkpoints, "approvals": stores.approvals}
    options.setdefault("instructions", "Be brief.")
    return create_agent(model, store=store, tools=tools, **options)


def asking() -> Any:
    """The tool that asks a person."""
    return make(Path())


def paying(box: Any) -> None:
    box.tool("pay", needs_approval=True)


async def test_list_and_get_show_what_waits_and_take_nothing(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    agent = agent_on(store, bench.Model(bench.Calls(("pay", {"n": 5}))), box.tools)
    assert await agent.approvals.list() == []
    first = await agent.send("go", "a")
    second = await agent.send("go", "b")
    listed = await agent.approvals.list()
    assert [pending.id for pending in listed] == [first.approval_id, second.approval_id]
    got = await agent.approvals.get(first.approval_id)
    assert (got.id, got.tool_name, got.args, got.digest) == (first.approval_id, "pay", {"n": 5}, listed[0].digest)
    assert await agent.approvals.get("unknown") is None
    assert len(await agent.approvals.list()) == 2


async def test_resolve_goes_on_under_the_session_id_in_another_process(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    paused = await agent_on(store, bench.Model(bench.Calls("pay")), box.tools).send("go", "s")
    agent = agent_on(store.again(), bench.Model(None, "paid"), box.tools)
    result = await agent.approvals.resolve(paused.approval_id, True, note="ok for today", by="the desk")
    saved = await store.saved("s")
    assert (result.text, result.session_id, box.ran) == ("paid", "s", ["c1"])
    assert (saved.status, saved.messages) == ("finished", result.messages)
    assert bench.result(result.messages, "c1")["review"] == {"note": "ok for today"}
    assert next(m for m in result.messages if m.tool_call_id == "c1").metadata["approval"]["by"] == "the desk"
    with pytest.raises(NotFoundError) as refused:
        await agent.approvals.resolve(paused.approval_id, True)
    assert refused.value.code == "LOUSHO_APPROVAL_NOT_FOUND"


async def test_de_146_a_crash_after_the_approved_tool_does_not_run_it_again(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    paused = await agent_on(store, bench.Model(bench.Calls("pay")), box.tools).send("go", "s")

    def dies(request: Any) -> Any:
        raise bench.Killed

    await bench.dies(agent_on(store.again(), bench.Model(None, dies), box.tools).approvals.resolve(paused.approval_id, True))
    saved = await store.saved("s")
    assert (saved.status, bench.shape(saved.messages)[-1]) == ("in-progress", "result:c1")
    result = await agent_on(store.again(), bench.Model(None, "paid"), box.tools).resume("s")
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_an_edit_and_a_rejection(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    agent = agent_on(store, bench.Model(bench.Calls("pay", "pay"), "done"), box.tools)
    first = await agent.send("go", "s")
    second = await agent.approvals.resolve(first.approval_id, True, args={"n": 7})
    assert box.log == [("pay", {"n": 7}, "c1")]
    result = await agent.approvals.resolve(second.approval_id, False, note="too dear")
    assert (result.text, box.ran) == ("done", ["c1"])
    assert bench.result(result.messages, "c2")["note"] == "too dear"


async def test_a_wrong_digest_decides_nothing(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    agent = agent_on(store, bench.Model(bench.Calls("pay"), "paid"), box.tools)
    paused = await agent.send("go", "s")
    with pytest.raises(ConfigurationError, match="digest"):
        await agent.approvals.resolve(paused.approval_id, True, digest="0" * 16)
    with pytest.raises(ConfigurationError):
        await agent.approvals.resolve(paused.approval_id, "yes")
    with pytest.raises(ConfigurationError, match="no option max_stpes"):
        await agent.approvals.resolve(paused.approval_id, True, max_stpes=4)
    (pending,) = await agent.approvals.list()
    assert (await agent.approvals.resolve(paused.approval_id, True, digest=pending.digest)).text == "paid"


async def test_stream_resolve_streams_the_rest_of_the_run(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    agent = agent_on(store, bench.Model(bench.Calls("pay"), "paid"), box.tools)
    paused = await agent.send("go", "s")
    stream = agent.approvals.stream_resolve(paused.approval_id, True)
    events = [event.type async for event in stream]
    assert {"run.start", "tool.done", "run.done"} <= set(events)
    assert (await stream.result()).text == "paid"


DECIDES = {
    "resolve": lambda agent, waits: agent.approvals.resolve(waits, True),
    "stream_resolve": lambda agent, waits: agent.approvals.stream_resolve(waits, True).result(),
    "answer": lambda agent, waits: agent.approvals.answer(waits, "blue"),
    "stream_answer": lambda agent, waits: agent.approvals.stream_answer(waits, "blue").result(),
}


@pytest.mark.parametrize("way", DECIDES)
async def test_de_180_every_way_to_decide_checks_drift_first(store: Any, bench: Any, box: Any, way: str) -> None:
    question = "answer" in way
    if question and store.kind == "custom":
        store = bench.custom(approvals=bench.PlainWithLoad)  # a question is looked at before it is answered
    paying(box)
    call = ("ask-question", {"question": "Which?"}) if question else "pay"
    tools = [*box.tools, asking()]
    paused = await agent_on(store, bench.Model(bench.Calls(call)), tools).send("go", "s")
    before, model = await store.saved(), bench.Model()
    changed = agent_on(store.again(), model, tools, instructions="Be long.", on_agent_drift="error")
    with pytest.raises(AgentDriftError, match="instructions changed"):
        await DECIDES[way](changed, paused.approval_id)
    assert (model.asked, box.ran, await store.saved()) == ([], [], before)
    same = agent_on(store.again(), bench.Model(None, "done"), tools, on_agent_drift="error")
    assert (await DECIDES[way](same, paused.approval_id)).text == "done"


async def test_an_approved_call_whose_tool_is_gone_waits_on(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    paused = await agent_on(store, bench.Model(bench.Calls("pay")), box.tools).send("go", "s")
    with pytest.raises(ResumeToolMissingError):
        await agent_on(store.again(), bench.Model(), []).approvals.resolve(paused.approval_id, True)
    assert (await agent_on(store.again(), bench.Model(None, "paid"), box.tools).approvals.resolve(paused.approval_id, True)).text == "paid"


async def test_answer_answers_a_question_and_nothing_else(log_stores: Any, bench: Any, box: Any) -> None:
    paying(box)
    asks = ("ask-question", {"question": "Which?", "options": ["red", "blue"], "allow_free_text": False})
    tools = [*box.tools, asking()]
    agent = agent_on(log_stores, bench.Model(bench.Calls(asks, "pay"), "done"), tools)
    paused = await agent.send("go", "s")
    pending = await agent.approvals.get(paused.approval_id)
    assert (pending.kind, pending.question.text, pending.question.options) == ("question", "Which?", ("red", "blue"))
    with pytest.raises(ConfigurationError, match="not one of the answers"):
        await agent.approvals.answer(paused.approval_id, "green")
    with pytest.raises(ConfigurationError, match="text"):
        await agent.approvals.answer(paused.approval_id, 5)
    second = await agent.approvals.answer(paused.approval_id, "blue")
    assert bench.result(second.messages, "c1") == {"answer": "blue", "option": 1}
    with pytest.raises(ConfigurationError, match="not a question"):
        await agent.approvals.answer(second.approval_id, "yes")
    with pytest.raises(NotFoundError):
        await agent.approvals.answer("unknown", "yes")
    assert (await agent.approvals.resolve(second.approval_id, False)).text == "done"
    assert box.ran == []


async def test_a_decision_takes_the_settings_of_the_agent(store: Any, bench: Any, box: Any) -> None:
    """The steps of the pause hold where the agent says none of its own; what it says holds for every run."""
    paying(box)
    model = bench.Model(bench.Calls("pay"), bench.Calls("pay"), "done")
    agent = agent_on(store, model, box.tools)
    first = await agent.send("go", "s", max_steps=2)
    second = await agent.approvals.resolve(first.approval_id, True)
    assert (await agent.approvals.resolve(second.approval_id, True)).finish_reason == "max-steps"
    bounded = agent_on(store.again(), bench.Model(bench.Calls("pay")), box.tools, max_steps=1, agent_path="agent.yaml")
    first = await bounded.send("go", "t", max_steps=5)
    assert (await bounded.approvals.resolve(first.approval_id, True)).finish_reason == "max-steps"


@pytest.mark.parametrize(("said", "ran"), [("ask", None), (True, None), ("approve", True), (False, True), ({"deny": "closed"}, False)])
async def test_a_defined_tools_approval_function_decides(store: Any, bench: Any, said: Any, ran: bool | None) -> None:
    seen: list[Any] = []

    async def asks(args: dict[str, Any], ctx: Any) -> Any:
        seen.append((args, ctx.tool_call_id, ctx.session_id))
        return said

    @define_tool(name="pay", input={"properties": {"n": {"type": "integer"}}}, needs_approval=asks)
    async def pay(args: dict[str, Any]) -> str:
        seen.append("ran")
        return "paid"

    agent = agent_on(store, bench.Model(bench.Calls(("pay", {"n": 3})), "done"), [pay])
    result = await agent.send("go", "s")
    assert seen[0] == ({"n": 3}, "c1", "s")
    if ran is None:
        assert (result.finish_reason, seen[1:]) == ("awaiting-approval", [])
        return
    assert ("ran" in seen, result.text) == (ran, "done")
    if not ran:
        assert bench.result(result.messages, "c1")["kind"] == "denied"


async def test_what_a_sub_agent_waits_for_is_decided_here_too(store: Any, bench: Any, box: Any) -> None:
    paying(box)
    clerk = SubAgent({"name": "clerk"}, provider=bench.Model(bench.Calls("pay"), "paid it"), tools=box.tools)
    agent = agent_on(store, bench.Model(bench.Calls(("clerk", {"input": "pay"})), "done"), subagents={"clerk": clerk})
    paused = await agent.send("go", "s")
    assert (await agent.approvals.get(paused.approval_id)).path == ("clerk",)
    assert (await agent.approvals.resolve(paused.approval_id, True)).text == "done"
    assert len(box.ran) == 1
