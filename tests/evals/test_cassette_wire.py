"""A real provider over a real server is recorded and played: the same events, and no header in the file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llmock.scenarios import Reply
from llmock.scenarios import ToolCall as MockCall

from lousho_cli import OpenAIProvider, ProviderError, cassette
from lousho_cli.domain.messages import Message
from lousho_cli.ports.provider import ModelRequest, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def test_what_came_over_the_wire_is_what_is_played(llmock: Any, bench: Any, tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain-words-as-a-key")
    llmock.add(Reply(text="Let me look.", tool_calls=(MockCall("forecast", {"city": "Lisbon"}), MockCall("forecast", {"city": "Porto"}))))
    asked = ModelRequest((Message("user", "Weather?"),), (ToolSpec("forecast", "Forecast", CITY),), "gpt-mock")
    recording = cassette(OpenAIProvider("gpt-mock", base_url=llmock.base_url()), tape)
    try:
        live = await bench.events(recording, asked)
    finally:
        await recording.aclose()
    assert len(live[-1].message.tool_calls) == 2
    assert await bench.events(cassette(None, tape), asked) == live
    stored = tape.read_text()
    assert "plain-words-as-a-key" not in stored
    assert "authorization" not in stored.lower()


async def test_a_server_that_is_not_there_is_not_there_in_a_replay_either(bench: Any, tape: Path) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    seen = []
    for provider in (OpenAIProvider("m", base_url=f"http://127.0.0.1:{port}/v1"), None):
        with pytest.raises(ProviderError) as caught:
            await bench.said(cassette(provider, tape), "hi")
        seen.append((caught.value.detail, caught.value.category, caught.value.code, caught.value.retryable, caught.value.hint))
    assert seen[0] == seen[1]
    assert seen[0][1] == "network"
