"""The log of a thread as a host keeps it: records and their fold, a user's own records, events, and rules wider than a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import AbortedError, ConfigurationError, LogVersionError
from lousho_cli.executor.partials import AT_LEAST
from lousho_cli.host.harness import Harness, define_harness
from lousho_cli.host.host import HarnessHost, create_harness_host
from lousho_cli.host.persistence import MemoryMetadata
from lousho_cli.ports.provider import Answer, ModelRequest, TextDelta
from lousho_cli.ports.sessions import read_session
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.tools.function import function_tool


def scripted(*turns: Any, **options: Any) -> Harness:
    return define_harness("acme/assistant", ScriptedProvider([*(turns or ["Never."])]), **options)


async def records(store: Any, thread_id: str = "t") -> list[Any]:
    return [record for batch in (await store.read(thread_id)).batches for record in batch.records]


def numbered(*batches: tuple[Any, ...]) -> list[r.Batch]:
    return [r.Batch(seq, 1, "2026-01-01T00:00:00.000Z", one) for seq, one in enumerate(batches, 1)]


class Talker:
    """Streams what it is told, and keeps what it was asked. ``at`` is awaited in front of each piece."""

    name, model = "talker", "talker"

    def __init__(self, *answers: list[str], at: Any = None) -> None:
        self._answers, self._at = list(answers), at
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        self.asked.append(request)
        pieces = self._answers.pop(0)
        for number, piece in enumerate(pieces):
            if self._at is not None:
                await self._at(number)
            yield TextDelta(piece)
        yield Answer(Message(role="assistant", content="".join(pieces)))


# Records and their fold


async def test_ds_022_a_rewritten_message_is_one_splice_and_an_unchanged_transcript_none(host: HarnessHost, store: Any) -> None:
    claim = await store.claim("t", "before")
    history = (user("1"), Message("assistant", "", (ToolCall("c", "look"),)), user("2"))
    begun = (r.Created("acme/assistant"), r.InputReceived("a", (user("0"),)), r.RunStarted("a"), r.InputApplied("a"), r.Splice(0, history))
    await store.append(claim, [r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (*begun, r.InputSettled("a", "failed")))])
    await store.append(claim, [r.Batch(2, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Splice(1, (user("one"),)),))])
    await store.release(claim)
    assert [message.text for message in (await read_session(store, "t")).messages][:2] == ["1", "one"]
    session = await host.open(
        scripted({"tool_calls": [{"name": "look", "args": {}}]}, "Done.", tools=[function_tool(lambda: "x", name="look")]), "t"
    )
    await session.send("3", input_id="b")
    await session.settled("b")
    assert sum(isinstance(record, r.Splice) for record in await records(store)) == 2


async def test_ds_023_the_session_is_the_same_live_and_from_a_fresh_read(host: HarnessHost, store: Any) -> None:
    odd = {"n": 10**30, "text": "a\ud800", "bytes": b"x", "nan": float("nan")}
    ends: list[Any] = []
    harness = scripted({"tool_calls": [{"name": "odd", "args": {}}]}, "Done.", tools=[function_tool(lambda: odd, name="odd")])

    async def keep(thread: Any, _args: Any) -> None:
        ends.append(thread.session)

    session = await host.open(define_harness("acme/assistant", ScriptedProvider(["One."]), commands={"keep": keep}), "live")
    await session.send("1", input_id="a")
    await session.settled("a")
    await session.set_setting("odd", {"n": 10**30})
    await session.run_command("keep")
    await host.idle("live")
    until = next(batch.seq for batch in (await store.read("live")).batches if any(isinstance(one, r.CommandEnded) for one in batch.records))
    assert ends[0] == await read_session(store, "live", up_to=until - 1)
    other = await host.open(harness, "t")
    await other.send("1", input_id="a")
    await other.settled("a")
    result = next(record for record in await records(store) if isinstance(record, r.ToolFinished))
    assert result.altered and json.loads(result.content)["n"] == 10**30
    assert (await read_session(store, "t")).messages[2].text == result.content


def test_ds_024_a_second_input_with_a_known_id_changes_nothing() -> None:
    first = (r.InputReceived("a", (user("1"),), by="alice"),)
    assert fold(numbered(first, (r.InputReceived("a", (user("2"),), by="bob"),))).inputs == fold(numbered(first)).inputs


def test_ds_025_the_newest_count_of_retries_holds() -> None:
    counts = [(r.ModelRetry(count, "down"),) for count in (1, 3, 2, 0)]
    assert [fold(numbered(*counts[:length])).retries for length in (1, 2, 3, 4)] == [1, 3, 2, 0]


@pytest.mark.parametrize("kind", ["lousho.turn", "lousho.mine", "", None, 7])
async def test_ds_026_a_reserved_record_is_refused_and_nothing_written(host: HarnessHost, store: Any, kind: Any) -> None:
    session = await host.open(scripted(), "t")
    with pytest.raises(ConfigurationError) as caught:
        await session.append_records([{"type": "acme.note"}, {"type": kind}])
    assert caught.value.field == "records.1.type"
    assert (await store.read("t")).batches == ()


def notes(record: Any) -> str | None:
    return f"Note: {record['text']}" if record["type"] == "acme.note" else None


async def test_ds_027_a_projected_record_is_in_the_next_call_and_after_a_restart(store: Any) -> None:
    model = Talker(["One."], ["Two."])
    first = create_harness_host({"log": store})
    session = await first.open(define_harness("acme/assistant", model, instructions="Be brief.", project=notes), "t")
    own: list[Any] = [{"type": "acme.note", "text": "It rains."}, {"type": "acme.other", "n": 10**30}]
    assert (await session.append_records(own, input_id="n")).status == "accepted"
    assert (await session.append_records(own, input_id="n")).status == "accepted"
    await session.send("1", input_id="a")
    await session.settled("a")
    await first.close()
    seen = ["Be brief.", "Note: It rains.", "1"]
    assert [message.text for message in model.asked[0].messages] == seen
    kept = [record for record in await records(store) if isinstance(record, r.Foreign)]
    assert [json.loads(record.raw) for record in kept] == own
    second = create_harness_host({"log": store})
    session = await second.open(define_harness("acme/assistant", model, instructions="Be brief."), "t")  # without the function, too
    await session.send("2", input_id="b")
    await session.settled("b")
    assert [message.text for message in model.asked[1].messages] == [*seen, "One.", "2"]
    await second.close()


async def test_ds_028_what_is_projected_during_a_call_stands_behind_its_result(host: HarnessHost, store: Any) -> None:
    session: Any = None

    async def look() -> str:
        await session.append_records([{"type": "acme.note", "text": "It rains."}])
        return "seen"

    harness = scripted({"tool_calls": [{"name": "look", "args": {}}]}, "Done.", tools=[function_tool(look)], project=notes)
    session = await host.open(harness, "t")
    await session.send("1", input_id="a")
    assert (await session.settled("a")).outcome == "completed"
    kept = (await read_session(store, "t")).messages
    assert [(message.role, message.text) for message in kept][-3:] == [
        ("tool", '"seen"'),
        ("user", "Note: It rains."),
        ("assistant", "Done."),
    ]


async def test_a_record_that_can_not_be_projected_is_refused(host: HarnessHost, store: Any) -> None:
    session = await host.open(scripted(project=lambda record: record["missing"]), "t")
    receipt = await session.append_records([{"type": "acme.note"}])
    assert (receipt.status, receipt.reason) == ("rejected", "project_failed")
    assert not [record for record in await records(store) if isinstance(record, r.Foreign)]


# Events


@pytest.fixture
def by_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a tenth of a second passes anywhere, and brings a part of an answer by itself."""
    monkeypatch.setattr("lousho_cli.executor.partials.EVERY_S", 600.0)


