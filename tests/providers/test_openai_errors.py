"""Every way a call can fail is an error with a category, and none of them tells a key."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
from email.utils import formatdate
from typing import Any

import pytest

from lousho_cli.core.retry import retry_transient_errors
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import ModelRequest, TextDelta
from lousho_cli.providers.chat.provider import OpenAIProvider
from lousho_cli.providers.wire import client, reading

JSON = {"content-type": "application/json"}
KEY = "sk-test-0123456789abcdefghij"


def refused(wire: Any, status: int, body: Any, **headers: str) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return wire.Play([raw], status=status, headers=JSON | {name.replace("_", "-"): value for name, value in headers.items()})


async def test_case_101_a_stream_that_just_closes_is_a_lost_connection(wire: Any) -> None:
    for end in ("close", "cut"):
        error = await wire.fail(wire.Play([wire.sse(wire.chunk({"content": "half"}), done=False)], end=end))
        assert (error.category, error.retryable, error.partial) == ("network", True, True)
        assert "token" not in str(error)


async def test_what_stands_in_front_of_an_error_is_told_though_both_come_at_once(wire: Any) -> None:
    broken = wire.sse(wire.chunk({"content": "a"}), wire.chunk({"content": "b"}), done=False) + b"data: {oh\n\n"
    wire.plays.append(wire.Play([broken]))
    streamed = []
    with pytest.raises(ProviderError):
        async for event in wire.provider().stream(wire.hello):
            streamed.append(event)
    assert streamed == [TextDelta("a"), TextDelta("b")]


async def test_an_error_whose_body_does_not_come_is_told_by_its_status(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_ERROR_BODY_S", 0.3)
    error = await wire.fail(wire.Play([b"no"], status=401, end="hang"), first_byte_timeout_ms=60_000)
    assert (error.category, error.retryable, error.detail) == ("auth-failure", False, "the model server answered 401: no")


@pytest.mark.parametrize("begins", [b"data: ", b'{"a": "', b"data: {}\n\n: "])
async def test_an_answer_that_never_ends_does_not_fill_the_memory(wire: Any, begins: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 3 << 20)
    error = await wire.fail(wire.Play([begins, *[b"x" * (1 << 20)] * 5], end="hang"))
    assert error.retryable is False
    assert "longer than 3 MiB" in error.detail


@pytest.mark.parametrize("name", ["request-id", "x-request-id"])
async def test_an_error_names_the_request_as_its_server_does(wire: Any, name: str) -> None:
    named = {name: "req_011CSHoEeqs5C35K2UUqR7Fy"}
    failed = await wire.fail(wire.Play([b'{"error": {"message": "no"}}'], status=500, headers=JSON | named))
    assert failed.detail == "the model server answered 500: no (request req_011CSHoEeqs5C35K2UUqR7Fy)"
    cut = await wire.fail(wire.Play([wire.sse(wire.chunk({"content": "half"}), done=False)], headers=named))
    assert cut.detail.endswith("(request req_011CSHoEeqs5C35K2UUqR7Fy)")
    hostile = await wire.fail(wire.Play([], status=500, headers={name: f"{KEY} <b>"}))
    assert "(request" not in hostile.detail


async def test_a_stream_cut_before_anything_came_is_not_partial(wire: Any) -> None:
    error = await wire.fail(wire.Play([wire.sse(wire.chunk({"role": "assistant", "content": ""}), done=False)]))
    assert (error.category, error.retryable, error.partial) == ("network", True, False)


async def test_a_stream_cut_in_a_call_is_partial(wire: Any) -> None:
    error = await wire.fail(wire.sse(wire.calls(wire.fragment("f", '{"a', index=0, id="x")), done=False))
    assert (error.category, error.partial) == ("network", True)


async def test_what_was_streamed_before_the_cut_was_told(wire: Any) -> None:
    wire.plays.append(wire.Play([wire.sse(wire.chunk({"content": "half"}), done=False)]))
    streamed = []
    with pytest.raises(ProviderError):
        async for event in wire.provider().stream(wire.hello):
            streamed.append(event)
    assert streamed == [TextDelta("half")]


@pytest.mark.parametrize("choices", [{"choices": []}, {}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}])
async def test_case_103_an_error_inside_a_success(wire: Any, choices: dict[str, Any]) -> None:
    texts = [wire.chunk({"content": text}) for text in ("a", "b")]
    error = await wire.fail(wire.sse(*texts, {"error": {"code": 502, "message": "the upstream model is gone"}, **choices}))
    assert (error.category, error.retryable, error.partial) == ("server", True, True)
    assert "the upstream model is gone" in str(error)


@pytest.mark.parametrize(
    ("event", "category"),
    [
        ('{"error": {"message": "Overloaded", "type": "overloaded_error"}}', "overloaded"),
        ('{"error": "rate limit reached"}', "rate-limit"),
        ('{"object": "error", "message": "no such model", "type": "BadRequestError", "code": 400}', "bad-request"),
        ('{"choices": [{"index": 0, "delta": {}, "error": {"code": 503, "message": "busy"}}]}', "overloaded"),
        ('{"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}', "server"),
    ],
)
async def test_errors_in_a_stream_have_their_category(wire: Any, event: str, category: str) -> None:
    error = await wire.fail(f"data: {event}\n\ndata: [DONE]\n\n".encode())
    assert (error.category, error.partial) == (category, False)


async def test_an_event_named_error_is_an_error(wire: Any) -> None:
    error = await wire.fail(b'event: error\ndata: {"message": "service unavailable"}\n\n')
    assert error.category == "overloaded"
    assert "service unavailable" in error.detail


@pytest.mark.parametrize(
    ("body", "retryable"),
    [
        (b"<!doctype html><html><body>login</body></html>", False),
        (b"", True),
        (b"  \n", True),
        (b"upstream gone away", True),
        (b"data: {not json}\n\n", True),
        (b"data: 5\n\n", True),
        (b"data: " + b"[" * 100_000 + b"\n\n", True),
        (b'{"choices": [', True),
        (b"{}", True),
        (b"[]", True),
        (b"data: [DONE]\n\n", True),
    ],
)
async def test_a_success_that_is_no_answer(wire: Any, body: bytes, retryable: bool) -> None:
    error = await wire.fail(wire.Play([body], headers={"content-type": "text/html"}))
    assert (error.retryable, error.partial) == (retryable, False)
    assert len(error.detail) < 300


async def test_an_error_body_of_a_server_that_answers_200(wire: Any) -> None:
    error = await wire.fail(refused(wire, 200, {"error": {"message": "out of memory: server error"}}))
    assert (error.category, error.retryable) == ("server", True)


async def test_broken_compression_is_an_unreadable_answer(wire: Any) -> None:
    error = await wire.fail(wire.Play([b"no gzip"], headers={"content-encoding": "gzip"}))
    assert error.retryable


@pytest.mark.parametrize(
    ("status", "body", "category", "retryable"),
    [
        (400, {"error": {"message": "bad field", "type": "invalid_request_error"}}, "bad-request", False),
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, "context-length-exceeded", False),
        (401, {"error": "no key"}, "auth-failure", False),
        (404, {"detail": "Not Found"}, "bad-request", False),
        (422, {"detail": [{"loc": ["body"], "msg": "wrong"}]}, "bad-request", False),
        (429, [{"error": {"code": 429, "message": "slow down"}}], "rate-limit", True),
        (500, b"<html>oops</html>", "server", True),
        (503, b"", "overloaded", True),
        (529, {"message": "overloaded"}, "overloaded", True),
        (301, b"", "bad-request", False),
        (204, b"", "bad-request", False),
    ],
)
async def test_statuses(wire: Any, status: int, body: Any, category: str, retryable: bool) -> None:
    headers = {"location": "http://127.0.0.1:9/"} if status == 301 else {}
    error = await wire.fail(refused(wire, status, body, **headers))
    assert (error.category, error.retryable, error.partial) == (category, retryable, False)
    assert str(status) in error.detail
    assert "<" not in error.detail
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


async def test_case_118_a_call_the_model_wrote_badly(wire: Any) -> None:
    body = {"error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<function=f>{"}}
    error = await wire.fail(refused(wire, 400, body))
    assert error.retryable
    assert "<function=f>{" in error.detail


@pytest.mark.parametrize(("value", "wait"), [("2", 2000), ("soon", None), ("-1", None), ("86400", 86_400_000)])
async def test_case_113_retry_after(wire: Any, value: str, wait: int | None) -> None:
    error = await wire.fail(refused(wire, 429, {}, retry_after=value))
    assert error.retry_after_ms == wait
    decided = retry_transient_errors().decide(error, 0, 0.0)
    assert decided == {"2": 2000, "86400": None}.get(value, 1500)
    if wait:
        assert f"{wait / 1000:g} s" in error.hint


async def test_case_112_retry_after_as_a_date(wire: Any) -> None:
    date = formatdate(wire.clock.ms / 1000 + 3, usegmt=True)
    assert (await wire.fail(refused(wire, 429, {}, retry_after=date))).retry_after_ms == 3000


async def test_a_long_message_is_shortened(wire: Any) -> None:
    error = await wire.fail(refused(wire, 400, {"error": {"message": "x" * 100_000}}))
    assert len(error.detail) == 500


@pytest.mark.parametrize("pad", [0, 440, 450, 455, 460, 465])
async def test_case_203_a_key_that_a_server_repeats_is_blotted_out(wire: Any, pad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = "y" * pad + f"Incorrect API key provided: {KEY}"
    secret = {"x-extra": "extra-secret-value"}
    for play in (refused(wire, 401, {"error": {"message": said}}), wire.Play([wire.sse({"error": {"message": said}})])):
        error = await wire.fail(play, headers=secret)
        for text in (str(error), repr(error), repr(vars(error))):
            assert KEY[:8] not in text
    assert wire.seen[0].headers["authorization"] == f"Bearer {KEY}"
    echoed = await wire.fail(refused(wire, 400, {"error": "got extra-secret-value"}), headers=secret)
    assert "extra-secret-value" not in str(echoed)


async def test_case_203_no_error_tells_user_password_or_query(wire: Any) -> None:
    address = f"http://user:hidden-word@127.0.0.1:{wire.port}/v1?key=hidden-word"
    provider = wire.provider(base_url=address)
    assert "hidden" not in provider.address
    error = await wire.fail(wire.Play([b"data: x"], end="cut"), base_url=address)
    assert "hidden" not in str(error)
    assert wire.seen[-1].path == "/v1/chat/completions?key=hidden-word"


async def test_nobody_listens(wire: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ProviderError) as caught:
        await wire.answer(wire.provider(base_url=f"http://127.0.0.1:{port}"))
    assert (caught.value.category, caught.value.retryable) == ("network", True)
    assert str(port) in caught.value.detail


async def test_a_server_that_hangs_up_without_a_word(wire: Any) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(ProviderError) as caught:
        await wire.answer(wire.provider(base_url=f"http://127.0.0.1:{port}"))
    server.close()
    assert (caught.value.category, caught.value.retryable, caught.value.partial) == ("network", True, False)


async def test_no_first_byte_in_time(wire: Any) -> None:
    error = await wire.fail(wire.Play([], end="hang"), first_byte_timeout_ms=50)
    assert (error.category, error.retryable, error.partial) == ("timeout", True, False)


async def test_nothing_more_in_time(wire: Any) -> None:
    error = await wire.fail(wire.Play([wire.sse(wire.chunk({"content": "a"}), done=False)], end="hang"), idle_timeout_ms=50)
    assert (error.category, error.retryable, error.partial) == ("timeout", True, True)


async def test_a_server_that_never_hangs_up_after_the_end_is_not_waited_for(wire: Any) -> None:
    begin = asyncio.get_running_loop().time()
    assert (await wire.ask(wire.Play([wire.said()], end="hang"))).message.content == "hi"
    assert asyncio.get_running_loop().time() - begin < 50  # the time limits are minutes


async def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = OpenAIProvider("m", base_url="https://models.invalid/v1", api_key_env="GARDEN_KEY")
    with pytest.raises(ProviderError) as caught:
        await anext(provider.stream(ModelRequest(messages=())))
    assert (caught.value.category, caught.value.retryable, caught.value.code) == ("auth-failure", False, "LOUSHO_PROVIDER_KEY_MISSING")
    assert "GARDEN_KEY" in str(caught.value)
    monkeypatch.setenv("GARDEN_KEY", "clé secrète")
    with pytest.raises(ProviderError) as caught:
        await anext(provider.stream(ModelRequest(messages=())))
    assert caught.value.category == "auth-failure"
    assert "secr" not in str(caught.value)


async def test_no_model_is_an_error_before_any_request(wire: Any) -> None:
    provider = OpenAIProvider(base_url=wire.base_url)
    with pytest.raises(ProviderError) as caught:
        await anext(provider.stream(wire.hello))
    assert (caught.value.category, wire.seen) == ("bad-request", [])


async def test_proxy_settings_that_can_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://user:hidden-word@proxy.invalid")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    provider = OpenAIProvider("m", base_url="https://models.invalid/v1")
    with pytest.raises(ProviderError) as caught:
        await anext(provider.stream(ModelRequest(messages=())))
    assert "hidden-word" not in str(caught.value)


async def test_leaving_in_the_middle_closes_the_connection(wire: Any) -> None:
    closed = asyncio.Event()

    async def stream_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + wire.sse(wire.chunk({"content": "a"}), done=False))
        while await reader.read(4096):
            pass
        closed.set()
        writer.close()

    server = await asyncio.start_server(stream_for_ever, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stream = wire.provider(base_url=f"http://127.0.0.1:{port}").stream(wire.hello)
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    await asyncio.wait_for(closed.wait(), 30)
    server.close()
