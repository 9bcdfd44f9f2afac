"""Every way a Responses call can fail is an error with a category, and no half answer is ever given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import TextDelta

JSON = {"content-type": "application/json"}
KEY = "sk-test-0123456789abcdefghij"


def refused(wire: Any, status: int, body: Any, **headers: str) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return wire.Play([raw], status=status, headers=JSON | {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("upto", [3, 5, 6])
@pytest.mark.parametrize("done", [False, True])
async def test_case_101_a_stream_without_its_end_is_a_lost_connection_responses(wire: Any, say: Any, upto: int, done: bool) -> None:
    """Also where every item is done, and where an imitator says that it is done."""
    body = say.sse(*say.text("half").events[:upto], done=done)
    for end in ("close", "cut"):
        error = await wire.fail(wire.Play([body], end=end))
        assert (error.category, error.retryable, error.partial) == ("network", True, True)
        assert "token" not in str(error)


async def test_a_stream_cut_before_anything_came_is_not_partial(wire: Any, say: Any) -> None:
    for events in ([], say.text().events[:2], say.reasoning().events):
        error = await wire.fail(say.sse(*say.begin(), *events))
        assert (error.category, error.retryable, error.partial) == ("network", True, False)


async def test_a_stream_cut_in_a_call_is_partial(wire: Any, say: Any) -> None:
    for upto in (1, 2, 4):
        error = await wire.fail(say.sse(*say.call("f", '{"a').events[:upto]))
        assert (error.category, error.partial) == ("network", True)


async def test_what_was_streamed_before_the_cut_was_told(wire: Any, say: Any) -> None:
    wire.plays.append(wire.Play([say.sse(*say.text("half").events)]))
    streamed = []
    with pytest.raises(ProviderError):
        async for event in wire.provider().stream(wire.hello):
            streamed.append(event)
    assert streamed == [TextDelta("half")]


@pytest.mark.parametrize(
    ("code", "message", "category", "retryable"),
    [
        ("server_error", "oops", "server", True),
        ("rate_limit_exceeded", "slow down", "rate-limit", True),
        ("invalid_prompt", "no", "refused", False),
        ("invalid_image", "no picture", "bad-request", False),
        ("context_length_exceeded", "too long", "context-length-exceeded", False),
        (None, "Rate limit reached for m-1", "rate-limit", True),
    ],
)
async def test_case_103_a_response_that_failed_responses(
    wire: Any, say: Any, code: str | None, message: str, category: str, retryable: bool
) -> None:
    failed = say.response(say.text("half").item, status="failed", error={"code": code, "message": message})
    for event in (say.event("failed", response=failed), say.event("completed", response=failed)):
        error = await wire.fail(say.sse(*say.text("half").events, event))
        assert (error.category, error.retryable, error.partial) == (category, retryable, True)
        assert message in str(error)
    error = await wire.fail(wire.Play([json.dumps(failed).encode()], headers=JSON))
    assert (error.category, error.retryable, error.partial) == (category, retryable, False)
    flat = {"type": "error", "code": code, "message": message, "param": None, "sequence_number": 3}
    for event in (flat, {"type": "error", "error": {"type": "tokens", "code": code, "message": message}}):
        for body in (f"data: {json.dumps(event)}\n\n".encode(), say.sse(event)):
            error = await wire.fail(body)
            assert (error.category, error.retryable, error.partial) == (category, retryable, False)


async def test_an_event_named_error_is_an_error(wire: Any, say: Any) -> None:
    event = {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None}
    error = await wire.fail(say.sse(*say.text("half").events[:3], event))
    assert (error.category, error.partial) == ("rate-limit", True)
    assert "slow down" in error.detail


async def test_a_failure_that_does_not_say_why(wire: Any, say: Any) -> None:
    for event in (say.event("failed", response=None), say.end(status="failed")):
        error = await wire.fail(say.sse(event))
        assert (error.category, error.retryable) == ("server", True)
    error = await wire.fail(b'data: {"type": "error"}\n\n')
    assert not error.partial


async def test_a_response_that_was_cancelled_or_is_still_being_made(wire: Any, say: Any) -> None:
    assert (await wire.fail(say.sse(say.end(status="cancelled")))).retryable
    for status in ("queued", "in_progress", "cancelled"):
        error = await wire.fail(wire.Play([json.dumps(say.response(status=status)).encode()], headers=JSON))
        assert (error.category, error.retryable) == ("network", True)


@pytest.mark.parametrize(
    ("body", "retryable"),
    [
        (b"<!doctype html><html><body>login</body></html>", False),
        (b"", True),
        (b"upstream gone away", True),
        (b"data: {not json}\n\n", True),
        (b"data: 5\n\n", True),
        (b"data: " + b"[" * 100_000 + b"\n\n", True),
        (b'{"output": [', True),
        (b"{}", True),
        (b"[]", True),
        (b"[5]", True),
        (b'{"object": "response", "status": "completed", "output": []}', True),
        (b'data: {"type": "response.completed", "response": {"output": []}}\n\n', True),
        (b'data: {"type": "response.completed"}\n\n', True),
        (b"data: [DONE]\n\n", True),
        (b'data: {"choices": [{"index": 0, "delta": {"content": "another wire"}, "finish_reason": "stop"}]}\n\n', True),
    ],
)
async def test_a_success_that_is_no_answer(wire: Any, body: bytes, retryable: bool) -> None:
    error = await wire.fail(wire.Play([body], headers={"content-type": "text/html"}))
    assert (error.retryable, error.partial) == (retryable, False)
    assert len(error.detail) < 300


@pytest.mark.parametrize("body", ['{"error": {"message": "Overloaded"}}', '{"error": "overloaded"}', '{"detail": "overloaded"}'])
async def test_case_103_an_error_inside_a_success_responses(wire: Any, body: str) -> None:
    for play in (body.encode(), f"data: {body}\n\n".encode()):
        error = await wire.fail(play)
        assert (error.category, error.retryable) == ("overloaded", True)


async def test_no_encrypted_reasoning_says_what_to_do(wire: Any) -> None:
    said = {"message": "Encrypted content is not supported with this model.", "type": "invalid_request_error", "param": "include"}
    error = await wire.fail(refused(wire, 400, {"error": said}))
    assert (error.category, error.retryable) == ("bad-request", False)
    assert "provider.extra_body.include" in error.hint
    other = await wire.fail(refused(wire, 400, {"error": {"message": "bad field"}}))
    assert "include" not in other.hint


async def test_case_113_retry_after_responses(wire: Any) -> None:
    error = await wire.fail(refused(wire, 429, {"error": {"code": "rate_limit_exceeded", "message": "slow"}}, retry_after="2"))
    assert (error.category, error.retry_after_ms) == ("rate-limit", 2000)


async def test_case_203_a_key_that_a_server_repeats_is_blotted_out_responses(wire: Any, say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = f"Incorrect API key provided: {KEY}"
    failed = say.event("failed", response=say.response(status="failed", error={"code": "server_error", "message": said}))
    for play in (refused(wire, 401, {"error": {"message": said}}), wire.Play([say.sse(failed)])):
        error = await wire.fail(play)
        for text in (str(error), repr(error), repr(vars(error))):
            assert KEY[:8] not in text
    assert wire.seen[0].headers["authorization"] == f"Bearer {KEY}"


async def test_nothing_more_in_time(wire: Any, say: Any) -> None:
    error = await wire.fail(wire.Play([say.sse(*say.text("a").events)], end="hang"), idle_timeout_ms=50)
    assert (error.category, error.retryable, error.partial) == ("timeout", True, True)


async def test_a_server_that_never_hangs_up_after_the_end_is_not_waited_for(wire: Any, say: Any) -> None:
    assert (await wire.ask(wire.Play([say.hi()], end="hang"))).message.content == "hi"
    assert (await wire.ask(wire.Play([say.hi()], end="cut"))).message.content == "hi"
