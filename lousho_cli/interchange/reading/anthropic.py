"""Message lists of Anthropic's wire: a list, or a request with its system text, perhaps with the answer behind it."""

from __future__ import annotations

from typing import Any

from lousho_cli.domain.messages import Message
from lousho_cli.interchange.reading.blocks import FINISH, answer_of, blocks_of, said_by_user, usage_of
from lousho_cli.interchange.reading.fields import listed, text
from lousho_cli.interchange.reading.values import BadLine, Entry, Source, source_of

KIND = "anthropic"

_OWN = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")


def is_own(value: Any) -> bool:
    """Whether a message has blocks that only this wire has."""
    content = value.get("content") if isinstance(value, dict) else None
    return any(isinstance(block, dict) and block.get("type") in _OWN for block in listed(content))


def source(body: dict[str, Any], given: list[Any], name: str) -> Source:
    """The session of a list of messages; ``body`` is the request or the object around it."""
    entries: list[Entry] = []
    bad: list[BadLine] = []
    model = text(body.get("model"))
    system = "\n\n".join(text(block.get("text")) for block in blocks_of(body.get("system")))
    if system:
        entries.append(Entry(Message("system", system)))
    for place, value in enumerate(given, 1):
        role = value.get("role") if isinstance(value, dict) else None
        if role not in ("user", "assistant", "system") or not isinstance(value.get("content"), (str, list)):
            bad.append(BadLine(place, "it is no message: it has no role of this wire, or no content"))
        elif role == "assistant":
            finish = FINISH.get(text(value.get("stop_reason")), "")
            answer = answer_of(blocks_of(value["content"]))
            entries.append(Entry(answer, "", place, text(value.get("model")) or model, usage_of(value.get("usage")), finish))
        elif role == "system":
            entries.append(
                Entry(Message("system", "\n\n".join(text(block.get("text")) for block in blocks_of(value["content"]))), "", place)
            )
        else:
            entries.extend(Entry(message, "", place) for message in said_by_user(blocks_of(value["content"])))
    return source_of(KIND, text(body.get("session_id")) or name, KIND, entries, bad=tuple(bad))
