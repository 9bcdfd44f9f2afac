"""A model's answer made fit to be stored: ids that tell its calls apart, and text that is text."""

from __future__ import annotations

import msgspec

from lousho_cli.domain.codec import plain
from lousho_cli.domain.messages import Message, ToolCall


def storable(message: Message, step: int) -> Message:
    """The answer with unique, non-empty call ids and no lone surrogates; itself when it was so already."""
    calls = message.tool_calls
    ids = {call.id for call in calls}
    if len(ids) < len(calls) or "" in ids:
        calls = _distinct(calls, step)
    text = message.content
    if isinstance(text, str) and not text.isascii():
        text = plain(text)[0]
    if any(not (call.arguments.isascii() and call.name.isascii()) for call in calls):
        calls = tuple(ToolCall(call.id, plain(call.name)[0], plain(call.arguments)[0]) for call in calls)
    if calls is message.tool_calls and text is message.content:
        return message
    return msgspec.structs.replace(message, content=text, tool_calls=calls)


def _distinct(calls: tuple[ToolCall, ...], step: int) -> tuple[ToolCall, ...]:
    seen: set[str] = set()
    distinct = []
    for number, call in enumerate(calls, 1):
        call_id = call.id
        if not call_id or call_id in seen:
            call_id = f"{call.id or 'call'}_{step}_{number}"
        seen.add(call_id)
        distinct.append(ToolCall(call_id, call.name, call.arguments))
    return tuple(distinct)
