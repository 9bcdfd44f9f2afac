"""Answers whose blocks our own fields do not hold, kept as the server wrote them and sent back the same.

Interleaved thinking, a server's own tools and their results, citations, kinds of blocks nobody knew when this was
written. A call in it is only a place: its id, name and arguments are the message's own, which may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lousho_cli.domain.messages import Message, Native

WIRE = "anthropic"

Block = dict[str, Any]
"""A block of a message on the wire. Of a native one every value but a short text is raw JSON."""

_OWN = frozenset({"id", "name", "input"})
_READ = ("type", "id", "name", "tool_use_id", "text")
_blocks = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


def pack(blocks: Iterable[Mapping[str, Any]]) -> Native:
    """Blocks as they are kept."""
    kept = [{k: v for k, v in block.items() if k not in _OWN} if block["type"] == "tool_use" else block for block in blocks]
    return Native(WIRE, msgspec.json.encode(kept).decode())


def unpack(message: Message) -> list[Block] | None:
    """The blocks of an answer of this wire, calls as places; None where there are none, or its calls are others by now."""
    if message.native is None or message.native.wire != WIRE:
        return None
    try:
        blocks = [_readable(block) for block in _blocks.decode(message.native.content)]
    except msgspec.MsgspecError:
        return None
    calls = sum(block.get("type") == "tool_use" for block in blocks)
    return blocks if blocks and calls == len(message.tool_calls) else None


def _readable(block: dict[str, msgspec.Raw]) -> Block:
    return block | {key: msgspec.json.decode(block[key], type=str) for key in _READ if key in block}
