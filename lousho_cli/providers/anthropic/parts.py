"""What a person or a tool said, as blocks. Text without a character in it is no block: servers refuse it."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, TextPart
from lousho_cli.providers.anthropic.native import Block

FAILED = "The tool failed and said nothing."
"""Stands for the result of a call that failed without a word, which servers refuse."""

_TEXTS = ("text/", "application/json", "application/xml", "application/yaml")


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def content_blocks(content: str | tuple[Part, ...]) -> list[Block]:
    """A user's content as blocks; none when it is blank."""
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    return [block for part in content if (block := _part(part))]


def result_block(message: Message, call_id: str) -> Block:
    """The result of a call: its JSON text, or blocks where it has pictures and files. An empty one has no content at all."""
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    content: Any = content_blocks(message.content)
    if message.is_error:  # servers take nothing but text for an error
        content = [part for part in content if part["type"] == "text"]
    if content and isinstance(message.content, str):
        content = message.content
    if content or message.is_error:
        block["content"] = content or FAILED
    if message.is_error:
        block["is_error"] = True
    return block


def _part(part: Part) -> Block | None:
    if isinstance(part, TextPart):
        return text_block(part.text) if part.text.strip() else None
    if isinstance(part, ImagePart):
        return {"type": "image", "source": _image_source(part)}
    return _file(part)


def _image_source(part: ImagePart) -> Block:
    if part.image.startswith(("http://", "https://")):
        return {"type": "url", "url": part.image}
    if part.image.startswith("data:"):
        head, _, data = part.image.removeprefix("data:").partition(",")
        if not head.endswith(";base64"):
            data = base64.b64encode(unquote_to_bytes(data)).decode()
        return _base64(head.partition(";")[0] or part.mime_type or "image/png", data)
    return _base64(part.mime_type or "image/png", part.image)


def _file(part: FilePart) -> Block | None:
    """A picture as one; text as text, which is the only form it is taken in; anything else as it is: the server says what it takes."""
    if part.mime_type.startswith("image/"):
        return {"type": "image", "source": _base64(part.mime_type, part.data)}
    text = _text_of(part)
    if text is not None and not text.strip():
        return None
    source = _base64(part.mime_type, part.data) if text is None else {"type": "text", "media_type": "text/plain", "data": text}
    return {"type": "document", "source": source} | ({"title": part.filename} if part.filename else {})


def _text_of(part: FilePart) -> str | None:
    if not part.mime_type.startswith(_TEXTS):
        return None
    try:
        return base64.b64decode(part.data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _base64(media_type: str, data: str) -> Block:
    return {"type": "base64", "media_type": media_type, "data": data}
