"""Which entry answers which call: in order, by what is asked, and when several ask at once."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import CassetteMismatchError, SubAgent, cassette, memory_store
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.evals.cassette import CassetteProvider
from lousho_cli.evals.cassette_file import Request, RequestCall, RequestMessage
from lousho_cli.evals.cassette_matching import key_of
from lousho_cli.evals.tape import Tape
from lousho_cli.ports.provider import Answer, ModelRequest, TextDelta
from lousho_cli.ports.sessions import read_session
from lousho_cli.tools.function import function_tool


async def test_in_a_sequence_call_n_gets_entry_n(bench: Any, tape: Path) -> None:
    await bench.recorded(tape, "a", "b")
    provider = cassette(None, tape)
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.said(provider, "b")
    assert (caught.value.call, caught.value.at) == (1, "messages[0].content")
    assert await bench.said(provider, "a") == "a!1"
    assert await bench.said(provider, "b") == "b!2"


async def test_by_request_the_order_does_not_matter_and_each_is_used_once(bench: Any, tape: Path) -> None:
    await bench.recorded(tape, "same", "b", "same")
    provider = cassette(None, tape, match="request")
    assert [await bench.said(provider, text) for text in ("b", "same", "same")] == ["b!2", "same!1", "same!3"]
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.said(provider, "same")
    assert caught.value.code == "LOUSHO_CASSETTE_EXHAUSTED"


async def test_by_request_a_miss_names_what_is_nearest(bench: Any, tape: Path) -> None:
    provider = cassette(bench.Model("1", "2", "3"), tape)
    for texts in (("x",), ("a", "b", "c"), ("a", "z")):
        await bench.events(provider, bench.request(*texts))
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.events(cassette(None, tape, match="request"), bench.request("a", "b", "changed"))
    assert caught.value.at == "messages[2].content"
    assert '"changed", recorded was "c"' in caught.value.detail


async def test_long_values_are_told_where_they_part(bench: Any, tape: Path) -> None:
    long = "word " * 500
    await bench.said(cassette(bench.Model("ok"), tape), long + "one" + long)
    with pytest.raises(CassetteMismatchError) as caught:
        await bench.said(cassette(None, tape), long + "two" + long)
    assert "twoword" in caught.value.detail
    assert "oneword" in caught.value.detail
    assert len(caught.value.detail) < 500


# Several at once


class Answers:
    """A provider that answers from the transcript, as late as it is told to: a lead that hands out work, and its scouts."""

    name, model = "written", "m-1"

    def __init__(self, seed: int, inputs: tuple[str, ...] = ("north", "south", "west"), steps: int = 3) -> None:
        self._chance = random.Random(seed)
        self._inputs, self._steps = inputs, steps
        self.asked = 0

    async def stream(self, request: ModelRequest) -> Any:
        self.asked += 1
        for _ in range(self._chance.randrange(6)):
            await asyncio.sleep(0)
        first = next(message.text for message in request.messages if message.role == "user")
        done = sum(message.role == "assistant" for message in request.messages)
        yield TextDelta(f"{first} {done}")
        calls: tuple[ToolCall, ...] = ()
        if first == "go" and done == 0:
            calls = tuple(ToolCall(f"lead{n}", "scout", f'{{"input":"{one}"}}') for n, one in enumerate(self._inputs))
        elif first != "go" and done < self._steps - 1:
            calls = (ToolCall(f"{first}{done}", "look", f'{{"n":{done}}}'),)
        yield Answer(Message("assistant", f"{first} {done}", tool_calls=calls), "tool_calls" if calls else "stop")


def slow(seed: int) -> Any:
    """A tool that takes now more, now less time."""
    chance = random.Random(seed)

    async def look(n: int = 0) -> int:
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0)
        return n

    return function_tool(look)


async def lead(bench: Any, provider: Any, seed: int, own: Any = None) -> tuple[Any, Any]:
    store = memory_store()
    scout = SubAgent({"name": "scout", "prompt": "You scout."}, provider=own, tools=[slow(seed)])
    ran = await bench.run(provider, store=store, subagents={"scout": scout})
    session = await read_session(store, "s")
    return ran, (tuple(session.messages), session.usage)


@pytest.mark.parametrize("match", ["sequence", "request"])
async def test_sub_agents_side_by_side_are_played_whoever_asks_first(bench: Any, tape: Path, match: Any) -> None:
    model = Answers(1)
    ran, recorded = await lead(bench, cassette(model, tape), 1)
    assert ran.text == "go 1"
    assert model.asked == 11 == len(bench.content(tape)["entries"])
    for seed in range(6):
        again, played = await lead(bench, cassette(None, tape, match=match), seed)
        assert again.text == "go 1"
        assert played == recorded


async def test_equal_sub_agents_side_by_side(bench: Any, tape: Path) -> None:
    model = Answers(3, inputs=("north", "north"))
    _, recorded = await lead(bench, cassette(model, tape), 3)
    for seed in range(6):
        assert (await lead(bench, cassette(None, tape), seed))[1] == recorded


async def test_sub_agents_with_a_provider_of_their_own_share_the_cassette(bench: Any, tape: Path) -> None:
    around = cassette(Answers(1), tape)
    own = around.around(Answers(2))
    _, recorded = await lead(bench, around, 1, own)
    again = cassette(None, tape)
    assert (await lead(bench, again, 5, again))[1] == recorded


async def test_a_mismatch_in_a_sub_agent_stops_the_run(bench: Any, tape: Path) -> None:
    await lead(bench, cassette(Answers(1), tape), 1)
    text = tape.read_text()
    tape.write_text(text.replace('"content": "You scout."', '"content": "You looked."'))
    with pytest.raises(CassetteMismatchError) as caught:
        await lead(bench, cassette(None, tape), 1)
    assert caught.value.at == "messages[0].content"


async def test_one_after_the_other_stays_in_order_also_between_runs(bench: Any, tape: Path) -> None:
    recording = cassette(bench.Model("one", "two"), tape)
    for text in ("a", "b"):
        await bench.run(recording, text, session_id=text)
    with pytest.raises(CassetteMismatchError):
        await bench.run(cassette(None, tape), "b")


async def test_runs_side_by_side_are_in_no_order(bench: Any, tape: Path) -> None:
    both = asyncio.Barrier(2)

    async def together(request: Any) -> str:
        await both.wait()
        return request.messages[-1].text * 2

    recording = cassette(bench.Model(together, together), tape)
    await asyncio.gather(*(bench.run(recording, text, session_id=text) for text in ("a", "b")))
    provider = cassette(None, tape)
    assert [(await bench.run(provider, text, session_id=text)).text for text in ("b", "a")] == ["bb", "aa"]


async def test_many_calls_at_once_are_all_in_the_file(bench: Any, tape: Path) -> None:
    async def late(request: Any) -> str:
        await asyncio.sleep(0)
        return request.messages[-1].text

    recording = cassette(bench.Model(*[late] * 40), tape)
    await asyncio.gather(*(bench.said(recording, str(n)) for n in range(40)))
    entries = bench.content(tape)["entries"]
    assert [entry["response"]["text"] for entry in entries] == [str(n) for n in range(40)]
    provider = cassette(None, tape)
    assert await asyncio.gather(*(bench.said(provider, str(n)) for n in reversed(range(40)))) == [str(n) for n in reversed(range(40))]


# Going on in another process


async def test_who_goes_on_begins_at_the_first_equal_entry_with_an_answer(bench: Any, tape: Path) -> None:
    from lousho_cli import ProviderError

    busy = ProviderError("busy", category="overloaded", retryable=True)
    recording = cassette(bench.Model("1", busy, "3", "4"), tape)
    for text in ("a", "b", "b", "c"):
        try:
            await bench.said(recording, text)
        except ProviderError:
            assert text == "b"
    going_on = CassetteProvider(None, Tape(tape, "replay", goes_on=True))
    assert [await bench.said(going_on, text) for text in ("b", "c")] == ["3", "4"]
    with pytest.raises(CassetteMismatchError):
        await bench.said(going_on, "d")


async def test_a_recording_that_is_open_is_gone_on_with(bench: Any, tape: Path) -> None:
    first = CassetteProvider(bench.Model("1", "2"), Tape(tape, stays_open=True))
    assert [await bench.said(first, text) for text in ("a", "b")] == ["1", "2"]
    assert bench.content(tape)["open"] is True

    model = bench.Model("3")
    going_on = CassetteProvider(model, Tape(tape, goes_on=True, stays_open=True))
    assert [await bench.said(going_on, text) for text in ("b", "c")] == ["2", "3"]
    assert [one.messages[0].text for one in model.asked] == ["c"]

    anew = CassetteProvider(fourth := bench.Model("4"), Tape(tape, stays_open=True))
    assert [await bench.said(anew, text) for text in ("a", "b", "c", "d")] == ["1", "2", "3", "4"]
    assert len(fourth.asked) == 1
    await anew.tape.complete()
    assert bench.content(tape)["open"] is False
    closed = CassetteProvider(bench.Model(), Tape(tape, goes_on=True, stays_open=True))
    with pytest.raises(CassetteMismatchError):
        await bench.said(closed, "e")


async def test_a_changed_call_of_an_open_recording_is_told_while_there_is_something_to_play(bench: Any, tape: Path) -> None:
    await bench.said(CassetteProvider(bench.Model("1"), Tape(tape, stays_open=True)), "a")
    model = bench.Model("2")
    with pytest.raises(CassetteMismatchError):
        await bench.said(CassetteProvider(model, Tape(tape, stays_open=True)), "other")
    assert model.asked == []


async def test_sub_agents_that_were_cut_go_on_recording_beside_those_that_were_not(bench: Any, tape: Path) -> None:
    await lead(bench, CassetteProvider(Answers(1), Tape(tape, stays_open=True)), 1)
    whole = bench.content(tape)
    kept = [entry for entry in whole["entries"] if entry["request"]["messages"][0]["content"] != "Be brief."]
    assert any(entry.get("beside") for entry in kept)
    for missing in range(len(whole["entries"])):
        import json

        entries = [entry for number, entry in enumerate(whole["entries"]) if number != missing]
        last_of_lane = max(n for n, entry in enumerate(whole["entries"]) if entry.get("lane") == whole["entries"][missing].get("lane"))
        if missing != last_of_lane:
            continue  # what comes behind it in its conversation could not have been recorded
        tape.write_text(json.dumps(whole | {"entries": entries}))
        model = Answers(4)
        ran, _ = await lead(bench, CassetteProvider(model, Tape(tape, stays_open=True)), 4)
        assert ran.text == "go 1"
        assert model.asked == 1
        assert len(bench.content(tape)["entries"]) == len(whole["entries"])


def test_arguments_that_another_program_wrote_as_values_are_told_apart() -> None:
    def key(args: Any) -> str:
        return key_of(Request("m", (RequestMessage("assistant", "", tool_calls=(RequestCall("f", args),)),)))

    assert key(1) != key(True)
    assert key(1) == key(1.0)
    assert key({"a": 1, "b": 2}) == key('{"b": 2, "a": 1}')
