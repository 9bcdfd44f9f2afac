"""Hooks: what a caller's functions around tools, model calls and the end of a run may do."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import msgspec
import pytest

from lousho_cli import Hook, define_tool
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, HookError, PropagatingToolError, ProviderError
from lousho_cli.executor.abort import AbortController


def metadata_of(result: Any, call_id: str) -> Any:
    return next(m.metadata for m in result.messages if m.tool_call_id == call_id)


# Before a tool


async def test_hooks_may_refuse_give_a_result_or_change_the_arguments(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    seen: list[Any] = []

    def hook(call: Any) -> Any:
        seen.append((call.tool_name, call.args, call.tool_call_id, call.session_id, call.resumed))
        return {1: {"deny": "too small"}, 2: {"result": {"paid": 2}}, 3: {"input": {"n": 30}}}.get(call.args["n"])

    model = bench.Model(bench.Calls(*[("pay", {"n": n}) for n in (1, 2, 3, 4)]), "done")
    result = await bench.run(store, model, box.tools, hooks=[{"name": "cashier", "pre_tool": hook}])
    denied = bench.result(result.messages, "c1")
    assert (denied["kind"], denied["reason"]) == ("denied", "too small")
    assert bench.result(result.messages, "c2") == {"paid": 2}
    assert metadata_of(result, "c2") == {"replacedByHook": "cashier"}
    assert [(args, call_id) for _, args, call_id in box.log] == [({"n": 30}, "c3"), ({"n": 4}, "c4")]
    assert seen[0] == ("pay", {"n": 1}, "c1", "s", False)


async def test_the_first_refusal_or_result_stops_and_async_hooks_are_awaited(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    order: list[str] = []

    async def first(call: Any) -> Any:
        order.append("first")
        await asyncio.sleep(0)
        return {"input": {"n": call.args["n"] + 1}}

    def second(call: Any) -> Any:
        order.append(f"second {call.args['n']}")
        return {"result": "enough"}

    def third(call: Any) -> Any:
        order.append("third")

    hooks = [{"pre_tool": first}, {"pre_tool": second}, {"pre_tool": third}]
    result = await bench.run(store, bench.Model(bench.Calls(("pay", {"n": 1})), "done"), box.tools, hooks=hooks)
    assert order == ["first", "second 2"]
    assert (bench.result(result.messages, "c1"), box.ran) == ("enough", [])


async def test_a_hook_may_give_the_error_of_a_call_that_does_not_run(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    hooks = [Hook("closed", pre_tool=lambda call: {"error": {"message": "closed today"}})]
    result = await bench.run(store, bench.Model(bench.Calls(("pay", {"n": 1})), "done"), box.tools, hooks=hooks)
    [told] = [message for message in result.messages if message.role == "tool"]
    assert (told.text, told.is_error, box.ran) == ('{"message":"closed today"}', True, [])


async def test_arguments_changed_in_place_count(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")

    def hook(call: Any) -> None:
        call.args["n"] = 7

    result = await bench.run(store, bench.Model(bench.Calls(("pay", {"n": 1})), "done"), box.tools, hooks=[Hook(pre_tool=hook)])
    assert box.log == [("pay", {"n": 7}, "c1")]
    assert json.loads(result.tool_calls[0].arguments) == {"n": 1}


async def test_what_a_hook_gives_is_validated_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    hooks = [Hook(pre_tool=lambda call: {"input": {"n": "many"}})]
    result = await bench.run(store, bench.Model(bench.Calls("pay"), "done"), box.tools, hooks=hooks)
    error = bench.result(result.messages, "c1")
    assert (error["kind"], error["issues"][0]["path"], box.ran) == ("validation", "n", [])


async def test_hooks_are_skipped_where_the_models_arguments_do_not_fit(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    seen: list[Any] = []
    hooks = [Hook(pre_tool=seen.append)]
    await bench.run(store, bench.Model(bench.Calls(("pay", {"n": "x"}), "unknown"), "done"), box.tools, hooks=hooks)
    assert seen == []


async def test_the_tools_own_function_sees_what_hooks_made(store: Any, bench: Any, box: Any) -> None:
    seen: list[Any] = []
    box.tool("pay", needs_approval=lambda args: seen.append(args) or {"deny": "no"})
    hooks = [Hook(pre_tool=lambda call: {"input": {"n": 9}})]
    result = await bench.run(store, bench.Model(bench.Calls("pay"), "done"), box.tools, hooks=hooks)
    assert (seen, bench.result(result.messages, "c1")["reason"]) == ([{"n": 9}], "no")


async def test_a_rule_sees_what_hooks_made_and_keeps_the_tool_from_being_asked(store: Any, bench: Any, box: Any) -> None:
    asked: list[Any] = []
    box.tool("pay", needs_approval=lambda args: asked.append(args))
    rules = [{"tool": "pay", "when": {"n": "^9$"}, "action": "deny", "reason": "nine"}]
    hooks = [Hook(pre_tool=lambda call: {"input": {"n": 9}})]
    result = await bench.run(store, bench.Model(bench.Calls("pay"), "done"), box.tools, hooks=hooks, permissions=rules)
    assert (bench.result(result.messages, "c1")["reason"], asked) == ("nine", [])


# Approvals


async def test_de_061_a_person_sees_what_hooks_made(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    hooks = [Hook(pre_tool=lambda call: {"input": {"n": 5}})]
    approval_id = await bench.paused(store, box, ("pay", {"n": 500}), hooks=hooks)
    stored = await store.again().approvals.resolve(approval_id)
    pending = stored["pending"] if isinstance(stored, dict) else msgspec.to_builtins(stored.pending)
    from lousho_cli.domain.approvals import digest_of

    assert (pending["args"], pending["digest"]) == ({"n": 5}, digest_of({"n": 5}))


@pytest.mark.parametrize("again", [True, False])
async def test_exactly_what_was_approved_runs(store: Any, bench: Any, box: Any, again: bool) -> None:
    """A hook that gives the same again, and one that has nothing more to say about what it changed already."""
    box.tool("pay", needs_approval=True)
    resumed: list[Any] = []

    def hook(call: Any) -> Any:
        if call.resumed:
            resumed.append(call.args)
        return {"input": {"n": 5}} if again or not call.resumed else None

    approval_id = await bench.paused(store, box, ("pay", {"n": 500}), hooks=[Hook(pre_tool=hook)])
    options = {"hooks": [Hook(pre_tool=hook)]}
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools, options=options)
    assert (result.text, box.log, resumed) == ("paid", [("pay", {"n": 5}, "c1")], [{"n": 5}])


async def test_what_was_approved_runs_although_the_hook_is_gone(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, ("pay", {"n": 500}), hooks=[Hook(pre_tool=lambda call: {"input": {"n": 5}})])
    await bench.decide(store.again(), approval_id, bench.Model(None, "paid"), box.tools)
    assert box.log == [("pay", {"n": 5}, "c1")]


async def test_de_062_a_hook_that_changes_what_was_approved_blocks_the_call(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    hooks = [Hook(pre_tool=lambda call: {"input": {"n": 6}} if call.resumed else None)]
    approval_id = await bench.paused(store, box, ("pay", {"n": 5}), hooks=hooks)
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "hm"), box.tools, options={"hooks": hooks})
    assert (bench.result(result.messages, "c1")["kind"], box.ran, result.text) == ("validation", [], "hm")


async def test_an_edit_is_what_hooks_see_and_what_runs(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    seen: list[Any] = []
    hooks = [Hook(pre_tool=lambda call: seen.append((call.args["n"], call.resumed)))]
    approval_id = await bench.paused(store, box, ("pay", {"n": 500}), hooks=hooks)
    decision = {"id": approval_id, "approved": True, "args": {"n": 1}}
    await bench.decide(store.again(), decision, bench.Model(None, "paid"), box.tools, options={"hooks": hooks})
    assert (seen, box.log) == ([(500, False), (1, True)], [("pay", {"n": 1}, "c1")])


async def test_a_hook_may_still_refuse_an_approved_call(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    options = {"hooks": [Hook(pre_tool=lambda call: {"deny": "closed"})]}
    result = await bench.decide(store.again(), approval_id, bench.Model(None, "hm"), box.tools, options=options)
    assert (bench.result(result.messages, "c1")["reason"], box.ran) == ("closed", [])


async def test_de_151_a_pending_call_is_validated_and_takes_its_turn_again(store: Any, bench: Any, box: Any) -> None:
    """By the tool of today, and as many at once as are allowed today."""
    story: list[str] = []

    async def tell(args: Any, ctx: Any) -> None:
        story.append(f"start {ctx.tool_call_id}")
        await asyncio.sleep(0)
        story.append(f"end {ctx.tool_call_id}")

    def die(args: Any, ctx: Any) -> None:
        raise bench.Killed

    box.tool("die", die)
    await bench.dies(bench.run(store, bench.Model(bench.Calls(("die", {"n": 1}), ("die", {"n": -1}), ("die", {"n": 2}))), box.tools))
    today = define_tool(name="die", input={"type": "object", "properties": {"n": {"minimum": 0}}}, execute=tell)
    result = await bench.run(store.again(), bench.Model(None, "done"), [today], [], tool_concurrency=1)
    assert story == ["start c1", "end c1", "start c3", "end c3"]
    assert (bench.result(result.messages, "c2")["kind"], result.text) == ("validation", "done")


async def test_de_151_a_pending_call_passes_hooks_and_approval_again(store: Any, bench: Any, box: Any) -> None:
    """A call that was cut goes through all of the gate when another process goes on."""
    seen: list[Any] = []
    asked: list[Any] = []

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "booked"

    box.tool("book", die, needs_approval=lambda args: asked.append(args))
    hooks = [Hook(pre_tool=lambda call: seen.append((call.tool_call_id, call.resumed)))]
    await bench.dies(bench.run(store, bench.Model(bench.Calls("book")), box.tools, hooks=hooks))
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], hooks=hooks)
    assert (result.text, box.ran) == ("done", ["c1", "c1"])
    assert (seen, len(asked)) == ([("c1", False), ("c1", False)], 2)


# Behind a tool


async def test_hooks_behind_a_tool_see_success_and_error_and_replace_what_the_model_sees(store: Any, bench: Any, box: Any) -> None:
    box.tool("good")
    box.tool("bad", lambda args, ctx: 1 / 0)
    seen: list[Any] = []

    def hook(result: Any) -> Any:
        seen.append((result.tool_name, result.status, result.args, result.session_id))
        return {"result": {"was": result.result["error"] if result.status == "error" else result.result}}

    model = bench.Model(bench.Calls("good", "bad"), "done")
    result = await bench.run(store, model, box.tools, hooks=[{"name": "redact", "post_tool": hook}])
    assert sorted(seen) == [("bad", "error", {"n": 0}, "s"), ("good", "success", {"n": 0}, "s")]
    assert bench.result(model.asked[1], "c1") == {"was": "good"}
    assert bench.result(model.asked[1], "c2") == {"was": "ZeroDivisionError"}
    assert [(m.is_error, m.metadata) for m in result.messages if m.role == "tool"] == [(False, {"replacedByHook": "redact"})] * 2


async def test_each_hook_behind_a_tool_sees_what_the_one_before_made(store: Any, bench: Any, box: Any) -> None:
    box.tool("good")
    hooks = [
        {"name": "one", "post_tool": lambda result: {"result": result.result + "!"}},
        {"name": "two", "post_tool": lambda result: None},
        {"name": "three", "post_tool": lambda result: {"result": result.result + "?"}},
    ]
    result = await bench.run(store, bench.Model(bench.Calls("good"), "done"), box.tools, hooks=hooks)
    assert bench.result(result.messages, "c1") == "good!?"
    assert metadata_of(result, "c1") == {"replacedByHook": "three"}


async def test_hooks_behind_a_tool_also_see_calls_that_did_not_run(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    seen: list[Any] = []
    hooks = [{"post_tool": lambda result: seen.append((result.tool_call_id, result.status, result.result["kind"], result.args))}]
    calls = bench.Calls(("pay", {"n": "x"}), "unknown", "pay")
    rules = [{"tool": "pay", "when": {"n": "^0$"}, "action": "deny"}]
    result = await bench.run(store, bench.Model(calls, "done"), box.tools, hooks=hooks, permissions=rules)
    assert sorted(seen) == [("c1", "error", "validation", None), ("c2", "error", "not-found", None), ("c3", "error", "denied", None)]
    assert result.text == "done"


async def test_hooks_behind_a_tool_are_told_of_a_pause_and_change_nothing(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    seen: list[Any] = []
    hooks = [{"post_tool": lambda result: seen.append((result.status, result.args, result.result)) or {"result": "ignored"}}]
    approval_id = await bench.paused(store, box, ("pay", {"n": 2}), hooks=hooks)
    assert seen == [("pause", {"n": 2}, None)]
    assert (await store.saved()).status == "awaiting-approval"
    result = await bench.decide(
        store.again(), {"id": approval_id, "approved": False}, bench.Model(None, "ok"), box.tools, options={"hooks": hooks}
    )
    assert (seen[1][0], bench.result(result.messages, "c1")) == ("error", "ignored")


async def test_what_a_person_noted_stays_beside_what_a_hook_made(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, "pay")
    options = {"hooks": [{"post_tool": lambda result: {"result": "hidden"}}]}
    decision = {"id": approval_id, "approved": True, "note": "only once"}
    result = await bench.decide(store.again(), decision, bench.Model(None, "ok"), box.tools, options=options)
    assert bench.result(result.messages, "c1") == {"result": "hidden", "review": {"note": "only once"}}


async def test_a_replaced_result_is_what_is_recorded(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("good", lambda args, ctx: "secret")
    hooks = [{"name": "redact", "post_tool": lambda result: {"result": "***"}}]
    await bench.run(log_stores, bench.Model(bench.Calls("good"), "done"), box.tools, hooks=hooks)
    records = [record for batch in (await log_stores.again().log_store.read("s")).batches for record in batch.records]
    finished = next(record for record in records if isinstance(record, r.ToolFinished))
    assert (finished.content, finished.replaced_by) == ('"***"', "redact")
    assert "secret" not in str(records)


# Hooks that fail


@pytest.mark.parametrize("kind", ["pre_tool", "post_tool", "before_model", "after_model"])
async def test_de_008_a_throwing_hook_rejects_and_keeps_the_last_record(store: Any, bench: Any, box: Any, kind: str) -> None:
    box.tool("book")

    def fail(*given: Any) -> None:
        raise ValueError("hook broke")

    hooks = [{"name": "mine", kind: fail}]
    with pytest.raises(HookError) as raised:
        await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools, hooks=hooks)
    assert (raised.value.code, raised.value.hook, type(raised.value.__cause__)) == ("LOUSHO_HOOK_FAILED", "mine", ValueError)
    saved = await store.again().saved()
    if kind.endswith("tool"):
        assert (saved.status, bench.shape(saved.messages)[-1]) == ("in-progress", "calls:c1")
    else:
        assert saved is None
    result = await bench.run(store.again(), bench.Model(bench.Calls("book"), "done"), box.tools, [] if saved else "go")
    assert result.text == "done"


async def test_siblings_of_a_call_whose_hook_fails_are_awaited_and_kept(store: Any, bench: Any, box: Any) -> None:
    gate = asyncio.Event()

    async def late(args: Any, ctx: Any) -> str:
        await gate.wait()
        return "kept"

    def hook(call: Any) -> None:
        if call.tool_name == "pay":
            gate.set()
            raise RuntimeError("no")

    box.tool("late", late)
    box.tool("pay")
    with pytest.raises(HookError):
        await bench.run(store, bench.Model(bench.Calls("late", "pay", "pay")), box.tools, hooks=[Hook(pre_tool=hook)])
    assert box.ran == ["c1"]
    assert bench.result((await store.again().saved()).messages, "c1") == "kept"


async def test_a_hook_can_not_hide_behind_a_tools_fatal_error(store: Any, bench: Any, box: Any) -> None:
    """Whatever a hook raises is named as the hook's."""
    box.tool("book")

    def stop(call: Any) -> None:
        raise PropagatingToolError("stop")

    with pytest.raises(HookError) as raised:
        await bench.run(store, bench.Model(bench.Calls("book")), box.tools, hooks=[Hook(pre_tool=stop)])
    assert isinstance(raised.value.__cause__, PropagatingToolError)


