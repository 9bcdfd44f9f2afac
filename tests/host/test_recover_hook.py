"""``durability.recover``: what it is told, what it may decide; and threads that can not go on here."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.core.retry import RetryDecision
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.messages import Message, user
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.tools.define import define_tool
from tests.host.left import NAME, THEN, Model, begun, calling, harness, left, records, state

ANSWER = (r.Turn(Message("assistant", "There.")),)
WAITS = (r.Created(NAME, None, NAME), r.InputReceived("a", (user("Hi"),)))


@define_tool
async def pay() -> str:
    """Pays."""
    return "paid"


@define_tool(replay="safe")
async def look() -> str:
    """Looks."""
    return "seen"


@define_tool
async def book() -> str:
    """Books."""
    return "booked"


TOOLS = [pay, look, book]


async def cut_batch(store: Any) -> None:
    """A turn with a call that ended, two that were cut, one of them safe, and one that never began."""
    asked = (r.Turn(calling("book", "pay", "look", "late"), "tool_calls"), r.Mark(1))
    began = tuple(r.ToolStarted(f"c-{name}") for name in ("book", "pay", "look"))
    await left(store, begun(offered=("book", "pay", "look")), asked, began, (r.ToolFinished("c-book", '"booked"'), r.Mark(1)))


class Hook:
    """A recover hook that keeps what it is asked and gives one answer."""

    def __init__(self, answer: Any = None) -> None:
        self.answer, self.asked = answer, list[Any]()

    def __call__(self, info: Any) -> Any:
        self.asked.append(info)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def settled(host: HarnessHost, model: Any, hook: Any, **options: Any) -> Any:
    session = await host.open(harness(model, durability={"recover": hook}, **options), "t")
    return await session.settled("a")


async def test_ds_087_the_hook_sees_the_input_the_messages_the_decision_and_the_cut_calls(store: Any, host: HarnessHost) -> None:
    deadline = "2999-01-01T00:00:00.000Z"
    await left(store, begun(deadline=deadline), (r.ModelRetry(2, "busy"),), (r.RunResumed(2),))
    hook = Hook()
    await settled(host, Model("Hello."), hook)
    (info,) = hook.asked
    seen = info.input
    assert (seen.input_id, seen.attempt, seen.timeout_at, seen.abort_requested, seen.retries) == ("a", 2, deadline, False, 2)
    assert [message.text for message in info.messages] == ["Hi"]
    assert (info.decision.action, info.interrupted_tools) == ("run", ())
    assert (info.session.thread_id, info.session.harness, info.session.state.attempts) == ("t", NAME, 2)
    assert "input.applied" in [event.type async for event in info.session.events()]


async def test_ds_087_the_hook_is_told_of_an_abort(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.AbortAsked(),))
    hook = Hook()
    await settled(host, Model(), hook)
    assert (hook.asked[0].input.abort_requested, hook.asked[0].decision.outcome) == (True, "aborted")


async def test_ds_088_the_hook_can_fail_what_would_run(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    model = Model()
    said = {"action": "settle", "outcome": "failed", "error": {"message": "It crashed the host.", "code": "poison_input"}}
    ended = await settled(host, model, Hook(said))
    assert (ended.outcome, ended.error, ended.code, model.asked) == ("failed", "It crashed the host.", "poison_input", [])


async def test_ds_089_the_hook_can_run_what_has_its_answer(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), ANSWER)
    ended = await settled(host, Model("A better one."), Hook({"action": "run"}))
    assert (ended.outcome, ended.text) == ("completed", "A better one.")


async def test_ds_090_the_hook_is_asked_for_an_input_that_never_ran(store: Any, host: HarnessHost) -> None:
    await left(store, WAITS)
    hook = Hook()
    assert (await settled(host, Model("Hello."), hook)).outcome == "completed"
    (info,) = hook.asked
    assert (info.input.input_id, info.input.attempt, info.decision.action) == ("a", 0, "run")


async def test_the_hook_is_not_asked_for_what_this_host_was_sent(store: Any, host: HarnessHost) -> None:
    hook = Hook()
    session = await host.open(harness(Model("One."), durability={"recover": hook}), "t")
    await session.send("1", input_id="a")
    assert (await session.settled("a")).outcome == "completed"
    assert hook.asked == []


@pytest.mark.parametrize("outcome", ["completed", "failed", "aborted"])
async def test_the_hook_can_end_an_input_that_never_ran(store: Any, host: HarnessHost, outcome: str) -> None:
    await left(store, WAITS)
    model = Model("Next.")
    session = await host.open(harness(model, durability={"recover": Hook({"action": "settle", "outcome": outcome})}), "t")
    assert (await session.settled("a")).outcome == outcome
    assert model.asked == []
    await session.send("More", input_id="b")
    assert (await session.settled("b")).text == "Next."


async def test_ds_091_overrides_of_the_hook_hold_for_that_attempt(store: Any, host: HarnessHost) -> None:
    await left(store, begun())
    own, other = Model("Own."), Model("Other.")
    ended = await settled(host, own, Hook({"action": "run", "overrides": {"adapter": other, "model": "large"}}), on_agent_drift="error")
    assert (ended.text, own.asked, other.models) == ("Other.", [], ["large"])


async def test_ds_091_without_the_hook_the_stored_overrides_hold(store: Any, host: HarnessHost) -> None:
    received = r.InputReceived("a", (user("Hi"),), overrides={"model": "large"})
    await left(store, (r.Created(NAME, None, NAME), received, r.RunStarted("a"), r.InputApplied("a")))
    model = Model("Hello.")
    await settled(host, model, None)
    assert model.models == ["large"]


@pytest.mark.parametrize(
    ("found", "action", "outcome", "code"),
    [
        ([begun(), ANSWER], "settle", "completed", None),
        ([begun(), (r.AbortAsked(),)], "settle", "aborted", None),
        ([begun(), (r.RunResumed(10),)], "settle", "failed", "attempts_exhausted"),
        ([begun(deadline=THEN)], "settle", "failed", "timeout"),
        ([begun()], "run", None, None),
        ([WAITS], "run", None, None),
    ],
    ids=["answer", "abort", "attempts", "time", "run", "never-ran"],
)
async def test_ds_199_the_decision_names_an_end(host: HarnessHost, store: Any, found: Any, action: str, outcome: str, code: str) -> None:
    await left(store, *found)
    hook = Hook()
    await settled(host, Model("Hello."), hook)
    decision = hook.asked[0].decision
    assert (decision.action, decision.outcome, decision.code) == (action, outcome, code)


@pytest.mark.parametrize("settles", [False, True])
async def test_ds_200_the_cut_calls_are_named_with_their_reason(store: Any, host: HarnessHost, settles: bool) -> None:
    await cut_batch(store)
    hook = Hook({"action": "settle", "outcome": "failed"} if settles else None)
    ended = await settled(host, Model("Done."), hook, tools=TOOLS)
    assert ended.outcome == ("failed" if settles else "completed")
    (cut,) = hook.asked[0].interrupted_tools
    assert (cut.tool_call_id, cut.tool_name, cut.reason) == ("c-pay", "pay", "interrupted")


async def test_ds_200_the_calls_of_a_cut_answer_are_named_truncated(store: Any, host: HarnessHost) -> None:
    await left(store, begun(), (r.Turn(calling("look", "pay"), "length"), r.Mark(1)))
    hook = Hook()
    await settled(host, Model("Done."), hook, tools=TOOLS)
    assert [(cut.tool_name, cut.reason) for cut in hook.asked[0].interrupted_tools] == [("look", "truncated"), ("pay", "truncated")]


@pytest.mark.parametrize("outcome", ["completed", "failed", "aborted"])
async def test_ds_201_what_the_hook_settles_is_reported_and_leaves_a_valid_thread(store: Any, host: HarnessHost, outcome: str) -> None:
    await cut_batch(store)
    model = Model("Next.")
    error = {"message": "Enough.", "code": "enough"}
    said = {"action": "settle", "outcome": outcome, **({"error": error} if outcome == "failed" else {})}
    session = await host.open(harness(model, tools=TOOLS, durability={"recover": Hook(said)}), "t")
    ended = await session.settled("a")
    assert (ended.outcome, ended.error, ended.code) == (outcome, *(("Enough.", "enough") if outcome == "failed" else (None, None)))
    kept = await state(store)
    assert (kept.ended, kept.pending) == (outcome == "completed", ())
    await session.send("More", input_id="b")
    assert (await session.settled("b")).text == "Next."
    told = model.asked[0]
    assert [message.tool_call_id for message in told if message.role == "tool"] == ["c-book", "c-pay", "c-look", "c-late"]


async def test_the_hook_may_be_async(store: Any, host: HarnessHost) -> None:
    await left(store, begun())

    async def hook(info: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"action": "settle", "outcome": "aborted"}

    assert (await settled(host, Model(), hook)).outcome == "aborted"


BAD = [RuntimeError("oops"), {"action": "fly"}, {"action": "settle"}, {"action": "settle", "outcome": "lost"}, {"action": "run", "x": 1}, 7]


@pytest.mark.parametrize("answer", BAD, ids=str)
async def test_a_hook_that_fails_leaves_the_input_and_gives_the_thread_back(store: Any, answer: Any) -> None:
    await left(store, begun())
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    await first.open(harness(Model(), durability={"recover": Hook(answer)}), "t")
    await first.idle("t")
    head = await store.head("t")
    assert (head.outcome, head.attempts) == (None, 1)
    assert head.error.startswith("durability.recover") and head.wake_at > head.updated_at
    assert (await settled(second, Model("Hello."), None)).outcome == "completed"
    assert (await state(store)).error is None
    await first.close()
    await second.close()


@pytest.mark.parametrize("missing", [False, True])
async def test_drift_that_is_refused_leaves_the_input_as_it_is(store: Any, missing: bool) -> None:
    fingerprint = Fingerprint("0" * 16, instructions="another")
    cut = (r.Turn(calling("gone"), "tool_calls"), r.Mark(1)) if missing else (r.Note("x", "x"),)
    await left(store, begun(offered=("gone",), fingerprint=None if missing else fingerprint), cut)
    model = Model("Hello.")
    first = create_harness_host({"log": store})
    told = harness(model, on_agent_drift="error")
    await first.open(told, "t")
    await first.idle("t")
    head = await store.head("t")
    assert (head.outcome, head.attempts, model.asked) == (None, 1, [])
    assert "drift" in head.error and head.wake_at > head.updated_at
    codes = [one.code for one in await records(store, r.RunHeld)]
    assert codes == ["LOUSHO_RESUME_TOOL_MISSING" if missing else "LOUSHO_AGENT_DRIFT"]
    assert await first.resume_pending([told]) == []  # not before its wake
    await first.recover("t")
    await first.idle("t")
    assert len(await records(store, r.RunHeld)) == 1  # it says so once
    await first.close()


async def test_drift_that_is_let_pass_is_noted(store: Any, host: HarnessHost) -> None:
    await left(store, begun(fingerprint=Fingerprint("0" * 16, instructions="another")))
    assert (await settled(host, Model("Hello."), None)).outcome == "completed"
    assert [note.kind for note in await records(store, r.Note)] == ["drift"]


async def test_ds_197_transient_errors_are_retried_in_the_turn(host: HarnessHost) -> None:
    from lousho_cli.core.failures import classify
    from lousho_cli.core.retry import retry_transient_errors
    from lousho_cli.providers.wire.errors import failure_error

    seen = [classify(429), classify(500), classify(599), classify(None, "overloaded_error"), classify(None, text="Network error")]
    model = Model(*(failure_error(one, "busy") for one in seen), "Hello.")
    retries = retry_transient_errors(max_retries=len(seen), base_delay_ms=0)
    session = await host.open(harness(model, turn={"on_model_error": retries}), "t")
    await session.send("Hi", input_id="a")
    assert ((await session.settled("a")).text, len(model.asked)) == ("Hello.", len(seen) + 1)


async def test_ds_129_a_transient_error_is_retried_in_the_same_operation(store: Any, host: HarnessHost) -> None:
    from lousho_cli.errors import ProviderError

    busy, refused = ProviderError("busy", category="overloaded", retryable=True), ProviderError("no", category="bad-request")
    model = Model(busy, "Hello.", refused)

    def decide(error: Any, retries: int, chance: float) -> Any:
        return RetryDecision("retry", 0) if error.retryable else None

    session = await host.open(harness(model, turn={"on_model_error": decide}), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).text == "Hello."
    await session.send("Ho", input_id="b")
    ended = await session.settled("b")
    assert (ended.outcome, ended.error, len(model.asked)) == ("failed", "no", 3)


async def test_ds_198_without_a_hook_a_transient_error_fails_the_turn(store: Any, host: HarnessHost) -> None:
    from lousho_cli.errors import ProviderError

    session = await host.open(harness(Model(ProviderError("busy", category="overloaded", retryable=True))), "t")
    await session.send("Hi", input_id="a")
    assert (await session.settled("a")).outcome == "failed"
