"""Sub-agents: runs inside the run, in the same log."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.core.resuming import outlook
from lousho_cli.core.sub_sessions import sub_sessions
from lousho_cli.core.transcript import check
from lousho_cli.domain.agent import agent_from
from lousho_cli.domain.times import ms_between
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import PropagatingToolError, ProviderError, ResumeToolMissingError
from lousho_cli.executor import session_log
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.aborts import abort_session
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.registry import registry_from
from lousho_cli.executor.run_agent import RunSettings, run_agent
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.provider import Answer
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


async def test_a_fork_anywhere_keeps_the_sub_agents_and_starts_no_call_of_the_source_twice(ringed, bench) -> None:
    box = bench.Box()
    book, look = box.tool("book", needs_approval=True), box.tool("look")
    child = bench.Model(bench.Calls("look"), bench.Calls("book"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [look, book])}
    await bench.run(ringed, lead, subagents=sub)

    fork = await AgentExecutor.fork("s", 1, ringed.checkpoints)
    again = await bench.run(ringed, lead, text=[], session_id=fork.session_id, subagents=sub)

    assert again.finish_reason == "awaiting-approval"
    assert box.ran == ["c1/c1"]
    assert len(child.asked) == 2


async def test_a_fork_may_answer_for_a_sub_agent(ringed, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    lead = bench.Model(bench.Calls(*ask("a")), lambda request: "told " + request.messages[-1].text)
    sub = {"scout": scout(bench.Model(bench.Calls("book"), "fine"), [book])}
    await bench.run(ringed, lead, subagents=sub)

    patch = {"tool_result": {"tool_call_id": "c1", "result": "no beach"}}
    fork = await AgentExecutor.fork("s", 1, ringed.checkpoints, patch)
    result = await bench.run(ringed, lead, text=[], session_id=fork.session_id, subagents=sub)

    assert result.text == 'told "no beach"'
    assert box.log == []


@pytest.mark.parametrize("children", [1, 2])
async def test_an_abort_that_gives_up_hanging_calls_still_gives_each_its_result(log_stores, bench, children: int) -> None:
    box, controller = bench.Box(), AbortController()

    async def hang(args: Any, ctx: Any) -> None:
        if len(box.log) == 2 * children:
            controller.abort()
        await asyncio.Event().wait()

    sub = {"scout": scout(bench.Model(bench.Calls("hang", "hang")), [box.tool("hang", hang)])}
    lead = bench.Model(bench.Calls(*ask(*"ab"[:children])))
    await bench.run(log_stores, lead, subagents=sub, signal=controller.signal, abort_grace_ms=1)

    found = sub_sessions((await log_stores.log_store.read("s")).batches)
    assert [one.session.outcome for one in found] == ["aborted"] * children
    assert [bench.shape(one.session.messages)[-2:] for one in found] == [["result:c1", "result:c2"]] * children


async def test_an_abort_breaks_off_no_write_of_a_sub_agent(bench) -> None:
    stores, box, controller = bench.memory(), bench.Box(), AbortController()
    append = stores.log_store.append

    async def slow_append(claim: Any, batches: Any, *, durable: bool = True) -> None:
        if controller.signal.aborted:
            await asyncio.sleep(0.005)  # longer than the grace: it falls into the middle of a write
        await append(claim, batches, durable=durable)

    stores.log_store.append = slow_append
    look = box.tool("look", lambda args, ctx: controller.abort() or "seen")
    sub = {"scout": scout(bench.Model(bench.Calls("look")), [look])}
    result = await bench.run(stores, bench.Model(bench.Calls(*ask("a"))), subagents=sub, signal=controller.signal, abort_grace_ms=1)

    assert result.finish_reason == "aborted"
    (found,) = sub_sessions((await stores.log_store.read("s")).batches)
    assert bench.shape(found.session.messages)[-1] == "result:c1"


async def test_no_snapshot_runs_ahead_of_its_log(bench, monkeypatch) -> None:
    stores, box, ahead = bench.memory(), bench.Box(), []
    store = stores.log_store
    append, save = store.append, store.save_snapshot
    monkeypatch.setattr(session_log, "snapshot_due", lambda *_: True)

    async def slow_append(claim: Any, batches: Any, *, durable: bool = True) -> None:
        await asyncio.sleep(0)
        await append(claim, batches, durable=durable)

    async def save_snapshot(claim: Any, state: Any) -> None:
        ahead.append(state.seq > (await store.read("s")).head)
        await save(claim, state)

    store.append, store.save_snapshot = slow_append, save_snapshot
    sub = {"scout": scout(bench.Model(bench.Calls("look"), "fine"), [box.tool("look")])}
    await bench.run(stores, bench.Model(bench.Calls(*ask("a", "b", "c")), "end"), subagents=sub)

    assert ahead
    assert not any(ahead), "another owner's log would be as long one day, and the snapshot believed"


async def test_a_call_of_a_sub_agent_that_may_not_run_twice_does_not_on_a_plain_store(bench) -> None:
    stores, box = bench.custom(), bench.Box()

    def pay(args: Any, ctx: Any) -> None:
        raise bench.Killed

    sub = {"scout": scout(bench.Model(bench.Calls("pay"), "fine"), [box.tool("pay", pay, needs_approval=True, replay="never")])}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    paused = await bench.run(stores, lead, subagents=sub)
    await bench.dies(bench.decide(stores.again(), paused.approval_id, lead, options={"subagents": sub}))
    result = await bench.run(stores.again(), lead, text=[], subagents=sub)

    assert result.text == "end"
    assert box.ran == ["c1/c1"]


async def test_what_a_cut_call_of_a_sub_agent_left_running_is_killed_before_it_runs_again(log_stores, bench) -> None:
    box, reaped = bench.Box(), []

    async def run(args: Any, ctx: Any) -> str:
        if not ctx.rerun:
            ctx.spawned(4711, "then")
            await asyncio.sleep(0)
            raise bench.Killed
        assert reaped == [(4711, "then")]
        return "done"

    async def reap(pid: int, started: str) -> bool:
        reaped.append((pid, started))
        return True

    tool = box.tool("run", run)
    tool.reap = reap
    sub = {"scout": scout(bench.Model(bench.Calls("run"), "fine"), [tool])}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    await bench.dies(bench.run(log_stores, lead, subagents=sub))
    result = await bench.run(log_stores.again(), lead, text=[], subagents=sub)

    assert bench.result(result.messages, "c1") == "fine"
    assert reaped


async def test_a_fork_gives_a_sub_agent_its_time_afresh(ringed, bench, clock) -> None:
    box = bench.Box()
    sub = {"scout": scout(bench.Model(bench.Calls("book"), "fine"), [box.tool("book", needs_approval=True)], max_duration_ms=60_000)}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    await bench.run(ringed, lead, subagents=sub, clock=clock)
    clock.ms += 3_600_000
    forked = await AgentExecutor.fork("s", 1, ringed.checkpoints, clock=clock)
    result = await bench.run(ringed, lead, text=[], session_id=forked.session_id, subagents=sub, clock=clock)

    assert result.finish_reason == "awaiting-approval"


async def test_one_that_waits_behind_another_has_its_own_time_to_be_decided(log_stores, bench, clock) -> None:
    box = bench.Box()
    sub = {"scout": scout(bench.Model(bench.Calls("book"), "fine"), [box.tool("book", needs_approval=True)])}
    options = {"subagents": sub, "clock": clock, "approval_ttl_ms": 60_000, "max_duration_ms": 10_000}
    lead = bench.Model(bench.Calls(*ask("a", "b")), "end")
    first = await bench.run(log_stores, lead, **options)
    began = (await read_session(log_stores.log_store, "s")).run.deadline
    clock.ms += 50_000
    second = await bench.decide(log_stores.again(), first.approval_id, lead, options=options)
    clock.ms += 50_000
    done = await bench.decide(log_stores.again(), second.approval_id, lead, options=options)

    assert box.ran == ["c1/c1", "c2/c1"]
    assert done.text == "end"
    ended = (await read_session(log_stores.log_store, "s")).run.deadline
    assert ms_between(began, ended) == 100_000, "the time that people took, once"


async def test_a_sub_agent_that_was_open_at_a_trim_is_still_shown(log_stores, bench) -> None:
    box = bench.Box()
    sub = {"scout": scout(bench.Model(bench.Calls("book"), "fine"), [box.tool("book", needs_approval=True)])}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    paused = await bench.run(log_stores, lead, subagents=sub)
    await trim_session("s", log_stores.log_store, force=True)
    await bench.decide(log_stores.again(), paused.approval_id, lead, options={"subagents": sub})

    (found,) = sub_sessions((await log_stores.log_store.read("s")).batches)
    assert (found.path, bench.shape(found.session.messages)[-1]) == (("scout",), "assistant:fine")


async def test_a_tool_that_took_the_name_of_an_open_sub_agent_is_gated_as_itself(log_stores, bench) -> None:
    box = bench.Box()
    sub = {"scout": scout(bench.Model(bench.Calls("book"), "fine"), [box.tool("book", needs_approval=True)])}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    paused = await bench.run(log_stores, lead, subagents=sub)
    other = bench.Box()
    other.tool("scout", needs_approval=True)
    result = await bench.decide(log_stores.again(), paused.approval_id, lead, other.tools, options={"on_agent_drift": "ignore"})

    assert other.log == []
    assert "ToolArgumentsValidationError" in json.dumps(bench.result(result.messages, "c1"))


async def test_a_resume_tells_which_calls_of_a_sub_agent_run_again(log_stores, bench) -> None:
    box = bench.Box()

    def die(args: Any, ctx: Any) -> None:
        raise bench.Killed

    box.tool("look")
    box.tool("dig", die)
    sub = {"scout": scout(bench.Model(bench.Calls("look"), bench.Calls("dig"), "fine"), box.tools)}
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    await bench.dies(bench.run(log_stores, lead, subagents=sub))

    facts = run_agent(agent_from({"name": "agent"}), lead, registry_from([]), RunSettings(subagents=sub)).facts
    found = outlook(await read_session(log_stores.log_store, "s"), facts)
    assert [call.id for call in found.will_run] == [call.id for call in found.again] == ["c1/c2"]


async def test_an_abort_of_what_waits_answers_every_call_at_every_level(log_stores, bench) -> None:
    box = bench.Box()
    book = box.tool("book", needs_approval=True)
    deep = scout(bench.Model(bench.Calls("book"), "fine"), [book])
    mid = SubAgent({"name": "mid"}, provider=bench.Model(bench.Calls(*ask("x")), "mid"), subagents={"scout": deep})
    await bench.run(log_stores, bench.Model(bench.Calls(("mid", {"input": "go"}))), subagents={"mid": mid})

    await abort_session("s", log_stores.checkpoints)

    batches = (await log_stores.log_store.read("s")).batches
    found = {one.path: one.session for one in sub_sessions(batches)}
    assert set(found) == {("mid",), ("mid", "scout")}
    for session in found.values():
        assert (session.outcome, session.pending, session.status) == ("aborted", (), "in-progress")
        assert check(session.messages) is None


async def test_a_plain_store_keeps_what_a_sub_agent_did_before_a_crash(bench) -> None:
    stores, box = bench.custom(), bench.Box()

    def die_once(args: Any, ctx: Any) -> str:
        if not ctx.rerun:
            raise bench.Killed
        return "seen"

    first, second = box.tool("first"), box.tool("second", die_once)
    child = bench.Model(bench.Calls("first"), bench.Calls("second"), "fine")
    lead = bench.Model(bench.Calls(*ask("a")), "end")
    sub = {"scout": scout(child, [first, second])}

    await bench.dies(bench.run(stores, lead, subagents=sub))
    result = await bench.run(stores.again(), lead, text=[], subagents=sub)

    assert result.text == "end"
    assert box.ran == ["c1/c1", "c1/c2", "c1/c2"]
    assert len(child.asked) == 3


async def test_sub_agents_at_once_stop_at_the_limit_of_their_lead(store, bench) -> None:
    box = bench.Box()
    look = box.tool("look")
    child = bench.Model(*[lambda request: Answer(bench.Calls("look").answer(request.messages).message, "tool_calls", CallUsage(10, 5))] * 9)
    lead = bench.Model(bench.Calls(*ask("a", "b", "c", "d")), "end")

    result = await bench.run(store, lead, subagents={"scout": scout(child, [look])}, max_tokens=100)

    assert result.finish_reason == "budget-exceeded"
    assert result.usage.tokens_with_delegated < 100 + 4 * 15 + result.usage.total_tokens