@pytest.mark.parametrize("said", ["yes", {"allow": True}, {"deny": "x", "input": {}}, True, {}])
async def test_what_no_hook_may_say_rejects(store: Any, bench: Any, box: Any, said: Any) -> None:
    box.tool("book")
    with pytest.raises(HookError):
        await bench.run(store, bench.Model(bench.Calls("book")), box.tools, hooks=[Hook(pre_tool=lambda call: said)])
    assert box.ran == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("hook", "hooks"),
        ([{}], "hooks.0"),
        ([{"pre_tool": 5}], "hooks.0.pre_tool"),
        ([Hook(pre_tool=print), {"pre_tol": print}], "hooks.1.pre_tol"),
        ([object()], "hooks.0"),
    ],
)
async def test_a_wrong_hook_is_refused_before_anything(bench: Any, given: Any, field: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), bench.Model("done"), hooks=given)
    assert raised.value.field == field


# Around the model


async def test_what_a_hook_changes_in_a_request_never_enters_the_transcript(store: Any, bench: Any) -> None:
    def hook(request: Any) -> Any:
        return msgspec.structs.replace(request, messages=(*request.messages, user("be quick")))

    model = bench.Model("done")
    result = await bench.run(store, model, hooks=[{"before_model": hook}])
    assert bench.shape(model.asked[0])[-1] == "user:be quick"
    assert bench.shape(result.messages) == ["system:Be brief.", "user:go", "assistant:done"]


