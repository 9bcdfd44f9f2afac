"""Records without secrets. Done before anything is made of them, so that it holds for every form, our own too.

What holds a session together stays as it is: ids, times, the names of tools, agents and models. Every other text goes
through what takes secrets out, JSON inside a text included.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from lousho_cli.core.secret_keys import says_what, under
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning

Redact = Callable[[str], str]
"""Text in, the same text without secrets out."""

KEPT = frozenset(
    {
        "active",
        "agent",
        "agent_id",
        "approval_id",
        "at",
        "calls",
        "category",
        "code",
        "created_at",
        "deadline",
        "digest",
        "expires_at",
        "finish_reason",
        "group",
        "harness",
        "host",
        "id",
        "input_id",
        "kind",
        "mime_type",
        "model",
        "name",
        "offered",
        "operation",
        "parent",
        "path",
        "post",
        "replaced_by",
        "run_id",
        "session",
        "session_id",
        "started",
        "step",
        "tenant",
        "tool_call_id",
        "tool_name",
        "type",
        "unknown",
        "updated_at",
        "waiting",
        "wire",
    }
)
"""The fields of records that hold a session together."""


def redacted_batches(batches: Iterable[r.Batch], redact: Redact) -> Iterator[r.Batch]:
    """The same batches without secrets.

    The pieces of an answer that was being written are emptied: a secret may stand in two of them, and the whole answer follows.
    Reasoning that was changed is no longer signed, and an answer that was has no form of its wire any more.
    """
    for batch in batches:
        yield replace(batch, records=tuple(_value(record, redact) for record in batch.records))


def _value(value: Any, redact: Redact) -> Any:
    special = _SPECIAL.get(type(value))
    if special is not None:
        return special(value, redact)
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, msgspec.Struct):
        return _struct(value, redact)
    if isinstance(value, Mapping):
        return {key: _value(item, redact) for key, item in value.items()}
    return tuple(_value(item, redact) for item in value) if isinstance(value, tuple | list) else value


def _struct(value: msgspec.Struct, redact: Redact) -> Any:
    changed = {}
    for name, free in _fields(type(value)):
        old = getattr(value, name)
        new = _free(old, redact) if free else _value(old, redact)
        if new != old:
            changed[name] = new
    return replace(value, **changed) if changed else value


@lru_cache(maxsize=256)
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, bool], ...]:
    """The fields of a kind of value that may hold a text, each with whether it is free: data of a shape that is the caller's own."""
    hints = get_type_hints(kind)
    names = [name for name in kind.__struct_fields__ if _may_tell(name, hints[name])]
    return tuple((name, _is_free(hints[name])) for name in names)


def _may_tell(name: str, hint: Any) -> bool:
    """Whether a field is looked into. One that is kept is a word, or some; where values of ours have its name, they may tell more."""
    return get_origin(hint) is not Literal and (name not in KEPT or _is_ours(hint))


def _is_ours(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, msgspec.Struct)) or any(map(_is_ours, get_args(hint)))


def _is_free(hint: Any) -> bool:
    return hint is Any or any(map(_is_free, get_args(hint)))


def _free(value: Any, redact: Redact) -> Any:
    """Data of any shape, its keys included. Where it is nested too deep to be gone through, its JSON text is."""
    try:
        return _each(value, redact)
    except RecursionError:
        text = msgspec.json.encode(value).decode()
        clean = redact(text)
    try:
        return value if clean == text else msgspec.json.decode(clean)
    except msgspec.DecodeError:
        return clean


def _each(value: Any, redact: Redact, key: str = "") -> Any:
    """``key``: what the value stands under."""
    if isinstance(value, Mapping):
        clean: dict[str, Any] = {}
        for given, item in value.items():
            name = redact(given)
            while name in clean:  # what is left of two keys may be the same
                name = f"{name}*{len(clean)}"
            clean[name] = _each(item, redact, says_what(given, value, key))
        return clean
    return [_each(item, redact, key) for item in value] if isinstance(value, tuple | list) else under(key, value, redact)


def _message(message: Message, redact: Redact) -> Message:
    clean: Message = _struct(message, redact)
    return message if clean is message else replace(clean, native=None)


def _reasoning(block: Reasoning, redact: Redact) -> Reasoning:
    text = redact(block.text)
    return block if text == block.text else Reasoning(text)


def _image(part: ImagePart, redact: Redact) -> ImagePart:
    """A picture itself is no text; the address of one is."""
    return replace(part, image=redact(part.image)) if part.image.startswith(("http://", "https://")) else part


def _file(part: FilePart, redact: Redact) -> FilePart:
    """A file that is text, whatever kind it is said to be, is looked into."""
    name = None if part.filename is None else redact(part.filename)
    try:
        text = base64.b64decode(part.data).decode()
    except (binascii.Error, ValueError):
        text = ""
    clean = redact(text)
    data = part.data if clean == text else base64.b64encode(clean.encode()).decode()
    return replace(part, data=data, filename=name)


def _foreign(record: r.Foreign, redact: Redact) -> r.Foreign:
    """A record of a user's own, or one we can not read: all of it but its type. Where it can not be taken apart, that alone is left."""
    try:
        fields = msgspec.json.decode(record.raw)
        clean = _each({key: item for key, item in fields.items() if key != "type"}, redact)
    except (msgspec.DecodeError, RecursionError):
        text = record.raw.decode("utf-8", "replace")
        if redact(text) == text:
            return record
        clean = {}
    return r.Foreign(record.type, msgspec.json.encode({"type": record.type, **clean}))


_SPECIAL: dict[type, Callable[[Any, Redact], Any]] = {
    Message: _message,
    Reasoning: _reasoning,
    ImagePart: _image,
    FilePart: _file,
    Fingerprint: lambda hashes, _redact: hashes,
    r.Foreign: _foreign,
    r.Partial: lambda _partial, _redact: r.Partial(""),
}
