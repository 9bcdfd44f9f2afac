"""What servers write in the body of an answer that is an error, as a code and a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_TOLD = 200
"""Characters of what is no message itself, of which only the beginning is told."""


def error_of(value: Any) -> tuple[str, str] | None:
    """The codes and the message of an error object as servers send it; None when there is none.

    The codes are all its words for what it is, in one text: its code, type, status and reasons.

    Known shapes: ``{"error": {"code", "type", "message"}}``, ``{"error": "text"}``, ``{"detail": …}``,
    ``{"message": "text"}``, and a list that holds one of them.
    """
    if isinstance(value, list):
        return error_of(value[0]) if value else None
    if not isinstance(value, dict):
        return None
    inner = value.get("error") or value.get("detail")
    if not inner and isinstance(value.get("message"), str):
        inner = value
    if not inner:
        return None
    if not isinstance(inner, dict):
        return "", inner if isinstance(inner, str) else _wrong_fields(inner)
    return " ".join(dict.fromkeys(_codes(inner))), _message(inner)


def body_value(body: bytes) -> Any:
    """The JSON value of a body; None where it is none."""
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def body_message(body: bytes) -> tuple[str, str]:
    """Codes and message of the body of a failed answer. Of a page or other text only its kind, or its first line, is told."""
    value = body_value(body)
    if value is not None:
        return error_of(value) or ("", "")
    text = body.decode("utf-8", "replace").strip()
    if text[:1] == "<":
        return "", "an HTML page instead of JSON"
    return "", _first_line(text)


def _codes(error: dict[str, Any]) -> Iterator[str]:
    for name in ("code", "type", "status"):
        kind = error.get(name)
        if isinstance(kind, str | int) and kind and kind != "error":  # which says that it is one, and not which
            yield str(kind)
    inner = error.get("innererror")
    if isinstance(inner, dict) and isinstance(inner.get("code"), str):
        yield inner["code"]
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("reason"), str):
            yield detail["reason"]
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and (metadata.get("flagged_input") or metadata.get("reasons")):
        yield "moderation"


def _message(error: dict[str, Any]) -> str:
    message = str(error.get("message") or error.get("detail") or "")
    if error.get("failed_generation"):
        message = f"{message} The model wrote: {error['failed_generation']}"
    metadata = error.get("metadata")
    if not isinstance(metadata, dict):
        return message
    raw, name = metadata.get("raw"), metadata.get("provider_name")  # a router: what the server behind it said
    if isinstance(raw, str):
        said = body_value(raw.encode()) if raw[:1] in "{[" else None
        raw = (error_of(said) or ("", ""))[1] if said is not None else _first_line(raw)
    behind = ": ".join(part for part in (name, raw) if isinstance(part, str) and part)
    return f"{message} ({behind})" if behind else message


def _wrong_fields(items: Any) -> str:
    """What a server says of each field of a request, without the request that it quotes beside it."""
    told = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("msg"), str):
            place = item.get("loc")
            told.append((".".join(map(str, place)) + ": " if isinstance(place, list) else "") + item["msg"])
    return "; ".join(told) or _beginning(json.dumps(items, ensure_ascii=False))


def _first_line(text: str) -> str:
    return _beginning(text.strip().splitlines()[0]) if text.strip() else ""


def _beginning(text: str) -> str:
    """As much as is told. The mark behind it says that it was cut: a key may have been, too."""
    return text if len(text) <= _TOLD else text[: _TOLD - 1] + "…"
