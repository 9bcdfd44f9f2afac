"""Judged by the official package: it accepts what we send, and reads from a recorded stream what we read.

The package is imported where it is asked: it takes seconds, and every process that collects tests comes by here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from lousho_cli.domain.messages import Message
from lousho_cli.ports.provider import ModelRequest
from lousho_cli.providers.anthropic.request import encode_request
from tests.providers import messages_server as m
from tests.providers.test_anthropic_cuts import RECORDED, read
from tests.providers.test_anthropic_request import FOUND, SEARCH, TOOLS, TRANSCRIPT, native


def official(stream: bytes) -> Any:
    """What the official package makes of a stream."""
    from anthropic import Anthropic

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    with httpx2.Client(transport=httpx2.MockTransport(lambda request: answer)) as http:
        client = Anthropic(api_key="none", base_url="http://127.0.0.1:1", http_client=http)
        with client.messages.stream(model="x", max_tokens=1, messages=[{"role": "user", "content": "x"}]) as reading:
            return reading.get_final_message()


@pytest.mark.parametrize("which", range(len(RECORDED)))
def test_it_reads_from_a_recorded_stream_what_we_read(which: int) -> None:
    theirs, ours = official(RECORDED[which]), read([RECORDED[which]])[0]
    by_type: dict[str, list[Any]] = {"text": [], "thinking": [], "tool_use": []}
    for block in theirs.content:
        by_type[block.type].append(block)
    message = ours.message
    assert message.content == "".join(block.text for block in by_type["text"])
    assert [(call.id, call.name, json.loads(call.arguments)) for call in message.tool_calls] == [
        (block.id, block.name, block.input) for block in by_type["tool_use"]
    ]
    assert [(block.text, block.signature) for block in message.reasoning] == [(b.thinking, b.signature) for b in by_type["thinking"]]
    assert ours.model == theirs.model
    assert ours.usage is not None
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (theirs.usage.input_tokens, theirs.usage.output_tokens)
    assert ours.finish_reason == {"tool_use": "tool_calls", "end_turn": "stop"}[theirs.stop_reason]


def accepted(kind: Any, value: Any) -> Any:
    """The value as the package's type for it reads it: what it does not know is gone."""
    adapter = TypeAdapter(kind)  # has to live as long as what it gave is read
    return whole(adapter.validate_python(value))


def whole(value: Any) -> Any:
    """Reads what pydantic checks only when it is read."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list | Iterator) else value


@pytest.mark.parametrize(
    "messages",
    [
        TRANSCRIPT,
        (Message("user", "x"), native(m.thinking("a", "s"), SEARCH, FOUND, m.said("y"), m.thinking("b", "t"), m.said("z"))),
    ],
)
def test_its_types_accept_all_that_we_send(messages: tuple[Message, ...]) -> None:
    from anthropic.types import MessageParam, TextBlockParam, ToolUnionParam
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    raw = encode_request(ModelRequest(messages, TOOLS), "claude-x", {"thinking": {"type": "adaptive"}}, max_tokens=8, prompt_cache=True)
    body = json.loads(raw)
    assert accepted(list[MessageParam], body["messages"]) == body["messages"]
    assert accepted(list[ToolUnionParam], body["tools"]) == body["tools"]
    assert accepted(list[TextBlockParam], body.get("system", [])) == body.get("system", [])
    assert set(body) <= set(MessageCreateParamsStreaming.__annotations__)
