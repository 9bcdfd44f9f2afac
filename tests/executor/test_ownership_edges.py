"""What happens at the edges of an owner's work: late signals, failing stores, other people's input, borrowed decisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest

from lousho_cli import (
    AbortController,
    Agent,
    AgentExecutor,
    MemoryStore,
    NotFoundError,
    PropagatingToolError,
    ScriptedProvider,
    SDKError,
    StorageError,
    function_tool,
    resume_after_approval,
)
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, user
from lousho_cli.executor.approvals import record_decision
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent
from lousho_cli.ports.sessions import read_session

AT = "2026-01-01T00:00:00.000Z"


def call(name: str, args: dict[str, Any] | None = None, id: str = "c1") -> dict[str, Any]:
    return {"name": name, "args": args or {}, "id": id}


def asks(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(calls)}


async def run(store: Any, turns: Sequence[Any], tools: Sequence[Any] = (), input: Any = "go", **more: Any) -> Any:
    provider = more.pop("provider", None) or ScriptedProvider(list(turns))
    stores = {"checkpoint_store": store.checkpoints, "approval_store": store.approvals}
    return await AgentExecutor.execute(Agent("a"), input, provider, list(tools), **{"session_id": "s", **stores, **more})


def post(id: str, text: str, by: str | None = None) -> Post:
    return Post(id, "input", AT, by, [msgspec.to_builtins(user(text))])


async def records(store: Any, kind: type) -> list[Any]:
    return [x for batch in (await store.read("s")).batches for x in batch.records if isinstance(x, kind)]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


async def test_an_approval_function_is_asked_about_every_call_even_when_ids_come_again(store: MemoryStore) -> None:
    asked: list[str] = []
    ran: list[str] = []

    def remove(path: str) -> str:
        ran.append(path)
        return "gone"

    def dangerous(args: dict[str, Any]) -> bool:
        asked.append(args["path"])
        return args["path"] == "/"

    class Repeats:
        name, model = "m", "m"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            path = ["/tmp/x", "/"][request.turns]
            from lousho_cli.domain.messages import ToolCall

            yield Answer(Message("assistant", tool_calls=(ToolCall("call_1", "remove", f'{{"path": "{path}"}}'),)), "tool_calls")

    tool = function_tool(remove, needs_approval=dangerous)
    result = await run(store, [], [tool], provider=Repeats())
    assert (asked, ran, result.finish_reason) == (["/tmp/x", "/"], ["/tmp/x"], "awaiting-approval")


async def test_an_approval_that_was_given_away_is_not_decided_again(store: MemoryStore) -> None:
    ran: list[int] = []
    pay = function_tool(lambda: ran.append(1), name="pay", description="d", needs_approval=True)
    turns = [asks(call("pay")), "done"]
    paused = await run(store, turns, [pay])
    assert await store.approvals.resolve(paused.approval_id) is not None
    yes = {"id": paused.approval_id, "approved": True}
    with pytest.raises(NotFoundError):
        await record_decision(yes, "s", store.checkpoints)
    with pytest.raises(NotFoundError):
        await resume_after_approval(yes, store.approvals, [pay], ScriptedProvider(turns), {}, store.checkpoints)
    assert ran == []


class Failing(MemoryStore):
    """A store whose appends fail from the ``after``-th on, and whose inbox can not be read once."""

    def __init__(self, after: int = 10**9, unreadable: int = 0) -> None:
        super().__init__()
        self.after, self.unreadable, self.appends = after, unreadable, 0

    async def append(self, claim: Any, batches: Any, *, durable: bool = True) -> None:
        self.appends += 1
        if self.appends > self.after:
            raise StorageError("the disk is full")
        await super().append(claim, batches, durable=durable)

    async def inbox(self, log_id: str) -> Any:
        if self.unreadable:
            self.unreadable -= 1
            raise StorageError("not now")
        return await super().inbox(log_id)


async def test_no_tool_outlives_a_run_whose_log_failed() -> None:
    store = Failing(after=2)
    effects: list[str] = []

    async def quick() -> str:
        return "quick"

    async def slow() -> str:
        try:
            await asyncio.sleep(0.05)
            effects.append("slow")
        finally:
            effects.append("stopped")
        return "slow"

    with pytest.raises(StorageError):
        await run(store, [asks(call("quick", id="q"), call("slow", id="s"))], [function_tool(quick), function_tool(slow)])
    assert effects == ["stopped"]
    assert await store.owner("s") is None


async def test_an_inbox_that_can_not_be_read_once_is_read_again() -> None:
    store = Failing()

    async def look() -> int:
        store.unreadable = 1
        await store.post("s", post("in-2", "More"))
        while await MemoryStore.inbox(store, "s"):
            await asyncio.sleep(0.005)
        return 1

    result = await run(store, [asks(call("look")), "one", "two"], [function_tool(look)])
    assert result.text == "one"
    assert (await read_session(store, "s")).inputs["in-2"].outcome == "completed"


async def test_a_conflicting_post_leaves_a_note_and_changes_nothing(store: MemoryStore) -> None:
    async def look() -> int:
        await store.post("s", post("in-1", "something else"))
        while await store.inbox("s"):
            await asyncio.sleep(0.005)
        return 1

    await run(store, [asks(call("look")), "one"], [function_tool(look)], input_id="in-1")
    assert [note.kind for note in await records(store, r.Note)] == ["conflict"]
    assert (await read_session(store, "s")).turns == 2


async def test_the_same_id_from_somebody_else_is_a_conflict(store: MemoryStore) -> None:
    await run(store, ["one", "two"], input_id="in-1", by="ann")
    with pytest.raises(SDKError) as caught:
        await run(store, ["one", "two"], input_id="in-1", by="bob")
    assert caught.value.code == "LOUSHO_INPUT_CONFLICT"


async def test_a_settled_input_sent_again_gives_its_own_result(store: MemoryStore) -> None:
    class Model:
        name, model = "m", "m"
        asked = 0

        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            self.asked += 1
            if request.messages[-1].text == "second":
                raise SDKError("no")
            yield Answer(Message("assistant", f"answer to {request.messages[-1].text}"))

    model = Model()
    await run(store, [], input="first", input_id="a", provider=model)
    with pytest.raises(SDKError):
        await run(store, [], input="second", input_id="b", provider=model)
    asked = model.asked
    again = await run(store, [], input="first", input_id="a", provider=model)
    assert (again.text, again.outcome, model.asked) == ("answer to first", "completed", asked)


async def test_an_abort_left_for_the_owner_does_not_reach_the_input_behind_it(store: MemoryStore) -> None:
    async def look() -> int:
        await store.post("s", post("in-2", "More"))
        await store.post("s", Post("p-1", "abort", AT))
        while await store.inbox("s"):
            await asyncio.sleep(0.005)
        return 1

    result = await run(store, [asks(call("look")), "one", "two"], [function_tool(look)])
    assert result.outcome == "aborted"
    assert (await read_session(store, "s")).inputs["in-2"].status == "received"


@pytest.mark.parametrize("stop", [False, True])
async def test_nothing_starts_once_the_signal_has_fired(store: MemoryStore, stop: bool) -> None:
    ran: list[int] = []
    controller = AbortController()

    def at(event: Any) -> None:
        if event.type == "tool.start":
            (controller.stop if stop else controller.abort)()

    tool = function_tool(lambda: ran.append(1), name="t", description="d")
    result = await run(store, [asks(call("t"))], [tool], signal=controller.signal, on_event=at)
    assert ran == []
    assert result.stopped is stop
    assert (result.outcome == "aborted") is not stop


@pytest.mark.parametrize("others", [0, 1])
async def test_a_tool_that_is_cancelled_from_inside_has_failed_like_any_other(store: MemoryStore, others: int) -> None:
    async def broken() -> None:
        raise asyncio.CancelledError

    async def fine() -> str:
        return "fine"

    calls = [call("broken"), *[call("fine", id=f"f{n}") for n in range(others)]]
    result = await run(store, [asks(*calls), "done"], [function_tool(broken), function_tool(fine)])
    told = next(m for m in result.messages if m.tool_call_id == "c1")
    assert (result.text, told.is_error, "aborted" in told.text) == ("done", True, False)


async def test_a_propagating_error_behind_an_abort_is_the_abort(store: MemoryStore) -> None:
    controller = AbortController()

    async def gives_up() -> None:
        controller.abort()
        raise PropagatingToolError("stopped as you said")

    result = await run(store, [asks(call("gives_up"))], [function_tool(gives_up)], signal=controller.signal)
    assert (result.outcome, result.finish_reason) == ("aborted", "aborted")


async def test_an_error_of_ours_from_a_provider_settles_the_input(store: MemoryStore) -> None:
    class Broken:
        name, model = "m", "m"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            raise SDKError("not configured")
            yield  # an async generator

    with pytest.raises(SDKError, match="not configured"):
        await run(store, [], provider=Broken())
    session = await read_session(store, "s")
    assert (session.outcome, session.error) == ("failed", "not configured")


async def test_a_cut_between_the_calls_of_a_batch_keeps_what_was_answered(store: MemoryStore) -> None:
    ran: list[str] = []
    behind = asyncio.Event()

    async def first() -> str:
        await behind.wait()
        ran.append("first")
        return "first"

    async def second() -> str:
        ran.append("second")
        return "second"

    def at(event: Any) -> None:
        if event.type == "tool.done" and event.id == "c2":
            behind.set()

    tools = [function_tool(first), function_tool(second)]
    turns = [asks(call("first"), call("second", id="c2")), "done"]
    await run(store, turns, tools, on_event=at)
    cut = next(b.seq for b in (await store.read("s")).batches if any(isinstance(x, r.ToolFinished) and x.id == "c2" for x in b.records))
    fork = await AgentExecutor.fork("s", f"#{cut}", store.checkpoints)
    ran.clear()
    result = await run(store, turns, tools, input=[], session_id=fork.session_id)
    assert (ran, result.text) == (["first"], "done")


async def test_an_edit_that_nobody_checked_is_checked_before_it_runs(store: MemoryStore) -> None:
    ran: list[Any] = []

    def pay(n: int) -> str:
        ran.append(n)
        return "paid"

    tool = function_tool(pay, needs_approval=True)
    turns = [asks(call("pay", {"n": 1})), "done"]
    paused = await run(store, turns, [tool])
    await record_decision({"id": paused.approval_id, "approved": True, "args": {"n": "DROP"}}, "s", store.checkpoints)
    result = await run(store, turns, [tool], input=[])
    told = next(m for m in result.messages if m.role == "tool")
    assert (ran, told.is_error, '"kind":"validation"' in told.text) == ([], True, True)


async def test_a_fork_takes_the_next_id_when_one_is_just_being_begun(store: MemoryStore) -> None:
    await run(store, ["one"])
    claim = await store.claim("s.fork-1", "elsewhere")
    assert (await AgentExecutor.fork("s", 1, store.checkpoints)).session_id == "s.fork-2"
    await store.release(claim)


async def test_a_time_limit_holds_for_a_fork_and_gives_a_person_the_time_back(store: MemoryStore, clock: Any) -> None:
    gated = function_tool(lambda: 1, name="gated", description="d", needs_approval=True)
    turns = [asks(call("gated")), "done"]
    paused = await run(store, turns, [gated], max_duration_ms=60_000, clock=clock)
    clock.ms += 24 * 3600 * 1000
    await record_decision({"id": paused.approval_id, "approved": True}, "s", store.checkpoints, clock=clock)
    result = await run(store, turns, [gated], input=[], max_duration_ms=60_000, clock=clock)
    assert (result.finish_reason, result.text) == ("stop", "done")
    fork = await AgentExecutor.fork("s", 1, store.checkpoints, {"append_input": "again"}, clock=clock)
    await run(store, turns, [gated], input=[], session_id=fork.session_id, max_duration_ms=60_000, clock=clock)
    assert (await read_session(store, fork.session_id)).run.deadline is not None


async def test_a_tool_whose_check_raises_gives_the_model_an_error(store: MemoryStore) -> None:
    class Odd:
        name, description, schema, replay, needs_approval = "odd", "d", {"type": "object"}, None, False

        def validate(self, args: Any) -> Any:
            raise RuntimeError("cannot say")

        def question(self, args: Any) -> None:
            return None

        async def call(self, args: Any, context: Any) -> Any:
            return 1

        async def reap(self, pid: int, started: str) -> bool:
            return False

    result = await run(store, [asks(call("odd")), "done"], [Odd()])
    told = next(m for m in result.messages if m.role == "tool")
    assert (result.text, "cannot say" in told.text) == ("done", True)


async def test_a_call_id_is_unique_in_the_session(store: MemoryStore) -> None:
    """Idempotency keys, approvals and ``fork --tool-result`` rest on it, and some models give the same ids each turn."""
    keys: list[str] = []

    class Repeats:
        name, model = "m", "m"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            from lousho_cli.domain.messages import ToolCall

            if request.turns == 2:
                yield Answer(Message("assistant", "done"))
                return
            yield Answer(Message("assistant", tool_calls=(ToolCall("call_0", "pay", "{}"),)), "tool_calls")

    from lousho_cli.ports.tool import ToolContext

    def pay(context: ToolContext) -> int:
        keys.append(context.idempotency_key)
        return 1

    result = await run(store, [], [function_tool(pay)], provider=Repeats())
    assert result.text == "done"
    assert len(set(keys)) == 2
    ids = [c.id for m in result.messages for c in m.tool_calls]
    assert ids[0] == "call_0" and len(set(ids)) == 2


async def test_a_record_that_could_not_be_read_again_is_not_written(store: MemoryStore) -> None:
    from lousho_cli.executor.clock import SYSTEM_CLOCK
    from lousho_cli.executor.session_log import SessionLog

    log = await SessionLog.open(store, "s", "host", SYSTEM_CLOCK)
    with pytest.raises(StorageError) as caught:
        await log.record(r.InputReceived(5, ()))  # type: ignore[arg-type]
    assert caught.value.code == "LOUSHO_RECORD_INVALID"
    await log.abandon()
    assert (await store.read("s")).head == 0
