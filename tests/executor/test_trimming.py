"""A session that is trimmed goes on as if nothing had happened, wherever it stood."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, NotFoundError, SessionAwaitingApprovalError, SessionBusyError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.trimming import trim_session
from lousho_cli.ports.sessions import read_session


async def cut(stores: Any, bench: Any, box: Any) -> Any:
    """A session whose second call was being run when the process died; the model that answers what follows."""

    def die(args: Any, ctx: Any) -> str:
        if box.ran.count("c2") == 1:
            raise bench.Killed
        return "came back"

    box.tool("book")
    box.tool("hang", die)
    model = bench.Model(bench.Calls("book", "hang"), "done", "again")
    await bench.dies(bench.run(stores, model, box.tools, tool_concurrency=1, input_id="in-1"))
    return model


async def lines(stores: Any) -> int:
    return len((await stores.log_store.read("s")).batches)


async def test_an_unfinished_session_goes_on_where_it_was(log_stores: Any, bench: Any, box: Any) -> None:
    model = await cut(log_stores, bench, box)
    stores = log_stores.again()
    before = await read_session(stores.log_store, "s")
    done = await trim_session("s", stores.checkpoints)
    assert (done.session, done.trimmed, done.checkpoints, done.dropped) == ("s", True, len(before.marks), 0)
    assert done.batches > 1
    assert await lines(stores) == 1
    result = await bench.run(stores, model, box.tools, [])
    assert result.text == "done"
    assert box.ran == ["c1", "c2", "c2"]
    assert bench.shape(result.messages)[1:] == ["user:go", "calls:c1+c2", "result:c1", "result:c2", "assistant:done"]
    assert len(model.asked) == 2
    again = await bench.run(stores, model, box.tools, "go", input_id="in-1")
    assert (again.text, len(model.asked)) == ("done", 2), "the input is known for ever"


async def test_every_step_may_be_followed_by_a_trim(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("work")
    turns = [bench.Calls(("work", {"n": n})) for n in range(3)]
    for number in range(4):
        model = bench.Model(*[turn for _ in range(number + 1) for turn in (*turns, f"end {number}")][: 4 * (number + 1)])
        await bench.run(log_stores, model, box.tools, f"input {number}")
        await trim_session("s", log_stores.log_store)
        assert await lines(log_stores) == 1
    saved = await log_stores.saved()
    assert [word for word in bench.shape(saved.messages) if word.startswith("user")] == [f"user:input {n}" for n in range(4)]
    entries = await log_stores.checkpoints.history("s")
    assert [entry.address for entry in entries[:2]] == ["4/4.1", "4/3.2"]
    assert len(entries) == 4 * 7
    forked = await AgentExecutor.fork("s", "2/3.1", log_stores.checkpoints)
    assert bench.shape(forked.checkpoint.messages)[-1] == "calls:c6"


async def test_a_point_before_the_base_is_named_as_trimmed(log_stores: Any, bench: Any, box: Any) -> None:
    await bench.run(log_stores, bench.Model("done"), box.tools)
    head = (await log_stores.log_store.read("s")).head
    await trim_session("s", log_stores.log_store)
    with pytest.raises(NotFoundError, match=r"no record #1 any more: its log was trimmed") as caught:
        await AgentExecutor.fork("s", "#1", log_stores.checkpoints)
    assert caught.value.kept == ("1",)
    with pytest.raises(NotFoundError, match=f"no record #{head + 1}"):
        await AgentExecutor.fork("s", f"#{head + 1}", log_stores.checkpoints)
    assert (await AgentExecutor.fork("s", f"#{head}", log_stores.checkpoints)).step == 1


async def test_a_log_of_one_batch_is_left(log_stores: Any, bench: Any, box: Any) -> None:
    await bench.run(log_stores, bench.Model("done"), box.tools)
    plan = await trim_session("s", log_stores.log_store, dry_run=True)
    assert (plan.trimmed, await lines(log_stores)) == (False, plan.batches)
    done = await trim_session("s", log_stores.log_store)
    assert (done.trimmed, done.batches, done.bytes_before) == (True, plan.batches, plan.bytes_before)
    before = await log_stores.log_store.read("s")
    again = await trim_session("s", log_stores.log_store)
    assert (again.trimmed, again.batches, again.bytes_before) == (False, 1, again.bytes_after)
    assert await log_stores.log_store.read("s") == before


async def test_what_waits_for_a_person_is_refused_and_forced_it_still_waits(log_stores: Any, bench: Any, box: Any) -> None:
    box.tool("pay", needs_approval=True)
    approval = await bench.paused(log_stores, box, "pay")
    before = await log_stores.log_store.read("s")
    for dry_run in (True, False):
        with pytest.raises(SessionAwaitingApprovalError) as caught:
            await trim_session("s", log_stores.log_store, dry_run=dry_run)
        assert caught.value.approval_id == approval
        assert "--force" in caught.value.hint
    assert await log_stores.log_store.read("s") == before
    assert (await trim_session("s", log_stores.log_store, force=True)).trimmed
    assert [pending.id for pending in await log_stores.approvals.list()] == [approval]
    result = await bench.decide(log_stores, approval, bench.Model(None, "paid"), box.tools)
    assert (result.text, box.ran) == ("paid", ["c1"])


async def test_a_driven_session_is_busy(log_stores: Any, bench: Any, box: Any) -> None:
    await bench.run(log_stores, bench.Model("done"), box.tools)
    claim = await log_stores.log_store.claim("s", "other-host")
    before = await lines(log_stores)
    with pytest.raises(SessionBusyError, match="other-host"):
        await trim_session("s", log_stores.again().log_store)
    assert await lines(log_stores) == before
    await log_stores.log_store.release(claim)


async def test_old_checkpoints_go_and_a_wake_stays(log_stores: Any, bench: Any, box: Any) -> None:
    clock = bench.FakeClock()
    box.tool("work")

    def later(value: Any) -> Any:
        def answer(request: Any) -> Any:
            clock.ms += 86_400_000
            return value

        return answer

    await bench.run(log_stores, bench.Model(later(bench.Calls("work")), later(bench.Calls("work")), later("done")), box.tools, clock=clock)
    store = log_stores.log_store
    wake = "2030-01-01T00:00:00.000Z"
    await store.release(await store.claim("s", socket.gethostname()), wake)
    done = await trim_session("s", store, older_than="2026-01-03T00:00:00.000Z")
    entries = await log_stores.checkpoints.history("s")
    assert [entry.step for entry in entries] == [3, 2, 2]
    assert (done.checkpoints, done.dropped) == (3, 2)
    head = await store.head("s")
    assert head is not None
    assert (head.wake_at, head.status) == (wake, "finished")


async def test_what_is_not_there_or_no_log_store_is_named(log_stores: Any, bench: Any) -> None:
    with pytest.raises(NotFoundError, match="no session nothing"):
        await trim_session("nothing", log_stores.log_store)
    assert await log_stores.log_store.owner("nothing") is None
    with pytest.raises(ConfigurationError, match="log store"):
        await trim_session("s", bench.PlainCheckpoints())
