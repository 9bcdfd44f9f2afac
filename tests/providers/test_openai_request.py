"""What is sent: the address, the headers, and a body that is the same bytes every time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning, TextPart, ToolCall
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.ports.provider import Answer, ModelRequest, ToolSpec
from lousho_cli.providers.chat.provider import OpenAIProvider
from lousho_cli.providers.chat.request import endpoint

TRANSCRIPT = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="Forecast?", metadata={"source": "cli"}),
    Message(
        role="assistant",
        tool_calls=(ToolCall("a", "forecast", '{"zebra":1, "alpha": 2}'), ToolCall("b", "forecast")),
        reasoning=(Reasoning(text="two "), Reasoning(text="calls")),
    ),
    Message(role="tool", content='{"n":2712345678901234567}', tool_call_id="a", tool_name="forecast"),
    Message(role="tool", content='"no"', tool_call_id="b", tool_name="forecast", is_error=True),
    Message(role="assistant"),
    Message(role="assistant", content="Rain."),
)
TOOLS = (ToolSpec("zeta", "last", {"type": "object", "b": 1, "a": 2}), ToolSpec("alpha", "first", {"type": "object"}))


async def test_the_body_of_a_request(wire: Any) -> None:
    await wire.ask(wire.said(), ModelRequest(messages=TRANSCRIPT, tools=TOOLS, turns=2))
    function = {"name": "forecast", "arguments": '{"zebra":1, "alpha": 2}'}
    assert wire.seen[0].body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Forecast?"},
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "two calls",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": function},
                    {"id": "b", "type": "function", "function": {"name": "forecast", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": '{"n":2712345678901234567}'},
            {"role": "tool", "tool_call_id": "b", "content": '"no"'},
            {"role": "assistant", "content": "Rain."},
        ],
        "tools": [
            {"type": "function", "function": {"name": "zeta", "description": "last", "parameters": {"type": "object", "b": 1, "a": 2}}},
            {"type": "function", "function": {"name": "alpha", "description": "first", "parameters": {"type": "object"}}},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_the_same_request_is_the_same_bytes_and_a_longer_one_begins_with_them(wire: Any) -> None:
    for request in (ModelRequest(TRANSCRIPT[:5], TOOLS), ModelRequest(TRANSCRIPT[:5], TOOLS), ModelRequest(TRANSCRIPT, TOOLS)):
        await wire.ask(wire.said(), request)
    first, second, longer = (seen.raw for seen in wire.seen)
    assert first == second
    shared = first[: first.index(b'],"tools"')]
    assert longer.startswith(shared)


async def test_case_117_the_content_of_an_answer_that_is_only_calls(wire: Any) -> None:
    request = ModelRequest(messages=TRANSCRIPT)
    await wire.ask(wire.said(), request)
    await wire.ask(wire.said(), request, empty_content="")
    assert [seen.body["messages"][2]["content"] for seen in wire.seen] == [None, ""]
    assert all(len(seen.body["messages"]) == 6 for seen in wire.seen), "an answer with neither text nor calls is not sent"


async def test_a_user_message_of_several_parts(wire: Any) -> None:
    parts = (
        TextPart("look"),
        ImagePart("https://pictures.example/a.png"),
        ImagePart("AAAA", "image/jpeg"),
        ImagePart("BBBB"),
        FilePart("CCCC", "application/pdf", "a.pdf"),
    )
    await wire.ask(wire.said(), ModelRequest(messages=(Message(role="user", content=parts),)))
    assert wire.seen[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,BBBB"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,CCCC"}},
    ]


@pytest.mark.parametrize(("texts", "sends"), [(("", "a"), [{"type": "text", "text": "a"}]), (("",), ""), ((), "")])
async def test_no_empty_part_and_no_empty_list_of_parts_is_sent(wire: Any, texts: tuple[str, ...], sends: Any) -> None:
    message = Message(role="user", content=tuple(map(TextPart, texts)))
    await wire.ask(wire.said(), ModelRequest(messages=(message,)))
    assert wire.seen[0].body["messages"] == [{"role": "user", "content": sends}]


async def test_a_lone_surrogate_does_not_stop_a_request(wire: Any) -> None:
    await wire.ask(wire.said(), ModelRequest(messages=(Message(role="user", content="a\ud83db"),)))
    assert wire.seen[0].body["messages"][0]["content"] == "a\ufffdb"


async def test_the_request_names_the_model_before_the_provider_does(wire: Any) -> None:
    answer = await wire.ask(
        wire.sse({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}), ModelRequest(messages=(), model="m-9")
    )
    assert (wire.seen[0].body["model"], answer.model) == ("m-9", "m-9")
    assert "tools" not in wire.seen[0].body


async def test_headers_and_further_fields(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await wire.ask(wire.said(), headers={"X-Title": "garden"}, extra_body={"temperature": 0})
    monkeypatch.setenv("OPENAI_API_KEY", " key-from-environment\n")
    monkeypatch.setenv("GARDEN_KEY", "other-key")
    await wire.ask(wire.said())
    await wire.ask(wire.said(), api_key_env="GARDEN_KEY")
    await wire.ask(wire.said(), api_key_env="")
    assert "authorization" not in wire.seen[0].headers, "a server on this machine needs no key"
    assert (wire.seen[0].headers["x-title"], wire.seen[0].body["temperature"]) == ("garden", 0)
    assert [seen.headers.get("authorization") for seen in wire.seen[1:]] == ["Bearer key-from-environment", "Bearer other-key", None]


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("http://h/v1", "/v1/chat/completions"),
        ("http://h/v1/", "/v1/chat/completions"),
        ("http://h/api/v1/", "/api/v1/chat/completions"),
        ("http://h/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("http://h", "/v1/chat/completions"),
        ("http://h:8080/", "/v1/chat/completions"),
        ("http://h/v1/chat/completions", "/v1/chat/completions"),
    ],
)
def test_case_121_paths(base_url: str, path: str) -> None:
    assert endpoint(base_url).partition("//")[2].partition("/")[2] == path[1:]


@pytest.mark.parametrize("base", ["/v1", "/v1/", "/api/v1/", "/v1beta/openai"])
async def test_case_121_over_the_wire(wire: Any, base: str) -> None:
    await wire.ask(wire.said(), base_url=f"http://127.0.0.1:{wire.port}{base}")
    assert wire.seen[0].path == base.rstrip("/") + "/chat/completions"


async def test_the_environment_may_name_the_server(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", wire.base_url)
    assert wire.provider(base_url=None).address == f"{wire.base_url}/chat/completions"
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert wire.provider(base_url=None).address == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"base_url": "127.0.0.1:11434/v1"}, "provider.base_url"),
        ({"base_url": "ftp://h/v1"}, "provider.base_url"),
        ({"base_url": "http:///v1"}, "provider.base_url"),
        ({"base_url": "http://h:99999/v1"}, "provider.base_url"),
        ({"base_url": "http://[h/v1"}, "provider.base_url"),
        ({"headers": {"bad name": "x"}}, "provider.headers.bad name"),
        ({"headers": {"x": "a\r\nb: c"}}, "provider.headers.x"),
        ({"extra_body": {"stream": False}}, "provider.extra_body.stream"),
        ({"empty_content": "none"}, "provider.empty_content"),
        ({"connect_timeout_ms": 0}, "provider.connect_timeout_ms"),
        ({"first_byte_timeout_ms": -5}, "provider.first_byte_timeout_ms"),
        ({"idle_timeout_ms": "5s"}, "provider.idle_timeout_ms"),
    ],
)
def test_a_wrong_option_names_itself(options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIProvider("m", **options)
    assert caught.value.field == field
    assert isinstance(caught.value, RangeError) == ("timeout" in field)


def test_one_provider_outlives_an_event_loop() -> None:
    """A library user may call ``asyncio.run`` twice with the same provider."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        body = json.dumps({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))

    async def once() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", port)
        ports.append(server.sockets[0].getsockname()[1])
        provider = providers.setdefault("it", OpenAIProvider("m", base_url=f"http://127.0.0.1:{ports[0]}/v1"))
        texts = [event.message.text async for event in provider.stream(ModelRequest(messages=())) if isinstance(event, Answer)]
        server.close()
        return "".join(texts)

    ports: list[int] = []
    providers: dict[str, OpenAIProvider] = {}
    port = 0
    assert asyncio.run(once()) == "ok"
    port = ports[0]
    assert asyncio.run(once()) == "ok"


async def test_one_connection_serves_several_calls(wire: Any) -> None:
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
            body = wire.said()
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(body), body))
            await writer.drain()
            writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    provider = wire.provider(base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    for _ in range(3):
        assert (await wire.answer(provider)).message.content == "hi"
    assert len(connections) == 1
    await provider.aclose()
    await provider.aclose()
    server.close()


def test_importing_the_providers_loads_no_http_client() -> None:
    code = (
        "import sys, lousho_cli.providers.chat.provider, lousho_cli.providers.scripted, lousho_cli.core.retry as r\n"
        "lousho_cli.providers.chat.provider.OpenAIProvider('m'); lousho_cli.providers.scripted.ScriptedProvider(['x'])\n"
        "print([name for name in ('httpx', 'pydantic') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
