"""Forks of a thread at one of its messages."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.errors import ConfigurationError, NotFoundError
from lousho_cli.host.forking import said_in
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tools.define import define_tool
from tests.host.left import Model, calling, harness, state
from tests.host.owning import until


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


async def talked(host: HarnessHost, model: Any, *said: str, **options: Any) -> Any:
    """A thread in which each text was answered, sent under the ids in-0, in-1, …"""
    session = await host.open(harness(model, **options), "t")
    for number, text in enumerate(said):
        await session.send(text, input_id=f"in-{number}")
        await session.settled(f"in-{number}")
    return session


async def copied(store: Any, forked: Any) -> tuple[Any, ...]:
    return said_in(await state(store, forked.thread_id))


LOOK = define_tool(name="look", execute=lambda: "seen", replay="safe")


async def test_ds_171_a_fork_through_or_before_a_message_copies_exactly_those_up_to_it(host: HarnessHost, store: Any) -> None:
    session = await talked(host, Model("One.", calling("look"), "Two.", "Three."), "a", "b", "c", tools=[LOOK])
    messages = await session.messages()
    assert texts(messages) == ["a", "One.", "b", "", '"seen"', "Two.", "c", "Three."]
    before = (await store.read("t")).batches
    for place in range(len(messages)):
        forked = await session.fork(through=place)
        assert await copied(store, forked) == messages[: place + 1]  # the ids of calls with them
        assert forked.messages == place + 1
        assert forked.address.startswith("t#")
    assert await copied(store, await session.fork(before=2)) == messages[:2]
    assert await copied(store, await session.fork(before="in-2")) == messages[:6]
    assert await copied(store, await session.fork(through="in-1")) == messages[:3]
    assert (await store.read("t")).batches == before


async def test_a_fork_goes_on_as_a_thread_of_its_own(host: HarnessHost, store: Any) -> None:
    session = await talked(host, Model("One.", "Two."), "a", "b")
    forked = await session.fork(before="in-1", new_thread_id="other")
    assert (forked.thread_id, forked.address) == ("other", f"t#{forked.address.partition('#')[2]}")
    model = Model("Else.")
    other = await host.open(harness(model), "other")
    await other.send("Something else", input_id="x")
    assert (await other.settled("x")).text == "Else."
    assert [texts(asked) for asked in model.asked] == [["a", "One.", "Something else"]]
    assert texts(await session.messages()) == ["a", "One.", "b", "Two."]


async def test_a_fork_through_what_a_person_said_has_it_answered_anew(host: HarnessHost, store: Any) -> None:
    session = await talked(host, Model("One."), "a")
    forked = await session.fork(through="in-0")
    model = Model("One, again.")
    other = await host.open(harness(model), forked.thread_id)
    await host.idle(forked.thread_id)
    assert texts(await other.messages()) == ["a", "One, again."]


async def test_ds_172_a_fork_keeps_settings_limits_and_usage_and_nothing_that_waits(host: HarnessHost, store: Any) -> None:
    pay = define_tool(name="pay", execute=lambda: "paid", needs_approval=True)
    session = await talked(host, Model("One.", calling("pay")), "a", tools=[pay], max_steps=7)
    await session.set_setting("language", "French")
    await session.send("b", input_id="in-1")
    await session.settled("in-1")
    await session.send("c", input_id="in-2")  # waits behind the approval
    await session.wake_at("2999-01-01T00:00:00+00:00", "later")
    source = await state(store)
    assert source.wait is not None
    assert "in-2" in source.waiting
    forked = await state(store, (await session.fork(through=3)).thread_id)
    assert texts(forked.messages) == ["a", "One.", "b", ""]
    assert forked.settings == {"language": "French"}
    assert (forked.run.max_steps, forked.usage, forked.harness) == (7, source.usage, source.harness)
    assert (forked.wait, forked.waiting, forked.wake, dict(forked.asks), dict(forked.agents), dict(forked.inputs)) == (
        None, (), None, {}, {}, {},
    )  # fmt: skip


async def test_ds_172_an_unknown_message_or_a_used_target_raises(host: HarnessHost, store: Any) -> None:
    session = await talked(host, Model("One."), "a")
    for name in (2, -1, "in-9"):
        with pytest.raises(NotFoundError) as unknown:
            await session.fork(through=name)
        assert unknown.value.code == "LOUSHO_MESSAGE_NOT_FOUND"
    with pytest.raises(ConfigurationError) as used:
        await session.fork(through=1, new_thread_id="t")
    assert used.value.code == "LOUSHO_SESSION_EXISTS"
    for wrong in ({}, {"before": 1, "through": 1}, {"before": 0}):
        with pytest.raises(ConfigurationError):
            await session.fork(**wrong)
    assert [head.id for head in (await store.heads()).heads] == ["t"]


async def test_a_fork_of_a_trimmed_thread_begins_at_a_checkpoint_that_is_kept(tmp_path: Any) -> None:
    store = FileStore(tmp_path / ".lousho", history_limit=2)
    trims = {"log": {"save_snapshot_after": {"bytes": 1}}, "lifecycle": {"retention": {"keep_log_records": "since-snapshot"}}}
    host = create_harness_host({"log": store}, **trims)
    session = await talked(host, Model("One.", "Two.", "Three."), "a", "b", "c")

    async def trimmed() -> bool:
        return (await store.read("t")).batches[0].seq > 1

    await until(trimmed)
    messages = await session.messages()
    assert texts(messages) == ["a", "One.", "b", "Two.", "c", "Three."]
    forked = await session.fork(through=2)
    assert texts((await state(store, forked.thread_id)).messages) == ["a", "One.", "b"]
    await host.close()
