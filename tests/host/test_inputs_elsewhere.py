"""Inputs, commands and settings on a host that does not own the thread: the owner takes them, and everybody reads what came of it."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import AbortedError, CommandFailedError, ConfigurationError, InputRejectedError, StorageError
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import create_harness_host
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.tools.function import function_tool
from tests.host.left import begun as begun_by
from tests.host.left import left
from tests.host.owning import until


def scripted(*turns: Any, **options: Any) -> Harness:
    return define_harness("acme/assistant", ScriptedProvider([*(turns or ["Never."])]), **options)


async def records(store: Any) -> list[Any]:
    return [record for batch in (await store.read("t")).batches for record in batch.records]


class Two:
    """Two hosts on one store. The first drives a turn of thread ``t`` until ``model.go`` is set."""

    def __init__(self, store: Any, model: Any, **options: Any) -> None:
        self.store, self.model = store, model
        self.owner, self.other = create_harness_host({"log": store}), create_harness_host({"log": store})
        self._options = options

    async def __aenter__(self) -> Two:
        self.here = await self.owner.open(define_harness("acme/assistant", self.model, **self._options), "t")
        await self.here.send("1", input_id="a")
        await self.model.begun.wait()
        self.there = await self.other.open(scripted(), "t")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.model.go.set()
        await self.owner.close()
        await self.other.close()


async def test_ds_151_the_first_write_takes_the_log_and_its_owner_runs_what_others_send(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.", "Two.")) as two:
        assert (await store.owner("t")) is not None
        assert (await two.there.send("2", input_id="b")).status == "queued"
        assert [one.input_id for one in await two.there.inputs()] == ["b"]
        two.model.go.set()
        async with asyncio.timeout(20):
            assert (await two.there.settled("b")).text == "Two."
        assert {batch.epoch for batch in (await store.read("t")).batches} == {1}


async def test_ds_152_a_refusal_by_the_owner_reaches_the_sender(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.")) as two:
        assert (await two.there.send("2", input_id="b", busy="reject")).status == "queued"
        with pytest.raises(InputRejectedError) as caught:
            await two.there.settled("b")
        assert (caught.value.receipt.input_id, caught.value.receipt.reason) == ("b", "busy")  # type: ignore[attr-defined]


async def test_ds_153_a_command_ends_on_the_sender_as_it_did_on_the_owner(store: Any, gated: Any) -> None:
    done: list[Any] = []

    async def add(thread: Any, args: Any) -> Any:
        done.append((thread.thread_id, thread.user, [message.text for message in thread.messages]))
        await thread.set_setting("sum", args["a"] + args["b"])
        return {"sum": args["a"] + args["b"]}

    def breaks(_thread: Any, _args: Any) -> Any:
        raise LookupError("no such order")

    def refuses(_thread: Any, _args: Any) -> Any:
        raise ConfigurationError("the order is closed", code="ACME_CLOSED")

    commands = {"add": add, "breaks": breaks, "refuses": refuses}
    async with Two(store, gated("One."), commands=commands) as two:
        assert await two.there.run_command("add", {"a": 1, "b": 2}) == {"sum": 3}
        assert await two.there.settings() == {"sum": 3}
        assert done == [("t", None, ["1"])]
        with pytest.raises(CommandFailedError, match="LookupError: no such order"):
            await two.there.run_command("breaks")
        with pytest.raises(CommandFailedError) as caught:
            await two.there.run_command("refuses")
        assert (caught.value.code, caught.value.detail) == ("ACME_CLOSED", "the order is closed")
        with pytest.raises(LookupError, match="no such order"):
            await two.here.run_command("breaks")  # where it was raised it is raised as it is
        assert await two.here.run_command("add", {"a": 2, "b": 2}) == {"sum": 4}


async def test_ds_154_another_host_streams_the_turn_and_takes_nothing_away(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.")) as two:
        heard: list[Any] = []

        async def listen() -> None:
            async for event in two.there.events():
                heard.append(event)
                if event.type == "run.done":
                    return

        listening = asyncio.create_task(listen())
        owner = await store.owner("t")
        two.model.go.set()
        async with asyncio.timeout(20):
            await listening
        assert [event.text for event in heard if event.type == "step.done"] == ["One."]
        assert owner is not None and {batch.epoch for batch in (await store.read("t")).batches} == {owner.epoch}
        assert (await two.there.settled("a")).text == "One."


async def test_ds_215_a_command_that_the_owner_refuses_raises_on_the_sender(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.")) as two:
        for session in (two.there, two.here):
            with pytest.raises(InputRejectedError) as caught:
                await session.run_command("nobody-knows")
            assert caught.value.receipt.reason == "unknown_command"  # type: ignore[attr-defined]


async def test_ds_086_a_command_left_for_an_owner_that_is_gone_is_rejected(store: Any, gated: Any) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def hangs(_thread: Any, _args: Any) -> None:
        begun.set()
        await done.wait()

    async with Two(store, gated("One."), commands={"hangs": hangs}) as two:
        asking = asyncio.create_task(two.there.run_command("hangs"))
        await begun.wait()
        await two.owner.close()
        with pytest.raises(InputRejectedError) as caught:
            await asking
        assert caught.value.receipt.reason == "expired_on_restart"  # type: ignore[attr-defined]
        await two.other.idle("t")
        assert await store.inbox("t") == ()


async def test_a_command_keeps_the_thread_while_it_runs_and_inputs_run_beside_it(store: Any) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def waits(_thread: Any, _args: Any) -> str:
        begun.set()
        await go.wait()
        return "done"

    host = create_harness_host({"log": store})
    session = await host.open(scripted("One.", commands={"waits": waits}), "t")
    asking = asyncio.create_task(session.run_command("waits"))
    await begun.wait()
    await session.send("1", input_id="a")
    assert (await session.settled("a")).text == "One."
    assert await store.owner("t") is not None
    go.set()
    assert await asking == "done"
    await host.idle("t")
    assert await store.owner("t") is None
    await host.close()


async def test_ds_207_an_input_for_its_owner_keeps_what_is_json(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.", "Two.")) as two:
        overrides = {"model": "small", "model_options": {"seed": 1}, "reasoning": "low", "prompt_cache": True}
        objects = {"adapter": ScriptedProvider(["Theirs."]), "tools": [function_tool(lambda: "x", name="theirs")]}
        await two.there.send("2", input_id="b", overrides=overrides | objects)
        two.model.go.set()
        assert (await two.there.settled("b")).text == "Two."
        asked = two.model.asked[1]
        assert (asked.model, asked.model_options, asked.reasoning, asked.prompt_cache, asked.tools) == (
            "small",
            {"seed": 1},
            "low",
            True,
            (),
        )
    received = [one for one in await records(store) if isinstance(one, r.InputReceived)]
    assert received[1].overrides == overrides


async def test_ds_208_the_state_of_an_interrupted_turn_is_seen_everywhere(store: Any) -> None:
    hosts = [create_harness_host({"log": store}) for _ in range(2)]
    asks = {"tool_calls": [{"name": "pay", "args": {}}]}
    made = scripted(asks, "Done.", tools=[function_tool(lambda: "paid", name="pay", needs_approval=True)])
    here, there = [await host.open(made, "t") for host in hosts]
    assert await there.pending() == []
    await here.send("1", input_id="a")
    waits = (await there.settled("a")).waits_for
    assert [one.id for one in await there.pending()] == [waits]
    assert (await here.approve(str(waits))).status == "accepted"
    assert (await there.settled("a")).text == "Done."
    assert (await there.pending(), (await there.approve(str(waits))).reason) == ([], "no_pending_interrupts")
    for host in hosts:
        await host.close()


async def test_ds_208_settings_set_anywhere_are_read_everywhere(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.")) as two:
        assert (await two.here.set_setting("mode", "plan")).status == "accepted"
        assert await two.there.settings() == {"mode": "plan"}
        assert (await two.there.set_setting("mode", {"name": "default"})).status == "queued"
        async with asyncio.timeout(20):
            while await two.here.settings() != {"mode": {"name": "default"}}:
                await store.watch("t", (await store.read("t")).head, 50)
        await two.here.set_setting("mode", None)
        assert await two.there.settings() == {}
        for name, value in ((" ", 1), ("mode", float("nan"))):
            with pytest.raises(ConfigurationError):
                await two.there.set_setting(name, value)
    again = create_harness_host({"log": store})
    session = await again.open(scripted(), "t")
    await session.set_setting("kept", [1])
    assert await session.settings() == {"kept": [1]}
    await again.close()


async def test_records_for_an_owner_elsewhere_are_written_by_it_once(store: Any, gated: Any) -> None:
    async with Two(store, gated("One.")) as two:
        note = [{"type": "acme.note", "n": 1}]
        assert (await two.there.append_records(note, input_id="n")).status == "queued"
        assert (await two.there.settled("n")).outcome == "completed"
        assert (await two.there.append_records(note, input_id="n")).status == "accepted"
        assert (await two.here.append_records([{"type": "acme.note", "n": 2}], input_id="n")).reason == "conflict"
    own = [one for one in await records(store) if isinstance(one, r.Foreign)]
    assert [one.type for one in own] == ["acme.note"]
    # A post that was written and not yet removed when its owner died is only removed.
    await store.post("t", Post("n", "append", "2026-01-01T00:00:00.000Z", body={"records": note}))
    again = create_harness_host({"log": store})
    session = await again.open(scripted(), "t")
    await session.recover_pending_work()
    await again.idle("t")
    assert [one.type for one in await records(store) if isinstance(one, r.Foreign)] == ["acme.note"]
    assert await store.inbox("t") == ()
    await again.close()


async def test_ds_214_a_plain_answer_waits_as_typed_until_the_owner_has_it(store: Any) -> None:
    host = create_harness_host({"log": store})
    ask = {"tool_calls": [{"name": "pay", "args": {}}]}
    harness = scripted(ask, "Done.", tools=[function_tool(lambda: "paid", name="pay", needs_approval=True)])
    session = await host.open(harness, "t")
    await session.send("1", input_id="a")
    waits_for = (await session.settled("a")).waits_for
    await host.idle("t")
    claim = await store.claim("t", "somebody else")  # who owns it takes no posts
    body = {"id": waits_for, "approved": True, "note": "as typed", "by": "alice"}
    await store.post("t", Post("p", "answer", "2026-01-01T00:00:00.000Z", "alice", body))
    assert [post.body["note"] for post in await store.inbox("t")] == ["as typed"]
    await store.release(claim)
    await session.recover_pending_work()
    await host.idle("t")
    assert (await session.settled("a")).outcome == "completed"
    assert await store.inbox("t") == ()
    answered = [one for one in await records(store) if isinstance(one, r.WaitAnswered)]
    assert [(one.note, one.by, one.post) for one in answered] == [("as typed", "alice", "p")]
    assert (await read_session(store, "t")).wait is None
    await host.close()


async def test_whatever_comes_first_a_thread_is_its_tenants(store: Any) -> None:
    host = create_harness_host({"log": store})
    harness = scripted("One.", commands={"any": lambda _thread, _args: 1})
    firsts: dict[str, Any] = {
        "command": lambda session: session.run_command("any"),
        "setting": lambda session: session.set_setting("a", 1),
        "append": lambda session: session.append_records([{"type": "acme.note"}]),
        "reset": lambda session: session.reset("Note."),
    }
    for thread_id, first in firsts.items():
        await first(await host.open(harness, thread_id, tenant_id="acme"))
        await host.idle(thread_id)
        head = await store.head(thread_id)
        assert (head.harness, head.tenant) == ("acme/assistant", "acme")
    await host.close()
    again = create_harness_host({"log": store})
    for thread_id in firsts:
        with pytest.raises(ConfigurationError):
            await again.open(harness, thread_id)
        session = await again.open(harness, thread_id, tenant_id="acme")
        await session.send("1", input_id="a")
        assert (await session.settled("a")).text == "One."
    await again.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks that begin at once came with Python 3.12")
async def test_a_command_ends_on_a_loop_whose_tasks_begin_at_once(store: Any) -> None:
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    host = create_harness_host({"log": store})
    session = await host.open(scripted("One.", commands={"any": lambda _thread, _args: 1}), "t")
    assert await session.run_command("any") == 1
    await asyncio.wait_for(host.idle("t"), 30)
    await session.send("1", input_id="a")
    assert (await session.settled("a")).text == "One."
    await host.close()


async def test_a_command_that_tidies_up_when_it_is_stopped_holds_nothing_up(store: Any) -> None:
    begun, refused = asyncio.Event(), asyncio.Event()

    async def tidies(thread: Any, _args: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await thread.set_setting("tidy", True)
            except AbortedError:
                refused.set()

    async def fails(_info: Any) -> None:
        await begun.wait()
        raise RuntimeError("the hook failed")

    await left(store, begun_by())
    host = create_harness_host({"log": store})
    harness = scripted("One.", commands={"tidies": tidies}, durability={"recover": fails})
    await store.post("t", Post("c", "command", "2026-01-01T00:00:00.000Z", None, {"name": "tidies", "args": None}))
    async with asyncio.timeout(30):
        await host.open(harness, "t")
        await host.idle("t")
        assert refused.is_set()
        assert await store.owner("t") is None
        await host.close()


async def test_posts_that_can_not_be_removed_are_recorded_once_and_end_nothing(gated: Any) -> None:
    class Stuck(MemoryStore):
        stuck = True

        async def discard(self, log_id: str, post_ids: Any) -> None:
            if self.stuck and post_ids:
                raise StorageError("the disk is read-only for now")
            await super().discard(log_id, post_ids)

    store = Stuck()
    async with Two(store, gated("One.")) as two:
        await two.there.send("2", input_id="b")
        await two.there.set_setting("level", 1)
        await until(lambda: _has(store, "level", 1))
        await two.there.set_setting("level", 2)  # the owner still looks for posts
        await until(lambda: _has(store, "level", 2))
        store.stuck = False
        await until(lambda: _nothing_left(store))
        assert [one.value for one in await records(store) if isinstance(one, r.SettingChanged)] == [1, 2]


async def _has(store: Any, name: str, value: Any) -> bool:
    return bool((await read_session(store, "t")).settings.get(name) == value)


async def _nothing_left(store: Any) -> bool:
    return not await store.inbox("t")