async def test_a_changed_answer_is_what_is_recorded(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    seen: list[Any] = []

    async def hook(request: Any, answer: Any) -> Any:
        seen.append((len(request.messages), answer.message.text))
        return msgspec.structs.replace(answer, message=msgspec.structs.replace(answer.message, content=answer.message.text.upper()))

    result = await bench.run(store, bench.Model("done"), hooks=[{"after_model": hook}])
    assert (result.text, seen) == ("DONE", [(2, "done")])
    assert bench.shape((await store.again().saved()).messages)[-1] == "assistant:DONE"


@pytest.mark.parametrize("gives", ["text", 5])
@pytest.mark.parametrize("kind", ["before_model", "after_model"])
async def test_a_hook_around_the_model_gives_a_request_or_an_answer(bench: Any, kind: str, gives: Any) -> None:
    with pytest.raises(HookError):
        await bench.run(bench.memory(), bench.Model("done"), hooks=[{kind: lambda *given: gives}])


async def test_a_hook_can_not_send_a_transcript_no_provider_takes(bench: Any, box: Any) -> None:
    box.tool("book")

    def hook(request: Any) -> Any:
        return msgspec.structs.replace(request, messages=[m for m in request.messages if m.role != "tool"])

    model = bench.Model(bench.Calls("book"), "done")
    with pytest.raises(HookError):
        await bench.run(bench.memory(), model, box.tools, hooks=[{"before_model": hook}])
    assert len(model.asked) == 1


@pytest.mark.parametrize("messages", [None, 5, [{"role": "user", "content": "hi"}]])
async def test_what_is_no_transcript_is_not_sent(bench: Any, messages: Any) -> None:
    model = bench.Model("done")
    hook = {"name": "odd", "before_model": lambda request: msgspec.structs.replace(request, messages=messages)}
    with pytest.raises(HookError) as raised:
        await bench.run(bench.memory(), model, hooks=[hook])
    assert (raised.value.detail, model.asked) == ("odd made a transcript that is no list of Message values", [])


async def test_a_hook_may_speak_for_the_provider(bench: Any) -> None:
    """So a limiter of rates is retried like any other refusal."""
    tries: list[int] = []

    def hook(request: Any) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ProviderError("slow down", category="rate-limit", retryable=True)

    result = await bench.run(bench.memory(), bench.Model("done"), hooks=[{"before_model": hook}], on_model_error=lambda *given: 0)
    assert (result.text, len(tries)) == ("done", 2)


# The end


async def test_an_abort_does_not_wait_for_a_hook_that_is_told_of_a_pause(store: Any, bench: Any, box: Any) -> None:
    controller, waiting = AbortController(), asyncio.Event()
    box.tool("pay", needs_approval=True)

    async def hangs(result: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    options = {"hooks": [{"post_tool": hangs}], "signal": controller.signal}
    running = asyncio.ensure_future(bench.run(store, bench.Model(bench.Calls("pay")), box.tools, **options))
    await asyncio.wait_for(waiting.wait(), 30)
    controller.abort()
    result = await asyncio.wait_for(asyncio.shield(running), 30)
    assert result.finish_reason == "awaiting-approval"
    result = await bench.decide(store.again(), result.approval_id, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_on_abort_is_called_once_while_tools_still_run(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli import AbortController

    controller, told = AbortController(), []

    async def slow(args: Any, ctx: Any) -> None:
        controller.abort("enough")
        await ctx.signal.wait()
        while not told:
            await asyncio.sleep(0)

    box.tool("slow", slow)
    box.tool("other", slow)
    hooks = [{"on_abort": told.append}]
    result = await bench.run(store, bench.Model(bench.Calls("slow", "other")), box.tools, signal=controller.signal, hooks=hooks)
    (abort,) = told
    assert (abort.reason, abort.recoverable, abort.session_id) == ("enough", False, "s")
    assert [call.id for call in abort.running] == ["c1", "c2"]
    assert (result.finish_reason, result.abort_reason.name, result.abort_reason.message) == ("aborted", "AbortError", "enough")


async def test_on_abort_is_told_of_a_stop_that_another_process_goes_on_from(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli import AbortController

    controller, told = AbortController(), []
    box.tool("book", lambda args, ctx: controller.stop())
    result = await bench.run(
        store, bench.Model(bench.Calls("book")), box.tools, signal=controller.signal, hooks=[{"on_abort": told.append}]
    )
    assert (result.stopped, [abort.recoverable for abort in told]) == (True, [True])


async def test_on_abort_is_not_called_for_a_run_that_ends(store: Any, bench: Any) -> None:
    told: list[Any] = []
    await bench.run(store, bench.Model("done"), hooks=[{"on_abort": told.append}])
    assert told == []


async def test_the_end_waits_for_on_abort_no_longer_than_for_tools(bench: Any, box: Any) -> None:
    from lousho_cli import AbortController

    controller = AbortController()
    box.tool("stop", lambda args, ctx: controller.abort())

    async def hang(abort: Any) -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(30):
        options = {"signal": controller.signal, "hooks": [{"on_abort": hang}], "abort_grace_ms": 10}
        result = await bench.run(bench.memory(), bench.Model(bench.Calls("stop")), box.tools, **options)
    assert result.finish_reason == "aborted"


async def test_what_on_abort_raises_is_logged(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    from lousho_cli import AbortController

    controller = AbortController()
    controller.abort()

    def fail(abort: Any) -> None:
        raise ValueError("broke")

    with caplog.at_level(logging.WARNING, "lousho"):
        result = await bench.run(bench.memory(), bench.Model("done"), signal=controller.signal, hooks=[{"name": "bell", "on_abort": fail}])
    assert (result.finish_reason, "bell failed: ValueError: broke" in caplog.text) == ("aborted", True)


async def test_an_abort_that_was_a_timeout_says_so(bench: Any) -> None:
    from lousho_cli import AbortController

    controller = AbortController()
    controller.abort(TimeoutError("10 s are up"))
    result = await bench.run(bench.memory(), bench.Model("done"), signal=controller.signal)
    assert (result.abort_reason.name, result.abort_reason.message) == ("TimeoutError", "10 s are up")


async def test_on_run_end_is_called_once_with_the_result_or_the_error(store: Any, bench: Any, box: Any) -> None:
    ends: list[Any] = []
    box.tool("pay", needs_approval=True)
    hooks = [{"on_run_end": ends.append}]
    paused = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, hooks=hooks)
    done = await bench.decide(store, paused.approval_id, bench.Model(None, "done"), box.tools, options={"hooks": hooks})
    with pytest.raises(ProviderError) as raised:
        await bench.run(store, bench.Model(None, None, ProviderError("down")), box.tools, "more", hooks=hooks)
    assert [(end.session_id, end.result, end.error) for end in ends] == [
        ("s", paused, None),
        ("s", done, None),
        ("s", None, raised.value),
    ]


async def test_an_object_with_such_methods_is_a_hook(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")

    class Cashier:
        def pre_tool(self, call: Any) -> Any:
            return {"result": "from Cashier"}

    result = await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools, hooks=[Cashier()])
    assert metadata_of(result, "c1") == {"replacedByHook": "Cashier"}
