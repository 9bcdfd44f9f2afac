"""Any value as data that JSON holds exactly, so that what was written is what is read.

Nothing here refuses: what JSON does not know becomes text or a small object that says what
it was, and the caller is told that something had to be altered.
"""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from typing import Any

import msgspec

from lousho_cli.domain.unfolding import DEEPEST, fields_of, parts_of, unfolds

MOST_BITS = 14_284
"""The longest integer that is written as a number: up to 4300 digits, past which Python reads no integer from text."""

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
"""Made once: making one costs more than writing a small result."""

_fast_encoder = msgspec.json.Encoder()
"""Writes what ``_is_exact`` as the other does, in a tenth of the time."""


def json_text(value: Any) -> tuple[str, bool]:
    """A tool's result as the JSON text a model gets, and whether something in it had to be altered; see ``plain``."""
    try:
        if type(value) is str or _is_exact(value):
            return _fast_encoder.encode(value).decode(), False
        if not unfolds(value):
            text = _encoder.encode(value)
            if not text.isascii():
                text.encode()
            return text, False
    except (ValueError, TypeError, RecursionError):
        pass  # it holds what JSON does not
    clean, altered = plain(value)
    return _encoder.encode(clean), altered


_EXACT: frozenset[type] = frozenset((str, int, bool, type(None)))
_MANY = 10_000


def _is_exact(value: Any) -> bool:
    """Whether a value is made of JSON's own kinds alone, with no number that may be written in two ways; not of many, nor of itself."""
    found = [value]
    for item in found:  # which grows meanwhile
        kind = type(item)
        if kind in _EXACT:
            continue
        if kind is dict:
            for key in item:
                if type(key) is not str:
                    return False
            found += item.values()
        elif kind is list or kind is tuple:
            found += item
        elif kind is not float or not 1e-4 <= abs(item) < 1e16:
            return False  # beyond these a float has an exponent, which one writes as 1e-05 and another as 1e-5
        if len(found) > _MANY:
            return False
    return True


def plain(value: Any, _around: tuple[int, ...] = (), _seen: dict[int, Any] | None = None) -> tuple[Any, bool]:
    """``value`` as data that JSON can hold exactly, and whether that changed anything.

    Numbers that are not finite become "NaN", "Infinity" or "-Infinity", an integer of more than
    4300 digits its digits as text, a lone surrogate U+FFFD, bytes ``{"$bytes": base64}``, what stands
    within itself "[itself]", anything else that JSON does not know its text. Where parts stand in it
    so often that it could not be written, each is written where it stands first and is "[again]" elsewhere.
    """
    if value is None or isinstance(value, bool):
        return value, False
    if isinstance(value, int):
        return (int.__int__(value), False) if value.bit_length() <= MOST_BITS else (str(Decimal(value)), True)
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, float):
        return _plain_float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}, True
    if not _around and unfolds(value):
        _seen = {}
    cut = _cut(value, _around, _seen)
    if cut is not None:
        return cut, True
    around = (*_around, id(value))
    if isinstance(value, dict):
        keys = [text_of(key) for key in value]
        items = [plain(item, around, _seen) for item in value.values()]
        changed = any(altered for _, altered in items) or any(key != old for key, old in zip(keys, value, strict=True))
        return {key: item for key, (item, _) in zip(keys, items, strict=True)}, changed
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [plain(item, around, _seen) for item in value]
        return [item for item, _ in items], any(altered for _, altered in items) or isinstance(value, (set, frozenset))
    return _plain_object(value, around, _seen)


def _cut(value: Any, around: tuple[int, ...], seen: dict[int, Any] | None) -> str | None:
    """What stands in place of a part that is not followed; None for one that is, which is noted in ``seen``."""
    if id(value) in around:
        return "[itself]"
    if len(around) >= DEEPEST:
        return "[too deep]"
    if seen is not None:
        if id(value) in seen:
            return "[again]"
        if any(True for _ in parts_of(value)):  # what has none is no longer for standing in many places
            seen[id(value)] = value  # kept, so that nothing made meanwhile takes its place in memory
    return None


def text_of(value: object) -> str:
    """The text of anything, fit to be stored: an error's message, a note, a reason, an object that JSON does not know."""
    if type(value) is str and value.isascii():
        return value
    try:
        return _plain_text(str(plain(value)[0] if isinstance(value, int) else value))[0]
    except Exception:  # noqa: BLE001 - whose own text fails is named by its kind instead
        return f"<{type(value).__name__}>"


def _plain_object(value: Any, around: tuple[int, ...], seen: dict[int, Any] | None) -> tuple[Any, bool]:
    kind = type(value)
    if getattr(kind, "__dataclass_fields__", None) is not None or seen is not None:
        fields = fields_of(value)
        return (text_of(value), True) if fields is None else plain(fields, around, seen)
    if callable(getattr(kind, "model_dump", None)):
        return plain(value.model_dump(mode="json"), around)
    if isinstance(value, msgspec.Struct):
        try:
            return plain(msgspec.to_builtins(value, enc_hook=lambda item: plain(item, around)[0]), around)
        except (TypeError, ValueError, RecursionError):
            return text_of(value), True  # a key or a number in it that JSON does not know
    return text_of(value), True


def _plain_float(value: float) -> tuple[Any, bool]:
    if math.isfinite(value):
        return float.__float__(value), False
    return ("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"), True


def _plain_text(value: str) -> tuple[str, bool]:
    value = str.__str__(value)  # an exact text: a kind of its own is nothing a record can hold
    try:
        value.encode()
    except UnicodeEncodeError:
        # A pair of surrogates that was written as two escapes is one character; one alone is none.
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, True
    return value, False
