from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time

import pytest

from lousho_cli.errors import SDKError
from lousho_cli.tools.worker import MOST_WORKERS, Worker, Workers


async def test_calls_run_one_after_the_other_in_order():
    worker, seen, running = Worker(), [], []

    def job(number: int) -> int:
        running.append(number)
        assert len(running) == 1
        seen.append(number)
        running.remove(number)
        return number

    async def one(number: int) -> int:
        return await worker.run(lambda: job(number))

    assert await asyncio.gather(*(one(n) for n in range(200))) == list(range(200))
    assert seen == list(range(200))


@pytest.mark.parametrize("brief", [True, False])
async def test_results_and_errors_come_back_whether_or_not_the_loop_waited(brief):
    worker = Worker()

    def fail() -> None:
        raise LookupError("gone")

    for number in range(300):
        assert await worker.run(lambda n=number: n, brief=brief) == number
        with pytest.raises(LookupError):
            await worker.run(fail, brief=brief)


async def test_a_long_call_does_not_hold_up_the_loop_even_when_it_was_expected_to_be_brief():
    worker, go = Worker(), threading.Event()
    call = asyncio.ensure_future(worker.run(lambda: go.wait(60), brief=True))
    turns = 0
    while turns < 50:  # the loop goes round while the call is running
        await asyncio.sleep(0)
        turns += 1
    assert not call.done()
    go.set()
    assert await call is True


async def test_a_cancelled_call_keeps_its_thread_and_the_next_ones_get_another():
    worker, go, begun, ended = Worker(), threading.Event(), threading.Event(), threading.Event()

    def stuck() -> int:
        begun.set()
        go.wait(60)
        ended.set()
        return threading.get_ident()

    stuck_call = asyncio.ensure_future(worker.run(stuck))
    waiting = asyncio.ensure_future(worker.run(threading.get_ident))
    never = []
    queued = asyncio.ensure_future(worker.run(lambda: never.append(1)))
    await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
    queued.cancel()
    stuck_call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck_call
    assert await waiting != 0  # although the first call still runs
    assert not ended.is_set()
    assert await worker.run(lambda: 7) == 7
    go.set()
    assert await asyncio.get_running_loop().run_in_executor(None, ended.wait, 10)
    assert never == []


async def test_context_variables_reach_the_call():
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("a")
    assert await Worker().run(tenant.get) == "a"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside threads is just what is tried here
async def test_a_forked_child_gets_a_worker_of_its_own():
    from lousho_cli.tools.worker import workers

    assert await workers().run(lambda: 1) == 1
    child = os.fork()
    if child == 0:
        try:
            loop = asyncio.new_event_loop()
            asyncio._set_running_loop(None)
            answer = loop.run_until_complete(asyncio.wait_for(workers().run(lambda: 2), 30))
            os._exit(0 if answer == 2 else 1)
        except BaseException:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


async def test_a_call_from_before_a_fork_ends_in_the_child_without_taking_a_worker_away():
    pool, go = Workers(), threading.Event()
    before = asyncio.ensure_future(pool.run(lambda: go.wait(60), session="a"))
    await asyncio.sleep(0)
    pool.forget()  # as in a forked child
    later = asyncio.ensure_future(pool.run(lambda: go.wait(60), session="a"))
    await asyncio.sleep(0)
    before.cancel()
    with pytest.raises(asyncio.CancelledError):
        await before
    assert len(pool._busy) == 1
    go.set()
    assert await later
    assert (len(pool._busy), len(pool._idle)) == (0, 1)


async def test_calls_of_one_session_wait_for_each_other_and_not_for_another_s():
    pool, go, begun = Workers(), threading.Event(), threading.Event()

    def stuck() -> str:
        begun.set()
        go.wait(60)
        return "stuck"

    first = asyncio.ensure_future(pool.run(stuck, session="a"))
    behind = asyncio.ensure_future(pool.run(lambda: "behind", session="a"))
    await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
    assert [await pool.run(lambda: "other", brief=brief, session="b") for brief in (True, False)] == ["other", "other"]
    assert not behind.done()
    go.set()
    assert await asyncio.gather(first, behind) == ["stuck", "behind"]


async def test_there_are_no_more_threads_than_sessions_with_calls_nor_than_the_most():
    pool, go = Workers(), threading.Event()
    before = threading.active_count()
    for number in range(200):
        assert await pool.run(lambda: 1, session=str(number)) == 1
    assert threading.active_count() == before + 1, "one after the other, they share a thread"
    calls = [asyncio.ensure_future(pool.run(lambda: go.wait(60), session=str(number))) for number in range(2 * MOST_WORKERS)]
    while sum(pool._users.values()) < len(calls):
        await asyncio.sleep(0)
    assert threading.active_count() == before + MOST_WORKERS
    go.set()
    assert all(await asyncio.gather(*calls))
    assert (pool._busy, len(pool._idle)) == ({}, MOST_WORKERS)


async def test_where_no_thread_can_be_started_a_session_shares_one_and_without_any_its_call_is_refused(monkeypatch):
    pool, go, begun = Workers(), threading.Event(), threading.Event()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def stuck() -> str:
        begun.set()
        go.wait(60)
        return "stuck"

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(SDKError, match="can't start new thread") as raised:
            await pool.run(lambda: 1, session="a")
    assert (raised.value.code, bool(raised.value.hint)) == ("LOUSHO_NO_THREAD", True)
    first = asyncio.ensure_future(pool.run(stuck, session="a"))
    await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        behind = asyncio.ensure_future(pool.run(lambda: "behind", session="b"))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    go.set()
    assert await behind == "behind"
    assert await pool.run(lambda: 2, session="c") == 2


async def test_a_thread_that_comes_free_while_no_other_can_be_started_takes_what_waits(monkeypatch):
    worker, go, begun, ran = Worker(), threading.Event(), threading.Event(), threading.Event()
    threads = []

    def stuck() -> None:
        threads.append(threading.current_thread())
        begun.set()
        go.wait(60)

    def refuse(thread: threading.Thread) -> None:
        go.set()
        while threads[0].is_alive() and not ran.is_set():
            time.sleep(0)
        raise RuntimeError("can't start new thread")

    first = asyncio.ensure_future(worker.run(stuck))
    behind = asyncio.ensure_future(worker.run(ran.set))
    await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    assert ran.is_set()
    await behind
