"""``agent.session``: a conversation whose turns are the messages of one log."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lousho_cli import PendingTurn, create_agent, get_checkpoint_history
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.errors import ConfigurationError, NotFoundError, SDKError, SessionBusyError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.sessions import read_session


def agent_on(stores: Any, model: Any, tools: Any = (), **options: Any) -> Any:
    store = {"checkpoints": stores.checkpoints, "approvals": stores.approvals}
    return create_agent(model, store=store, tools=tools, instructions="Be brief.", **options)


def dying(bench: Any, box: Any) -> None:
    """A tool that ends the process, the first time."""

    def die(args: Any, ctx: Any) -> str:
        if len(box.log) == 1:
            raise bench.Killed
        return "ran"

    box.tool("die", die)


async def test_de_145_every_turn_is_checkpointed_under_the_one_id(store: Any, bench: Any) -> None:
    session = agent_on(store, bench.Model("one", "two")).session("s")
    for text, answer in (("first", "one"), ("second", "two")):
        result = await session.send(text)
        saved = await store.saved("s")
        assert (result.text, saved.status, saved.messages) == (answer, "finished", result.messages)
        assert await session.pending() is None
    assert bench.shape(result.messages)[1:] == ["user:first", "assistant:one", "user:second", "assistant:two"]


@pytest.mark.parametrize("way", ["agent.resume", "session.resume", "session.stream_resume"])
async def test_de_145_a_turn_that_was_cut_is_finished_by_agent_and_session(store: Any, bench: Any, box: Any, way: str) -> None:
    dying(bench, box)
    model = bench.Model("one", bench.Calls("die"))
    session = agent_on(store, model, box.tools).session("s")
    await session.send("first")
    await bench.dies(session.send("second"))
    agent = agent_on(store.again(), bench.Model(None, None, "done"), box.tools)
    again = agent.session("s")
    assert await again.pending() == PendingTurn("in-progress")
    resumes = {
        "agent.resume": lambda: agent.resume("s"),
        "session.resume": again.resume,
        "session.stream_resume": lambda: again.stream_resume().result(),
    }
    result = await resumes[way]()
    assert (result.text, box.ran) == ("done", ["c1", "c1"])
    assert bench.shape(result.messages)[1:] == [
        "user:first",
        "assistant:one",
        "user:second",
        "calls:c1",
        "result:c1",
        "assistant:done",
    ]
    assert (await again.pending(), await again.resume()) == (None, None)


async def test_a_session_without_an_id_gets_one_and_leaves_no_trace_until_it_is_used(bench: Any) -> None:
    stores = bench.memory()
    agent = agent_on(stores, bench.Model("one"))
    first, second = agent.session(), agent.session()
    assert first.id != second.id
    assert await first.pending() is None
    assert await first.discard_pending() is False
    assert (await stores.log_store.heads()).heads == ()
    assert (await first.send("go")).session_id == first.id
    with pytest.raises(ConfigurationError, match="no session id"):
        agent.session("")
    with pytest.raises(SDKError) as refused:
        await agent.session("../x").send("go")
    assert refused.value.code == "LOUSHO_SESSION_ID_INVALID"


async def test_pending_says_what_a_person_must_decide(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    session = agent_on(store, bench.Model(bench.Calls("pay"), "paid"), box.tools).session("s")
    stream = session.stream("go")
    assert "approval.requested" in [event.type async for event in stream]
    paused = await stream.result()
    found = await session.pending()
    assert (found.status, found.approval_id, found.approval_kind or "tool") == ("awaiting-approval", paused.approval_id, "tool")


async def test_a_dropped_turn_leaves_the_state_before_it(store: Any, bench: Any, box: Any) -> None:
    dying(bench, box)
    agent = agent_on(store, bench.Model("one", bench.Calls("die")), box.tools)
    session = agent.session("s")
    before = await session.send("first", business_state={"n": 1})
    await bench.dies(session.send("second"))
    again = agent_on(store.again(), bench.Model(None, lambda request: f"after {len(request.messages)}"), box.tools).session("s")
    assert await again.discard_pending() is True
    assert (await again.pending(), await again.resume(), await again.discard_pending()) == (None, None, False)
    saved = await store.saved("s")
    assert (saved.status, saved.messages, saved.business_state) == ("finished", before.messages, {"n": 1})
    result = await again.send("third")
    assert bench.shape(result.messages)[1:] == ["user:first", "assistant:one", "user:third", "assistant:after 4"]
    assert (box.ran, result.steps) == (["c1"], 1)


async def test_a_dropped_first_turn_leaves_the_system_prompt(store: Any, bench: Any, box: Any) -> None:
    dying(bench, box)
    await bench.dies(agent_on(store, bench.Model(bench.Calls("die")), box.tools).session("s").send("first"))
    session = agent_on(store.again(), bench.Model("hello"), box.tools).session("s")
    assert await session.discard_pending() is True
    result = await session.send("second")
    assert bench.shape(result.messages) == ["system:Be brief.", "user:second", "assistant:hello"]


async def test_a_dropped_turn_takes_its_business_state_with_it(ringed: Any, bench: Any) -> None:
    """Where an earlier state is known: a store that keeps no history has only the newest."""
    agent = agent_on(ringed, bench.Model("one", RuntimeError("fails"), "two"))
    session = agent.session("s")
    await session.send("first", business_state={"n": 1})
    with pytest.raises(SDKError):
        await session.send("second", business_state={"n": 2})
    if ringed.log_store:
        assert await session.discard_pending() is True
    assert (await ringed.saved("s")).business_state == {"n": 1}


async def test_nothing_is_erased_by_dropping_a_turn(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    agent = agent_on(log_stores, bench.Model("one", bench.Calls("pay", ("pay", {"n": 2}))), box.tools)
    session = agent.session("s")
    await session.send("first")
    paused = await session.send("second", input_id="in-2")
    records = [batch.records for batch in (await log_stores.log_store.read("s")).batches]
    ring = await get_checkpoint_history(log_stores.checkpoints, "s")
    assert await session.discard_pending() is True
    after = [batch.records for batch in (await log_stores.log_store.read("s")).batches]
    assert after[: len(records)] == records
    assert (await get_checkpoint_history(log_stores.checkpoints, "s"))[1:] == ring
    now = await read_session(log_stores.log_store, "s")
    assert (now.outcome, now.wait, now.turn, now.inputs["in-2"].outcome) == ("aborted", None, None, "aborted")
    head = await log_stores.log_store.head("s")
    assert (head.status, head.waits_for, head.messages, head.seq) == ("finished", None, 3, now.seq)
    assert head_of(now).decided == (paused.approval_id,)
    fork = await agent.fork("s", "2/1", {"append_input": "what if?"})
    assert fork.checkpoint.messages[-3].text == "second", "the dropped turn can still be forked"


async def test_what_a_dropped_turn_waited_for_can_not_be_decided(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    agent = agent_on(store, bench.Model(bench.Calls("pay")), box.tools)
    paused = await agent.send("go", "s")
    await agent.session("s").discard_pending()
    assert await agent.approvals.list() == []
    with pytest.raises(NotFoundError) as refused:
        await agent.approvals.resolve(paused.approval_id, True)
    assert (refused.value.code, box.ran) == ("LOUSHO_APPROVAL_NOT_FOUND", [])


async def test_input_that_waits_is_not_dropped_with_the_turn(log_stores: Any, bench: Any, box: Any) -> None:
    """Its receipt was given: it begins the next run."""
    dying(bench, box)
    agent = agent_on(log_stores, bench.Model(bench.Calls("die")), box.tools)
    await bench.dies(agent.send("first", "s"))
    store = log_stores.again().log_store
    await store.post("s", Post(id="p1", kind="input", at="2026-01-01T00:00:00.000Z", body=[msgspec.to_builtins(user("left"))]))
    session = agent_on(log_stores.again(), bench.Model(lambda request: request.messages[-1].text), box.tools).session("s")
    await session.discard_pending()
    result = await session.resume()
    assert bench.shape(result.messages)[1:] == ["user:left", "assistant:left"]


async def test_a_turn_that_failed_or_was_aborted_can_be_dropped(log_stores: Any, bench: Any) -> None:
    agent = agent_on(log_stores, bench.Model(lambda request: RuntimeError("no") if request.messages[-1].text == "bad" else "good"))
    session = agent.session("s")
    with pytest.raises(SDKError):
        await session.send("bad")
    assert await session.pending() == PendingTurn("in-progress")
    assert await session.discard_pending() is True
    assert (await session.send("well")).text == "good"


async def test_a_session_that_is_driven_is_not_dropped(log_stores: Any, bench: Any) -> None:
    session: Any = None

    async def meanwhile(request: Any) -> str:
        with pytest.raises(SessionBusyError):
            await session.discard_pending()
        return "done"

    session = agent_on(log_stores, bench.Model(meanwhile)).session("s")
    assert (await session.send("go")).text == "done"


async def test_an_abort_asked_of_a_dropped_turn_does_not_abort_the_next(log_stores: Any, bench: Any, box: Any) -> None:
    dying(bench, box)
    await bench.dies(agent_on(log_stores, bench.Model(bench.Calls("die")), box.tools).send("go", "s"))
    await log_stores.again().log_store.post("s", Post(id="p1", kind="abort", at="2026-01-01T00:00:00.000Z"))
    session = agent_on(log_stores.again(), bench.Model("done"), box.tools).session("s")
    await session.discard_pending()
    assert (await session.send("again")).text == "done"


async def test_dropping_writes_one_batch_or_nothing(log_stores: Any, bench: Any, box: Any) -> None:
    dying(bench, box)
    await bench.dies(agent_on(log_stores, bench.Model(bench.Calls("die")), box.tools).send("go", "s"))
    store = log_stores.again().log_store
    before = (await store.read("s")).head
    await agent_on(log_stores.again(), bench.Model(), box.tools).session("s").discard_pending()
    batches = (await store.read("s", after=before)).batches
    assert len(batches) == 1
    assert any(isinstance(record, r.Splice) and record.why == "discarded" for record in batches[0].records)


async def test_a_turn_whose_sub_agent_waits_is_dropped_with_it(store: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    clerk = SubAgent({"name": "clerk"}, provider=bench.Model(bench.Calls("pay")), tools=box.tools)
    agent = agent_on(store, bench.Model("one", bench.Calls(("clerk", {"input": "pay it"})), "two"), subagents={"clerk": clerk})
    session = agent.session("s")
    before = await session.send("first")
    paused = await session.send("second")
    (waiting,) = await agent.approvals.list()
    assert (waiting.id, waiting.path) == (paused.approval_id, ("clerk",))
    assert await session.discard_pending() is True
    assert (await agent.approvals.list(), await session.pending()) == ([], None)
    with pytest.raises(NotFoundError):
        await agent.approvals.resolve(paused.approval_id, True)
    saved = await store.saved("s")
    assert (saved.messages, saved.children, box.ran) == (before.messages, {}, [])
