"""A Messages server on loopback that keeps the rules: it answers 400 to what a real one would, and says which rule it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lousho_cli.providers.anthropic.provider import AnthropicProvider
from tests.providers.conftest import Wire
from tests.providers.messages_rules import THINKING, refusal

STREAMS = Path(__file__).parent / "streams"
Block = Mapping[str, Any]

_DELTAS = {
    "text": lambda block: [{"type": "text_delta", "text": block["text"]}],
    "thinking": lambda block: [
        {"type": "thinking_delta", "thinking": block["thinking"]},
        {"type": "signature_delta", "signature": block["signature"]},
    ],
    "tool_use": lambda block: [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}],
    "server_tool_use": lambda block: [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}],
}
_EMPTY = {"text": "", "thinking": "", "signature": "", "input": {}}


def events(*values: Any) -> bytes:
    """Values as server-sent events, each named by its type."""
    return "".join(f"event: {value['type']}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n" for value in values).encode()


def opening(**usage: int) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-1", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": message | {"usage": {"input_tokens": 10, "output_tokens": 1} | usage}}


def started(index: int, block: Block) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": dict(block)}


def delta(index: int, kind: str, **value: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **value}}


def closing(reason: str = "end_turn") -> tuple[dict[str, Any], ...]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}, {"type": "message_stop"}


def answer(*blocks: Block, reason: str | None = None) -> bytes:
    """A whole stream that gives these blocks, by the book."""
    lines: list[Any] = [opening()]
    for index, block in enumerate(blocks):
        deltas = _DELTAS.get(block["type"], lambda block: [])(block)
        lines.append(started(index, block | {key: _EMPTY[key] for key in block if deltas and key in _EMPTY}))
        lines += [{"type": "content_block_delta", "index": index, "delta": item} for item in deltas]
        lines.append({"type": "content_block_stop", "index": index})
    calls = any(block["type"] == "tool_use" for block in blocks)
    return events(*lines, *closing(reason or ("tool_use" if calls else "end_turn")))


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(call_id: str, name: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def spoken(wire: Wire) -> Wire:
    """The play server of this folder, asked by a provider of this wire."""

    def provider(**options: Any) -> AnthropicProvider:
        opened = AnthropicProvider("claude-x", **{"base_url": wire.base_url, "clock": wire.clock, **options})
        wire._opened.append(opened)  # type: ignore[arg-type]
        return opened

    wire.provider = provider  # type: ignore[method-assign]
    return wire


class MessagesServer:
    """Plays its answers in order. A request that breaks a rule gets 400 and uses no answer up; ``refused`` says which rule."""

    def __init__(self) -> None:
        self.plays: list[bytes] = []
        self.bodies: list[Any] = []
        self.raw: list[bytes] = []
        self.refused: list[str] = []
        self.issued: list[Any] = []
        self.port = 0
        self._server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        raw = await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
        body = json.loads(raw)
        self.bodies.append(body)
        self.raw.append(raw)
        wrong = refusal(body, self.issued)
        if wrong is None:
            play = self.plays.pop(0)
            self.issued += _thoughts(play)
            status, kind = 200, "text/event-stream"
        else:
            self.refused.append(wrong)
            play = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": wrong}}).encode()
            status, kind = 400, "application/json"
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode() + play)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def _thoughts(stream: bytes) -> list[Any]:
    """The blocks of thinking that a stream gives out."""
    blocks: dict[int, Any] = {}
    for line in stream.decode().split("\n"):
        value = json.loads(line[5:]) if line.startswith("data:") else {}
        if value.get("type") == "content_block_start":
            blocks[value["index"]] = dict(value["content_block"])
        elif value.get("type") == "content_block_delta":
            for key in ("thinking", "signature"):
                if key in value["delta"]:
                    blocks[value["index"]][key] = blocks[value["index"]].get(key, "") + value["delta"][key]
    return [block for block in blocks.values() if block["type"] in THINKING]
