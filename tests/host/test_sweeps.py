"""Finding threads that have work and that nobody drives, and threads that are to be taken up at a time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lousho_cli.core.pending import has_work
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.times import later
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.executor.clock import SYSTEM_CLOCK, SystemClock
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider
from tests.host.owning import SHORT, Work, at_work, closing, nobody_owns, says, stop_renewing, until

THEN = "2026-01-01T00:00:00.000Z"
SOON = timedelta(milliseconds=80)


class HourAhead(SystemClock):
    """A clock that is an hour ahead."""

    def now(self) -> str:
        return later(super().now(), 3_600_000)


class StandsStill(SystemClock):
    """A clock that says what it is told to say."""

    def __init__(self, time: str) -> None:
        self.time = time

    def now(self) -> str:
        return self.time


async def left(store: Any, *thread_ids: str, name: str = "acme/worker", tenant: str | None = None) -> None:
    """Threads with an input that nobody has run."""
    host = create_harness_host({"log": store})
    for thread_id in thread_ids:
        work = Work()
        session = await host.open(define_harness(name, ScriptedProvider([{"text": "Late.", "delay": 30}])), thread_id, tenant_id=tenant)
        await session.send("Hi", input_id="a")
        del work
    await host.close(recoverable=True)


async def recorded(store: Any, thread_id: str, kind: type) -> list[Any]:
    return [one for batch in (await store.read(thread_id)).batches for one in batch.records if isinstance(one, kind)]


async def test_ds_017_a_thread_whose_owner_expired_is_found(lasting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    first, second = create_harness_host({"log": lasting}, ownership=SHORT), create_harness_host({"log": lasting})
    async with closing(first, second):
        session = await first.open(work.harness(), "t")
        await session.send("Go", input_id="a")
        await at_work(work, session)
        stop_renewing(monkeypatch)
        took, taken = Work(), []
        took.go.set()
        async with asyncio.timeout(30):
            while not taken:  # both hosts are one owner on a server: who looks renews the lease, until the first has seen that it lost it
                await nobody_owns(lasting, "t")
                taken = [one.thread_id for one in await second.resume_pending([took.harness()])]
        assert taken == ["t"]
        assert (await session.settled("a")).text == "Done."


async def test_a_thread_that_another_worked_off_between_the_look_and_the_claim_is_not_taken(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a whole turn may happen there."""
    await left(store, "t")
    slow, quick = create_harness_host({"log": store}), create_harness_host({"log": store})
    claim, took = store.claim, []

    async def overtaken(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(store, "claim", claim)
        took.append(await quick.resume_pending([says("Late.")]))
        await quick.idle("t")
        await nobody_owns(store, "t")
        return await claim(*args, **options)

    async with closing(slow, quick):
        monkeypatch.setattr(store, "claim", overtaken)
        assert await slow.resume_pending([says("Never.")]) == []
        assert [one.thread_id for one in took[0]] == ["t"]
        await slow.idle("t")
        await nobody_owns(store, "t")
    assert [turn.message.text for turn in await recorded(store, "t", r.Turn)] == ["Late."]


async def test_ds_018_a_thread_with_an_input_that_waits_is_found(store: Any) -> None:
    await left(store, "begun")
    await store.post("begun", Post("b", "input", THEN, None, [{"role": "user", "content": "More"}]))
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("One.", "Two."), "posted")
        await session.send("Hi", input_id="a")
        await session.settled("a")
        await nobody_owns(store, "posted")
        await store.post("posted", Post("b", "input", THEN, None, [{"role": "user", "content": "More"}]))
        other = create_harness_host({"log": store})
        async with closing(other):
            found = await other.resume_pending([says("One.", "Two.")])
            assert {one.thread_id for one in found} == {"begun", "posted"}
            assert (await session.settled("b")).text == "Two."


async def test_ds_019_a_wake_is_found_once_it_is_due_and_not_before(store: Any) -> None:
    early, first, second = (create_harness_host({"log": store}, clock=clock) for clock in (SYSTEM_CLOCK, SYSTEM_CLOCK, HourAhead()))
    async with closing(early, second):
        session = await first.open(says("One."), "t")
        receipt = await session.wake_at(datetime.now(UTC) + timedelta(minutes=30), "Good morning", input_id="morning")
        assert receipt.status == "accepted"
        await nobody_owns(store, "t")
        await first.close()
        head = await store.head("t")
        assert (head.harness, head.tenant) == ("acme/worker", None)
        assert not has_work(head, head.updated_at)
        assert has_work(head, head.wake)
        assert await early.resume_pending([says("One.")]) == []
        assert [one.thread_id for one in await second.resume_pending([says("One.")])] == ["t"]
        again = await second.open(says("One."), "t")
        assert (await again.settled("morning")).text == "One."
        await nobody_owns(store, "t")
        assert (await store.head("t")).wake is None
        assert await second.resume_pending([says("One.")]) == []
        assert [one.id for one in await recorded(store, "t", r.InputReceived)] == ["morning"]


