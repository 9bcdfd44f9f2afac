"""What was reported of neighbouring systems on the chat-completions wire, through whole runs: tools, store, next request.

How a stream is read is in ``test_openai_stream.py`` and its neighbours, under the same numbers.
"""

from __future__ import annotations

import json
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import Agent, AgentExecutor, retry_transient_errors
from lousho_cli.errors import ProviderError

OPEN = {"type": "object"}
RECORDED = (Path(__file__).parents[1] / "streams" / "chat_weather.sse").read_bytes()


def called(wire: Any, *fragments: Any, finish: str = "tool_calls") -> bytes:
    """An answer that is calls, all in one event."""
    body: bytes = wire.sse(wire.calls(*fragments), wire.chunk(finish=finish))
    return body


def test_case_087_each_call_gets_its_own_arguments(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": OPEN, "g": OPEN})
    first = wire.sse(
        wire.calls(wire.fragment("f", "", index=0, id="a")),
        wire.calls(wire.fragment("g", "", index=1, id="b")),
        wire.calls(wire.fragment(None, '{"t":"A"}', index=0)),
        wire.calls(wire.fragment(None, '{"t":"B"}', index=1)),
        wire.chunk(finish="tool_calls"),
    )
    bench.run(first, wire.said())
    assert bench.ran == ['f {"t": "A"}', 'g {"t": "B"}']
    assert [message["tool_call_id"] for message in bench.asked[1:]] == ["a", "b"]


@pytest.mark.parametrize("place", [{"index": 0}, {}], ids=["case_088", "case_089"])
def test_case_088_and_089_parallel_calls_stay_apart(bench: Any, place: dict[str, int]) -> None:
    """All with index 0, and all without."""
    wire = bench.served
    bench.agent({"f": OPEN, "g": OPEN})
    bench.run(called(wire, wire.fragment("f", '{"t":1}', id="a", **place), wire.fragment("g", '{"t":2}', id="b", **place)), wire.said())
    assert bench.ran == ['f {"t": 1}', 'g {"t": 2}']


def test_case_089_one_call_in_fragments_without_index(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": OPEN})
    pieces = [wire.calls(wire.fragment("f", "", id="a")), wire.calls(wire.fragment(None, '{"t":')), wire.calls(wire.fragment(None, "1}"))]
    bench.run(wire.sse(*pieces, wire.chunk(finish="tool_calls")), wire.said())
    assert bench.ran == ['f {"t": 1}']


async def test_case_091_a_call_without_id_keeps_the_one_it_was_given(said: Any, wire: Any, workplace: Any) -> None:
    """Streamed and not; killed before the last tool ended, for real; the same ids in the results and in the next request."""
    place = workplace("here")
    place.agent(said.KINDS[0], wire.root)
    (place.folder / "hold").touch()
    looks = [
        wire.fragment("look", "{}", index=0),
        wire.fragment("look", "{}", index=1, id=None),
        wire.fragment("look", "{}", index=2, id=""),
    ]
    holds = [wire.fragment("hold", "{}"), wire.fragment("look", "{}", id=None), wire.fragment("look", "{}", id="")]
    message = {"role": "assistant", "content": None, "tool_calls": holds}
    whole = {"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    at_once = wire.Play([json.dumps(whole).encode()], headers={"content-type": "application/json"})
    wire.plays += [wire.Play([called(wire, *looks)]), at_once, wire.Play([wire.said()])]
    await place.killed(lambda: "hold 0" in place.ran, "run", "agent.json", "Go", "-s", "s")
    kept = [record["message"] for record in place.records() if record["type"] == "lousho.turn"]
    ids = [call["id"] for turn in kept for call in turn["tool_calls"]]
    assert len(set(ids) - {""}) == 6
    (place.folder / "hold").unlink()
    ran = await place.run("resume", "s")
    assert (ran.code, ran.out) == (0, "hi\n"), ran.err
    asked = wire.seen[-1].body["messages"]
    assert [call["id"] for message in asked for call in message.get("tool_calls", ())] == ids
    assert [message["tool_call_id"] for message in asked if message["role"] == "tool"] == ids
    finished = [record["id"] for record in place.records() if record["type"] == "lousho.tool_finished"]
    assert sorted(finished) == sorted(ids)


def test_case_092_the_same_id_twice_is_two_calls(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": OPEN, "g": OPEN})
    bench.run(called(wire, wire.fragment("f", "{}", index=0, id="dup_1"), wire.fragment("g", "{}", index=1, id="dup_1")), wire.said())
    assert bench.ran == ["f {}", "g {}"]
    turn, *results = bench.asked
    ids = [call["id"] for call in turn["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(message["tool_call_id"], message["content"]) for message in results] == [(ids[0], '"f ran"'), (ids[1], '"g ran"')]


def test_case_094_blank_arguments_run_the_tool_with_none(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": {"type": "object", "properties": {}}})
    calls = [wire.fragment("f", "", index=0, id="a"), wire.fragment("f", "  ", index=1, id="b"), wire.fragment("f", index=2, id="c")]
    null = {**wire.fragment("f", index=3, id="d"), "function": {"name": "f", "arguments": None}}
    bench.run(called(wire, *calls, null), wire.said())
    assert bench.ran == ["f {}"] * 4
    assert [call["function"]["arguments"] for call in bench.asked[0]["tool_calls"]] == ["{}"] * 4


def test_case_095_arguments_as_an_object_reach_the_tool(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": OPEN})
    bench.run(called(wire, wire.fragment("f", {"path": "a.txt"}, index=0, id="a")), wire.said())
    assert bench.ran == ['f {"path": "a.txt"}']
    assert json.loads(bench.asked[0]["tool_calls"][0]["function"]["arguments"]) == {"path": "a.txt"}


@pytest.mark.parametrize("finish", ["stop", "end_turn"])
def test_case_099_calls_run_whatever_the_finish_reason_says(bench: Any, finish: str) -> None:
    wire = bench.served
    bench.agent({"f": OPEN})
    ran = bench.run(called(wire, wire.fragment("f", "{}", index=0, id="a"), finish=finish), wire.said("after"))
    assert (bench.ran, ran.out, len(wire.seen)) == (["f {}"], "after\n", 2)


def test_case_101_a_stream_that_just_closes_is_asked_for_again(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    half = wire.sse(wire.chunk({"content": "half an "}), wire.chunk({"content": "answer"}), done=False)
    bench.run(half, half, code=1)
    ran = bench.lousho("show", "s", "--json")
    assert "half an" not in ran.out
    assert bench.messages == []
    wire.plays.append(wire.Play([wire.said("whole")]))
    resumed = bench.lousho("resume", "s")
    assert (resumed.code, resumed.out) == (0, "whole\n")
    assert [message["content"] for message in bench.messages] == ["whole"]


def test_case_101_says_what_happened(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    half = wire.sse(wire.chunk({"content": "half an "}), done=False)
    said = bench.run(half, half, code=1).err
    assert "the connection was lost before the answer had ended" in said
    assert "token" not in said


def test_case_103_an_error_inside_a_success_fails_the_run(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    body = wire.sse(
        wire.chunk({"content": "a"}), wire.chunk({"content": "b"}), {"error": {"code": 502, "message": "M broke"}, "choices": []}
    )
    ran = bench.run(body, body, code=1)
    assert "M broke" in ran.err
    assert bench.messages == []


def test_case_106_usage_of_a_recorded_stream(bench: Any) -> None:
    wire = bench.served
    bench.agent({"get_current_weather": OPEN})
    bench.run(RECORDED, wire.said())
    assert len(bench.ran) == 2
    usage = bench.data("show", "s")["usage"]["by_model"]["gpt-4o-mini-2024-07-18"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["estimated"]) == (75, 51, False)


def test_case_106_usage_that_never_comes_is_unknown(bench: Any) -> None:
    """An estimate says that it is one; what can not be estimated stays unknown."""
    wire = bench.served
    bench.agent()
    ran = bench.run(wire.sse(wire.chunk({"content": "hi"}, usage=None), wire.chunk(finish="stop", usage=None)), to=("--json",))
    usage = json.loads(ran.out)["data"]["usage"]
    assert usage["estimated"] is True
    assert usage["input_tokens"] > 0
    assert (usage["cost_usd"], usage["cached_input_tokens"]) == (None, None)
    (log,) = (bench.folder / ".lousho" / "sessions" / "s").glob("log.jsonl")
    turns = [
        record for line in log.read_text().split("\n") if line for record in json.loads(line)["records"] if record["type"] == "lousho.turn"
    ]
    assert [turn.get("usage") for turn in turns] == [None]


def test_case_107_comments_are_left_out(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    first, second = (
        wire.sse(wire.chunk({"content": "one "}), done=False),
        wire.sse(wire.chunk({"content": "two"}), wire.chunk(finish="stop")),
    )
    ran = bench.run(b": OPENROUTER PROCESSING\n\n" + b"id: 7\n" + first + b": ping\n\n: OPENROUTER PROCESSING\n\n" + second)
    assert ran.out == "one two\n"
    assert bench.messages[0]["content"] == "one two"


ODD = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"


def test_case_109_odd_separators_are_stored_as_sent(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    chunk = json.dumps(wire.chunk({"content": "@"}), ensure_ascii=False).replace("@", ODD)
    bench.run(f"data: {chunk}\n\n".encode() + wire.sse(wire.chunk(finish="stop")))
    assert bench.messages[0]["content"] == ODD


def test_case_110_one_byte_at_a_time_is_stored_as_sent(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    text = "日本語 👩‍👩‍👧 e\u0301"
    bench.run(wire.Play([bytes((byte,)) for byte in wire.said(text)]))
    assert bench.messages[0]["content"] == text


async def waits(wire: Any, clock: Any, value: str, *more: Any) -> Any:
    """Runs against a 429 with this wait, and a good answer behind it, on a clock that only moves when somebody sleeps."""
    limited = wire.Play([b'{"error":{"message":"slow down"}}'], 429, {"content-type": "application/json", "retry-after": value})
    wire.plays += [limited, *more]
    return await AgentExecutor.execute(
        Agent("a", prompt="Be brief."), "Go", wire.provider(), on_model_error=retry_transient_errors(), clock=clock
    )


async def test_case_112_a_date_is_waited_for_and_then_asked_once(wire: Any, clock: Any) -> None:
    value = formatdate(clock.now_ms() / 1000 + 3, usegmt=True)
    result = await waits(wire, clock, value, wire.Play([wire.said()]))
    assert (result.text, sum(clock.slept), len(wire.seen)) == ("hi", 3.0, 2)


@pytest.mark.parametrize(("value", "waited"), [("soon", 1.75), ("-5", 1.75), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)])
async def test_case_113_a_bad_or_past_wait(wire: Any, clock: Any, value: str, waited: float) -> None:
    """Our own wait (2 s, shortened by chance) for what is no time; none for a time that is over."""
    result = await waits(wire, clock, value, wire.Play([wire.said()]))
    assert (result.text, sum(clock.slept), len(wire.seen)) == ("hi", waited, 2)


async def test_case_113_a_wait_nobody_means_ends_the_run(wire: Any, clock: Any) -> None:
    with pytest.raises(ProviderError) as caught:
        await waits(wire, clock, "86400")
    assert "86400 s" in caught.value.hint
    assert (clock.slept, len(wire.seen)) == ([], 1)


async def test_case_115_reasoning_goes_back_also_behind_a_crash(said: Any, wire: Any, workplace: Any) -> None:
    place = workplace("here")
    place.agent(said.KINDS[0], wire.root)
    (place.folder / "hold").touch()
    thought = [wire.chunk({"reasoning_content": piece}) for piece in ("First ", "look.")]
    calls = wire.calls(wire.fragment("hold", "{}", index=0, id="a"))
    wire.plays += [wire.Play([wire.sse(*thought, calls, wire.chunk(finish="tool_calls"))]), wire.Play([wire.said()])]
    await place.killed(lambda: place.ran, "run", "agent.json", "Go", "-s", "s")
    (place.folder / "hold").unlink()
    ran = await place.run("resume", "s")
    assert (ran.code, ran.out) == (0, "hi\n"), ran.err
    (turn,) = [message for message in wire.seen[-1].body["messages"] if message["role"] == "assistant"]
    assert turn["reasoning_content"] == "First look."


@pytest.mark.parametrize(("provider", "sent"), [({}, None), ({"empty_content": ""}, "")])
def test_case_117_the_content_of_an_answer_that_is_only_calls(bench: Any, provider: dict[str, str], sent: str | None) -> None:
    wire = bench.served
    bench.agent({"f": OPEN}, provider=provider)
    bench.run(called(wire, wire.fragment("f", "{}", index=0, id="a")), wire.said(""))
    assert bench.asked[0]["content"] == sent
    wire.plays.append(wire.Play([wire.said()]))
    assert bench.lousho("run", "agent.py", "And?", "-s", "s").code == 0
    assert all(message.get("content") or message.get("tool_calls") for message in bench.asked if message["role"] == "assistant")


def test_case_118_a_call_the_model_wrote_badly_is_asked_for_again(bench: Any) -> None:
    wire = bench.served
    bench.agent()
    error = {
        "message": "Failed to call a function.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": "<f{",
    }
    bad = wire.Play([json.dumps({"error": error}).encode()], 400, {"content-type": "application/json"})
    assert bench.run(bad, wire.said("good")).out == "good\n"
    wire.plays += [bad, bad]
    ran = bench.lousho("run", "agent.py", "Go", "-s", "t")
    assert ran.code == 1
    assert "<f{" in ran.err


def test_case_119_a_name_the_model_made_up_ends_nothing(bench: Any) -> None:
    wire = bench.served
    bench.agent({"f": OPEN, "g": OPEN})
    calls = [wire.fragment("no_such_tool", '{"a":1}', index=0, id="a"), wire.fragment("f", "{}", index=1, id="b")]
    ran = bench.run(called(wire, *calls), wire.said("I see."))
    assert (ran.out, bench.ran) == ("I see.\n", ["f {}"])
    _, missing, good = bench.asked
    assert (missing["tool_call_id"], good["tool_call_id"], good["content"]) == ("a", "b", '"f ran"')
    assert all(name in missing["content"] for name in ("no_such_tool", "f", "g"))
    _, stored, *_ = bench.messages
    assert stored["is_error"] is True


DIGITS = {"id": 2712345678901234567, "x": 9007199254740993}


@pytest.mark.parametrize("store", [".lousho", "sqlite:lousho.db"])
@pytest.mark.parametrize("sent", ["numbers", "text"])
def test_case_120_large_integers_keep_their_digits_everywhere(bench: Any, monkeypatch: pytest.MonkeyPatch, store: str, sent: str) -> None:
    """In the tool, the store, the next request, a resume, a fork and a comparison; also where the model sent text for an integer."""
    monkeypatch.setenv("LOUSHO_STORE", store)
    wire = bench.served
    bench.agent({"f": {"type": "object", "properties": {"id": {"type": "integer"}, "x": {"type": "integer"}}}})
    arguments = json.dumps(DIGITS if sent == "numbers" else {name: str(value) for name, value in DIGITS.items()})
    failed = wire.Play([b"{}"], 400, {"content-type": "application/json"})
    bench.run(called(wire, wire.fragment("f", arguments, index=0, id="a")), failed, code=1)
    wire.plays.append(wire.Play([wire.said()]))
    assert bench.lousho("resume", "s").code == 0
    assert bench.ran == [f"f {json.dumps(DIGITS)}"]
    assert bench.asked[0]["tool_calls"][0]["function"]["arguments"] == arguments
    assert bench.data("fork", "s", "--from-step", "1", "--as", "t")["session"] == "t"
    for session in ("s", "t"):
        (call,) = bench.data("show", session)["messages"][2]["tool_calls"]
        assert json.loads(call["arguments"]) == json.loads(arguments)
    compared = bench.lousho("diff", "s", "t", "--json").out
    exported = bench.lousho("show", "s", "--json").out
    for value in DIGITS.values():
        assert str(value) in compared
        assert str(value) in exported
    wire.plays.append(wire.Play([wire.said()]))
    assert bench.lousho("resume", "t").code == 0
    assert bench.asked[0]["tool_calls"][0]["function"]["arguments"] == arguments
