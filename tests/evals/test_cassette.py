"""A run is recorded and played again: what comes back is what was said, and nobody is asked."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli import (
    AbortController,
    CassetteMismatchError,
    ConfigurationError,
    ProviderError,
    ScriptedProvider,
    cassette,
    create_agent,
    memory_store,
    retry_transient_errors,
)
from lousho_cli.domain.messages import Message, Native, Reasoning, ToolCall
from lousho_cli.domain.records import ModelRetry
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import SDKError
from lousho_cli.evals.cassette import CassetteProvider
from lousho_cli.evals.cassette_file import Failure, Response, Usage
from lousho_cli.evals.tape import Tape
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta, ToolSpec
from lousho_cli.ports.sessions import read_session


async def turns_of(store: Any) -> list[Any]:
    """What the log of session ``s`` holds of the model: messages, usage, fingerprint."""
    session = await read_session(store, "s")
    return [tuple(session.messages), session.usage, session.run.fingerprint, session.run.model]


async def test_de_129_replay_calls_no_provider_and_gives_what_was_recorded(bench: Any, tape: Path) -> None:
    whole = Answer(
        Message(
            "assistant",
            "Let me look.",
            tool_calls=(ToolCall("toolu_01abcdefgh", "weather", '{ "n":9007199254740993,"city" : "Lisbon"}'),),
            reasoning=(Reasoning("hm", "c2lnbmVk+/=="), Reasoning(redacted="b3BhcXVl")),
            native=Native("written", '{"blocks":[{"n":9007199254740993}]}'),
            metadata={"kept": [1, "two"]},
        ),
        "tool_calls",
        CallUsage(**dict.fromkeys(CallUsage.__struct_fields__, 8)),
        "m-1-2026-01-02",
    )
    last = [TextDelta("Sunny."), msgspec.structs.replace(whole, message=Message("assistant", "Sunny."), finish_reason="stop")]
    model = bench.Model([ReasoningDelta("h"), ReasoningDelta("m"), TextDelta("Let me "), TextDelta("look."), whole], last)
    calls: list[Any] = []
    stores, results, told = [memory_store(), memory_store()], [], []
    for store, provider in zip(stores, (model, None), strict=True):
        heard: list[Any] = []
        tools = [bench.weather(calls=calls)]
        results.append(await bench.run(cassette(provider, tape), tools=tools, store=store, on_event=heard.append))
        told.append([(event.type, event.text) for event in heard if isinstance(getattr(event, "text", None), str)])
    assert len(model.asked) == 2
    assert results[0].text == results[1].text == "Sunny."
    assert results[0].usage == results[1].usage
    assert results[1].usage.input_tokens == 16
    first, again = [await turns_of(store) for store in stores]
    assert first == again
    answer = next(message for message in again[0] if message.role == "assistant")
    assert answer == whole.message
    assert calls == [("Lisbon", 9007199254740993)] * 2
    assert told[0] == told[1] != []


def test_nothing_that_an_answer_or_a_failure_can_hold_is_left_out() -> None:
    def same(ours: Any, kept: Any, *without: str) -> bool:
        return set(ours.__struct_fields__) - set(without) <= set(kept.__struct_fields__)

    assert same(CallUsage, Usage)
    assert same(Answer, Response, "message")
    assert set(ToolCall.__struct_fields__) == {"id", "name", "arguments"}
    not_of_an_answer = ("role", "content", "tool_call_id", "tool_name", "is_error")
    assert same(Message, Response, *not_of_an_answer)
    assert set(vars(ProviderError("x"))) - {"detail"} <= set(Failure.__struct_fields__)


async def test_a_replay_gives_the_very_events(bench: Any, tape: Path) -> None:
    given = [TextDelta("a"), ReasoningDelta("b"), TextDelta("c"), Answer(Message("assistant", "ac"), "length", None, "other")]
    model = bench.Model(list(given))
    assert await bench.events(cassette(model, tape), bench.request("hi")) == given
    assert await bench.events(cassette(None, tape), bench.request("hi")) == given


async def test_de_130_a_changed_request_names_the_call_and_the_first_differing_path(bench: Any, tape: Path) -> None:
    model = bench.Model(bench.calling("weather", {"city": "Lisbon"}), "Sunny.")
    await bench.run(cassette(model, tape), tools=[bench.weather()])
    never = bench.Model()
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.run(cassette(never, tape), tools=[bench.weather("rain")])
    error = caught.value
    assert (error.code, error.call, error.at, error.path) == ("LOUSHO_CASSETTE_MISMATCH", 2, "messages[3].content", str(tape))
    assert "call 2" in error.detail
    assert "rain" in error.detail.partition("recorded was")[0]
    assert "sun" in error.detail.partition("recorded was")[2]
    assert str(tape) in error.detail
    assert "record again" in error.hint
    assert never.asked == []
    assert isinstance(error, SDKError)
    assert not isinstance(error, ProviderError)


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({"agent": {"name": "agent", "prompt": "Be long."}}, "messages[0].content"),
        ({"text": "stop"}, "messages[1].content"),
        ({"agent": {"name": "agent", "prompt": "Be brief.", "model": "m-2"}}, "model"),
        ({"tools": ()}, "tools[0]"),
    ],
)
async def test_what_of_a_request_is_told(bench: Any, tape: Path, changed: dict[str, Any], at: str) -> None:
    options = {"tools": [bench.weather()], "text": "go"}
    await bench.run(cassette(bench.Model("ok"), tape), **options)
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.run(cassette(None, tape), **(options | changed))
    assert (caught.value.call, caught.value.at) == (1, at)


async def test_a_mismatch_is_never_retried_and_running_out_says_so(bench: Any, tape: Path) -> None:
    await bench.recorded(tape, "one")
    provider = cassette(None, tape)
    assert await bench.said(provider, "one") == "one!1"
    with pytest.raises(CassetteMismatchError, match="used up") as caught:
        await bench.said(provider, "one")
    assert (caught.value.code, caught.value.call) == ("LOUSHO_CASSETTE_EXHAUSTED", 2)
    with pytest.raises(CassetteMismatchError):
        await bench.run(cassette(None, tape), on_model_error=retry_transient_errors())


async def test_de_132_times_dates_ids_and_the_spelling_of_arguments_do_not_break_a_match(bench: Any, tape: Path) -> None:
    def asked(prompt: str, args: str, call: str, schema: dict[str, Any]) -> ModelRequest:
        messages = (
            Message("user", prompt),
            Message("assistant", tool_calls=(ToolCall(call, "weather", args),)),
            Message("tool", '{"forecast":"sun"}', tool_call_id=call, tool_name="weather"),
        )
        return ModelRequest(messages, (ToolSpec("weather", "Forecast", schema),), "m-1")

    one = asked(
        "At 2026-01-02T03:04:05.678Z, 1767323045678, on 2026-01-02, January 2, 2026, "
        "7f3a9c1e-2b4d-4c6d-8e9f-0123456789ab, call_Ab12Cd34, req_0123456789",
        '{"city":"Lisbon","n":1}',
        "call_1",
        {"type": "object", "properties": {"city": {"type": "string"}, "n": {"minimum": 1}}},
    )
    other = asked(
        "At 2027-11-12 13:14:15+02:00, 1794489255000, on 2027-11-12, Friday, 12 November 2027, "
        "00000000-0000-4000-8000-000000000000, toolu_Zz99Yy88, run_abcdefgh",
        '{ "n": 1.0, "city": "Lisbon" }',
        "call_2",
        {"properties": {"n": {"minimum": 1.0}, "city": {"type": "string"}}, "type": "object"},
    )
    await bench.events(cassette(bench.Model("ok"), tape), one)
    assert (await bench.events(cassette(None, tape), other))[-1].message.text == "ok"
    assert "At <timestamp>, <timestamp>, on <date>, <date>, <uuid>, <id>, <id>" in tape.read_text()
    with pytest.raises(CassetteMismatchError) as caught:
        changed = asked(other.messages[0].text, '{"city":"Lisbon","n":true}', "call_2", other.tools[0].schema)
        await bench.events(cassette(None, tape), changed)
    assert caught.value.at == "messages[1].toolCalls[0].args"


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("slow down", category="rate-limit", retryable=True, retry_after_ms=1500, hint="Wait."),
        ProviderError("cut", category="network", retryable=True, partial=True, code="LOUSHO_PROVIDER_REQUEST_FAILED"),
        type("TooBusy", (ProviderError,), {})("busy", category="overloaded"),
        RuntimeError("boom"),
    ],
    ids=["limited", "cut", "own kind", "foreign"],
)
async def test_de_133_a_recorded_error_is_raised_with_the_same_name_and_message(bench: Any, tape: Path, error: Exception) -> None:
    seen = []
    for model in (bench.Model([TextDelta("half an"), error]), None):
        told = []
        with pytest.raises(Exception) as caught:
            async for event in cassette(model, tape).stream(bench.request("hi")):
                told.append(event)
        fields = {name: value for name, value in vars(caught.value).items() if not name.startswith("_") and name != "replayed"}
        seen.append((type(caught.value).__name__, str(caught.value), fields, told))
    assert seen[0] == seen[1]
    assert seen[1][3] == [TextDelta("half an")]


async def test_a_recorded_failure_is_retried_as_it_was(bench: Any, tape: Path) -> None:
    busy = ProviderError("busy", category="overloaded", retryable=True)
    waits = []

    def again(error: ProviderError, count: int, chance: float) -> int:
        waits.append((error.category, count))
        return 0

    for model in (bench.Model(busy, busy, "ok"), None):
        assert (await bench.run(cassette(model, tape), on_model_error=again)).text == "ok"
    assert waits == [("overloaded", 0), ("overloaded", 1)] * 2


async def test_a_text_that_was_changed_in_the_file_is_the_one_that_is_streamed(bench: Any, tape: Path) -> None:
    pieces = [ReasoningDelta("hm"), TextDelta("so"), TextDelta("me")]
    await bench.events(cassette(bench.Model([*pieces, Answer(Message("assistant", "some"))]), tape), bench.request("hi"))
    tape.write_text(tape.read_text().replace('"text": "some"', '"text": "other"'))
    *played, answer = await bench.events(cassette(None, tape), bench.request("hi"))
    assert (played, answer.message.text) == ([ReasoningDelta("hm"), TextDelta("other")], "other")


async def test_a_replay_does_not_wait_as_the_recording_had_to(bench: Any, tape: Path) -> None:
    busy = ProviderError("busy", category="overloaded", retryable=True, retry_after_ms=60)
    store = memory_store()
    waits = []
    for model, delays in ((bench.Model(busy, "ok"), False), (None, False), (None, True)):
        provider = cassette(model, tape, delays=delays)
        session = f"s{len(waits)}"
        assert (await bench.run(provider, on_model_error=retry_transient_errors(), store=store, session_id=session)).text == "ok"
        records = [record for batch in (await store.read(session)).batches for record in batch.records]
        waits.append([record.wait_ms for record in records if isinstance(record, ModelRetry)])
    assert waits == [[60], [0], [60]]


async def test_what_a_replay_would_not_have_asked_again_it_does_not(bench: Any, tape: Path) -> None:
    later = ProviderError("busy", category="rate-limit", retryable=True, retry_after_ms=3_600_000)
    for model in (bench.Model(later, "ok"), None):
        with pytest.raises(ProviderError, match="busy"):
            await bench.run(cassette(model, tape), on_model_error=retry_transient_errors())


async def test_who_is_asked_behind_what_was_recorded_is_waited_for(bench: Any, tape: Path) -> None:
    busy = ProviderError("busy", category="overloaded", retryable=True, retry_after_ms=60)
    with pytest.raises(ProviderError, match="busy"):
        await bench.events(CassetteProvider(bench.Model(busy), Tape(tape, stays_open=True)), bench.request("hi"))
    with pytest.raises(ProviderError, match="busy") as caught:
        await bench.events(CassetteProvider(bench.Model("ok"), Tape(tape)), bench.request("hi"))
    assert not caught.value.replayed


async def test_an_answer_that_breaks_off_is_recorded_as_a_failure(bench: Any, tape: Path) -> None:
    for model in (bench.Model([TextDelta("hal")]), None):
        with pytest.raises(ProviderError, match="broke off") as caught:
            await bench.events(cassette(model, tape), bench.request("hi"))
        assert caught.value.retryable


async def test_our_own_errors_are_not_recorded(bench: Any, tape: Path) -> None:
    provider = cassette(bench.Model(ConfigurationError("no key", code="LOUSHO_PROVIDER_KEY_MISSING"), "ok"), tape)
    with pytest.raises(ConfigurationError):
        await bench.said(provider, "hi")
    assert not tape.exists()
    assert await bench.said(provider, "hi") == "ok"
    assert len(bench.content(tape)["entries"]) == 1


async def test_an_abort_wins_before_lookup_and_uses_up_no_entry(bench: Any, tape: Path) -> None:
    await bench.recorded(tape, "one")
    provider = cassette(None, tape)

    async def aborted_before(text: str) -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await bench.said(provider, text)

    for text in ("one", "something else"):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(aborted_before(text))
    assert await bench.said(provider, "one") == "one!1"
    aborted = AbortController()
    aborted.abort("no more")
    assert (await bench.run(cassette(None, tape), signal=aborted.signal)).outcome == "aborted"


async def test_a_call_that_is_aborted_while_it_is_recorded_leaves_no_entry(bench: Any, tape: Path) -> None:
    begun, forever = asyncio.Event(), asyncio.Event()

    async def hangs(request: Any) -> Any:
        begun.set()
        await forever.wait()

    provider = cassette(bench.Model("one", hangs), tape)
    await bench.said(provider, "a")
    task = asyncio.ensure_future(bench.said(provider, "b"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(bench.content(tape)["entries"]) == 1


async def test_the_mode_is_fixed_when_it_is_made(bench: Any, tape: Path) -> None:
    recording = cassette(bench.Model("one", "two"), tape)
    assert await bench.said(recording, "a") == "one"
    assert await bench.said(recording, "b") == "two"
    assert [await bench.said(cassette(None, tape), "a")] == ["one"]
    replaced = bench.Model("three")
    assert await bench.said(cassette(replaced, tape, "record"), "c") == "three"
    assert [entry["response"]["text"] for entry in bench.content(tape)["entries"]] == ["three"]
    with pytest.raises(ConfigurationError):
        cassette(replaced, tape, "again")
    with pytest.raises(ConfigurationError):
        cassette(replaced, tape, match="most")
    with pytest.raises(ConfigurationError):
        cassette(None, tape, "record")


async def test_it_passes_for_the_provider_it_is_around(bench: Any, tape: Path) -> None:
    model = bench.Model("ok")
    plain, around = memory_store(), memory_store()
    await bench.run(bench.Model("ok"), store=plain)
    await bench.run(provider := cassette(model, tape), store=around)
    assert (provider.name, provider.model, provider.address) == ("written", "m-1", "https://models.test/v1")
    assert await turns_of(plain) == await turns_of(around)
    alone = cassette(None, tape)
    assert (alone.name, alone.model) == ("written", "m-1")
    assert not hasattr(alone, "address")


async def test_it_works_under_create_agent_and_with_a_script(tape: Path) -> None:
    script = ScriptedProvider([{"text": "One."}, {"text": "Two."}])
    for provider in (script, None):
        agent = create_agent(provider=cassette(provider, tape), store=memory_store(), instructions="Be brief.")
        assert [(await agent.send(text, session_id="s")).text for text in ("a", "b")] == ["One.", "Two."]


async def test_pieces_can_be_played_as_slowly_as_they_came(bench: Any, tape: Path) -> None:
    tape.parent.mkdir()
    await bench.recorded(tape, "one")
    text = tape.read_text()
    tape.write_text(text.replace('"delayMs": 0', '"delayMs": 3600000'))
    await bench.said(cassette(None, tape), "one")  # and an hour is not over
    tape.write_text(text.replace('"delayMs": 0', '"delayMs": 60'))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await bench.said(cassette(None, tape, delays=True), "one")
    assert loop.time() - begun > 0.05


def test_reading_one_loads_no_httpx(tmp_path: Path) -> None:
    code = "import sys, lousho_cli; lousho_cli.cassette; lousho_cli.CassetteProvider; print('httpx' in sys.modules)"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