async def test_a_host_that_has_the_thread_open_wakes_it_itself(store: Any) -> None:
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("One."), "t")
        receipt = await session.wake_at(datetime.now(UTC) + SOON, "Good morning")
        assert (await session.settled(receipt.input_id)).text == "One."


async def test_a_host_that_opened_the_thread_without_recovering_it_wakes_it_too(store: Any) -> None:
    morning = "2099-01-01T08:00:00.000Z"
    clock = StandsStill(later(morning, -50))
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store}, clock=clock)
    async with closing(first, second):
        session = await first.open(says("One."), "t")
        receipt = await session.wake_at(morning, "Good morning", input_id="morning")
        await first.close(recoverable=True)
        again = await second.open(says("One."), "t", recover=False)
        clock.time = morning
        assert (await asyncio.wait_for(again.settled(receipt.input_id), 20)).text == "One."


async def test_opening_a_thread_once_more_takes_up_what_the_first_opening_left(store: Any) -> None:
    await left(store, "t")
    host = create_harness_host({"log": store})
    async with closing(host):
        first = await host.open(says("One."), "t", recover=False)
        assert await store.owner("t") is None
        await host.open(first._thread.harness, "t")
        assert (await asyncio.wait_for(first.settled("a"), 20)).text == "One."


async def test_a_wake_can_be_moved_and_taken_back(store: Any) -> None:
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("One."), "t")
        await session.wake_at("2099-01-01T00:00:00+01:00", "Never")
        assert (await store.head("t")).wake == "2098-12-31T23:00:00.000Z"
        await session.wake_at(datetime.now(UTC) + SOON, "Now", input_id="now")
        assert (await session.settled("now")).text == "One."
        await session.wake_at("2099-01-01T00:00:00Z")
        await session.wake_at(None)
        assert (await store.head("t")).wake is None
        for bad in ("soon", "2099-01-01T00:00:00", 12):
            with pytest.raises(ConfigurationError) as caught:
                await session.wake_at(bad)  # type: ignore[arg-type]
            assert caught.value.field == "time"


async def test_ds_020_a_thread_with_an_owner_or_that_waits_for_a_person_is_not_found(store: Any) -> None:
    work = Work()
    asks = define_harness(
        "acme/worker", ScriptedProvider([{"tool_calls": [{"name": "work", "args": {}, "id": "w"}]}]), tools=[work.tool(needs_approval=True)]
    )
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(first, second):
        waits = await first.open(asks, "waits")
        await waits.send("Go", input_id="a")
        assert (await waits.settled("a")).outcome == "interrupted"
        await nobody_owns(store, "waits")
        busy = await first.open(work.harness(), "busy")
        await busy.send("Go", input_id="a")
        await work.begun.wait()
        assert await second.resume_pending([asks]) == []
        work.go.set()


async def test_ds_021_only_threads_of_the_named_harnesses_and_at_most_the_limit_are_taken(store: Any) -> None:
    await left(store, "t1", "t2", "t3")
    await left(store, "other", name="acme/other")
    host = create_harness_host({"log": store})
    async with closing(host):
        assert len(await host.resume_pending([says("One.")], limit=2)) == 2
        assert len(await host.resume_pending([says("One.")], limit=2)) == 1
        assert [one.harness for one in await host.resume_pending([says("One."), says("One.", name="acme/other")])] == ["acme/other"]
        for field, wrong in (("limit", {"limit": 0}), ("close", {"close": "soon"})):
            with pytest.raises((RangeError, ConfigurationError)) as caught:
                await host.resume_pending([says("One.")], **wrong)
            assert caught.value.field == field


async def test_ds_158_two_sweeps_at_once_share_nothing(store: Any) -> None:
    threads = [f"t{number}" for number in range(6)]
    await left(store, *threads)
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(first, second):
        found = await asyncio.gather(first.resume_pending([says("One.")]), second.resume_pending([says("One.")]))
        assert sorted(one.thread_id for took in found for one in took) == threads
        assert {(one.harness, one.tenant_id) for took in found for one in took} == {("acme/worker", None)}
        for thread_id in threads:
            await (await first.open(says("One."), thread_id)).settled("a")
            assert [one.attempt for one in await recorded(store, thread_id, r.RunResumed)] in ([1], [])


async def test_ds_159_a_sweep_leaves_the_threads_of_a_host_that_lives_alone(store: Any) -> None:
    work = Work()
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(first, second):
        session = await first.open(work.harness(), "t")
        await session.send("Go", input_id="a")
        await work.begun.wait()
        assert await second.resume_pending([work.harness()]) == []
        work.go.set()
        assert (await session.settled("a")).text == "Done."


async def swept_again(host: Any, store: Any) -> bool:
    """Whether a sweep takes a thread that others left work in; it leaves those alone that are open here."""
    await store.post("t", Post(SYSTEM_CLOCK.new_id(), "input", THEN, None, [{"role": "user", "content": "More"}]))
    return bool(await host.resume_pending([says("One.", "Two.", "Three.", "Four.")]))


