"""What the APIs of OpenAI and Anthropic demand of messages: the types of their own packages, and how calls and results pair up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from pydantic import TypeAdapter


@cache
def kind_of(wire: str) -> TypeAdapter[Any]:
    if wire == "openai":
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    from anthropic.types import MessageParam

    return TypeAdapter(list[MessageParam])


def taken(wire: str, messages: Any) -> Any:
    """The messages as the package's type reads them: what it does not know is gone."""
    return whole(kind_of(wire).validate_python(messages))


def whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list | Iterator) else value


def pairs_on_openai(messages: list[dict[str, Any]]) -> bool:
    """Each call has its result among the tool messages right behind its answer, and there is no other."""
    wanted: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in wanted:
                return False
            wanted.remove(message["tool_call_id"])
        elif wanted:
            return False
        wanted += [call["id"] for call in message.get("tool_calls", ())]
    return not wanted


def pairs_on_anthropic(messages: list[dict[str, Any]]) -> bool:
    """Turns alternate; the results of an answer's calls stand first in the next turn; no id is used twice."""
    used: list[str] = []
    wanted: list[str] = []
    for turn, role in zip(messages, ["user", "assistant"] * len(messages), strict=False):
        results = [block["tool_use_id"] for block in turn["content"] if block["type"] == "tool_result"]
        if turn["role"] != role or results != wanted or any(b["type"] != "tool_result" for b in turn["content"][: len(results)]):
            return False
        wanted = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        used += wanted
    return len(set(used)) == len(used) and not wanted


def plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
