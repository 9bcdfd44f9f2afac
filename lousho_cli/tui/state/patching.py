"""The calls of a checkpoint whose results a fork may change. Pure."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from lousho_cli.app.showing import Shown

_MOST = 200
"""So many calls are offered, the newest."""


class Call(msgspec.Struct, frozen=True):
    """One call. said: its tool, its id and its arguments; result: what it gave, None while it has no result."""

    id: str
    said: str
    result: Any = None
    answered: bool = False


def calls_of(shown: Shown) -> tuple[Call, ...]:
    """The calls of a transcript, newest first."""
    results = {message.tool_call_id: message.content for message in shown.messages if message.role == "tool"}
    calls = [call for message in shown.messages for call in message.tool_calls]
    return tuple(
        Call(call.id, f"{call.name} ({call.id}) {call.arguments}", _value(results.get(call.id)), call.id in results)
        for call in calls[: -_MOST - 1 : -1]
    )


def _value(content: Any) -> Any:
    """A result as the model got it, as the value that it stands for."""
    if not isinstance(content, str):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content
