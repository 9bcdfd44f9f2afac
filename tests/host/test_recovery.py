"""What becomes of what a host left that is gone: the five questions, in their order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.log_events import session_events
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.tools.define import define_tool
from tests.host.left import NAME, THEN, Model, attempts, begun, calling, harness, left, records, state

ANSWER = (r.Turn(Message("assistant", "There.")),)
ABORT = (r.AbortAsked("somebody"),)


async def settled(host: HarnessHost, model: Model, input_id: str = "a", **options: Any) -> Any:
    session = await host.open(harness(model, **options), "t")
    return await session.settled(input_id)


async def test_ds_065_a_stored_input_that_never_ran_runs(store: Any, host: HarnessHost) -> None:
    await left(store, (r.Created(NAME, None, NAME), r.InputReceived("a", (user("Hi"),))))
    model = Model("Hello.")
    ended = await settled(host, model)
    assert (ended.outcome, ended.text) == ("completed", "Hello.")
    assert [message.text for message in model.asked[0]] == ["Hi"]


async def test_ds_066_a_crashed_turn_runs_again_as_the_next_attempt(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    ended = await settled(host, Model("Hello."))
    assert ended.outcome == "completed"
    assert [one.attempt for one in await records(store, r.RunResumed)] == [2]
    other = create_harness_host({"log": store})
    reader = await other.open(harness(Model()), "t")
    resumed = []
    async for event in reader.events():
        if event.type == "harness.operation.resumed":
            resumed.append((event.operation, event.attempt))
        if event.type == "run.done":
            break
    assert resumed == [("a", 2)]
    await other.close()


async def test_ds_067_a_final_answer_in_the_log_ends_it_completed(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), ANSWER)
    model = Model()
    ended = await settled(host, model)
    assert (ended.outcome, ended.text, model.asked) == ("completed", "There.", [])
    assert (await state(store)).ended


@pytest.mark.parametrize("against", ["abort", "attempts", "time"])
async def test_ds_068_a_final_answer_wins_over_everything(store: Any, host: HarnessHost, against: str) -> None:
    await left(store, begun(deadline=THEN if against == "time" else None))
    if against == "attempts":
        await attempts(store, 10)
    await left(store, ANSWER, *([ABORT] if against == "abort" else []))
    model = Model()
    assert (await settled(host, model)).outcome == "completed"
    assert model.asked == []


async def test_ds_069_an_abort_that_was_asked_ends_it(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), ABORT)
    model = Model()
    assert (await settled(host, model)).outcome == "aborted"
    assert model.asked == []


async def test_ds_069_an_abort_left_for_a_host_that_is_gone_ends_what_it_left(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    await store.post("t", Post("p", "abort", THEN, "somebody"))
    model = Model()
    assert (await settled(host, model)).outcome == "aborted"
    assert model.asked == []


async def test_ds_070_no_attempt_left_fails_it(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    model = Model()
    ended = await settled(host, model, durability={"max_attempts": 1})
    assert (ended.outcome, ended.code, model.asked) == ("failed", "attempts_exhausted", [])


@pytest.mark.parametrize("tried", [9, 10])
async def test_ds_071_ten_attempts_are_the_default(store: Any, host: HarnessHost, tried: int) -> None:
    await left(store, begun())
    await attempts(store, tried)
    model = Model("Hello.")
    ended = await settled(host, model)
    assert (ended.outcome, len(model.asked)) == (("completed", 1) if tried == 9 else ("failed", 0))


async def test_ds_072_a_passed_time_limit_fails_it(store: Any, host: HarnessHost) -> None:
    await left(store, begun(deadline=THEN))
    model = Model()
    ended = await settled(host, model)
    assert (ended.outcome, ended.code, model.asked) == ("failed", "timeout", [])


@pytest.mark.parametrize(("asked", "tried", "outcome", "code"), [(True, 10, "aborted", None), (False, 10, "failed", "attempts_exhausted")])
async def test_ds_073_abort_beats_attempts_and_those_beat_time(
    store: Any, host: HarnessHost, asked: bool, tried: int, outcome: str, code: str | None
) -> None:
    await left(store, begun(deadline=THEN))
    await attempts(store, tried)
    await left(store, *([ABORT] if asked else [(r.Note("x", "x"),)]))
    ended = await settled(host, Model())
    assert (ended.outcome, ended.code) == (outcome, code)


async def test_ds_074_a_further_attempt_does_not_move_the_time_limit(store: Any, host: HarnessHost) -> None:
    soon = "2999-01-01T00:00:00.000Z"
    await left(store, begun(deadline=soon))
    assert (await settled(host, Model("Hello."), durability={"timeout_ms": 1_000_000})).outcome == "completed"
    assert (await state(store)).run.deadline == soon


async def test_ds_075_there_is_no_time_limit_unless_asked(store: Any, host: HarnessHost) -> None:
    await left(store, begun())  # years ago
    assert (await settled(host, Model("Hello."))).outcome == "completed"


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_ds_076_a_live_turn_that_passes_its_limit_fails(store: Any, host: HarnessHost, gated: Any, where: str) -> None:
    @define_tool
    async def hang() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    model = gated() if where == "model" else Model(calling("hang"), "Again.")
    told = harness(model, tools=[hang], durability={"timeout_ms": 30}, abort_grace_ms=0)
    session = await host.open(told, "t")
    await session.send("Hi", input_id="a")
    ended = await session.settled("a")
    assert (ended.outcome, ended.code) == ("failed", "timeout")
    kept = await state(store)
    assert not kept.ended and kept.pending == ()


async def test_ds_077_an_input_taken_back_before_it_ran_never_runs(store: Any, host: HarnessHost) -> None:
    await left(store, (r.Created(NAME, None, NAME), r.InputReceived("a", (user("Hi"),))))
    await store.post("t", Post("p", "cancel", THEN, None, {"input": "a"}))
    model = Model()
    assert (await settled(host, model)).outcome == "aborted"
    assert model.asked == []


async def test_ds_078_a_turn_of_a_living_owner_is_left_alone_until_that_is_gone(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    claim = await store.claim("t", "alive")
    model = Model("Hello.")
    session = await host.open(harness(model), "t")
    assert not await session.recover_pending_work()
    assert model.asked == []
    await store.release(claim)
    await host.recover()
    assert (await session.settled("a")).outcome == "completed"


async def test_ds_079_two_recoveries_at_once_run_a_turn_once(store: Any, host: HarnessHost) -> None:
    claim = await store.claim("t", "alive")
    model = Model("Hello.")
    session = await host.open(harness(model), "t")
    await store.release(claim)
    await left(store, begun())
    await asyncio.gather(host.recover("t"), session.recover_pending_work())
    assert (await session.settled("a")).outcome == "completed"
    assert [one.attempt for one in await records(store, r.RunResumed)] == [2]
    assert len(model.asked) == 1


async def test_ds_080_recovery_leaves_what_runs_or_waits_here_as_it_is(store: Any, host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(harness(model), "t")
    await session.send("1", input_id="a")
    await session.send("2", input_id="b")
    await model.begun.wait()
    await asyncio.gather(host.recover(), session.recover_pending_work())
    model.go.set()
    assert ((await session.settled("a")).text, (await session.settled("b")).text) == ("One.", "Two.")
    assert await records(store, r.RunResumed) == []
    assert len(model.asked) == 2


async def test_ds_081_recovery_sees_first_what_other_hosts_wrote(store: Any, host: HarnessHost) -> None:
    session = await host.open(harness(Model("Hello.")), "t")
    await left(store, begun())
    assert await session.recover_pending_work()
    assert (await session.settled("a")).outcome == "completed"


async def test_ds_082_a_joined_input_ends_with_the_next_attempt_and_any_other_has_its_own(store: Any, host: HarnessHost) -> None:
    joined = (r.InputReceived("b", (user("and b"),), joins=True), r.InputApplied("b"))
    await left(store, begun(), joined, (r.InputReceived("c", (user("and c"),), joins=True),))
    model = Model("Both.", "And c.")
    session = await host.open(harness(model), "t")
    ended = [await session.settled(one) for one in "abc"]
    assert [one.outcome for one in ended] == ["completed"] * 3
    assert [[one.text for one in asked if one.role == "user"] for asked in model.asked] == [["Hi", "and b"], ["Hi", "and b", "and c"]]


async def test_ds_083_joined_inputs_end_too_where_nothing_runs(store: Any, host: HarnessHost) -> None:
    joined = (r.InputReceived("b", (user("and b"),), joins=True), r.InputApplied("b"))
    await left(store, begun(), joined)
    session = await host.open(harness(Model(), durability={"max_attempts": 1}), "t")
    ended = [await session.settled(one) for one in "ab"]
    assert [(one.outcome, one.code) for one in ended] == [("failed", "attempts_exhausted")] * 2


async def test_ds_084_what_was_wanted_of_an_input_is_done_before_any_runs(store: Any, host: HarnessHost) -> None:
    both = (r.InputReceived("a", (user("1"),)), r.InputReceived("b", (user("2"),)))
    await left(store, (r.Created(NAME, None, NAME), *both))
    await store.post("t", Post("p", "cancel", THEN, None, {"input": "b"}))
    model = Model("One.")
    session = await host.open(harness(model), "t")
    assert (await session.settled("a")).text == "One."
    assert (await session.settled("b")).outcome == "aborted"
    assert len(model.asked) == 1


async def test_ds_085_what_was_wanted_of_an_input_that_waits_no_more_is_rejected(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    await store.post("t", Post("p", "cancel", THEN, None, {"input": "a"}))
    assert (await settled(host, Model("Hello."))).outcome == "completed"
    assert [(one.id, one.reason) for one in await records(store, r.InputRejected)] == [("p", "not_waiting")]


async def test_ds_092_a_thread_that_could_not_go_on_does_with_the_next_open(store: Any, host: HarnessHost) -> None:
    await left(store, begun())

    def broken(context: Any) -> str:
        raise RuntimeError("not today")

    await host.open(harness(Model(), instructions=broken), "t")
    await host.idle("t")
    held = await store.head("t")
    assert held is not None and "not today" in (held.error or "")
    assert SYSTEM_CLOCK.now() < (held.wake_at or "")
    again = create_harness_host({"log": store})
    assert await again.resume_pending([harness(Model())]) == []
    assert (await settled(again, Model("Hello."))).outcome == "completed"
    await again.close()


async def test_ds_185_only_a_crash_adds_an_attempt(store: Any, host: HarnessHost) -> None:
    from lousho_cli.core.retry import RetryDecision
    from lousho_cli.errors import ProviderError

    model = Model(ProviderError("busy", category="overloaded", retryable=True), "Hello.")
    told = harness(model, turn={"on_model_error": lambda error, retries, chance: RetryDecision("retry", 0)})
    session = await host.open(told, "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "Hello."
    starts = [event.attempt async for event in session_events(store, "t") if event.type == "run.start"]
    assert starts == [1]
    assert (await state(store)).attempts == 1


async def test_a_failed_turn_is_gone_on_with_by_the_next_input(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Turn(calling("pay", "look"), "tool_calls"),), (r.ToolStarted("c-pay"),))
    model = Model("Hello again.")
    session = await host.open(harness(model, durability={"max_attempts": 1}), "t")
    assert (await session.settled("a")).code == "attempts_exhausted"
    await session.send("Still there?", input_id="b")
    assert (await session.settled("b")).outcome == "completed"
    told = model.asked[0]
    assert [message.role for message in told] == ["user", "assistant", "tool", "tool", "user"]
    assert [message.tool_call_id for message in told[2:4]] == ["c-pay", "c-look"]
    assert all(message.is_error for message in told[2:4])


async def test_an_abort_of_a_thread_that_waits_for_a_person_ends_it(store: Any, host: HarnessHost) -> None:
    @define_tool(needs_approval=True)
    async def pay() -> str:
        """Pays."""
        return "paid"

    session = await host.open(harness(Model(calling("pay")), tools=[pay]), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).outcome == "interrupted"
    await session.cancel()
    await host.idle("t")
    assert (await session.settled("a")).outcome == "aborted"
    assert (await state(store)).pending == ()


async def test_an_abort_that_comes_while_recovery_decides_is_not_lost(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    asked, go = asyncio.Event(), asyncio.Event()

    async def hook(info: Any) -> None:
        asked.set()
        await go.wait()

    model = Model("Hello.")
    session = await host.open(harness(model, durability={"recover": hook}), "t")
    await asked.wait()
    await session.cancel()
    go.set()
    assert (await session.settled("a")).outcome == "aborted"
    assert model.asked == []


async def test_a_turn_that_goes_on_with_a_failed_run_is_told_by_its_own_input(store: Any, host: HarnessHost) -> None:
    further = (r.RunResumed(1), r.InputReceived("b", (user("More"),)), r.InputApplied("b"))
    await left(store, begun(), (r.InputSettled("a", "failed", "no"),), further)
    seen = list[Any]()
    session = await host.open(harness(Model("Hello."), durability={"recover": seen.append}), "t")
    assert (await session.settled("b")).text == "Hello."
    assert (seen[0].input.input_id, seen[0].input.attempt) == ("b", 1)
    resumed = [event async for event in session_events(store, "t") if event.type == "harness.operation.resumed"]
    assert [(event.operation, event.attempt) for event in resumed] == [("b", 2)]