async def looked_on(session: Any, store: Any) -> None:
    """Somebody looks on at the thread, which there is by then."""
    await session.set_setting("looked_on", True)
    await store.follow("t")


@pytest.mark.usefixtures("by_size_alone")
async def test_ds_029_pieces_of_one_answer_are_joined_and_those_of_another_are_their_own(host: HarnessHost, store: Any) -> None:
    small, rest = "x" * 64, ["y"] * 3
    session = await host.open(define_harness("acme/assistant", Talker([small] * (AT_LEAST // 32), rest)), "t")
    await looked_on(session, store)
    for key in ("a", "b"):
        await session.send(key, input_id=key)
        await session.settled(key)
    parts = [record.text for record in await records(store) if isinstance(record, r.Partial)]
    assert parts == [small * (AT_LEAST // 64)] * 2  # and the second answer is too short for one


@pytest.mark.usefixtures("by_size_alone")
async def test_ds_030_the_end_of_an_answer_brings_at_once_what_waited(host: HarnessHost, store: Any) -> None:
    session = await host.open(define_harness("acme/assistant", Talker(["Hel", "lo."])), "t")
    await session.send("1", input_id="a")
    heard = []
    async for event in session.events():
        heard.append(event)
        if event.type == "run.done":
            break
    told = [(event.type, event.text) for event in heard if event.type in ("text.delta", "step.done")]
    assert told == [("text.delta", "Hello."), ("step.done", "Hello.")]
    assert not [record for record in await records(store) if isinstance(record, r.Partial)]


@pytest.mark.usefixtures("by_size_alone")
async def test_ds_031_a_record_in_the_middle_of_an_answer_takes_nothing_from_it(host: HarnessHost, store: Any) -> None:
    """What of an answer waits to be told is no record: it comes with the next part or the turn, so none is lost or told twice."""
    session: Any = None

    async def at(number: int) -> None:
        if number == 2:
            await session.append_records([{"type": "acme.note"}])

    session = await host.open(define_harness("acme/assistant", Talker(["x" * AT_LEAST, "y", "z"], at=at)), "t")
    await looked_on(session, store)
    await session.send("1", input_id="a")
    await session.settled("a")
    own = [type(record) for record in await records(store) if isinstance(record, (r.Partial, r.Foreign, r.Appended, r.Turn))]
    assert own == [r.Partial, r.Foreign, r.Appended, r.Turn]
    text = ""
    async for event in session.events():
        text += event.text if event.type == "text.delta" else ""
        if event.type == "run.done":
            break
    assert text == "x" * AT_LEAST + "yz"


async def test_ds_032_a_newer_record_stops_the_session_and_nothing_is_written(host: HarnessHost, store: Any) -> None:
    claim = await store.claim("t", "newer")
    newer: Any = r.Foreign("lousho.from_the_future", b'{"type":"lousho.from_the_future"}')
    await store.append(claim, [r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Created("acme/assistant"), newer))])
    await store.release(claim)
    session = await host.open(scripted(), "t")
    with pytest.raises(LogVersionError):
        await session.send("1")
    assert (await store.read("t")).head == 1


async def test_ds_033_events_from_a_cursor_are_the_stored_and_then_the_live_ones(host: HarnessHost, store: Any, gated: Any) -> None:
    model = gated("One.", "Two.")
    session = await host.open(define_harness("acme/assistant", model), "t")
    model.go.set()
    await session.send("1", input_id="a")
    await session.settled("a")
    model.go.clear()
    model.begun.clear()
    await session.send("2", input_id="b")
    await model.begun.wait()

    async def read(after: tuple[int, int] | None) -> list[Any]:
        heard = []
        async for event in session.events(after):
            heard.append((event.cursor, event.index, event.type))
            if event.type == "run.done" and event.cursor >= end:
                break
        return heard

    end = (await store.read("t")).head
    listening = asyncio.create_task(read(None))
    await asyncio.sleep(0)
    model.go.set()
    whole = await listening
    assert [place[:2] for place in whole] == sorted({place[:2] for place in whole})
    assert [kind for _, _, kind in whole].count("run.done") == 2
    for place in (whole[0], whole[len(whole) // 2], whole[-2]):
        assert await read(place[:2]) == whole[whole.index(place) + 1 :]


async def test_ds_034_each_thread_of_a_store_has_its_own_records(host: HarnessHost, store: Any) -> None:
    for key in ("t", "u"):
        session = await host.open(scripted(f"For {key}.", project=notes), key)
        await session.append_records([{"type": "acme.note", "text": key, "thread": "u"}])  # naming another thread moves nothing
        await session.send(f"From {key}", input_id="a")
        assert (await session.settled("a")).text == f"For {key}."
    for key in ("t", "u"):
        kept = await read_session(store, key)
        assert [message.text for message in kept.messages] == [f"Note: {key}", f"From {key}", f"For {key}."]


async def test_ds_035_a_closed_handle_writes_nothing_more(host: HarnessHost, store: Any) -> None:
    session = await host.open(scripted("One."), "t")
    await session.send("1", input_id="a")
    await session.settled("a")
    await host.idle("t")
    session.close()
    before = (await store.read("t")).head
    late: list[Any] = [session.send("2"), session.append_records([{"type": "acme.note"}]), session.set_setting("a", 1), session.reset()]
    for call in (*late, session.run_command("any"), session.continue_(), session.cancel(), session.inputs()):
        with pytest.raises(AbortedError):
            await call
    assert (await store.read("t")).head == before
    assert await store.inbox("t") == ()


# Threads, and what is wider than one


async def test_ds_173_a_deleted_thread_starts_over(host: HarnessHost, store: Any) -> None:
    session = await host.open(scripted("One.", "Two."), "t")
    await session.send("1", input_id="a")
    await session.settled("a")
    await host.idle("t")
    assert await store.delete("t") is True
    assert (await session.send("2", input_id="a")).status == "accepted"
    assert (await session.settled("a")).text == "One."
    assert [message.text for message in (await read_session(store, "t")).messages] == ["2", "One."]


async def test_ds_174_opening_makes_no_thread_and_the_first_to_write_owns_it(store: Any, gated: Any) -> None:
    model = gated("One.")
    first, second = create_harness_host({"log": store}), create_harness_host({"log": store})
    here, there = await first.open(define_harness("acme/assistant", model), "t"), await second.open(scripted(), "t")
    assert (await store.heads()).heads == () and await store.owner("t") is None
    await here.send("1", input_id="a")
    await model.begun.wait()
    epoch = (await store.owner("t")).epoch
    assert (await there.send("2", input_id="b", busy="reject")).status == "queued"
    assert (await store.owner("t")).epoch == epoch
    model.go.set()
    await here.settled("a")
    await first.close()
    await second.close()


async def test_ds_183_an_always_holds_in_other_threads_and_after_a_restart(store: Any) -> None:
    metadata, paid = MemoryMetadata(), []
    pays = {"tool_calls": [{"name": "pay", "args": {}}]}

    def harness(name: str = "acme/assistant", **options: Any) -> Harness:
        tool = function_tool(lambda: paid.append(1), name="pay", needs_approval=True)
        return define_harness(name, ScriptedProvider([pays, "Done."]), tools=[tool], **options)

    async def outcome(host: HarnessHost, thread_id: str, made: Harness, tenant: str | None = None) -> str:
        session = await host.open(made, thread_id, tenant_id=tenant)
        await session.send("1", input_id="a")
        return (await session.settled("a")).outcome

    first = create_harness_host({"log": store, "metadata": metadata})
    session = await first.open(harness(), "t")
    await session.send("1", input_id="a")
    waits_for = (await session.settled("a")).waits_for
    assert (await session.approve(str(waits_for), always=True)).status == "accepted"
    await first.idle("t")
    assert (await session.settled("a")).outcome == "completed" and paid == [1]
    assert await outcome(first, "u", harness()) == "completed" and paid == [1, 1]
    await first.close()
    second = create_harness_host({"log": store, "metadata": metadata})
    assert await outcome(second, "v", harness()) == "completed" and len(paid) == 3
    # It is no other harness's, no other tenant's, and nothing against what is denied.
    assert await outcome(second, "w", harness("acme/other")) == "interrupted"
    assert await outcome(second, "x", harness(), "acme") == "interrupted"
    assert await outcome(second, "y", harness(permissions=[{"tool": "pay", "action": "deny"}])) == "completed"
    assert len(paid) == 3
    await second.close()
    third = create_harness_host({"log": store, "metadata": MemoryMetadata()})
    assert await outcome(third, "z", harness()) == "interrupted"
    await third.close()


async def test_metadata_that_fail_stop_no_turn(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def get(self, key: str) -> Any:
            raise OSError("no such server")

        set = delete = get

    pays = {"tool_calls": [{"name": "pay", "args": {}}]}
    harness = scripted(pays, "Done.", tools=[function_tool(lambda: "paid", name="pay", needs_approval=True)])
    host = create_harness_host({"log": store, "metadata": Broken()})
    session = await host.open(harness, "t")
    await session.send("1", input_id="a")
    waits_for = (await session.settled("a")).waits_for
    await session.approve(str(waits_for), always=True)
    await host.idle("t")
    assert (await session.settled("a")).outcome == "completed"
    assert "no such server" in caplog.text
    await host.close()
