"""A tool that finds out while it runs that it needs a person: a question, or that somebody signs in."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from lousho_cli import AskPerson, SignInRequired
from lousho_cli.domain import records as r
from lousho_cli.domain import texts
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.errors import ConfigurationError, SessionAwaitingApprovalError


def asking(*questions: str) -> Any:
    """A tool's body that asks these, one after the other, and gives all answers."""

    def body(args: Any, ctx: Any) -> Any:
        if len(ctx.answers) < len(questions):
            raise AskPerson(questions[len(ctx.answers)], options=("red", "blue"))
        return {"n": args["n"], "answers": list(ctx.answers), "last": ctx.answer}

    return body


async def waiting(stores: Any, approval_id: str) -> Any:
    """The pending approval, as its store gives it, whatever that is made of."""
    load = getattr(stores.approvals, "load", None)
    found = await (load(approval_id) if load else stores.approvals.resolve(approval_id))
    if isinstance(found, dict):
        stores.approvals.texts[approval_id] = json.dumps(found)
        return msgspec.convert(found["pending"], PendingApproval)
    return found.pending


async def test_a_call_that_asks_is_put_off_and_runs_again_with_the_answer(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"))
    box.tool("book")
    approval_id = await bench.paused(store, box, "book", ("paint", {"n": 2}), "book")
    assert box.ran == ["c1", "c2", "c3"]
    pending = await waiting(store.again(), approval_id)
    assert (pending.kind, pending.question.text, pending.question.options, pending.args) == (
        "question",
        "Which colour?",
        ("red", "blue"),
        {"n": 2},
    )
    model = bench.Model(None, "done")
    result = await bench.decide(store.again(), {"id": approval_id, "approved": True, "note": "blue"}, model, box.tools)
    assert bench.result(result.messages, "c2") == {"n": 2, "answers": ["blue"], "last": "blue"}
    assert (result.text, box.ran) == ("done", ["c1", "c2", "c3", "c2"])


async def test_a_call_may_ask_again_and_gets_all_answers(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?", "Sure?"))
    first = await bench.paused(store, box, "paint")
    second = await bench.decide(store.again(), {"id": first, "approved": True, "note": "red"}, bench.Model(), box.tools)
    assert second.finish_reason == "awaiting-approval"
    assert second.approval_id != first
    done = await bench.decide(
        store.again(), {"id": second.approval_id, "approved": True, "note": "yes"}, bench.Model(None, "ok"), box.tools
    )
    assert bench.result(done.messages, "c1")["answers"] == ["red", "yes"]


async def test_declining_is_told_to_the_model(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"))
    approval_id = await bench.paused(store, box, "paint")
    result = await bench.decide(
        store.again(), {"id": approval_id, "approved": False, "note": "ask me later"}, bench.Model(None, "ok"), box.tools
    )
    error = bench.result(result.messages, "c1")
    assert (error["kind"], error["message"], error["note"]) == ("rejected", texts.DECLINED_ANSWER_RESULT, "ask me later")
    assert box.ran == ["c1"]


async def test_a_sign_in_waits_with_its_address(store: Any, bench: Any, box: Any) -> None:
    signed_in: list[bool] = []

    def body(args: Any, ctx: Any) -> str:
        if not signed_in:
            raise SignInRequired("https://calendar.example/login")
        return "today is free"

    box.tool("calendar", body)
    approval_id = await bench.paused(store, box, "calendar")
    pending = await waiting(store.again(), approval_id)
    assert (pending.kind, pending.question.url) == ("sign-in", "https://calendar.example/login")
    assert pending.question.url in pending.question.text
    assert (await store.saved()).approval_kind == "sign-in"
    signed_in.append(True)
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "ok"), box.tools)
    assert (bench.result(result.messages, "c1"), box.ran) == ("today is free", ["c1", "c1"])


async def test_a_sign_in_that_did_not_help_is_asked_for_again(store: Any, bench: Any, box: Any) -> None:
    def body(args: Any, ctx: Any) -> str:
        raise SignInRequired("https://calendar.example/login")

    box.tool("calendar", body)
    first = await bench.paused(store, box, "calendar")
    again = await bench.decide(store.again(), first, bench.Model(), box.tools)
    assert again.approval_id not in (None, first)
    result = await bench.decide(store.again(), {"id": again.approval_id, "approved": False}, bench.Model(None, "ok"), box.tools)
    assert bench.result(result.messages, "c1")["message"] == texts.NOT_SIGNED_IN_RESULT


async def test_what_was_approved_and_edited_is_what_runs_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"), needs_approval=True)
    first = await bench.paused(store, box, ("paint", {"n": 500}))
    decision = {"id": first, "approved": True, "args": {"n": 3}, "note": "less"}
    asked = await bench.decide(store.again(), decision, bench.Model(), box.tools)
    answer = {"id": asked.approval_id, "approved": True, "note": "red"}
    result = await bench.decide(store.again(), answer, bench.Model(None, "ok"), box.tools)
    assert [args for _, args, _ in box.log] == [{"n": 3}, {"n": 3}]
    said = bench.result(result.messages, "c1")
    assert said["result"] == {"n": 3, "answers": ["red"], "last": "red"}
    assert said["review"]["arguments"] == {"n": 3}


async def test_what_hooks_made_is_what_runs_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"))
    options = {"hooks": [{"pre_tool": lambda call: None if call.resumed else {"input": {"n": call.args["n"] + 1}}}]}
    first = await bench.paused(store, box, ("paint", {"n": 1}), **options)
    await bench.decide(store.again(), {"id": first, "approved": True, "note": "red"}, bench.Model(None, "ok"), box.tools, options=options)
    assert [args for _, args, _ in box.log] == [{"n": 2}, {"n": 2}]


@pytest.mark.parametrize("keep", [True, False])
async def test_a_call_behind_it_that_ended_does_not_run_again(store: Any, bench: Any, box: Any, keep: bool) -> None:
    """Nothing crashed: whatever store the pause is kept in, and with the snapshot of the approval alone, too."""
    box.tool("paint", asking("Which colour?", "Sure?"))
    box.tool("pay")
    model = bench.Model(bench.Calls("paint", "pay"), "done")
    result = await bench.run(store, model, box.tools)
    for answer in ("blue", "yes"):
        decision = {"id": result.approval_id, "approved": True, "note": answer}
        result = await bench.decide(store.again(), decision, model, box.tools, keep=keep)
    assert (result.text, bench.result(result.messages, "c1")["answers"]) == ("done", ["blue", "yes"])
    assert bench.shape(result.messages)[-3:] == ["result:c1", "result:c2", "assistant:done"]
    assert box.ran.count("c2") == 1


async def test_nor_does_it_where_the_process_dies_behind_the_answer(store: Any, bench: Any, box: Any) -> None:
    def body(args: Any, ctx: Any) -> Any:
        if ctx.answers and box.ran.count("c1") == 2:
            raise bench.Killed
        return asking("Which colour?")(args, ctx)

    box.tool("paint", body)
    box.tool("pay")
    model = bench.Model(bench.Calls("paint", "pay"), "done")
    result = await bench.run(store, model, box.tools)
    await bench.dies(bench.decide(store.again(), {"id": result.approval_id, "approved": True, "note": "blue"}, model, box.tools))
    result = await bench.run(store.again(), model, box.tools, [])
    assert (result.text, bench.result(result.messages, "c1")["answers"]) == ("done", ["blue"])
    assert box.ran.count("c2") == 1


async def test_a_question_that_is_recorded_survives_a_crash(log_stores: Any, bench: Any, box: Any) -> None:
    """The process dies while a sibling still runs; the next one asks the person and does not run the call for it."""
    begun = asyncio.Event()

    async def dies(args: Any, ctx: Any) -> None:
        await begun.wait()
        raise bench.Killed

    def body(args: Any, ctx: Any) -> Any:
        return asking("Which colour?")(args, ctx)

    box.tool("paint", body)
    box.tool("late", dies)

    async def kill_once_recorded() -> None:
        while not any(type(x) is r.ToolAsked for b in (await log_stores.log_store.read("s")).batches for x in b.records):
            await asyncio.sleep(0)
        begun.set()

    watching = asyncio.ensure_future(kill_once_recorded())
    await bench.dies(bench.run(log_stores, bench.Model(bench.Calls("paint", "late")), box.tools))
    await watching
    box.tools[1] = bench.Box().tool("late")
    result = await bench.run(log_stores.again(), bench.Model(), box.tools, [])
    assert (result.finish_reason, box.ran.count("c1")) == ("awaiting-approval", 1)


async def test_a_call_that_may_not_run_twice_may_ask(store: Any, bench: Any, box: Any) -> None:
    """It ended by asking: it was not cut."""
    box.tool("paint", asking("Which colour?"), replay="never")
    approval_id = await bench.paused(store, box, "paint")
    result = await bench.decide(store.again(), {"id": approval_id, "approved": True, "note": "red"}, bench.Model(None, "ok"), box.tools)
    assert bench.result(result.messages, "c1")["answers"] == ["red"]


async def test_where_nobody_is_asked_the_call_is_denied(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"))
    result = await bench.run(store, bench.Model(bench.Calls("paint"), "ok"), box.tools, permission_mode="dont-ask")
    assert (result.text, bench.result(result.messages, "c1")["kind"], box.ran) == ("ok", "denied", ["c1"])


async def test_an_abort_cancels_a_call_that_asked(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli import AbortController

    controller = AbortController()

    async def late(args: Any, ctx: Any) -> None:
        while not box.ran.count("c1"):
            await asyncio.sleep(0)
        controller.abort()

    box.tool("paint", asking("Which colour?"))
    box.tool("late", late)
    result = await bench.run(store, bench.Model(bench.Calls("paint", "late")), box.tools, signal=controller.signal)
    assert (result.finish_reason, bench.result(result.messages, "c1")["kind"]) == ("aborted", "not-run")


async def test_the_session_waits_and_an_answer_has_no_arguments_to_change(store: Any, bench: Any, box: Any) -> None:
    box.tool("paint", asking("Which colour?"))
    approval_id = await bench.paused(store, box, "paint")
    with pytest.raises(SessionAwaitingApprovalError) as raised:
        await bench.run(store.again(), bench.Model(), box.tools, "hello?")
    assert raised.value.kind == "question" or store.kind == "custom"
    with pytest.raises(ConfigurationError):
        await bench.decide(store.again(), {"id": approval_id, "approved": True, "args": {"n": 1}}, bench.Model(), box.tools)
    await bench.decide(store.again(), {"id": approval_id, "approved": True, "note": "red"}, bench.Model(None, "ok"), box.tools)


async def test_a_fork_of_the_wait_runs_the_call_again(ringed: Any, bench: Any, box: Any) -> None:
    from lousho_cli import AgentExecutor

    box.tool("paint", asking("Which colour?"))
    first = await bench.paused(ringed, box, "paint")
    fork = await AgentExecutor.fork("s", 1, ringed.checkpoints)
    result = await bench.run(ringed, bench.Model(), box.tools, [], session_id=fork.session_id)
    assert result.finish_reason == "awaiting-approval"
    assert result.approval_id != first
    assert box.ran == ["c1", "c1"]
