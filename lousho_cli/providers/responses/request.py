"""A model request as the body of a Responses call.

The same transcript gives the same bytes, in every process: keys have a fixed order, tools come as
given, and the transcript stands last. So one request begins with the bytes of the one before it, also
after a resume, and a server's prompt cache keeps hitting. System messages keep their place in the
transcript for the same reason.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, TextPart, ToolCall
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.wire.asked import asked
from lousho_cli.providers.wire.calls import LONGEST_WORD, wire_word
from lousho_cli.providers.wire.surrogates import mended

WIRE = "responses"
"""Begins the name under which a server's own items are kept; behind it stands the host, as no other server can read them."""

RESERVED = frozenset({"model", "input", "stream", "store", "background", "conversation", "previous_response_id"})
"""Keys of the body that the run itself fills in, or that would leave the transcript to the server."""

ENCRYPTED_REASONING = ["reasoning.encrypted_content"]

_NEVER_REASONS = re.compile(r"(^|/)(gpt-[34]|chatgpt-|gpt-5(\.[0-9]+)?-chat)")
"""Models that are older than encrypted reasoning. A server refuses to be asked for it where there is none."""

Item = dict[str, Any] | msgspec.Raw


def endpoint(base_url: str) -> str:
    """The address of the responses under ``base_url``: with or without a final slash, a bare host gets ``/v1``."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith("/responses"):
        path = (path or "/v1") + "/responses"
    return urlunsplit(parts._replace(path=path))


def encode_request(request: ModelRequest, model: str, extra_body: Mapping[str, Any], wire: str = WIRE) -> bytes:
    """The body. ``wire``: the name of the answers whose own items go back.

    ``tools`` of ``extra_body`` go behind the request's own, ``include`` of it in place of what is asked for by default.
    """
    extra = {**extra_body, **asked(request, "reasoning")}
    tools = [*map(wire_tool, request.tools), *(extra.pop("tools", None) or ())]
    include = extra.pop("include", None if _NEVER_REASONS.search(model) else ENCRYPTED_REASONING)
    body: dict[str, Any] = {"model": model, **extra, "store": False, "stream": True}
    if include:
        body["include"] = include
    if tools:
        body["tools"] = tools
    body["input"] = [item for message in request.messages for item in wire_items(message, wire)]
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(body))


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    # A strict tool may have no optional argument, and changes the model's answers; the schema is judged before the call runs anyway.
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.schema, "strict": False}


def wire_items(message: Message, wire: str = WIRE) -> Iterator[Item]:
    """The items of one message; none for one that says nothing, which servers refuse."""
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": _call_id(message.tool_call_id or ""), "output": message.text}
    elif message.role == "assistant":
        yield from _answer_items(message, wire)
    elif content := _wire_content(message):
        yield {"type": "message", "role": message.role, "content": content}


def _answer_items(message: Message, wire: str) -> Iterator[Item]:
    native = _native_items(message, wire)
    if native is not None:
        yield from native
        return
    if message.text:
        yield {"type": "message", "role": "assistant", "content": message.text}
    for call in message.tool_calls:
        yield {"type": "function_call", **_call_fields(call)}


def _native_items(message: Message, wire: str) -> list[Item] | None:
    """The items as the server wrote them, with the calls as they are now; None where there are none that fit."""
    if message.native is None or message.native.wire != wire:
        return None
    try:
        raws = msgspec.json.decode(message.native.content, type=list[msgspec.Raw])
        kinds = [msgspec.json.decode(raw, type=_Kind).type for raw in raws]
    except msgspec.DecodeError:
        return None
    if kinds.count("function_call") != len(message.tool_calls):
        return None
    calls = iter(message.tool_calls)
    return [
        {**msgspec.json.decode(raw), **_call_fields(next(calls))} if kind == "function_call" else raw
        for raw, kind in zip(raws, kinds, strict=True)
    ]


class _Kind(msgspec.Struct):
    type: str


def _call_fields(call: ToolCall) -> dict[str, str]:
    return {"call_id": _call_id(call.id), "name": wire_word(call.name), "arguments": call.arguments}


def _call_id(call_id: str) -> str:
    """An id that the wire takes: one of another wire may be too long, and is shortened to the same one each time."""
    if len(call_id) <= LONGEST_WORD:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:40]}"


def _wire_content(message: Message) -> str | list[dict[str, Any]]:
    """Text as text, several parts as a list; what is empty is left out."""
    if message.role != "user" or isinstance(message.content, str):
        return message.text
    return [_wire_part(part) for part in message.content if not isinstance(part, TextPart) or part.text]


def _wire_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "input_image", "detail": "auto", "image_url": _image_address(part)}
    return {"type": "input_file", "filename": part.filename or "file", "file_data": _data_address(part)}


def _image_address(part: ImagePart) -> str:
    if part.image.startswith(("http://", "https://", "data:")):
        return part.image
    return f"data:{part.mime_type or 'image/png'};base64,{part.image}"


def _data_address(part: FilePart) -> str:
    return f"data:{part.mime_type};base64,{part.data}"
