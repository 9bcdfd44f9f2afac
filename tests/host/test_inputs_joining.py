"""Inputs that steer a turn: when they enter it, who may, and how they end with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message
from lousho_cli.errors import ProviderError, StorageError
from lousho_cli.host.harness import define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.ports.provider import Answer, ModelRequest


class Steps:
    """A model that waits in each call until it is let go, and then answers, or fails."""

    name, model = "steps", "steps"

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[ModelRequest] = []
        self._begun: asyncio.Queue[None] = asyncio.Queue()
        self._go: asyncio.Queue[None] = asyncio.Queue()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        self.asked.append(request)
        self._begun.put_nowait(None)
        await self._go.get()
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield Answer(Message(role="assistant", content=answer))

    async def begun(self) -> None:
        await self._begun.get()

    def go(self, times: int = 1) -> None:
        for _ in range(times):
            self._go.put_nowait(None)


async def batches(store: Any) -> list[tuple[Any, ...]]:
    return [batch.records for batch in (await store.read("t")).batches]


def said(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages]


async def test_ds_052_steers_join_in_order_in_one_batch(host: HarnessHost, store: Any) -> None:
    model = Steps("One.", "All.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun()
    for key in ("s1", "s2", "s3"):
        assert (await session.send(key, input_id=key, busy="steer")).status == "accepted"
    model.go(2)
    await session.settled("a")
    assert said(model.asked[1]) == ["1", "One.", "s1", "s2", "s3"]
    joins = [[one.id for one in batch if isinstance(one, r.InputApplied)] for batch in await batches(store)]
    assert ["s1", "s2", "s3"] in joins
    assert len(model.asked) == 2


async def test_ds_053_a_steer_that_comes_with_the_last_answer_is_answered_in_the_same_turn(host: HarnessHost, store: Any) -> None:
    model = Steps("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun()
    await session.send("2", input_id="b", busy="steer")
    model.go(2)
    assert (await session.settled("a")).text == "One.\n\nTwo."
    assert sum(isinstance(one, r.RunStarted) for batch in await batches(store) for one in batch) == 1


async def test_ds_054_joined_inputs_end_with_the_turn(host: HarnessHost, store: Any) -> None:
    broken = ProviderError("no such key", category="auth")
    model = Steps("1", "2", "3", broken, "5", "never")
    session = await host.open(define_harness("acme/assistant", model), "t")
    for number, outcome in enumerate(("completed", "failed", "aborted")):
        first, second = f"a{number}", f"b{number}"
        await session.send(first, input_id=first)
        await model.begun()
        await session.send(second, input_id=second, busy="steer")
        model.go()
        await model.begun()
        if outcome == "aborted":
            await session.cancel()
        else:
            model.go()
        ends = [await session.settled(key) for key in (first, second)]
        assert [end.outcome for end in ends] == [outcome, outcome]
        assert ends[0].error == ends[1].error and ends[1].operation == first
        assert [first, second] in [_settles(batch) for batch in await batches(store)]
    assert (await session.settled("b1")).error == "no such key"


def _settles(batch: tuple[Any, ...]) -> list[str]:
    return [one.id for one in batch if isinstance(one, r.InputSettled)]


async def test_ds_055_the_join_stops_at_the_first_that_may_not(host: HarnessHost) -> None:
    model = Steps("1", "2", "3", "4")
    harness = define_harness("acme/assistant", model)
    alice, bob = await host.open(harness, "t", user="alice"), await host.open(harness, "t", user="bob")
    await alice.send("a", input_id="a")
    await model.begun()
    await alice.send("q", input_id="q")
    for sender, key in ((alice, "gone"), (alice, "s1"), (bob, "s2"), (bob, "s3")):
        await sender.send(key, input_id=key, busy="steer")
    await alice.cancel_input("gone")
    assert [one.input_id for one in await alice.inputs()] == ["s1", "s2", "s3", "q"]
    model.go(5)
    model._answers += ["5"]
    ends = {key: await alice.settled(key) for key in ("a", "gone", "s1", "s2", "s3", "q")}
    assert {key: (end.outcome, end.operation) for key, end in ends.items()} == {
        "a": ("completed", "a"),
        "gone": ("aborted", None),
        "s1": ("completed", "a"),
        "s2": ("completed", "s2"),
        "s3": ("completed", "s3"),
        "q": ("completed", "q"),
    }
    assert [said(request)[-1] for request in model.asked] == ["a", "s1", "s2", "s3", "q"]


class FailsToJoin:
    """A store that can not write the batch in which an input joins."""

    def __init__(self, store: Any) -> None:
        self._store = store

    async def append(self, claim: Any, written: Any, *, durable: bool = True) -> None:
        if any(isinstance(one, r.InputApplied) and one.id == "b" for batch in written for one in batch.records):
            raise StorageError("the disk is full")
        await self._store.append(claim, written, durable=durable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def test_ds_056_a_join_that_could_not_be_written_did_not_happen(store: Any) -> None:
    model = Steps("One.")
    first = create_harness_host({"log": FailsToJoin(store)})
    session = await first.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun()
    await session.send("2", input_id="b", busy="steer")
    model.go()
    await first.idle("t")
    await first.close()
    assert not [one for batch in await batches(store) for one in batch if isinstance(one, r.InputApplied) and one.id == "b"]
    later = Steps("Two.", "Two.")
    later.go(2)
    second = create_harness_host({"log": store})
    again = await second.open(define_harness("acme/assistant", later), "t")
    await again.recover_pending_work()
    assert [(await again.settled(key)).outcome for key in ("a", "b")] == ["completed", "completed"]
    assert said(later.asked[-1])[-1] == "2"
    await second.close()


async def test_ds_057_an_input_that_joined_can_not_be_taken_back(host: HarnessHost, store: Any) -> None:
    model = Steps("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    await session.send("1", input_id="a")
    await model.begun()
    await session.send("2", input_id="b", busy="steer")
    model.go()
    await model.begun()
    assert (await session.cancel_input("b")).reason == "not_waiting"
    model.go()
    assert (await session.settled("b")).outcome == "completed"
    assert not [one for batch in await batches(store) for one in batch if isinstance(one, (r.AbortAsked, r.InputTakenBack))]


async def test_ds_058_only_its_own_sender_steers_a_turn_unless_a_rule_says_otherwise(host: HarnessHost, store: Any) -> None:
    asked: list[Any] = []

    def can_join(sender: str | None, began: str | None, messages: tuple[Message, ...]) -> bool:
        asked.append((sender, began, messages[0].text))
        return True

    for rule, operation in ((None, "b-None"), (can_join, "a-rule")):
        name = "None" if rule is None else "rule"
        model = Steps("One.", "Two.")
        harness = define_harness("acme/assistant", model, can_join=rule)
        alice, bob = await host.open(harness, name, user="alice"), await host.open(harness, name, user="bob")
        await alice.send("1", input_id=f"a-{name}")
        await model.begun()
        await bob.send("2", input_id=f"b-{name}", busy="steer")
        model.go(2)
        assert (await bob.settled(f"b-{name}")).operation == operation
    assert ("bob", "alice", "2") in asked


async def test_a_rule_that_fails_lets_nobody_in(host: HarnessHost) -> None:
    model = Steps("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model, can_join=lambda *_: 1 / 0), "t")
    await session.send("1", input_id="a")
    await model.begun()
    await session.send("2", input_id="b", busy="steer")
    model.go(2)
    assert (await session.settled("b")).operation == "b"
