"""A person who names a thread: it is done now, or refused before anything is written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.domain.session import HOST_FOLDER
from lousho_cli.domain.texts import ATTEMPTS_EXHAUSTED
from lousho_cli.errors import (
    AbortedError,
    AgentDriftError,
    ConfigurationError,
    InputRejectedError,
    NotFoundError,
    ProviderError,
    SDKError,
    SessionAwaitingApprovalError,
    SessionBusyError,
)
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.host.observing import Observer
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.define import define_tool
from tests.host.left import NAME, Model, begun, calling, harness, left, records, state


def booking(ran: list[Any], **options: Any) -> Any:
    async def book(args: dict[str, int], _context: Any) -> str:
        ran.append(args)
        return "booked"

    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "additionalProperties": False}
    return define_tool(name="book", description="Books.", input=schema, execute=book, needs_approval=True, **options)


def asks(ran: list[Any], *answers: str, **options: Any) -> Any:
    return harness(Model(calling("book"), *answers), tools=[booking(ran)], **options)


async def texts(store: Any) -> list[str]:
    return [message.text for message in (await state(store)).messages if message.role == "user"]


# What begins


async def test_a_thread_begins_and_goes_on_with_the_next_message(host: HarnessHost, store: Any) -> None:
    session = await host.open(harness(Model("One.", "Two.")), "t", tenant_id="acme", user="ann")
    first = await session.execute("Hi")
    assert (first.text, first.status, first.outcome, first.steps) == ("One.", "finished", "completed", 1)
    assert (await session.execute("And?", input_id="b")).text == "Two."
    (created,) = await records(store, r.Created)
    assert (created.harness, created.tenant) == (NAME, "acme")
    assert [one.by for one in (await state(store)).inputs.values()] == ["ann", "ann"]


async def test_a_thread_that_is_only_being_given_back_is_not_busy(host: HarnessHost) -> None:
    session = await host.open(harness(Model("One.", "Two.", "Three.")), "t")
    await session.set_setting("language", "French")
    assert (await session.execute("Hi")).text == "One."
    await session.send("And?", input_id="b")
    await session.settled("b")
    assert (await session.execute("So?")).text == "Three."


async def test_who_heard_of_an_end_may_go_on_at_once(host: HarnessHost, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    append = store.append

    async def told_late(*args: Any, **options: Any) -> None:
        await append(*args, **options)
        for _ in range(50):  # others see it already
            await asyncio.sleep(0)

    monkeypatch.setattr(store, "append", told_late)
    session = await host.open(harness(Model("One.", "Two.")), "t")
    await session.send("Hi", input_id="a")
    await session.settled("a")
    assert (await session.execute("And?")).text == "Two."


async def test_an_input_that_had_its_end_has_it_once_more(host: HarnessHost, store: Any) -> None:
    model = Model("One.", "Two.")
    session = await host.open(harness(model), "t")
    await session.execute("Hi", input_id="a")
    await session.execute("And?", input_id="b")
    before = (await store.read("t")).head
    assert (await session.execute("Hi", input_id="a")).text == "One."
    assert (len(model.asked), (await store.read("t")).head) == (2, before)


async def test_what_nobody_wrote_before_is_refused_where_it_has_to_be_new(host: HarnessHost, store: Any) -> None:
    session = await host.open(harness(Model("One.", "Two.")), "t")
    await session.execute("Hi", create=True)
    with pytest.raises(ConfigurationError) as refused:
        await session.execute("Hi", create=True)
    assert refused.value.code == "LOUSHO_SESSION_EXISTS"
    assert await texts(store) == ["Hi"]


async def test_a_run_that_fails_raises_what_it_failed_of(host: HarnessHost, store: Any) -> None:
    session = await host.open(harness(Model(ProviderError("no such model", retryable=False), "Now.")), "t")
    with pytest.raises(ProviderError, match="no such model"):
        await session.execute("Hi")
    assert (await state(store)).outcome == "failed"
    assert (await session.resume()).text == "Now."
    assert await texts(store) == ["Hi"]


# What was left


async def test_opening_without_recovering_leaves_a_cut_run_to_who_names_it(host: HarnessHost, store: Any) -> None:
    await left(store, begun())
    model = Model("One.")
    session = await host.open(harness(model), "t", recover=False)
    await host.idle("t")
    assert model.asked == []
    assert (await session.resume()).text == "One."
    assert (await state(store)).attempts == 2


@pytest.mark.parametrize(("said", "heard"), [("Hi", ["Hi"]), ("And by bike?", ["Hi", "And by bike?"])])
async def test_the_same_message_again_is_a_retry_and_another_enters_the_run(
    host: HarnessHost, store: Any, said: str, heard: list[str]
) -> None:
    await left(store, begun())
    session = await host.open(harness(Model("One.")), "t", recover=False)
    assert (await session.execute(said)).text == "One."
    assert await texts(store) == heard


async def test_who_names_a_run_without_an_attempt_left_begins_to_count_anew(host: HarnessHost, store: Any) -> None:
    await left(store, begun(), [r.RunResumed(2)])
    session = await host.open(harness(Model("One."), durability={"max_attempts": 2}), "t", recover=False)
    assert (await session.resume()).text == "One."
    assert [(one.outcome, one.code) for one in await records(store, r.InputSettled)] == [
        ("failed", ATTEMPTS_EXHAUSTED),
        ("completed", None),
    ]
    assert (await state(store)).attempts == 1


async def test_a_stop_is_told_as_one_and_costs_no_attempt(store: Any, gated: Any) -> None:
    first, model = create_harness_host({"log": store}), gated("One.")
    session = await first.open(harness(model), "t")
    running = asyncio.ensure_future(session.execute("Hi"))
    await model.begun.wait()
    await first.close(recoverable=True)
    stopped = await running
    assert (stopped.stopped, stopped.status, stopped.outcome) == (True, "in-progress", None)
    second = create_harness_host({"log": store})
    again = await second.open(harness(Model("Two.")), "t", recover=False)
    assert (await again.resume()).text == "Two."
    assert (await state(store)).attempts == 1
    await second.close()


async def test_a_close_for_good_is_told_as_an_abort(store: Any, gated: Any) -> None:
    host, model = create_harness_host({"log": store}), gated("One.")
    session = await host.open(harness(model), "t")
    running = asyncio.ensure_future(session.execute("Hi"))
    await model.begun.wait()
    await host.close()
    assert (await running).outcome == "aborted"
    with pytest.raises(AbortedError):
        await session.execute("Hi")


async def test_own_result_comes_back_though_others_had_something_waiting(host: HarnessHost, store: Any) -> None:
    await left(store, [*begun()[:3], r.InputApplied("a")], [r.InputReceived("b", (user("Later"),), "bob")])
    session = await host.open(harness(Model("One.", "Two.")), "t", recover=False)
    assert (await session.execute("Hi")).text == "One."
    assert (await session.settled("b")).text == "Two."


class LeftLate(MemoryStore):
    """Somebody leaves a message just as the log is given back for the first time."""

    late = [Post("b", "input", "2020-01-01T00:00:00.000Z", "bob", [{"role": "user", "content": "Later"}])]

    async def release(self, claim: Any, wake_at: str | None = None) -> None:
        await super().release(claim, wake_at)
        left, self.late = self.late, []
        for post in left:
            await self.post("t", post)


async def test_own_result_comes_back_though_others_left_something_at_the_last_moment() -> None:
    host = create_harness_host({"log": LeftLate()})
    session = await host.open(harness(Model("One.", "Two.")), "t")
    assert (await session.execute("Hi")).text == "One."
    assert (await session.settled("b")).text == "Two."
    await host.close()


# What is refused


async def refused(session: Any, store: Any, kind: type[SDKError], *said: Any, **options: Any) -> Any:
    """The error, once it is known that nothing was written."""
    before = (await store.read("t")).head
    with pytest.raises(kind) as error:
        await session.execute(*said, **options)
    assert (await store.read("t")).head == before
    assert await store.owner("t") is None
    return error.value


async def test_nothing_is_written_of_what_is_refused(host: HarnessHost, store: Any) -> None:
    await left(store, begun(offered=("weather",)), [r.Turn(calling("weather"), "tool_calls")])
    session = await host.open(harness(Model()), "t", recover=False)
    missing = await refused(session, store, SDKError, [])
    assert missing.code == "LOUSHO_RESUME_TOOL_MISSING"
    await refused(session, store, InputRejectedError, "Other words", input_id="a")
    with pytest.raises(ConfigurationError, match="blank"):
        await session.execute(" ")


async def test_a_changed_agent_is_refused_where_it_says_so(store: Any) -> None:
    told: list[str] = []
    host = create_harness_host({"log": store}, observer=Observer(lambda event: told.append(event.type)))
    first = await host.open(harness(Model(ProviderError("down", retryable=False)), instructions="Be brief."), "t")
    with pytest.raises(ProviderError):
        await first.execute("Hi")
    await host.close()
    told.clear()
    later = create_harness_host({"log": store}, observer=Observer(lambda event: told.append(event.type)))
    session = await later.open(harness(Model("Two."), instructions="Be long.", on_agent_drift="error"), "t", recover=False)
    await refused(session, store, AgentDriftError, [])
    assert told == ["run.start", "error", "run.done"]
    await later.close()


async def test_a_thread_that_is_driven_is_busy_here_and_elsewhere(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.")
    session = await host.open(harness(model), "t")
    await session.send("Hi", input_id="a")
    await model.begun.wait()
    other = create_harness_host({"log": store})
    for one in (session, await other.open(harness(Model()), "t", recover=False)):
        with pytest.raises(SessionBusyError):
            await one.execute("And?")
    model.go.set()
    assert (await session.settled("a")).text == "One."
    assert await texts(store) == ["Hi"]
    await other.close()


# What a person decides


async def test_a_decision_goes_on_at_once_and_an_edit_is_what_runs(host: HarnessHost, store: Any) -> None:
    ran: list[Any] = []
    session = await host.open(asks(ran, "Booked."), "t")
    paused = await session.execute("Book")
    assert (paused.finish_reason, paused.status) == ("awaiting-approval", "awaiting-approval")
    waits = await refused(session, store, SessionAwaitingApprovalError, "And?")
    assert waits.approval_id == paused.approval_id
    with pytest.raises(ConfigurationError, match="do not fit book"):
        await session.resume_after_approval({"id": paused.approval_id, "approved": True, "args": {"seats": "two"}})
    ended = await session.resume_after_approval({"id": paused.approval_id, "approved": True, "args": {"seats": 2}})
    assert (ended.text, ended.outcome, ran) == ("Booked.", "completed", [{"seats": 2}])
    assert (await state(store)).attempts == 1
    with pytest.raises(NotFoundError):
        await session.resume_after_approval({"id": paused.approval_id, "approved": False})


async def test_approving_with_an_edit_holds_the_tool_to_its_schema(host: HarnessHost, store: Any) -> None:
    ran: list[Any] = []
    session = await host.open(asks(ran, "Booked."), "t", user="ann")
    waits_for = str((await session.execute("Book", input_id="a")).approval_id)
    with pytest.raises(ConfigurationError, match="do not fit book"):
        await session.approve(waits_for, edit={"seats": "two"})
    assert [one.id for one in await session.pending()] == [waits_for]
    assert (await session.approve(waits_for, edit={"seats": 2})).status == "accepted"
    assert (await session.settled("a")).text == "Booked."
    (answered,) = await records(store, r.WaitAnswered)
    assert (ran, answered.args, answered.by) == ([{"seats": 2}], {"seats": 2}, "ann")
    assert answered.digest is not None


async def test_how_what_was_sent_came_to_rest(host: HarnessHost) -> None:
    session = await host.open(harness(Model("One.", ProviderError("down", retryable=False))), "t")
    assert await session.rest() is None
    await session.send("Hi")
    rested = await session.rest()
    assert rested is not None and rested.text == "One."
    await session.send("And?")
    with pytest.raises(ProviderError):
        await session.rest()


async def test_settings_of_our_own_are_not_among_a_threads(host: HarnessHost, store: Any) -> None:
    await left(store, begun(), [r.SettingChanged(HOST_FOLDER, "here")])
    session = await host.open(harness(Model("One.")), "t")
    await session.set_setting("colour", "red")
    await host.idle("t")
    assert await session.settings() == {"colour": "red"}
