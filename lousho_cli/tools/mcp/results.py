"""What a call gave, as the value that a model gets. Pure: it takes the data of the protocol's result, not the SDK's classes.

Text comes first. What is no text is described, because a tool's result is text on every wire; structured content
stands in place of the text that repeats it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lousho_cli.tools.mcp.names import clean

_SHOWN = 200


def text_of_blocks(blocks: Sequence[Mapping[str, Any]]) -> str:
    """The blocks of a result as one text."""
    return "\n".join(_text(block) for block in blocks)


def value_of(result: Mapping[str, Any]) -> Any:
    """The value of a result that is no error: its text, its structured content, or both where they say different things."""
    blocks = result.get("content") or []
    text, structured = text_of_blocks(blocks), result.get("structuredContent")
    if structured is None:
        return text
    if all(block.get("type") == "text" for block in blocks) and _repeats(text, structured):
        return structured
    return {"content": text, "structuredContent": structured}


def _repeats(text: str, structured: Any) -> bool:
    """Whether a text says no more than the structured content, which servers send twice for older clients."""
    inner = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else None
    if not text or text == inner:
        return True
    if isinstance(inner, list) and text == "\n".join(item if isinstance(item, str) else json.dumps(item) for item in inner):
        return True
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(said in (structured, inner))


def _text(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        data = str(block.get("data", ""))
        return f"[{kind} {_word(block.get('mimeType'))}, {len(data) * 3 // 4} bytes, not shown]"
    if kind == "resource_link":
        return f"[resource {_word(block.get('name'))} {_word(block.get('uri'))}]"
    if kind == "resource":
        inner = block.get("resource")
        resource: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
        if isinstance(resource.get("text"), str):
            return str(resource["text"])
        size = len(str(resource.get("blob", ""))) * 3 // 4
        return f"[resource {_word(resource.get('uri'))} {_word(resource.get('mimeType'))}, {size} bytes, not shown]"
    return f"[{_word(kind)} content, not shown]"


def _word(value: Any) -> str:
    return clean("unknown" if value is None else str(value), _SHOWN)
