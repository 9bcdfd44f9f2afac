"""Sub-agents: runs inside the run, in the same log."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.errors import PropagatingToolError, ProviderError, ResumeToolMissingError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.sessions import read_session


def scout(model: Any, tools: Any = (), **options: Any) -> SubAgent:
    return SubAgent({"name": "scout", "prompt": "You scout."}, provider=model, tools=tools, description="Looks around", **options)


def ask(*inputs: str) -> list[tuple[str, dict[str, str]]]:
    return [("scout", {"input": text}) for text in inputs]


async def test_its_answer_is_the_result_and_its_transcript_is_its_own(store, bench) -> None:
    box = bench.Box()
    look = box.tool("look", lambda args, ctx: "sand")
    child = bench.Model(bench.Calls("look"), "It is sandy.")
    lead = bench.Model(bench.Calls(*ask("Look at the beach")), "Take a towel.")

    result = await bench.run(store, lead, subagents={"scout": scout(child, [look])})

    assert result.text == "Take a towel."
    assert bench.result(result.messages, "c1") == "It is sandy."
    assert bench.shape(result.messages) == ["system:Be brief.", "user:go", "calls:c1", "result:c1", "assistant:Take a towel."]
    assert [m.text for m in child.asked[0]] == ["You scout.", "Look at the beach"]
    assert [m.text for m in child.asked[1]][-1] == '"sand"'
    assert result.steps == 2
    assert result.usage.delegated.runs == 1
    assert result.usage.delegated.model_calls == 2


async def test_children_run_in_parallel_and_answer_in_call_order(store, bench) -> None:
    both = asyncio.Barrier(2)

    async def answer(request: Any) -> str:
        await both.wait()
        return "saw " + request.messages[-1].text

    child = bench.Model(answer)
    result = await bench.run(store, bench.Model(bench.Calls(*ask("a", "b")), "done"), subagents={"scout": scout(child)})

    assert [bench.result(result.messages, i) for i in ("c1", "c2")] == ["saw a", "saw b"]


async def test_de_074_a_gated_call_of_a_sub_agent_pauses_the_lead_and_deciding_goes_on_within(store, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls(("book", {"n": 2})), "booked")
    lead = bench.Model(bench.Calls(*ask("Book it")), "all set")
    sub = {"scout": scout(child, [book])}

    paused = await bench.run(store, lead, subagents=sub)
    assert paused.finish_reason == "awaiting-approval"
    saved = await store.saved()
    assert (saved.status, saved.approval_id) == ("awaiting-approval", paused.approval_id)
    assert box.log == []

    done = await bench.decide(store.again(), paused.approval_id, lead, options={"subagents": sub})

    assert done.text == "all set"
    assert bench.result(done.messages, "c1") == "booked"
    assert box.log == [("book", {"n": 2}, "c1/c1")]
    assert len(child.asked) == 2, "the turn that asked for the call was not asked for again"
    assert (await store.saved()).status == "finished"


async def test_what_waits_names_the_path_and_its_arguments_can_be_edited(log_stores, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls(("book", {"n": 2})), "booked")
    lead = bench.Model(bench.Calls(*ask("Book it")), "all set")
    sub = {"scout": scout(child, [book])}
    paused = await bench.run(log_stores, lead, subagents=sub)

    (waiting,) = await log_stores.again().approvals.list()
    assert (waiting.path, waiting.calls, waiting.tool_name, waiting.args) == (("scout",), ("c1",), "book", {"n": 2})

    decision = {"id": paused.approval_id, "approved": True, "args": {"n": 3}, "digest": waiting.digest}
    await bench.decide(log_stores.again(), decision, lead, options={"subagents": sub})
    assert box.log == [("book", {"n": 3}, "c1/c1")]


async def test_a_rejected_call_of_a_sub_agent_tells_the_sub_agent(store, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), lambda request: "told: " + json.loads(request.messages[-1].text)["note"])
    lead = bench.Model(bench.Calls(*ask("Book it")), "all set")
    sub = {"scout": scout(child, [book])}
    paused = await bench.run(store, lead, subagents=sub)

    done = await bench.decide(
        store.again(), {"id": paused.approval_id, "approved": False, "note": "too dear"}, lead, options={"subagents": sub}
    )

    assert bench.result(done.messages, "c1") == "told: too dear"
    assert box.log == []


async def test_three_levels_deep_with_a_restart_between_every_two_steps(store, bench) -> None:
    box = bench.Box()
    book, pay = box.tool("book", needs_approval=True), box.tool("pay", needs_approval=True)

    def agents() -> dict[str, SubAgent]:
        """As a process that has just started would make them."""
        deepest = scout(bench.Model(bench.Calls("book"), bench.Calls("pay"), "deep"), [book, pay])
        middle = SubAgent(
            {"name": "mid"},
            provider=bench.Model(bench.Calls(*ask("x")), bench.Calls("pay"), "mid"),
            tools=[pay],
            subagents={"scout": deepest},
        )
        return {"mid": middle}

    lead = bench.Model(bench.Calls(("mid", {"input": "go"})), "end")
    result = await bench.run(store, lead, subagents=agents())
    asked = []
    while result.finish_reason == "awaiting-approval":
        asked.append(result.approval_id)
        result = await bench.decide(store.again(), result.approval_id, lead, options={"subagents": agents()})

    assert len(set(asked)) == 3
    assert result.text == "end"
    assert box.ran == ["c1/c1/c1", "c1/c1/c2", "c1/c2"]
    assert bench.result(result.messages, "c1") == "mid"


async def test_a_paused_child_pauses_the_lead_and_the_others_keep_what_they_finished(store, bench) -> None:
    box = bench.Box()
    book, look = box.tool("book", needs_approval=True), box.tool("look")
    child = bench.Model(lambda request: bench.Calls("book") if "pay" in request.messages[-1].text else bench.Calls("look"), "fine")
    lead = bench.Model(bench.Calls(*ask("pay", "see", "see more")), "end")
    sub = {"scout": scout(child, [book, look])}

    paused = await bench.run(store, lead, subagents=sub)
    assert paused.finish_reason == "awaiting-approval"
    assert sorted(box.ran) == ["c2/c1", "c3/c1"]
    calls = len(child.asked)

    done = await bench.decide(store.again(), paused.approval_id, lead, options={"subagents": sub})

    assert [bench.result(done.messages, i) for i in ("c1", "c2", "c3")] == ["fine"] * 3
    assert box.ran.count("c2/c1") == 1
    assert len(child.asked) == calls + 1, "only the paused one asked its model again"


async def test_two_children_that_wait_are_decided_one_after_the_other(store, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), "fine")
    lead = bench.Model(bench.Calls(*ask("a", "b")), "end")
    sub = {"scout": scout(child, [book])}

    first = await bench.run(store, lead, subagents=sub)
    second = await bench.decide(store.again(), first.approval_id, lead, options={"subagents": sub})
    assert second.finish_reason == "awaiting-approval"
    assert second.approval_id != first.approval_id
    assert box.ran == ["c1/c1"]
    done = await bench.decide(store.again(), second.approval_id, lead, options={"subagents": sub})

    assert done.text == "end"
    assert box.ran == ["c1/c1", "c2/c1"]
    assert len(child.asked) == 4


async def test_de_149_a_resumed_sub_agent_that_pauses_again_marks_the_lead_anew(store, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), bench.Calls("book"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [book])}

    first = await bench.run(store, lead, subagents=sub)
    second = await bench.decide(store.again(), first.approval_id, lead, options={"subagents": sub})

    saved = await store.saved()
    assert second.approval_id != first.approval_id
    assert (saved.status, saved.approval_id) == ("awaiting-approval", second.approval_id)


async def test_a_process_that_dies_in_a_sub_agent_loses_the_effect_in_hand_alone(log_stores, bench) -> None:
    box = bench.Box()
    died: list[bool] = []

    def die_once(args: Any, ctx: Any) -> str:
        if not died:
            died.append(True)
            raise bench.Killed
        return "seen" + (" again" if ctx.rerun else "")

    first, second = box.tool("first"), box.tool("second", die_once)
    child = bench.Model(bench.Calls("first"), bench.Calls("second"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [first, second])}

    await bench.dies(bench.run(log_stores, lead, subagents=sub))
    again = log_stores if log_stores.kind == "memory" else log_stores.again()
    result = await bench.run(again, lead, text=[], subagents=sub)

    assert result.text == "end"
    assert box.ran == ["c1/c1", "c1/c2", "c1/c2"]
    assert len(child.asked) == 3, "no turn was asked for twice"
    assert len(lead.asked) == 2


async def test_an_abort_in_a_sub_agent_answers_every_call(store, bench) -> None:
    controller = AbortController()
    box = bench.Box()
    look = box.tool("look", lambda args, ctx: controller.abort())
    child = bench.Model(bench.Calls("look"), "never")
    lead = bench.Model(bench.Calls(*ask("a", "b")), "go on")
    sub = {"scout": scout(child, [look])}

    result = await bench.run(store, lead, subagents=sub, signal=controller.signal)
    assert result.finish_reason == "aborted"
    assert bench.shape(result.messages)[2:] == ["calls:c1+c2", "result:c1", "result:c2"]
    assert (await store.saved()).status == "in-progress"

    more = await bench.run(store.again(), lead, text="and now?", subagents=sub)
    assert more.text == "go on"


async def test_what_may_pass_stops_the_run_and_loses_nothing_of_the_sub_agent(log_stores, bench) -> None:
    box = bench.Box()
    look = box.tool("look")
    overloaded = ProviderError("overloaded", category="overloaded", retryable=True)
    entries = [overloaded, "fine"]
    child = bench.Model(bench.Calls("look"), lambda request: entries.pop(0))
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [look])}

    with pytest.raises(ProviderError):
        await bench.run(log_stores, lead, subagents=sub)
    result = await bench.run(log_stores.again(), lead, text=[], subagents=sub)

    assert result.text == "end"
    assert box.ran == ["c1/c1"]


async def test_what_will_not_pass_is_told_to_the_lead(store, bench) -> None:
    child = bench.Model(ProviderError("no such model", category="bad-request"))
    lead = bench.Model(bench.Calls(*ask("a")), "without it")

    result = await bench.run(store, lead, subagents={"scout": scout(child)})

    assert result.text == "without it"
    assert bench.result(result.messages, "c1")["message"] == "no such model"


async def test_a_tool_of_a_sub_agent_can_stop_the_run(store, bench) -> None:
    def stop(args: Any, ctx: Any) -> None:
        raise PropagatingToolError("enough")

    box = bench.Box()
    look = box.tool("look", stop)
    lead = bench.Model(bench.Calls(*ask("a")), "never")

    with pytest.raises(PropagatingToolError, match="enough"):
        await bench.run(store, lead, subagents={"scout": scout(bench.Model(bench.Calls("look")), [look])})
    assert (await store.saved()).status == "in-progress"


async def test_it_has_limits_of_its_own(store, bench) -> None:
    box = bench.Box()
    look = box.tool("look")
    child = bench.Model(*[bench.Calls("look", text=f"step {n}") for n in range(5)])
    lead = bench.Model(bench.Calls(*ask("a")), "end")

    result = await bench.run(store, lead, subagents={"scout": scout(child, [look], max_steps=2)})

    assert len(child.asked) == 2
    assert bench.result(result.messages, "c1") == {"answer": "step 1", "ended": "max-steps"}


async def test_a_fork_of_a_nested_pause_asks_again_and_leaves_the_source(log_stores, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [book])}
    paused = await bench.run(log_stores, lead, subagents=sub)
    before = await log_stores.saved()

    fork = await AgentExecutor.fork("s", 1, log_stores.checkpoints)
    again = await bench.run(log_stores, lead, text=[], session_id=fork.session_id, subagents=sub)

    assert again.finish_reason == "awaiting-approval"
    assert again.approval_id != paused.approval_id
    assert len(child.asked) == 1, "the fork goes on within the sub-agent"
    assert await log_stores.saved() == before


async def test_a_call_of_a_sub_agent_whose_tool_is_gone_refuses_the_resume(log_stores, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    paused = await bench.run(log_stores, lead, subagents={"scout": scout(child, [book])})

    with pytest.raises(ResumeToolMissingError) as raised:
        await bench.decide(log_stores, paused.approval_id, lead, options={"subagents": {"scout": scout(child)}})
    assert raised.value.tools == ("book",)
    assert [wait.id for wait in await log_stores.approvals.list()] == [paused.approval_id]


async def test_the_same_session_with_and_without_its_snapshot(bench) -> None:
    stores = bench.memory()
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    child = bench.Model(bench.Calls("book"), "fine")
    await bench.run(stores, bench.Model(bench.Calls(*ask("a")), "end"), subagents={"scout": scout(child, [book])})
    whole = await read_session(stores.log_store, "s")

    claim = await stores.log_store.claim("s", "h")
    from lousho_cli.core.states import state_from

    await stores.log_store.save_snapshot(claim, state_from(whole))
    await stores.log_store.release(claim)
    assert await read_session(stores.log_store, "s") == whole
    assert whole.children["c1"].wait is not None
