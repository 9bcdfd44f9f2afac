"""A model request as the body of a chat-completions call.

The same transcript gives the same bytes, in every process: keys have a fixed order and tools
come as given. So a server's prompt cache keeps hitting, also after a resume.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, TextPart
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.wire.surrogates import whole

RESERVED = frozenset({"model", "messages", "tools", "stream", "stream_options"})
"""Keys of the body that the run itself fills in."""


def endpoint(base_url: str) -> str:
    """The address of chat completions under ``base_url``: with or without a final slash, a bare host gets ``/v1``."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = (path or "/v1") + "/chat/completions"
    return urlunsplit(parts._replace(path=path))


def encode_request(request: ModelRequest, model: str, extra_body: Mapping[str, Any], empty_content: str | None) -> bytes:
    """The body. ``empty_content`` is what an answer that is only calls has as its content."""
    messages = [wire_message(message, empty_content) for message in request.messages]
    body: dict[str, Any] = {"model": model, "messages": [message for message in messages if message is not None]}
    if request.tools:
        body["tools"] = [wire_tool(tool) for tool in request.tools]
    body |= {**extra_body, "stream": True, "stream_options": {"include_usage": True}}
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return whole(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}


def wire_message(message: Message, empty_content: str | None = None) -> dict[str, Any] | None:
    """One message on the wire; None for an answer that says nothing, which servers refuse."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.role == "assistant":
        return _wire_answer(message, empty_content)
    if message.role == "user" and not isinstance(message.content, str):
        return {"role": "user", "content": [_wire_part(part) for part in message.content]}
    return {"role": message.role, "content": message.text}


def _wire_answer(message: Message, empty_content: str | None) -> dict[str, Any] | None:
    if not message.text and not message.tool_calls:
        return None
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or empty_content}
    reasoning = "".join(block.text for block in message.reasoning)
    if reasoning:
        wire["reasoning_content"] = reasoning
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    return wire


def _wire_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": _image_address(part)}}
    return {"type": "file", "file": {"filename": part.filename or "file", "file_data": _data_address(part)}}


def _image_address(part: ImagePart) -> str:
    if part.image.startswith(("http://", "https://", "data:")):
        return part.image
    return f"data:{part.mime_type or 'image/png'};base64,{part.image}"


def _data_address(part: FilePart) -> str:
    return f"data:{part.mime_type};base64,{part.data}"
