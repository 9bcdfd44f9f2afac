"""Inputs of a thread: receipts, ids, how they settle, and what can be done with one that waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import InputRejectedError, NotFoundError
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.providers.scripted import ScriptedProvider


def scripted(*turns: Any, **options: Any) -> Harness:
    return define_harness("acme/assistant", ScriptedProvider([*(turns or ["Never."])]), **options)


async def records(store: Any) -> list[Any]:
    return [record for batch in (await store.read("t")).batches for record in batch.records]


def kinds(found: list[Any], *wanted: type) -> list[Any]:
    return [record for record in found if isinstance(record, wanted)]


async def test_ds_036_a_receipt_comes_once_the_input_is_kept_and_before_its_turn_ends(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    receipt = await session.send("1", input_id="a")
    assert receipt.status == "accepted"
    assert [record.id for record in kinds(await records(store), r.InputReceived)] == ["a"]
    assert not kinds(await records(store), r.InputSettled)
    model.go.set()
    await session.settled("a")


async def test_ds_037_the_same_input_twice_is_one_turn(host: HarnessHost, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    first, second = await asyncio.gather(session.send("1", input_id="a"), session.send("1", input_id="a"))
    assert (first.status, first.operation, second.operation) == ("accepted", "a", "a")
    model.go.set()
    assert (await session.settled("a")).text == "One."
    assert (await session.send("1", input_id="a")).operation == "a"
    assert len(model.asked) == 1


async def test_ds_038_other_content_under_a_known_id_is_a_conflict(host: HarnessHost, store: Any) -> None:
    alice = await host.open(scripted("One.", "Two."), "t", user="alice")
    bob = await host.open(scripted(), "t", user="bob")
    await alice.send("1", input_id="a")
    await alice.settled("a")
    tries = [alice.send("2", input_id="a"), bob.send("1", input_id="a"), alice.continue_(input_id="a"), alice.reset("1", input_id="a")]
    receipts = [await one for one in (*tries, alice.append_records([{"type": "acme.note"}], input_id="a"))]
    assert [(one.status, one.reason) for one in receipts] == [("rejected", "conflict")] * 5
    assert len(kinds(await records(store), r.RunStarted)) == 1


async def test_ds_039_a_duplicate_after_a_restart_gets_the_stored_answer(store: Any) -> None:
    first = create_harness_host({"log": store})
    session = await first.open(scripted("One.", "Two."), "t")
    for key in ("a", "b"):
        await session.send(key, input_id=key)
        await session.settled(key)
    await first.close()
    second = create_harness_host({"log": store})
    again = await second.open(scripted(), "t")  # its script is over: a model that is asked would fail
    assert (await again.send("a", input_id="a")).status == "accepted"
    assert [(await again.settled(key)).text for key in ("a", "b")] == ["One.", "Two."]
    await second.close()


async def test_ds_040_settled_raises_for_an_unknown_and_a_refused_input(host: HarnessHost, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    with pytest.raises(NotFoundError):
        await session.settled("nobody")
    await session.send("1", input_id="a")
    refused = await session.send("2", input_id="b", busy="reject")
    with pytest.raises(InputRejectedError) as caught:
        await session.settled("b")
    assert caught.value.receipt == refused
    model.go.set()
    await session.settled("a")


async def test_ds_041_settled_works_on_another_host_after_a_restart(store: Any) -> None:
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(scripted("One."), "t")
    await session.send("1", input_id="a")
    ended = await session.settled("a")
    await first.close()
    assert await (await second.open(scripted(), "t")).settled("a") == ended
    assert (ended.outcome, ended.text, ended.operation) == ("completed", "One.", "a")
    await second.close()


async def test_ds_042_the_settlement_is_in_the_log_when_it_is_told(host: HarnessHost, store: Any) -> None:
    session = await host.open(scripted("One."), "t")
    await session.send("1", input_id="a")
    await session.settled("a")
    assert [(one.id, one.outcome) for one in kinds(await records(store), r.InputSettled)] == [("a", "completed")]


async def test_ds_043_a_second_input_is_queued_and_runs_after_the_first(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    assert (await session.send("2", input_id="b")).status == "queued"
    model.go.set()
    assert (await session.settled("b")).text == "Two."
    assert [message.text for message in model.asked[1].messages] == ["1", "One.", "2"]


async def test_ds_044_an_input_that_will_not_wait_is_rejected_as_busy(host: HarnessHost, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    receipt = await session.send("2", input_id="b", busy="reject")
    assert (receipt.status, receipt.reason) == ("rejected", "busy")
    model.go.set()
    assert (await session.settled("a")).text == "One."
    assert len(model.asked) == 1


async def test_ds_045_what_waits_is_listed_in_the_order_in_which_it_runs(host: HarnessHost, gated: Any) -> None:
    model = gated(*"12345")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.send("2", input_id="q1")
    await session.send("3", input_id="s1", busy="steer")
    await session.send("4", input_id="q2")
    await session.reset("forget")
    await session.continue_(input_id="c")
    waiting = await session.inputs()
    assert [(one.input_id, one.delivery, one.messages[0].text) for one in waiting] == [
        ("s1", "steer", "3"),
        ("q1", "queue", "2"),
        ("q2", "queue", "4"),
    ]
    model.go.set()
    await session.settled("q2")
    assert await session.inputs() == ()


async def test_ds_046_a_queued_input_that_is_cancelled_never_runs(store: Any, host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await session.send("never", input_id="b")
    assert (await session.cancel_input("b")).status == "accepted"
    assert (await session.settled("b")).outcome == "aborted"
    assert [one.id for one in kinds(await records(store), r.InputTakenBack)] == ["b"]
    model.go.set()
    await session.send("2", input_id="c")
    await session.settled("c")
    assert all("never" not in message.text for request in model.asked for message in request.messages)


async def test_ds_047_an_input_that_began_can_not_be_cancelled_as_waiting(host: HarnessHost, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    receipt = await session.cancel_input("a")
    assert (receipt.status, receipt.reason) == ("rejected", "not_waiting")
    model.go.set()
    assert (await session.settled("a")).outcome == "completed"


async def test_ds_048_a_queued_input_that_is_moved_joins_the_turn(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.send("2", input_id="b")
    assert (await session.set_delivery("b", "steer")).status == "accepted"
    model.go.set()
    ended = await session.settled("b")
    assert (ended.outcome, ended.operation, ended.text) == ("completed", "a", "One.\n\nTwo.")


async def test_ds_049_a_steer_that_is_moved_runs_as_its_own_turn(host: HarnessHost, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    await session.send("2", input_id="b", busy="steer")
    await session.set_delivery("b", "queue")
    model.go.set()
    assert ((await session.settled("a")).text, (await session.settled("b")).text) == ("One.", "Two.")
    assert (await session.settled("b")).operation == "b"


async def test_ds_050_a_cancel_is_in_the_log_before_the_settlement(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    receipt = await session.cancel()
    assert (receipt.status, receipt.operation) == ("accepted", "a")
    assert (await session.settled("a")).outcome == "aborted"
    assert [type(one) for one in kinds(await records(store), r.AbortAsked, r.InputSettled)] == [r.AbortAsked, r.InputSettled]


async def test_ds_051_there_is_nothing_to_cancel_where_nothing_runs(host: HarnessHost, store: Any) -> None:
    session = await host.open(scripted("One."), "t")
    assert (await session.cancel()).reason == "not_running"
    await session.send("1", input_id="a")
    await session.settled("a")
    receipt = await session.cancel()
    assert (receipt.status, receipt.reason) == ("rejected", "not_running")
    assert not kinds(await records(store), r.AbortAsked)


async def test_a_cancel_reaches_the_turn_that_another_host_runs(store: Any, gated: Any) -> None:
    model = gated("One.")
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    session = await first.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun.wait()
    other = await second.open(scripted(), "t")
    assert (await other.cancel()).status == "queued"
    assert (await other.settled("a")).outcome == "aborted"
    assert (await other.cancel()).reason == "not_running"
    await first.close()
    await second.close()