async def test_ds_160_a_swept_session_closes_when_idle_unless_the_app_opened_it_too(store: Any) -> None:
    await left(store, "t")
    host = create_harness_host({"log": store})
    async with closing(host):
        assert await host.resume_pending([says("One.", "Two.", "Three.", "Four.")])
        await host.idle("t")
        await nobody_owns(store, "t")
        await store.post("t", Post("more", "input", THEN, None, [{"role": "user", "content": "More"}]))
        await until(lambda: host.resume_pending([says("One.", "Two.", "Three.", "Four.")]))  # it was closed
        session = await host.open(says("One.", "Two.", "Three.", "Four."), "t")
        await host.idle("t")
        await nobody_owns(store, "t")
        assert not await swept_again(host, store), "the app has it open"
        session.close()


async def test_ds_195_with_never_a_swept_session_closes_only_after_the_idle_time(store: Any) -> None:
    await left(store, "t")
    host = create_harness_host({"log": store}, lifecycle={"close_idle_sessions_after_ms": 150})
    async with closing(host):
        began = time.monotonic()
        assert await host.resume_pending([says("One.", "Two.")], close="never")
        await host.idle("t")
        await nobody_owns(store, "t")
        if await swept_again(host, store):
            assert time.monotonic() - began > 0.15, "it is still open"
        else:
            await until(lambda: host.resume_pending([says("One.", "Two.")]))


async def test_ds_161_a_thread_that_does_not_open_is_offered_again_after_30_s(store: Any) -> None:
    await left(store, "t")

    def instructions(_context: Any) -> str:
        raise ValueError("no instructions today")

    broken = define_harness("acme/worker", ScriptedProvider(["One."]), instructions=instructions)
    host, other = create_harness_host({"log": store}), create_harness_host({"log": store})
    async with closing(host, other):
        before = SYSTEM_CLOCK.now()
        await host.resume_pending([broken])
        await host.idle("t")
        await nobody_owns(store, "t")
        head = await store.head("t")
        assert later(before, 30_000) <= head.wake_at <= later(SYSTEM_CLOCK.now(), 30_000)
        assert await other.resume_pending([says("One.")]) == []
        assert has_work(head, head.wake_at)


async def test_ds_164_a_thread_given_back_for_a_deploy_is_found_at_once(store: Any) -> None:
    await left(store, "t")
    assert (await store.head("t")).wake_at <= SYSTEM_CLOCK.now()
    host = create_harness_host({"log": store})
    async with closing(host):
        assert [one.thread_id for one in await host.resume_pending([says("One.")])] == ["t"]


async def test_ds_193_each_thread_opens_in_its_own_tenant_and_with_no_user(store: Any) -> None:
    await left(store, "t", tenant="blue")
    asked: list[tuple[Any, Any]] = []

    def recover(info: Any) -> None:
        asked.append((info.session.tenant_id, info.input.input_id))

    host = create_harness_host({"log": store})
    async with closing(host):
        (taken,) = await host.resume_pending([says("One.", durability={"recover": recover})])
        assert taken.tenant_id == "blue"
        session = await host.open(says("One."), "t", tenant_id="blue")
        assert (await session.settled("a")).text == "One."
        assert asked == [("blue", "a")]
        assert {one.by for one in await recorded(store, "t", r.InputReceived)} == {None}


async def test_ds_194_the_turn_that_was_left_runs_before_the_inputs_that_wait(store: Any) -> None:
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(define_harness("acme/worker", ScriptedProvider([{"text": "Late.", "delay": 30}])), "t")
    for input_id in "abc":
        await session.send(input_id, input_id=input_id)
    await first.close(recoverable=True)
    async with closing(second):
        assert await second.resume_pending([says("One.", "Two.", "Three.")])
        again = await second.open(says("One.", "Two.", "Three."), "t")
        assert [(await again.settled(one)).text for one in "abc"] == ["One.", "Two.", "Three."]


async def test_ds_196_a_sweep_leaves_a_thread_that_is_open_here_to_recover(store: Any) -> None:
    host = create_harness_host({"log": store})
    async with closing(host):
        session = await host.open(says("One."), "t")
        await left(store, "t")
        assert await host.resume_pending([says("One.")]) == []
        await host.recover("t")
        assert (await session.settled("a")).text == "One."


async def test_hosts_whose_clocks_are_an_hour_apart_take_nothing_from_each_other(store: Any) -> None:
    work = Work()
    ahead, here = create_harness_host({"log": store}, clock=HourAhead()), create_harness_host({"log": store})
    async with closing(ahead, here):
        session = await here.open(work.harness(), "t")
        await session.send("Hi", input_id="a")
        await work.begun.wait()
        other = await ahead.open(work.harness(), "t")
        assert await ahead.resume_pending([work.harness()]) == []
        assert not await other.recover_pending_work()
        assert (await other.send("More", input_id="b")).status == "queued"
        work.go.set()
        assert [(await other.settled(one)).outcome for one in "ab"] == ["completed", "failed"]  # the script has no more answers
        assert work.ended == ["done"]
