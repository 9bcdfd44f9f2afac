"""Secrets that a turn stops for: a reference in the transcript, the secret for a tool of who answered, once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from lousho_cli import (
    AgentExecutor,
    Credential,
    MemoryCredentials,
    ToolContext,
    define_tool,
    resume_after_approval,
)
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.times import later
from lousho_cli.executor.clock import SYSTEM_CLOCK, SystemClock
from lousho_cli.executor.secret_answers import by_reference
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest
from lousho_cli.tools.builtin import BUILTINS
from tests.host.owning import closing

SECRET = "hunter2-and-more"


class PassesOn:
    """Asks for a password, hands what it gets to ``login`` twice, and ends."""

    name, model = "passes-on", "passes-on"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        results = [message for message in request.messages if message.role == "tool"]
        calls: tuple[ToolCall, ...] = ()
        if not results:
            calls = (ToolCall("q", "ask-question", json.dumps({"question": "Your password?", "secret": True})),)
        elif len(results) < 3:
            calls = (ToolCall(f"l{len(results)}", "login", json.dumps({"password": json.loads(results[0].text)["answer"]})),)
        yield Answer(Message("assistant", "" if calls else "Done.", calls), "tool_calls" if calls else "stop")


def clerk(tmp_path: Any, got: list[Any]) -> Any:
    async def login(args: Any, ctx: ToolContext) -> str:
        assert await ctx.context.run.credentials.list("secret_answer") == []
        got.append(await ctx.context.run.credentials.take(args["password"]))
        return "in"

    tools = [BUILTINS["ask-question"](tmp_path), define_tool(name="login", input={"type": "object"}, execute=login)]
    return define_harness("acme/clerk", PassesOn(), tools=tools)


class LaterClock(SystemClock):
    """A clock of a day later."""

    def now(self) -> str:
        return later(super().now(), 24 * 3_600_000 + 1000)


async def asked(host: Any, agent: Any, store: Any) -> tuple[Any, Any]:
    session = await host.open(agent, "t", user="ann")
    await session.send("Log in", input_id="a")
    stopped = await session.settled("a")
    return session, stopped.waits_for


async def kept(store: Any) -> str:
    return b"".join(map(encode_line, (await store.read("t")).batches)).decode()


async def test_a_tool_of_who_answered_takes_the_secret_once(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    host = create_harness_host({"log": store}, credentials=MemoryCredentials())
    async with closing(host):
        session, ask = await asked(host, clerk(tmp_path, got), store)
        assert (await session.answer(ask, SECRET)).status == "accepted"
        assert (await session.settled("a")).text == "Done."
    assert got == [SECRET, None]
    assert SECRET not in await kept(store)
    assert "[secret] harness:answer:" in await kept(store)


async def test_a_secret_that_another_person_answered_is_not_for_the_tools_of_who_asked(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    host = create_harness_host({"log": store}, credentials=MemoryCredentials())
    async with closing(host):
        session, ask = await asked(host, clerk(tmp_path, got), store)
        bob = await host.open(clerk(tmp_path, got), "t", user="bob")
        await bob.answer(ask, SECRET)
        await session.settled("a")
    assert got == [None, None]
    assert SECRET not in await kept(store)


async def test_ds_216_a_secret_that_is_a_day_old_is_gone(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    shared = MemoryCredentials()
    host = create_harness_host({"log": store}, credentials=shared)
    session, ask = await asked(host, clerk(tmp_path, got), store)
    post = Post("p", "answer", SYSTEM_CLOCK.now(), "ann", {"id": ask, "approved": True, "note": SECRET, "by": "ann"})
    left = await by_reference(post, shared, SYSTEM_CLOCK)
    await host.close()
    late = create_harness_host({"log": store}, credentials=shared, clock=LaterClock())
    async with closing(late):
        await store.post("t", left)
        session = await late.open(clerk(tmp_path, got), "t", user="ann")
        await late.idle("t")
        assert (await session.settled("a")).outcome == "interrupted"  # it was refused: unknown_secret_answer
        assert [one.id for one in await session.pending()] == [ask]


async def test_a_secret_that_nobody_took_goes_with_the_next_one(store: Any, tmp_path: Any) -> None:
    kept_apart = MemoryCredentials()
    await kept_apart.save(Credential("harness:answer:old", "secret_answer", "ann", "2020-01-01T00:00:00.000Z", "old"))
    await kept_apart.save(Credential("calendar", "token", "ann", "2020-01-01T00:00:00.000Z", "other"))
    host = create_harness_host({"log": store}, credentials=kept_apart)
    async with closing(host):
        session, ask = await asked(host, clerk(tmp_path, []), store)
        await session.answer(ask, SECRET)
        await session.settled("a")
    assert [one.id for one in await kept_apart.list("ann")] == ["calendar"]


async def test_a_secret_that_was_left_as_a_reference_reaches_the_tool(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    shared = MemoryCredentials()
    host = create_harness_host({"log": store}, credentials=shared)
    async with closing(host):
        session, ask = await asked(host, clerk(tmp_path, got), store)
        post = Post("p", "answer", SYSTEM_CLOCK.now(), "ann", {"id": ask, "approved": True, "note": SECRET, "by": "ann"})
        await store.post("t", await by_reference(post, shared, SYSTEM_CLOCK))
        await host.recover("t")
        await host.idle("t")
        assert (await session.settled("a")).text == "Done."
    assert got == [SECRET, None]


async def test_without_a_host_the_tools_of_an_executor_take_it_too(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []

    async def login(args: Any, ctx: ToolContext) -> str:
        got.append(await ctx.context.run.credentials.take(args["password"]))
        return "in"

    tools = [BUILTINS["ask-question"](tmp_path), define_tool(name="login", input={"type": "object"}, execute=login)]
    run = {"checkpoint_store": store.checkpoints, "approval_store": store.approvals, "credentials": MemoryCredentials()}
    paused = await AgentExecutor.execute({"name": "clerk"}, "Go", PassesOn(), tools, session_id="t", by="ann", **run)
    decision = {"id": paused.approval_id, "approved": True, "note": SECRET, "by": "ann"}
    options = {"credentials": run["credentials"]}
    ended = await resume_after_approval(decision, store.approvals, tools, PassesOn(), options, store.checkpoints)
    assert ended.text == "Done."
    assert got == [SECRET, None]
    assert SECRET not in await kept(store)


async def test_without_a_credential_store_the_model_hears_only_that_there_was_one(store: Any, tmp_path: Any) -> None:
    got: list[Any] = []
    host = create_harness_host({"log": store})
    async with closing(host):
        session, ask = await asked(host, clerk(tmp_path, got), store)
        await session.answer(ask, SECRET)
        await session.settled("a")
    assert got == [None, None]
    assert "[secret]" in await kept(store)
    assert "harness:answer:" not in await kept(store)
