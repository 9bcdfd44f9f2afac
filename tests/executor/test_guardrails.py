"""Guardrails: functions that look at input, calls and answers and may stop the run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli import Guardrail
from lousho_cli.domain.events import GuardrailTripped, TextDelta
from lousho_cli.domain.stops import Tripped
from lousho_cli.domain.texts import BLOCKED_TOOL_RESULT, WITHHELD_ANSWER
from lousho_cli.errors import AbortedError, ConfigurationError, GuardrailTrippedError, HookError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.input_queue import InputQueue
from lousho_cli.ports.sessions import read_session


def blocks(word: str) -> Any:
    """A check that blocks a text or arguments which hold ``word``."""

    def no_bad_words(subject: Any) -> Any:
        return {"block": f"it says {word}"} if word in str(getattr(subject, "text", "") or getattr(subject, "args", "")) else None

    return no_bad_words


# Input


async def test_blocked_input_runs_nothing_and_never_reaches_a_model(store: Any, bench: Any) -> None:
    model = bench.Model("hello")
    guard = Guardrail("input", blocks("bomb"))
    result = await bench.run(store, model, text="make a bomb", guardrails=[guard])
    assert (result.finish_reason, result.status, result.outcome, model.asked) == ("guardrail", "finished", "completed", [])
    assert result.guardrail == Tripped("no_bad_words", "input", "it says bomb")
    result = await bench.run(store.again(), model, text="hi", guardrails=[guard])
    assert bench.shape(model.asked[0]) == ["system:Be brief.", "user:hi"]
    assert (result.text, result.guardrail) == ("hello", None)


async def test_a_reader_of_the_log_sees_why(log_stores: Any, bench: Any) -> None:
    events: list[Any] = []
    await bench.run(
        log_stores, bench.Model(), text="bomb", guardrails=[Guardrail("input", blocks("bomb"), "words")], on_event=events.append
    )
    session = await read_session(log_stores.again().log_store, "s")
    assert (session.stop, session.finish_reason) == (Tripped("words", "input", "it says bomb"), "guardrail")
    assert [(e.name, e.kind) for e in events if isinstance(e, GuardrailTripped)] == [("words", "input")]


async def test_input_that_is_let_in_is_not_looked_at_again_by_a_resume(store: Any, bench: Any, box: Any) -> None:
    seen: list[str] = []

    async def look(subject: Any) -> None:
        await asyncio.sleep(0)
        seen.append(subject.text)

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ok"

    box.tool("book", die)
    guards = [Guardrail("input", look)]
    await bench.dies(bench.run(store, bench.Model(bench.Calls("book")), box.tools, guardrails=guards))
    await bench.run(store.again(), bench.Model(None, "done"), box.tools, [], guardrails=guards)
    assert seen == ["go"]


async def test_blocked_input_on_an_unfinished_run_ends_it_with_every_call_answered(store: Any, bench: Any, box: Any) -> None:
    def die(args: Any, ctx: Any) -> str:
        raise bench.Killed

    box.tool("book", die)
    await bench.dies(bench.run(store, bench.Model(bench.Calls("book")), box.tools))
    result = await bench.run(store.again(), bench.Model(None), box.tools, "bomb", guardrails=[Guardrail("input", blocks("bomb"))])
    assert (result.finish_reason, bench.shape(result.messages)[-1]) == ("guardrail", "result:c1")
    assert "user:bomb" not in bench.shape(result.messages)


async def test_input_that_joins_a_run_is_looked_at_too(store: Any, bench: Any, box: Any) -> None:
    queue = InputQueue()
    box.tool("book", lambda args, ctx: queue.send("bomb"))
    model = bench.Model(bench.Calls("book"), "done")
    result = await bench.run(store, model, box.tools, input_queue=queue, guardrails=[Guardrail("input", blocks("bomb"))])
    assert (result.finish_reason, len(model.asked)) == ("guardrail", 1)
    assert "user:bomb" not in bench.shape(result.messages)
    assert result.guardrail.kind == "input"


async def test_input_others_left_is_looked_at_and_settled(log_stores: Any, bench: Any) -> None:
    """One that a throwing guardrail refuses fails, and is not tried for ever."""
    from lousho_cli.domain.heads import Post
    from lousho_cli.domain.messages import user

    await log_stores.log_store.post("s", Post("i2", "input", "2026-01-01T00:00:00.000Z", body=[{"role": "user", "content": "bomb"}]))
    guard = Guardrail("input", blocks("bomb"), on_block="throw")
    model = bench.Model("one")
    async with asyncio.timeout(30):
        await bench.run(log_stores, model, text=[user("go")], guardrails=[guard])
    session = await read_session(log_stores.again().log_store, "s")
    assert (session.inputs["i2"].status, session.inputs["i2"].outcome) == ("settled", "failed")
    assert len(model.asked) == 1


# Calls


async def test_a_blocked_call_stops_the_run_and_the_rest_is_not_run(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    box.tool("pay")
    model = bench.Model(bench.Calls("book", ("pay", {"n": 666}), "book"), "never")
    result = await bench.run(store, model, box.tools, guardrails=[Guardrail("tool", blocks("666"), "beast")])
    assert (result.finish_reason, result.status, len(model.asked), box.ran) == ("guardrail", "finished", 1, ["c1"])
    assert result.guardrail == Tripped("beast", "tool", "it says 666", "pay")
    assert bench.result(result.messages, "c1") == "book"
    assert bench.result(result.messages, "c2")["kind"] == "denied"
    assert bench.result(result.messages, "c3")["message"] == BLOCKED_TOOL_RESULT


async def test_a_guardrail_looks_at_what_hooks_made(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    hooks = [{"pre_tool": lambda call: {"input": {"n": 666}}}]
    result = await bench.run(store, bench.Model(bench.Calls("pay")), box.tools, hooks=hooks, guardrails=[Guardrail("tool", blocks("666"))])
    assert (result.finish_reason, box.ran) == ("guardrail", [])


async def test_a_guardrail_looks_at_an_approved_call_again(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval_id = await bench.paused(store, box, ("pay", {"n": 666}))
    options = {"guardrails": [Guardrail("tool", blocks("666"))]}
    result = await bench.decide(store.again(), approval_id, bench.Model(None), box.tools, options=options)
    assert (result.finish_reason, box.ran) == ("guardrail", [])


async def test_a_call_that_a_rule_denies_is_shown_to_no_guardrail(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    seen: list[Any] = []
    result = await bench.run(
        store,
        bench.Model(bench.Calls("pay"), "done"),
        box.tools,
        guardrails=[Guardrail("tool", seen.append)],
        permissions=[{"tool": "pay", "action": "deny"}],
    )
    assert (seen, result.text) == ([], "done")


# Answers


async def test_a_blocked_answer_is_withheld(store: Any, bench: Any) -> None:
    events: list[Any] = []
    guards = [Guardrail("output", blocks("secret"), "leaks")]
    result = await bench.run(store, bench.Model("the secret is 7"), guardrails=guards, on_event=events.append)
    assert (result.finish_reason, result.text, result.steps) == ("guardrail", WITHHELD_ANSWER, 1)
    assert result.guardrail == Tripped("leaks", "output", "it says secret")
    assert result.usage.total_tokens == 15
    assert result.messages[-1].metadata == {"withheldBy": "leaks"}
    saved = await store.again().saved()
    assert "the secret" not in str(saved) + str([e for e in events if isinstance(e, TextDelta)])


async def test_an_answer_that_passed_is_told_whole(log_stores: Any, bench: Any) -> None:
    """No piece of it may be told before the guardrail saw all of it."""
    events: list[Any] = []
    stars = Guardrail("output", lambda answer: {"rewrite": answer.text.replace("7", "*")})
    await bench.run(log_stores, bench.Model("it is 7"), guardrails=[stars], on_event=events.append)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["it is *"]
    assert [event.seq for event in events] == list(range(len(events)))


async def test_an_answer_may_be_rewritten(store: Any, bench: Any) -> None:
    guards = [
        Guardrail("output", lambda answer: {"rewrite": answer.text.replace("7", "*")}, "stars"),
        Guardrail("output", blocks("7")),
    ]
    result = await bench.run(store, bench.Model("it is 7"), guardrails=guards)
    assert (result.finish_reason, result.text, result.guardrail) == ("stop", "it is *", None)
    assert result.messages[-1].metadata == {"rewrittenBy": "stars"}


async def test_only_an_answer_that_would_end_the_run_is_looked_at(store: Any, bench: Any, box: Any) -> None:
    box.tool("book")
    seen: list[str] = []
    guards = [Guardrail("output", lambda answer: seen.append(answer.text))]
    await bench.run(store, bench.Model(bench.Calls("book", text="let me see"), "done"), box.tools, guardrails=guards)
    assert seen == ["done"]


# Throwing


@pytest.mark.parametrize("kind", ["input", "tool", "output"])
async def test_a_guardrail_that_throws_fails_the_run_and_keeps_the_last_record(store: Any, bench: Any, box: Any, kind: Any) -> None:
    box.tool("pay")
    guards = [Guardrail(kind, lambda subject: {"block": "no"}, "g", on_block="throw")]
    with pytest.raises(GuardrailTrippedError) as raised:
        await bench.run(store, bench.Model(bench.Calls("pay"), "done"), box.tools, guardrails=guards)
    error = raised.value
    assert (error.code, error.name, error.kind, error.reason) == ("LOUSHO_GUARDRAIL_TRIPPED", "g", kind, "no")
    saved = await store.again().saved()
    expected = {"input": None, "tool": "calls:c1", "output": "result:c1"}[kind]
    assert (bench.shape(saved.messages)[-1] if saved else None) == expected
    assert saved is None or saved.status == "in-progress"
    result = await bench.run(store.again(), bench.Model(bench.Calls("pay"), "done"), box.tools, "go")
    assert (result.text, len(box.ran)) == ("done", 1)


async def test_a_guardrail_that_fails_lets_nothing_through(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay")
    for kind in ("input", "tool", "output"):
        guards = [Guardrail(kind, lambda subject: 1 / 0, "g")]  # type: ignore[arg-type]
        model = bench.Model(bench.Calls("pay") if kind == "tool" else "done")
        with pytest.raises(HookError):
            await bench.run(store, model, box.tools, session_id=kind, guardrails=guards)
    assert box.ran == []


async def test_an_abort_does_not_wait_for_a_guardrail_on_input(store: Any, bench: Any) -> None:
    controller, waiting, model = AbortController(), asyncio.Event(), bench.Model("done")

    async def hangs(subject: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    guards = [Guardrail("input", hangs)]
    running = asyncio.ensure_future(bench.run(store, model, text="hi", guardrails=guards, signal=controller.signal))
    await asyncio.wait_for(waiting.wait(), 30)
    controller.abort()
    with pytest.raises(AbortedError):
        await asyncio.wait_for(asyncio.shield(running), 30)
    assert (model.asked, await store.again().saved()) == ([], None)
    result = await bench.run(store.again(), model, text="hi")
    assert bench.shape(result.messages) == ["system:Be brief.", "user:hi", "assistant:done"]


async def test_an_abort_does_not_wait_for_one_on_input_that_joins(log_stores: Any, bench: Any, box: Any) -> None:
    controller, waiting, queue = AbortController(), asyncio.Event(), InputQueue()

    async def hangs_on_more(subject: Any) -> None:
        if subject.text == "more":
            waiting.set()
            await asyncio.Event().wait()

    async def send(args: Any, ctx: Any) -> None:
        await queue.send("more")

    box.tool("work", send)
    guards, model = [Guardrail("input", hangs_on_more)], bench.Model(bench.Calls("work"), "done")
    options = {"guardrails": guards, "signal": controller.signal, "input_queue": queue}
    running = asyncio.ensure_future(bench.run(log_stores, model, box.tools, **options))
    await asyncio.wait_for(waiting.wait(), 30)
    controller.abort()
    result = await asyncio.wait_for(asyncio.shield(running), 30)
    assert result.finish_reason == "aborted"
    assert bench.shape(result.messages)[-1] == "result:c1"


@pytest.mark.parametrize("said", [True, "no", {"rewrite": "x"}, {"block": "x", "why": "y"}])
async def test_what_a_guardrail_may_not_say(bench: Any, said: Any) -> None:
    with pytest.raises(HookError):
        await bench.run(bench.memory(), bench.Model("done"), guardrails=[Guardrail("input", lambda subject: said)])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (5, "guardrails"),
        ([5], "guardrails.0"),
        ([{"kind": "inputs", "check": print}], "guardrails.0.kind"),
        ([{"check": print}], "guardrails.0.kind"),
        ([{"kind": "tool", "check": "x"}], "guardrails.0.check"),
        ([{"kind": "tool", "check": print, "on_block": "die"}], "guardrails.0.on_block"),
        ([{"kind": "tool", "check": print, "named": "x"}], "guardrails.0.named"),
    ],
)
async def test_a_wrong_guardrail_is_refused_before_anything(bench: Any, given: Any, field: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await bench.run(bench.memory(), bench.Model("done"), guardrails=given)
    assert raised.value.field == field
