"""Records and values to bytes and back.

A batch becomes one line whose first key is a checksum over all that follows its comma,
compared as bytes, so that a torn or damaged line is never taken for a good one.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from typing import Any, TypeVar, cast

import msgspec

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.records import Batch, Foreign, Record
from lousho_cli.domain.state import State
from lousho_cli.errors import StorageError

T = TypeVar("T")

_BODY_AT = len(b'{"crc":"00000000",')


class _LooseLine(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    seq: int
    epoch: int
    at: str
    records: tuple[msgspec.Raw, ...]
    sync: int | None = None


class _Typed(msgspec.Struct, frozen=True, gc=False):
    type: str


_encoder = msgspec.json.Encoder()
_lines = msgspec.json.Decoder(Batch)
_loose_lines = msgspec.json.Decoder(_LooseLine)
_records = msgspec.json.Decoder(Record)
_types = msgspec.json.Decoder(_Typed)
_states = msgspec.json.Decoder(State)
_checkpoints = msgspec.json.Decoder(Checkpoint)


def encode_line(batch: Batch) -> bytes:
    """A batch as its line, newline included."""
    if any(isinstance(record, Foreign) for record in batch.records):
        body = _encoder.encode(_LooseLine(batch.seq, batch.epoch, batch.at, tuple(map(_raw, batch.records)), batch.sync))[1:]
    else:
        body = _encoder.encode(batch)[1:]
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(body), body)


def _raw(record: Record | Foreign) -> msgspec.Raw:
    return msgspec.Raw(record.raw if isinstance(record, Foreign) else _encoder.encode(record))


def decode_line(line: bytes) -> Batch | None:
    """The batch of a line without its newline, or None when the line is not whole.

    A record of a type we do not know becomes ``Foreign``.
    """
    if line[:_BODY_AT] != b'{"crc":"%08x",' % zlib.crc32(memoryview(line)[_BODY_AT:]):
        return None
    try:
        return _lines.decode(line)  # the checksum is one more key, which is passed over
    except msgspec.ValidationError:
        return _decode_loosely(line)
    except msgspec.DecodeError:
        return None


def _decode_loosely(text: bytes) -> Batch | None:
    try:
        line = _loose_lines.decode(text)
        records = cast("tuple[Record, ...]", tuple(decode_record(bytes(raw)) for raw in line.records))
    except msgspec.DecodeError:
        return None
    return Batch(line.seq, line.epoch, line.at, records, line.sync)


def decode_record(raw: bytes) -> Record | Foreign:
    """One record; of a type or shape we do not know, ``Foreign``."""
    try:
        return _records.decode(raw)
    except msgspec.ValidationError:
        return Foreign(_types.decode(raw).type, raw)


def encode_value(value: Any) -> bytes:
    """Any of our values, or plain JSON data, as compact JSON."""
    return _encoder.encode(value)


def builtins(value: Any) -> Any:
    """One of our values as dictionaries and lists."""
    return msgspec.to_builtins(value)


def decode_state(raw: bytes) -> State:
    """A stored state.

    Raises:
        StorageError: it is not one.
    """
    return _decode(_states, raw, "state")


def decode_checkpoint(raw: bytes) -> Checkpoint:
    """A stored checkpoint; a missing field gets its default.

    Raises:
        StorageError: it is not one.
    """
    return _decode(_checkpoints, raw, "checkpoint")


def checkpoint_from(value: Any) -> Checkpoint:
    """What a store gave back, a checkpoint or the dictionary of one.

    Raises:
        StorageError: it is neither.
    """
    if isinstance(value, Checkpoint):
        return value
    try:
        return msgspec.convert(value, Checkpoint, from_attributes=True)
    except msgspec.ValidationError as error:
        raise StorageError(f"a stored checkpoint is not readable: {error}") from error


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes, what: str) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise StorageError(f"a stored {what} is not readable: {error}") from error


def json_text(value: Any) -> tuple[str, bool]:
    """A tool's result as the JSON text a model gets, and whether something in it had to be altered.

    Numbers that are not finite become "NaN", "Infinity" or "-Infinity", a lone surrogate
    U+FFFD, bytes ``{"$bytes": base64}``, anything else that JSON does not know its text.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
        return text, False
    except (ValueError, TypeError, RecursionError):
        clean, altered = plain(value)
        return json.dumps(clean, ensure_ascii=False, allow_nan=False, separators=(",", ":")), altered


def plain(value: Any, _depth: int = 0) -> tuple[Any, bool]:
    """``value`` as data that JSON can hold exactly, and whether that changed anything."""
    if value is None or isinstance(value, (bool, int)):
        return value, False
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, float):
        return _plain_float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode()}, True
    if _depth >= 100:
        return "[too deep]", True
    if isinstance(value, msgspec.Struct):
        return plain(msgspec.to_builtins(value), _depth + 1)
    if isinstance(value, dict):
        pairs = [(plain(str(key)), plain(item, _depth + 1)) for key, item in value.items()]
        changed = any(k[1] or v[1] for k, v in pairs) or not all(isinstance(key, str) for key in value)
        return {key: item for (key, _), (item, _) in pairs}, changed
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [plain(item, _depth + 1) for item in value]
        return [item for item, _ in items], any(altered for _, altered in items) or isinstance(value, (set, frozenset))
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        return plain({name: getattr(value, name) for name in fields}, _depth + 1)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump(mode="json"), _depth + 1)
    return plain(str(value), _depth + 1)[0], True


def _plain_float(value: float) -> tuple[Any, bool]:
    if math.isfinite(value):
        return value, False
    return ("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"), True


def _plain_text(value: str) -> tuple[str, bool]:
    try:
        value.encode()
    except UnicodeEncodeError:
        # A pair of surrogates that was written as two escapes is one character; one alone is none.
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, True
    return value, False
