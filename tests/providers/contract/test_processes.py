"""Whole command lines against model servers: what they send, what they keep, and how they take a server's bad days."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest


def hashes(wire: Any) -> list[str]:
    return [hashlib.sha256(seen.raw).hexdigest() for seen in wire.seen]


def without_marks(value: Any) -> Any:
    """Without the cache marks of a request, which move along and are no part of what a server compares."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


async def test_a_request_is_the_same_bytes_in_every_process(kind: Any, wire: Any, workplace: Any) -> None:
    """Killed in a model call, then in a tool: each request is the one of the run that nothing happened to."""
    looks = [("call_1", "look", '{"n": 1}'), ("call_2", "look", '{ "n" : 2 }')]
    first = wire.Play([kind.stream("Ich schaue ", "nach: 東京\u2028.", thoughts=["Two ", "calls 🧭."], calls=looks)])
    second = wire.Play([kind.stream("And ", "wait.", calls=[("call_3", "hold", '{"n":3}')])])
    third = wire.Play([kind.stream("Done.")])

    calm = workplace("calm")
    calm.cold = True  # so that it hashes otherwise than the processes below, which share a parent
    calm.agent(kind, wire.root)
    wire.plays += [first, second, third]
    ran = await calm.run("run", "agent.json", "Go", "-s", "s")
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    expected = hashes(wire)
    assert len(set(expected)) == 3
    bodies = [without_marks(seen.body) for seen in wire.seen]
    for before, after in zip(bodies, bodies[1:], strict=False):
        known, longer = kind.messages(before), kind.messages(after)
        assert longer[: len(known)] == known
        assert len(longer) > len(known)
        rest = [{key: value for key, value in body.items() if value not in (known, longer)} for body in (before, after)]
        assert rest[0] == rest[1]

    wire.seen.clear()
    stormy = workplace("stormy")
    stormy.agent(kind, wire.root)
    (stormy.folder / "hold").touch()
    begun = b"".join(kind.written("And ", "wait.")[:-2])
    wire.plays += [first, wire.Play([begun], end="hang"), second, third]
    await stormy.killed(lambda: len(wire.seen) == 2, "run", "agent.json", "Go", "-s", "s")
    await stormy.killed(lambda: "hold 3" in stormy.ran, "resume", "s")
    (stormy.folder / "hold").unlink()
    ran = await stormy.run("resume", "s")
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    assert hashes(wire) == [expected[0], expected[1], expected[1], expected[2]]
    assert stormy.ran == ["look 1", "look 2", "hold 3", "hold 3"]
    assert len([record for record in stormy.records() if record["type"] == "lousho.turn"]) == 3


async def test_llmock_finds_no_fault_with_a_run(kind: Any, llmock: Any, verdict: Any, workplace: Any) -> None:
    """Every fault it has that is worth another try, in one run; then its verdict on how we took them."""
    from llmock.scenarios import Reply, ToolCall

    calls = Reply(text="Let me look at both.", tool_calls=(ToolCall("look", {"n": 1}), ToolCall("look", {"n": 2})))
    llmock.pace(20)  # so that it sees its client leave in the middle
    llmock.rate_limit(retry_after=0.2)
    for fault in (llmock.disconnect, llmock.truncate, llmock.corrupt):
        llmock.reply("one two three four five six seven eight nine ten eleven twelve")
        fault(after_chunks=8)
    llmock.add(calls)
    llmock.fail(529, retry_after=0.1)
    llmock.reply("Both are there.")
    place = workplace("here")
    place.agent(kind, llmock.base_url(kind.llmock).removesuffix("/v1"))
    ran = await place.run("run", "agent.json", "Look.", "-s", "s")
    assert (ran.code, ran.out) == (0, "Both are there.\n"), ran.err
    found = verdict()
    assert (found["passed"], found["findings"], found["calls"], found["attempts"]) == (True, [], 2, 7)
    kept = [record for record in place.records() if record["type"] == "lousho.turn"]
    assert [record["message"]["content"] for record in kept] == ["Let me look at both.", "Both are there."]
    assert sorted(place.ran) == ["look 1", "look 2"]
    assert "one two" not in json.dumps(place.records())


def test_a_run_against_aimock(kind: Any, aimock: Any, bench: Any) -> None:
    bench.agent(provider=kind.spec(aimock.root) | {"headers": aimock.headers})
    ran = bench.lousho("run", "agent.py", aimock.prepare("truncate"), "-s", "s", "--json")
    data = json.loads(ran.out)["data"]
    assert (ran.code, data["finish_reason"], data["steps"]) == (0, "stop", 1)
    assert data["text"].endswith("eleven twelve")
    assert [message["content"] for message in bench.messages] == [data["text"]]


@pytest.mark.parametrize("end", ["close", "cut"])
def test_a_run_whose_model_always_breaks_off(kind: Any, bench: Any, end: str) -> None:
    served = bench.served
    bench.agent(provider=kind.spec(served.root))
    half = served.Play([b"".join(kind.written("half an ", "answer", thoughts=["hm"])[:-4])], end=end)
    ran = bench.run(half, half, code=1)
    assert "the connection was lost before the answer had ended" in ran.err
    assert "Traceback" not in ran.err
    assert bench.messages == []
    assert "half an" not in bench.lousho("show", "s", "--json").out
    served.plays.append(served.Play([kind.stream("Whole.")]))
    ran = bench.lousho("resume", "s")
    assert (ran.code, ran.out) == (0, "Whole.\n"), ran.err
    assert len({seen.raw for seen in served.seen}) == 1
    assert [message["content"] for message in bench.messages] == ["Whole."]
