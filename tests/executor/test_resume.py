"""Going on with an unfinished run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.errors import ProviderError
from lousho_cli.executor.abort import AbortController


async def cut(stores: Any, bench: Any, turns: Any, tools: Any, text: Any = "go", **options: Any) -> Any:
    """A run that dies in the first model call or tool that raises Killed."""
    model = bench.Model(*turns)
    await bench.dies(bench.run(stores, model, tools, text, **options))
    return model


def deadly(bench: Any, box: Any) -> Any:
    """A tool that kills the process the first time."""

    def die(args: Any, ctx: Any) -> str:
        if len([name for name, _, _ in box.log if name == "die"]) == 1:
            raise bench.Killed
        return "survived"

    return box.tool("die", die)


async def test_de_014_exactly_the_unanswered_calls_run_before_any_model_call(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("book", "die", "book")], box.tools, tool_concurrency=1)
    assert box.ran == ["c1", "c2"]
    ran_before_model: list[list[str]] = []
    model = bench.Model(None, lambda request: ran_before_model.append(list(box.ran)) or "done")
    result = await bench.run(store.again(), model, box.tools, [])
    assert ran_before_model == [["c1", "c2", "c2", "c3"]]
    assert (result.text, len(model.asked)) == ("done", 1)


async def test_de_015_a_recorded_result_is_not_made_again(store: Any, bench: Any, box: Any) -> None:
    count = iter(range(100))
    box.tool("book", lambda args, ctx: next(count))
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("book", "die")], box.tools, tool_concurrency=1)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.result(result.messages, "c1") == 0
    assert box.ran.count("c1") == 1


async def test_de_016_a_cut_call_runs_again_under_its_id(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert box.ran == ["c1", "c1"]
    assert bench.result(result.messages, "c1") == "survived"
    assert [ctx.rerun for ctx in box.contexts] == [False, True]


async def test_de_017_018_results_in_call_order_then_the_new_input(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("book", "die", "book")], box.tools, tool_concurrency=1)
    model = bench.Model(None, "done")
    await bench.run(store.again(), model, box.tools, "and tea")
    assert bench.shape(model.asked[0])[1:] == [
        "user:go",
        "calls:c1+c2+c3",
        "result:c1",
        "result:c2",
        "result:c3",
        "user:and tea",
    ]


async def test_de_019_the_starting_message_again_is_a_retry(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, "go")
    assert [m.text for m in result.messages if m.role == "user"] == ["go"]


async def test_de_020_no_input_only_resumes(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    model = bench.Model(None, "done")
    result = await bench.run(store.again(), model, box.tools, [])
    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1", "result:c1", "assistant:done"]
    again = await bench.run(store.again(), model, box.tools, [])
    assert (again.text, again.messages, len(model.asked)) == ("done", result.messages, 1), "nothing is pending any more"


async def test_de_021_steps_go_on_counting(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("stop", lambda args, ctx: controller.abort())
    first = await bench.run(store, bench.Model(bench.Calls("stop")), box.tools, signal=controller.signal)
    second = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert (first.steps, second.steps) == (1, 2)


async def test_de_022_the_rest_of_the_budget_applies(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    turns = [bench.Calls("book"), bench.Calls("book"), lambda request: bench.Killed()]
    await cut(store, bench, turns, box.tools)
    model = bench.Model(None, None, bench.Calls("book"), "too late")
    result = await bench.run(store.again(), model, box.tools, [], max_steps=3)
    assert (len(model.asked), result.steps, result.finish_reason) == (1, 3, "max-steps")


async def test_de_023_usage_goes_on_from_the_stored_totals(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await cut(store, bench, [bench.Calls("book"), lambda request: bench.Killed()], box.tools)
    before = (await store.saved()).usage
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert result.usage.model_calls == 2
    assert result.usage.total_tokens == before.total_tokens + 15
    assert [used.step for used in result.step_usage] == [1, 2]


async def test_de_024_a_record_without_status_resumes(bench: Any, box: Any) -> None:
    """Written before status, usage and fingerprint were: unfinished, no check, no warning."""
    box.tool("book")
    old = {
        "session_id": "s",
        "step_index": 1,
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "book", "arguments": "{}"}]},
        ],
    }
    stores = bench.custom()
    stores.checkpoints.texts["s"] = json.dumps(old)
    result = await bench.run(stores, bench.Model(None, "done"), box.tools, [])
    assert (result.text, box.ran, result.steps) == ("done", ["c1"], 2)


async def test_de_024_a_log_store_takes_an_old_record_too(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    turn = Message(role="assistant", tool_calls=(ToolCall("c1", "book"),))
    old = {"session_id": "s", "step_index": 1, "messages": [Message(role="user", content="go"), turn]}
    await log_stores.checkpoints.save("s", old)
    assert (await log_stores.saved()).status == "in-progress"
    result = await bench.run(log_stores, bench.Model(None, "done"), box.tools, "go")
    assert (result.text, box.ran, [m.text for m in result.messages if m.role == "user"]) == ("done", ["c1"], ["go"])


async def test_de_025_a_lagging_history_and_one_new_message(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    sent = [{"role": "user", "content": "go"}, {"role": "user", "content": "and tea"}]
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, sent)
    assert [m.text for m in result.messages if m.role == "user"] == ["go", "and tea"]


async def test_de_026_a_failed_turn_leaves_no_note_and_its_message_is_found(store: Any, bench: Any) -> None:
    await bench.run(store, bench.Model("hello"), text="hi")
    with pytest.raises(ProviderError):
        await bench.run(store, bench.Model(None, ProviderError("down")), text="more")
    model = bench.Model(None, "fine")
    result = await bench.run(store.again(), model, text="more")
    assert bench.shape(result.messages)[1:] == ["user:hi", "assistant:hello", "user:more", "assistant:fine"]


async def test_de_027_unrelated_input_is_appended(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, "no, stop")
    assert [m.text for m in result.messages if m.role == "user"] == ["go", "no, stop"]


async def test_de_028_029_stored_out_of_order_loads_in_order(store: Any, bench: Any, box: Any) -> None:
    from lousho_cli.domain.checkpoint import Checkpoint

    box.tool("book")
    calls = tuple(ToolCall(f"c{n}", "book") for n in (1, 2, 3))
    stored = (
        Message(role="user", content="go"),
        Message(role="assistant", tool_calls=calls),
        Message(role="tool", content='"two"', tool_call_id="c2", tool_name="book"),
        Message(role="user", content="and tea"),
        Message(role="tool", content='"one"', tool_call_id="c1", tool_name="book"),
    )
    await store.checkpoints.save("s", Checkpoint("s", stored, step_index=1))
    model = bench.Model(None, "done")
    await bench.run(store.again(), model, box.tools, [])
    assert bench.shape(model.asked[0]) == ["user:go", "calls:c1+c2+c3", "result:c1", "result:c2", "result:c3", "user:and tea"]
    assert [bench.result(model.asked[0], c) for c in ("c1", "c2", "c3")] == ["one", "two", "book"]
    assert box.ran == ["c3"]


async def test_de_030_business_state_is_inherited_or_replaced(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools, business_state={"cart": [1]})
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert result.business_state == {"cart": [1]}
    result = await bench.run(store.again(), bench.Model(None, None, "more"), box.tools, "next", business_state=None)
    assert result.business_state is None
    assert (await store.saved()).business_state is None


async def test_de_031_the_system_prompt_stands_once(store: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> None:
        if len(box.log) < 4:
            raise bench.Killed

    box.tool("die", die)
    await cut(store, bench, [bench.Calls("die")], box.tools)
    for _ in range(2):
        await bench.dies(bench.run(store.again(), bench.Model(), box.tools, []))
    await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    result = await bench.run(store.again(), bench.Model(None, None, "more"), box.tools, "next")
    assert [m.role for m in result.messages].count("system") == 1


async def test_de_032_pending_calls_run_although_the_budget_is_spent(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools, max_steps=1)
    model = bench.Model()
    result = await bench.run(store.again(), model, box.tools, [], max_steps=1)
    assert (box.ran, model.asked, result.finish_reason, result.status) == (["c1", "c1"], [], "max-steps", "finished")


async def test_de_152_a_pending_gated_call_pauses_before_any_model_call(store: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    box.tool("pay", needs_approval=True)
    await cut(store, bench, [bench.Calls("die", "pay")], box.tools)
    model = bench.Model()
    result = await bench.run(store.again(), model, box.tools, [])
    assert (result.finish_reason, model.asked, box.ran) == ("awaiting-approval", [], ["c1", "c1"])


async def test_de_153_an_abort_in_a_batch_then_a_new_message(store: Any, bench: Any, box: Any) -> None:
    controller = AbortController()
    box.tool("stop", lambda args, ctx: controller.abort())
    box.tool("book")
    turns = [bench.Calls("stop", "book", "book")]
    await bench.run(store, bench.Model(*turns), box.tools, signal=controller.signal, tool_concurrency=1)
    model = bench.Model(None, "done")
    await bench.run(store.again(), model, box.tools, "do something else")
    asked = model.asked[0]
    assert bench.shape(asked)[3:] == ["result:c1", "result:c2", "result:c3", "user:do something else"]
    assert ["cancelled" in json.dumps(bench.result(asked, call)) for call in ("c2", "c3")] == [True, True]
    assert box.ran == ["c1"]


async def test_de_155_the_result_holds_the_whole_conversation(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(store, bench.Model(bench.Calls("book"), "first"), box.tools, "one")
    result = await bench.run(store.again(), bench.Model(None, None, "second"), box.tools, "two")
    assert bench.shape(result.messages) == [
        "system:Be brief.",
        "user:one",
        "calls:c1",
        "result:c1",
        "assistant:first",
        "user:two",
        "assistant:second",
    ]


async def test_de_158_a_sandboxed_tool_gets_the_same_call_id_again(store: Any, bench: Any, box: Any) -> None:
    routed: list[tuple[str, str]] = []

    async def sandbox(tool: Any, args: Any, ctx: Any) -> Any:
        routed.append((tool.name, ctx.tool_call_id))
        return await tool.call(args, ctx)

    deadly(bench, box)
    await cut(store, bench, [bench.Calls("die")], box.tools, sandbox_execute=sandbox)
    await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], sandbox_execute=sandbox)
    assert routed == [("die", "c1"), ("die", "c1")]
    assert box.ran == ["c1", "c1"]


async def test_a_cut_call_that_may_not_repeat_is_reported(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.1, on every store: on a plain one a call without result counts as possibly started."""
    from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT

    def die(args: Any, ctx: Any) -> None:
        raise bench.Killed

    box.tool("charge", die, replay="never")
    await cut(store, bench, [bench.Calls("charge")], box.tools)
    result = await bench.run(store.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.result(result.messages, "c1")["message"] == INTERRUPTED_TOOL_RESULT
    assert box.ran == ["c1"]


async def test_a_call_that_was_never_started_runs_whatever_its_replay(log_stores: Any, bench: Any, box: Any) -> None:
    deadly(bench, box)
    box.tool("charge", replay="never")
    await cut(log_stores, bench, [bench.Calls("die", "charge")], box.tools, tool_concurrency=1)
    result = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.result(result.messages, "c2") == "charge"


@pytest.mark.parametrize(("interrupted", "ran"), [("report", ["c1"]), ("rerun", ["c1", "c1"]), (None, ["c1"])])
async def test_what_interrupted_says_beats_the_runs_default(log_stores: Any, bench: Any, box: Any, interrupted: Any, ran: Any) -> None:
    deadly(bench, box)
    await cut(log_stores, bench, [bench.Calls("die")], box.tools, replay="never")
    await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [], interrupted=interrupted)
    assert box.ran == ran


