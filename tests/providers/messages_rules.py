"""What a real Messages server refuses, as one function: the rules of its requests that its documentation and its errors state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

WORD = re.compile(r"[a-zA-Z0-9_-]{1,128}")
THINKING = ("thinking", "redacted_thinking")


def refusal(body: Any, issued: Iterable[Any] = ()) -> str | None:
    """Why a server would answer 400, None when it would not.

    issued: the blocks of thinking that it gave out: none but these may come back, and unchanged.
    """
    return next(_problems(body, [thought(block) for block in issued]), None)


def thought(block: Any) -> tuple[Any, ...]:
    """What of a block of thinking may not change."""
    return block["type"], block.get("thinking"), block.get("signature"), block.get("data")


def blocks_of(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _problems(body: Any, issued: list[tuple[Any, ...]]) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int) or not body.get("model"):
        yield "max_tokens and model: fields required"
    messages = body.get("messages")
    if not messages:
        yield "messages: at least one message is required"
        return
    marks = sum("cache_control" in block for block in [*_system(body), *body.get("tools", []), *_every_block(messages)])
    if marks > 4:
        yield f"a maximum of 4 blocks with cache_control may be provided, found {marks}"
    for block in _system(body):
        yield from _text_problems("system", block)
    names = [tool.get("name", "") for tool in body.get("tools", [])]
    if len(set(names)) != len(names) or not all(WORD.fullmatch(name) for name in names):
        yield "tools: names must be unique and match the pattern"
    if messages[0]["role"] != "user":
        yield "messages.0: must be user"
    yield from _server_problems(messages)
    used: list[str] = []
    for at, message in enumerate(messages):
        before = messages[at - 1] if at else {"role": "", "content": []}
        if message["role"] == before["role"]:
            yield f"messages.{at}: two messages of one role in a row"
        if not blocks_of(message):
            yield f"messages.{at}: all messages must have non-empty content"
        for block in blocks_of(message):
            yield from _block_problems(f"messages.{at}", block, issued)
        if message["role"] == "assistant":
            yield from _answer_problems(body, at, used)
        else:
            yield from _result_problems(f"messages.{at}", before, message)


def _system(body: Any) -> list[Any]:
    system = body.get("system", [])
    return [{"type": "text", "text": system}] if isinstance(system, str) else system


def _every_block(messages: list[Any]) -> list[Any]:
    return [block for message in messages for block in blocks_of(message)]


def _text_problems(where: str, block: Any) -> Iterator[str]:
    if not block["text"].strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def _block_problems(where: str, block: Any, issued: list[tuple[Any, ...]]) -> Iterator[str]:
    kind = block["type"]
    if kind == "text":
        yield from _text_problems(where, block)
    if kind in THINKING:
        if "cache_control" in block:
            yield f"{where}: cache_control cannot be set for {kind}"
        if thought(block) not in issued:
            yield f"{where}: invalid signature in thinking block"
    if kind == "tool_use":
        if not WORD.fullmatch(block["id"]) or not WORD.fullmatch(block["name"]):
            yield f"{where}: tool_use.id and name should match the pattern"
        if not isinstance(block["input"], dict):
            yield f"{where}: tool_use.input should be a valid dictionary"


def _answer_problems(body: Any, at: int, used: list[str]) -> Iterator[str]:
    messages, where = body["messages"], f"messages.{at}"
    blocks = blocks_of(messages[at])
    last = at == len(messages) - 1
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if set(calls) & set(used) or len(set(calls)) != len(calls):
        yield f"{where}: tool_use ids must be unique"
    used += calls
    if blocks[-1]["type"] in THINKING:
        yield f"{where}: the final block in an assistant message cannot be thinking"
    if last and calls:
        yield f"{where}: tool_use ids were found without tool_result blocks: {calls}"
    if last and blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        yield f"{where}: final assistant content cannot end with trailing whitespace"
    if (
        calls
        and _begins_what_goes_on(messages, at)
        and body.get("thinking", {}).get("type") == "enabled"
        and blocks[0]["type"] not in THINKING
    ):
        yield f"{where}: expected thinking or redacted_thinking, but found {blocks[0]['type']}"


def _begins_what_goes_on(messages: list[Any], at: int) -> bool:
    """Whether this is the first of the answers that came since somebody said something."""
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    spoken = [place for place in users if {block["type"] for block in blocks_of(messages[place])} != {"tool_result"}]
    return bool(spoken) and spoken[-1] == at - 1


def _server_problems(messages: list[Any]) -> Iterator[str]:
    """A server's own call has its result behind it, before the user says anything; or it is yet to come."""
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        for block in blocks_of(message):
            if message["role"] == "user" and block["type"] != "tool_result" and waiting:
                yield f"messages.{at}: server_tool_use {sorted(waiting)} was found without a corresponding result block"
            elif block["type"].endswith("_tool_use"):
                waiting.add(block["id"])
            elif block["type"].endswith("_tool_result"):
                if block["tool_use_id"] not in waiting:
                    yield f"messages.{at}: a result block without its server_tool_use"
                waiting.discard(block["tool_use_id"])


def _result_problems(where: str, before: Any, message: Any) -> Iterator[str]:
    blocks = blocks_of(message)
    calls = [block["id"] for block in blocks_of(before) if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
        yield f"{where}: tool_result blocks must come first"
    if results != calls:
        yield f"{where}: the calls {calls} need exactly these results, in their order, not {results}"
    for block in blocks:
        if block["type"] == "tool_result" and not block.get("content") and (block.get("is_error") or "content" in block):
            yield f"{where}: content cannot be empty"
