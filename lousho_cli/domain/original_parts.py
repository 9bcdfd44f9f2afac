"""The parts of an original record, each as the plain data that ours is read from.

The original product writes its fields in camel case and, in places, deeper: a call's name stands under
``function``, a step's tokens under ``usage``, bytes under ``$bytes``. A field that is spelled as ours is taken as
it is, so a record that somebody half rewrote is read too. What ours has no place for is dropped: tokens written
to a cache, the share of sub-agents, the counts of tools that a provider ran itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from lousho_cli.domain.plain import json_text, plain
from lousho_cli.domain.times import stamp
from lousho_cli.errors import StorageError

UNKNOWN_MODEL = "unknown"
"""The model that tokens of a record from before models were kept are booked under."""

_BEGINNING = "1970-01-01T00:00:00.000Z"

Fields = dict[str, Any]
T = TypeVar("T")


def record_of(value: Any) -> Fields:
    """A stored record as data that can be stored again: no half characters, no numbers that are none.

    Raises:
        StorageError: it is no object.
    """
    if not isinstance(value, Mapping):
        raise StorageError(f"a stored record is an object, not {type(value).__name__}")
    return dict(plain(dict(value))[0])


def read(fields: Any, kind: type[T], what: str) -> T:
    """Fields, spelled as ours, as what they make.

    Raises:
        StorageError: one of them is missing or of the wrong kind; ``what`` names the whole.
    """
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise StorageError(f"a stored {what} is not readable: {error}") from error


def items(value: Any) -> list[Any]:
    """The items of a list; of anything else, none."""
    return list(value) if isinstance(value, (list, tuple)) else []


def renamed(value: Mapping[str, Any], spelling: Mapping[str, str]) -> Fields:
    """``value`` with its keys spelled as ours; what is null is left out, as a default is."""
    return {spelling.get(key, key): item for key, item in value.items() if item is not None}


def also(metadata: Any, key: str, value: Any) -> Any:
    """Metadata with one thing more in it; what is no object is left for the reader to refuse."""
    return {key: value, **(metadata or {})} if metadata is None or isinstance(metadata, Mapping) else metadata


def messages(values: Any) -> Any:
    """A transcript; what is no list of objects is left for the reader to refuse."""
    return [_message(value) for value in values] if isinstance(values, (list, tuple)) else values


def calls(values: Any) -> Any:
    """Calls as a message or a snapshot lists them."""
    return [_call(value) for value in values] if isinstance(values, (list, tuple)) else values


_MESSAGE = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "toolName": "tool_name", "isError": "is_error"}


def _message(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    fields = renamed(value, _MESSAGE)
    name = fields.pop("name", None)
    if name is not None and fields.get("role") == "tool":
        fields.setdefault("tool_name", name)
    elif name is not None:
        fields["metadata"] = also(fields.get("metadata"), "name", name)
    fields["content"] = _content(fields.get("content", ""))
    for key, read in (("tool_calls", calls), ("reasoning", _reasoning)):
        if key in fields:
            fields[key] = read(fields[key])
    return fields


def _call(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = value.get("function")
    source = inner if isinstance(inner, Mapping) else value
    fields = {key: item for key, item in (("id", value.get("id")), ("name", source.get("name"))) if item is not None}
    given = source.get("arguments")
    return fields | {"arguments": given if isinstance(given, str) else "{}" if given is None else json_text(given)[0]}


def _reasoning(values: Any) -> Any:
    if not isinstance(values, (list, tuple)):
        return values
    return [renamed(value, {"redactedData": "redacted"}) if isinstance(value, Mapping) else value for value in values]


def _content(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return [_part(part) for part in value] if isinstance(value, (list, tuple)) else json_text(value)[0]


def _part(value: Any) -> Any:
    """A part of a content; of a kind that we do not know, its text."""
    if not isinstance(value, Mapping) or value.get("type") not in ("text", "image", "file"):
        return {"type": "text", "text": value if isinstance(value, str) else json_text(value)[0]}
    return {key: _bytes(item) for key, item in renamed(value, {"mimeType": "mime_type"}).items()}


def _bytes(value: Any) -> Any:
    """Bytes as their base64 text, which is how a part of ours holds them."""
    return value["$bytes"] if isinstance(value, Mapping) and value.keys() == {"$bytes"} else value


_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "modelCalls": "model_calls",
    "costUsd": "cost_usd",
    "cachedInputTokens": "cached_input_tokens",
    "reasoningTokens": "reasoning_tokens",
    "byModel": "by_model",
}


def run_usage(value: Any, steps: Any) -> Any:
    """Totals of a run. Of an old record, which kept three counts alone, the tokens go to a model of unknown price."""
    if not isinstance(value, Mapping):
        return value
    fields = renamed(value, _USAGE)
    if "model_calls" in fields or "promptTokens" not in value:
        if isinstance(shares := fields.get("by_model"), Mapping):
            fields["by_model"] = {model: renamed(share, _USAGE) if isinstance(share, Mapping) else share for model, share in shares.items()}
        inner = fields.get("delegated")
        if "modelCalls" in value and isinstance(inner, Mapping):
            fields |= _without_delegated(fields, renamed(inner, _USAGE))
        return fields
    before, after = _count(value.get("promptTokens")), _count(value.get("completionTokens"))
    total = _count(value.get("totalTokens")) or before + after
    if not total:
        return {}
    share = {"input_tokens": before, "output_tokens": after, "calls": steps}
    return {
        "input_tokens": before,
        "output_tokens": after,
        "total_tokens": total,
        "model_calls": steps,  # each step was one; with none counted, a later price would pass for the whole cost
        "by_model": {UNKNOWN_MODEL: share},
    }


def _without_delegated(fields: Fields, inner: Fields) -> Fields:
    """What sub-agents used stands beside the run's own totals; the original counts it in them as well."""
    own: Fields = {"delegated": inner}
    for key in ("input_tokens", "output_tokens", "total_tokens", "model_calls"):
        own[key] = max(_count(fields.get(key)) - _count(inner.get(key)), 0)
    whole, theirs = fields.get("cost_usd"), inner.get("cost_usd")
    if isinstance(whole, (int, float)) and isinstance(theirs, (int, float)):
        return own | {"cost_usd": max(whole - theirs, 0.0)}
    return own | {"cost_usd": None}


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def step_usage(values: Any) -> Any:
    """The usage of each model call."""
    return [_step(value) for value in values] if isinstance(values, (list, tuple)) else values


def _step(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    inner = value.get("usage")
    return renamed({**(inner if isinstance(inner, Mapping) else {}), **value}, _USAGE)


def tool_names(value: Any) -> Any:
    """The names of an agent's tools, whose configuration was kept by name; None where none was kept: any of the registry."""
    if isinstance(value, Mapping):
        return list(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [item.get("name") if isinstance(item, Mapping) else item for item in value]
    return value


def time(value: Any) -> str:
    """A time as ours are written; one that nobody can read becomes the beginning of all times."""
    return readable_time(value) or _BEGINNING


def readable_time(value: Any) -> str | None:
    """A time as ours are written, from ISO text or from milliseconds since 1970; None where nobody can read it."""
    try:
        if isinstance(value, (int, float)):
            return stamp(datetime.fromtimestamp(value / 1000, UTC))
        moment = datetime.fromisoformat(value)
        return stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError, OSError):
        return None