async def test_a_result_out_of_order_is_kept_over_a_crash_of_a_log(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.2: the log keeps each result the moment it settles; the mark shows only those in order."""
    first = asyncio.Event()
    box.tool("late", lambda args, ctx: first.wait())
    box.tool("book")
    seen: list[Any] = []

    async def die(args: Any, ctx: Any) -> Any:
        if len(seen) == 0:
            while not any(name == "tool.done" for name, _ in seen_events):
                await asyncio.sleep(0)
            seen.append(await log_stores.saved())
            raise bench.Killed
        return "survived"

    box.tool("die", die)
    seen_events: list[tuple[str, Any]] = []
    model = bench.Model(bench.Calls("late", "book", "die"))
    running = bench.run(log_stores, model, box.tools, on_event=lambda event: seen_events.append((event.type, event)))
    await bench.dies(running)
    assert bench.shape(seen[0].messages)[2:] == ["calls:c1+c2+c3"]
    first.set()
    result = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, [])
    assert bench.shape(result.messages)[3:6] == ["result:c1", "result:c2", "result:c3"]
    assert box.ran.count("c2") == 1


async def test_case_005_a_failed_first_request_keeps_the_users_turn(log_stores: Any, bench: Any) -> None:
    with pytest.raises(ProviderError):
        await bench.run(log_stores, bench.Model(ProviderError("500", category="server")), text="hello")
    result = await bench.run(log_stores.again(), bench.Model("hi"), text="hello")
    assert bench.shape(result.messages)[1:] == ["user:hello", "assistant:hi"]


async def test_case_010_a_finished_session_is_sent_whole(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    await bench.run(store, bench.Model(bench.Calls("book"), "done"), box.tools, agent={"name": "agent"})
    model = bench.Model(None, None, "more")
    await bench.run(store.again(), model, box.tools, "and now?", agent={"name": "agent"})
    assert [m.role for m in model.asked[0]] == ["user", "assistant", "tool", "assistant", "user"]


async def test_an_input_id_makes_sending_twice_the_same_as_once(log_stores: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.3."""
    from lousho_cli.errors import InputRejectedError

    deadly(bench, box)
    await cut(log_stores, bench, [bench.Calls("die")], box.tools, input_id="i1")
    result = await bench.run(log_stores.again(), bench.Model(None, "done"), box.tools, "go", input_id="i1")
    once_more = await bench.run(log_stores.again(), bench.Model(), box.tools, "go", input_id="i1")
    assert once_more.messages == result.messages
    with pytest.raises(InputRejectedError):
        await bench.run(log_stores.again(), bench.Model(), box.tools, "other", input_id="i1")
    same_text = await bench.run(log_stores.again(), bench.Model(None, None, "again"), box.tools, "go", input_id="i2")
    assert same_text.text == "again"


async def test_a_retry_of_a_later_run_is_told_from_the_sessions_first_message(store: Any, bench: Any, box: Any) -> None:
    """DESIGN 6.3: in a later run the session's first message is a new one."""
    deadly(bench, box)
    await bench.run(store, bench.Model("hello"), box.tools, "go")
    await cut(store, bench, [None, bench.Calls("die")], box.tools, "more")
    result = await bench.run(store.again(), bench.Model(None, None, "done"), box.tools, "go")
    assert [m.text for m in result.messages if m.role == "user"] == ["go", "more", "go"]


async def test_an_aborted_first_call_of_a_later_run_still_counts_from_there(store: Any, bench: Any, box: Any) -> None:
    """The aborted model call is a step without an answer; the run does not reach back into the one before."""
    box.tool("book")
    await bench.run(store, bench.Model(bench.Calls("book"), "hello"), box.tools, "go")
    controller = AbortController()

    async def hang(request: Any) -> str:
        controller.abort()
        await asyncio.Event().wait()
        return ""

    await bench.run(store, bench.Model(None, None, hang), box.tools, "more", signal=controller.signal)
    result = await bench.run(store.again(), bench.Model(None, None, "done"), box.tools, "go")
    assert [m.text for m in result.messages if m.role == "user"] == ["go", "more", "go"]
    assert (result.tool_calls, result.steps) == ((), 2)
