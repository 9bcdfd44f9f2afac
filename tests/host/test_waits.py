"""What waits for a person: a turn that stopped, and code that goes on; decided on any host."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli import AskPerson, NoAnswerError, SignInRequired, ToolContext, define_tool
from lousho_cli.core.pending import has_work
from lousho_cli.domain import records as r
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider


def calling(*names: str, then: Any = "Done.") -> ScriptedProvider:
    calls = [{"name": name, "id": f"c{n}"} for n, name in enumerate(names, 1)]
    return ScriptedProvider([{"tool_calls": calls}, *(then if isinstance(then, list) else [then])])


def harness(tools: Any, *names: str, then: Any = "Done.", **options: Any) -> Any:
    return define_harness("acme/assistant", calling(*names, then=then), tools=tools, **options)


def booking(ran: list[str], **options: Any) -> Any:
    return define_tool(name="book", execute=lambda: ran.append("book") or "booked", needs_approval=True, **options)


async def stopped(session: Any, input_id: str = "a") -> str:
    """The id of what the turn of an input stopped for."""
    await session.send("Go", input_id=input_id)
    ended = await session.settled(input_id)
    assert ended.outcome == "interrupted"
    return ended.waits_for


async def asked(session: Any, *, many: int = 1) -> list[Any]:
    """What running code asks, once it does."""
    async with asyncio.timeout(20):
        while len(pending := await session.pending()) < many:
            await asyncio.sleep(0.001)
    return pending


def results(session: Any) -> list[Any]:
    return [json.loads(message.text) for message in session.messages if message.role == "tool"]


def asking(seen: list[Any], *names: str, **options: Any) -> Any:
    """A durable tool that asks these and gives all answers."""

    @define_tool(name="paint", durable=True)
    async def paint(ctx: ToolContext) -> Any:
        answers = [await ctx.step.ask(name, f"Which {name}?", **options) for name in names]
        seen.append(answers)
        return answers

    return paint


# A turn that stopped


async def test_ds_139_an_approval_survives_a_restart_and_runs_the_tool_once(store: Any) -> None:
    ran: list[str] = []
    first = create_harness_host({"log": store})
    approval_id = await stopped(await first.open(harness([booking(ran)], "book"), "t"))
    await first.close()
    second = create_harness_host({"log": store})
    session = await second.open(harness([booking(ran)], "book"), "t", user="ann")
    assert [(one.id, one.tool_name, one.session_id) for one in await session.pending()] == [(approval_id, "book", "t")]
    assert (await session.approve(approval_id, note="window seat")).status == "accepted"
    assert (await session.settled("a")).outcome == "completed"
    assert ran == ["book"]
    known = await read_session(store, "t")
    assert (known.attempts, results(known)[0]["result"], results(known)[0]["review"]["note"]) == (1, "booked", "window seat")
    await second.close()


async def test_ds_140_answering_again_is_refused_also_after_a_restart(store: Any) -> None:
    ran: list[str] = []
    first = create_harness_host({"log": store})
    session = await first.open(harness([booking(ran)], "book"), "t")
    approval_id = await stopped(session)
    await session.approve(approval_id)
    await session.settled("a")
    assert (await session.reject(approval_id)).reason == "no_pending_interrupts"
    await first.close()
    second = create_harness_host({"log": store})
    again = await second.open(harness([booking(ran)], "book"), "t")
    assert (await again.approve(approval_id)).reason == "no_pending_interrupts"
    assert (await again.pending(), ran) == ([], ["book"])
    await second.close()


async def test_ds_141_an_answer_that_does_not_fit_leaves_the_wait_open(host: HarnessHost) -> None:
    seen: list[Any] = []

    @define_tool
    def pick(ctx: ToolContext) -> Any:
        if ctx.answer is None:
            raise AskPerson("Which?", options=("red", "blue"), allow_free_text=False)
        return ctx.answer

    count = asking(seen, "number", schema={"type": "integer", "minimum": 1})
    session = await host.open(harness([pick, count], "pick", "paint", then=["Done."]), "t")
    await session.send("Go", input_id="a")
    (number, *_) = [one for one in await asked(session) if one.step == "number"]
    assert (await session.answer(number.id, "many")).reason == "invalid_answer"
    assert (await session.answer(number.id, 0)).reason == "invalid_answer"
    assert (await session.answer(number.id, 3)).status == "accepted"
    waits = (await session.settled("a")).waits_for
    assert (await session.answer(waits, "green")).reason == "invalid_answer"
    assert [one.id for one in await session.pending()] == [waits]
    assert (await session.answer(waits, "blue")).status == "accepted"
    assert (await session.settled("a")).outcome == "completed"
    assert seen == [[3]]


async def test_ds_142_a_turn_that_fails_behind_the_approved_tool_does_not_offer_it_again(host: HarnessHost) -> None:
    ran: list[str] = []
    session = await host.open(harness([booking(ran)], "book", then={"error": {"status": 400, "message": "no"}}), "t")
    approval_id = await stopped(session)
    await session.approve(approval_id)
    assert (await session.settled("a")).outcome == "failed"
    assert (await session.pending(), ran) == ([], ["book"])
    assert (await session.approve(approval_id)).reason == "no_pending_interrupts"


async def test_ds_142_a_decision_outlives_a_turn_that_could_not_begin(store: Any) -> None:
    """It was acknowledged, so it is not asked for again: the tool runs as soon as the turn can go on."""
    ran: list[str] = []
    first = create_harness_host({"log": store})
    session = await first.open(harness([booking(ran)], "book"), "t")
    approval_id = await stopped(session)
    await first.close()
    broken = create_harness_host({"log": store})
    without = await broken.open(harness([], "book"), "t")
    assert (await without.approve(approval_id)).status == "accepted"
    await broken.idle("t")
    await broken.close()
    assert ran == []
    third = create_harness_host({"log": store})
    again = await third.open(harness([booking(ran)], "book"), "t")
    assert (await again.settled("a")).outcome == "completed"
    assert ran == ["book"]
    await third.close()


async def test_ds_144_a_turn_that_stopped_holds_nothing(store: Any) -> None:
    host = create_harness_host({"log": store})

    @define_tool
    def pick(ctx: ToolContext) -> Any:
        raise AskPerson("Which?")

    for name, tool in (("book", booking([])), ("pick", pick)):
        session = await host.open(harness([tool], name), name)
        await stopped(session)
        await host.idle(name)
        head = await store.head(name)
        assert await store.owner(name) is None
        assert not has_work(head, "2999-01-01T00:00:00.000Z")
        assert await host.resume_pending([harness([tool], name)]) == []
    await host.close()


async def test_a_decision_for_an_owner_elsewhere_goes_to_it(store: Any) -> None:
    ran: list[str] = []
    seen: list[Any] = []
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    tools = [booking(ran), asking(seen, "colour")]
    one = await first.open(harness(tools, "paint", "book"), "t")
    await one.send("Go", input_id="a")
    (ask,) = await asked(one)
    other = await second.open(harness(tools, "paint", "book"), "t")
    assert (await other.reject("nothing", note="no")).reason == "no_pending_interrupts"
    assert (await other.answer(ask.id, "red")).status == "accepted"
    waits = (await other.settled("a")).waits_for
    assert (await other.approve(waits)).status == "accepted"
    assert (await other.settled("a")).outcome == "completed"
    assert (seen, ran) == ([["red"]], ["book"])
    await first.close()
    await second.close()


async def test_ds_211_a_sign_in_gives_the_thread_back_and_one_done_elsewhere_reaches_the_run(store: Any) -> None:
    signed_in: list[bool] = []

    @define_tool
    def calendar() -> str:
        if not signed_in:
            raise SignInRequired("https://calendar.example/login")
        return "free"

    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    one = await first.open(harness([calendar], "calendar"), "t")
    waits = await stopped(one)
    await first.idle("t")
    assert await store.owner("t") is None
    signed_in.append(True)
    other = await second.open(harness([calendar], "calendar"), "t")
    assert (await other.approve(waits)).status == "accepted"
    assert (await one.settled("a")).outcome == "completed"
    assert results(await read_session(store, "t")) == ["free"]
    await first.close()
    await second.close()


# Code that goes on


async def test_ds_211_running_code_keeps_the_thread_and_an_answer_given_elsewhere_reaches_it(store: Any) -> None:
    seen: list[Any] = []
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    tools = [asking(seen, "colour", "size")]
    one = await first.open(harness(tools, "paint"), "t")
    await one.send("Go", input_id="a")
    other = await second.open(harness(tools, "paint"), "t", user="bob")
    (ask,) = await asked(other)
    assert (ask.kind, ask.step, ask.tool_name, ask.question.text) == ("question", "colour", "paint", "Which colour?")
    assert await store.owner("t") is not None
    assert [wait.id for wait in (await store.head("t")).asks] == [ask.id]
    assert (await other.answer(ask.id, "red")).status == "accepted"
    (ask,) = await asked(one)
    assert (await one.answer(ask.id, "big")).status == "accepted"
    assert (await other.settled("a")).text == "Done."
    assert seen == [["red", "big"]]
    session = await read_session(store, "t")
    assert (session.attempts, session.open_asks, session.asks) == (1, (), {})
    await first.close()
    await second.close()


async def test_ds_145_an_answer_reaches_the_owner_through_the_log(store: Any) -> None:
    """It is a post until its owner takes it, and names it in the log when it does."""
    seen: list[Any] = []
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    tools = [asking(seen, "colour")]
    await (await first.open(harness(tools, "paint"), "t")).send("Go", input_id="a")
    other = await second.open(harness(tools, "paint"), "t", user="bob")
    (ask,) = await asked(other)
    receipt = await other.answer(ask.id, "red")
    await other.settled("a")
    answers = [x for batch in (await store.read("t")).batches for x in batch.records if isinstance(x, r.AskAnswered)]
    assert [(x.id, x.value, x.by, x.post) for x in answers] == [(ask.id, "red", "bob", receipt.input_id)]
    assert await store.inbox("t") == ()
    await first.close()
    await second.close()


async def test_parallel_calls_may_ask_at_once_and_each_gets_its_own(host: HarnessHost, store: Any) -> None:
    seen: list[Any] = []
    tool = asking(seen, "colour")
    session = await host.open(harness([tool], "paint", "paint"), "t")
    await session.send("Go", input_id="a")
    waits = {one.tool_call_id: one.id for one in await asked(session, many=2)}
    await session.answer(waits["c2"], "blue")
    await session.answer(waits["c1"], "red")
    await session.settled("a")
    assert results(await read_session(store, "t")) == [["red"], ["blue"]]


async def test_declining_and_running_out_of_time_are_told_to_the_tool(host: HarnessHost, store: Any) -> None:
    told: list[Any] = []

    @define_tool
    async def paint(ctx: ToolContext) -> str:
        for name, time in (("late", 1), ("no", None)):
            try:
                await ctx.step.ask(name, "Which?", expires_in_ms=time)
            except NoAnswerError as error:
                told.append((name, error.expired, error.note))
        return await ctx.step.ask("again", "Really?")

    session = await host.open(harness([paint], "paint"), "t")
    await session.send("Go", input_id="a")
    async with asyncio.timeout(20):
        while not (waits := [one for one in await session.pending() if one.step == "no"]):
            await asyncio.sleep(0.001)
    await session.reject(waits[0].id, note="ask me later")
    (again,) = await asked(session)
    await session.reject(again.id, note="no")
    assert (await session.settled("a")).outcome == "completed"
    assert told == [("late", True, None), ("no", False, "ask me later")]
    (result,) = results(await read_session(store, "t"))
    assert (result["kind"], result["error"]) == ("rejected", "NoAnswerError")


async def test_ds_213_an_answer_stored_while_its_owner_died_is_applied_by_the_next(store: Any) -> None:
    seen: list[Any] = []
    tools = [asking(seen, "colour", "size")]
    first = create_harness_host({"log": store})
    one = await first.open(harness(tools, "paint"), "t")
    await one.send("Go", input_id="a")
    (ask,) = await asked(one)
    await one.answer(ask.id, "red")
    (size,) = await asked(one)
    await first.close(recoverable=True)
    head = await store.head("t")
    assert [wait.id for wait in head.asks] == [size.id], "what it asked stands in the log"
    second = create_harness_host({"log": store})
    again = await second.open(harness(tools, "paint"), "t")
    assert [wait.id for wait in await asked(again)] == [size.id], "it waits again under the same id"
    assert (await again.answer(size.id, "big")).status == "accepted"
    assert (await again.settled("a")).outcome == "completed"
    assert seen == [["red", "big"]]
    await second.close()


async def test_ds_213_an_answer_left_for_an_owner_that_is_gone_is_taken_by_the_next(store: Any) -> None:
    from lousho_cli.domain.heads import Post

    seen: list[Any] = []
    tools = [asking(seen, "colour")]
    first = create_harness_host({"log": store})
    one = await first.open(harness(tools, "paint"), "t")
    await one.send("Go", input_id="a")
    (ask,) = await asked(one)
    await first.close(recoverable=True)
    await store.post("t", Post("p1", "answer", "2026-01-01T00:00:00.000Z", "bob", {"id": ask.id, "approved": True, "note": "red"}))
    second = create_harness_host({"log": store})
    again = await second.open(harness(tools, "paint"), "t")
    assert (await again.settled("a")).outcome == "completed"
    assert seen == [["red"]]
    await second.close()


async def test_ds_143_a_crash_behind_a_decision_runs_the_approved_tool_once_on_the_next_host(store: Any) -> None:
    ran: list[str] = []
    hangs = asyncio.Event()

    @define_tool(name="book", needs_approval=True, replay="safe")
    async def book() -> str:
        ran.append("began")
        await hangs.wait()
        ran.append("ended")
        return "booked"

    first = create_harness_host({"log": store})
    one = await first.open(harness([book], "book"), "t")
    approval_id = await stopped(one)
    await one.approve(approval_id)
    async with asyncio.timeout(20):
        while not ran:
            await asyncio.sleep(0.001)
    closing = asyncio.ensure_future(first.close(recoverable=True))
    await asyncio.sleep(0)
    hangs.set()
    await closing
    second = create_harness_host({"log": store})
    again = await second.open(harness([book], "book"), "t")
    assert (await again.settled("a")).outcome == "completed"
    assert ran.count("ended") == 1
    await second.close()


@pytest.mark.parametrize("replay", ["safe", "never"])
async def test_ds_143_a_call_that_was_cut_behind_its_approval_keeps_to_its_replay(store: Any, replay: Any) -> None:
    """The approval is not asked for again; whether the tool runs again is what its replay says."""
    ran: list[str] = []

    @define_tool(name="book", needs_approval=True, replay=replay)
    async def book(ctx: ToolContext) -> str:
        ran.append("book")
        if not ctx.rerun:
            await ctx.signal.wait()
            raise RuntimeError("cut")
        return "booked"

    first = create_harness_host({"log": store})
    one = await first.open(harness([book], "book"), "t")
    await one.approve(await stopped(one))
    async with asyncio.timeout(20):
        while not ran:
            await asyncio.sleep(0.001)
    await first.close(recoverable=True)
    second = create_harness_host({"log": store})
    again = await second.open(harness([book], "book"), "t")
    assert (await again.settled("a")).outcome == "completed"
    assert ran == (["book", "book"] if replay == "safe" else ["book"])
    (result,) = results(await read_session(store, "t"))
    assert ("error" in result) == (replay == "never")
    await second.close()


async def test_ds_122_a_run_sees_the_epoch_of_its_owner(store: Any) -> None:
    epochs: list[int] = []

    @define_tool(name="look", replay="safe")
    async def look(ctx: ToolContext) -> str:
        epochs.append(ctx.context.run.epoch)
        if len(epochs) == 1:
            await ctx.signal.wait()
            raise RuntimeError("cut")
        return "seen"

    first = create_harness_host({"log": store})
    one = await first.open(harness([look], "look"), "t")
    await one.send("Go", input_id="a")
    async with asyncio.timeout(20):
        while not epochs:
            await asyncio.sleep(0.001)
    await first.close(recoverable=True)
    second = create_harness_host({"log": store})
    again = await second.open(harness([look], "look"), "t")
    await again.settled("a")
    assert epochs[1] > epochs[0] > 0
    await second.close()


async def test_ds_214_a_plain_answer_waits_in_the_store_as_typed(store: Any) -> None:
    seen: list[Any] = []
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    tools = [asking(seen, "colour")]
    await (await first.open(harness(tools, "paint"), "t")).send("Go", input_id="a")
    other = await second.open(harness(tools, "paint"), "t")
    (ask,) = await asked(other)
    left: list[Any] = []
    post = store.post

    async def seen_by_the_store(log_id: str, one: Any) -> None:
        left.append(one.body["note"])
        await post(log_id, one)

    store.post = seen_by_the_store
    await other.answer(ask.id, "deep red")
    assert left == ["deep red"]
    await other.settled("a")
    await first.close()
    await second.close()
