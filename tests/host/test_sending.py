"""Inputs through a host: kept, run in order, and how they ended."""

from __future__ import annotations

from typing import Any

from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider


def harness(*turns: Any, **options: Any) -> Any:
    return define_harness("acme/assistant", ScriptedProvider([*turns]), **options)


async def test_an_input_is_kept_run_and_settled(host: HarnessHost) -> None:
    session = await host.open(harness("Hello.", "And again."), "t")
    receipt = await session.send("Hi", input_id="a")
    assert (receipt.input_id, receipt.status) == ("a", "accepted")
    ended = await session.settled("a")
    assert (ended.outcome, ended.text) == ("completed", "Hello.")
    assert (await session.send("Hi", input_id="a")).status == "accepted"
    assert (await session.send("Ho", input_id="a")).reason == "conflict"
    await session.send("More", input_id="b")
    assert (await session.settled("b")).text == "And again."


async def test_another_host_settles_what_a_host_left(store: Any) -> None:
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    slow = harness({"text": "Late.", "delay": 30})
    session = await first.open(slow, "t")
    await session.send("Hi", input_id="a")
    await first.close(recoverable=True)
    taken = await second.resume_pending([harness("Taken over.")])
    assert [one.thread_id for one in taken] == ["t"]
    again = await second.open(harness("Taken over."), "t")
    assert (await again.settled("a")).text == "Taken over."
    await second.close()


async def test_an_input_that_waits_can_be_taken_back(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    assert (await session.send("2", input_id="b")).status == "queued"
    assert (await session.send("no", input_id="x", busy="reject")).reason == "busy"
    await model.begun.wait()
    assert (await session.cancel_input("b")).status == "accepted"
    assert (await session.cancel_input("a")).reason == "not_waiting"
    assert (await session.settled("b")).outcome == "aborted"
    model.go.set()
    assert (await session.settled("a")).outcome == "completed"
    assert len(model.asked) == 1


async def test_an_input_steers_the_turn_that_runs(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Both.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    assert (await session.send("2", input_id="b", busy="steer")).operation == "a"
    model.go.set()
    assert (await session.settled("b")).outcome == "completed"
    assert (await session.settled("a")).text == "One.\n\nBoth."


async def test_an_input_for_another_owner_waits_there(store: Any, gated: Any) -> None:
    model = gated("One.", "Two.")
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    one = await first.open(define_harness("acme/assistant", model), "t")
    await one.send("1", input_id="a")
    await model.begun.wait()
    other = await second.open(harness("Never."), "t")
    assert (await other.send("2", input_id="b")).status == "queued"
    assert (await other.send("1", input_id="a")).status == "accepted"
    model.go.set()
    assert (await other.settled("b")).text == "Two."
    await first.close()
    await second.close()
