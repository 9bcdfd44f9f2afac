"""What of an answer only its own wire can say: reasoning that goes back as it came, a server's own tools, the order of items."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from lousho_cli.domain.messages import Native
from lousho_cli.providers.responses.items import CALL, MESSAGE, REASONING
from lousho_cli.providers.wire.surrogates import whole

_CALL_FIELDS = {"call_id", "name", "arguments"}
_PLAIN = {
    MESSAGE: {"type", "id", "role", "status", "content"},
    CALL: {"type", "id", "status"} | _CALL_FIELDS,
}


def native_of(output: Iterable[dict[str, Any]], wire: str) -> Native | None:
    """The items that are sent back under the name ``wire``; None when the message's own fields say all that they say.

    Reasoning goes back only where the server can read it without having stored it, and never without the item it
    led to. The calls' own fields are left out: they stand in the message.
    """
    items = list(output)
    kept = [item for item in items if _may_go_back(item)]
    while kept and kept[-1]["type"] == REASONING:
        kept.pop()
    if _is_plain(kept):
        return None
    if any(item["type"] == REASONING and item not in kept for item in items):
        # By its id a server knows that an item came of reasoning, and would miss it.
        kept = [_without(item, {"id"}) if item["type"] in _PLAIN else item for item in kept]
    return Native(wire, _text([_without(item, _CALL_FIELDS) if item["type"] == CALL else item for item in kept]))


def _may_go_back(item: dict[str, Any]) -> bool:
    content = item.get("content")
    if item["type"] == REASONING:
        return bool(item.get("encrypted_content") or content)
    if item["type"] == MESSAGE and isinstance(content, list):
        return any(isinstance(part, dict) and part.get("text") != "" for part in content)
    return bool(item["type"] != MESSAGE)


def _is_plain(items: list[dict[str, Any]]) -> bool:
    """Whether there is at most one text, in front of all calls, and nothing else."""
    return all(_plain_item(item) and (item["type"] == CALL or number == 0) for number, item in enumerate(items))


def _plain_item(item: dict[str, Any]) -> bool:
    fields = _PLAIN.get(item["type"])
    if fields is None or any(value is not None and key not in fields for key, value in item.items()):
        return False
    parts = item.get("content") or []
    return isinstance(parts, list) and all(
        isinstance(part, dict) and part.get("type") == "output_text" and not part.get("annotations") for part in parts
    )


def _without(item: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in keys}


def _text(items: list[dict[str, Any]]) -> str:
    try:
        return msgspec.json.encode(items).decode()
    except (UnicodeEncodeError, OverflowError, msgspec.MsgspecError):
        return whole(json.dumps(items, ensure_ascii=False, separators=(",", ":")))
