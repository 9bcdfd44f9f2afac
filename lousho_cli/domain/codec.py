"""Records and values to bytes and back.

A batch becomes one line whose first key is a checksum over all that follows its comma,
compared as bytes, so that a torn or damaged line is never taken for a good one.
"""

from __future__ import annotations

import zlib
from typing import Any, cast

import msgspec

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.originals import checkpoint_from_original, is_original
from lousho_cli.domain.records import Batch, Foreign, Own, Record, Within
from lousho_cli.domain.state import State
from lousho_cli.errors import StorageError

LINE_BEGINS = b'{"crc":"'
"""What every line of a log begins with."""

_BODY_AT = len(b'{"crc":"00000000",')


class _LooseLine(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    seq: int
    epoch: int
    at: str
    records: tuple[msgspec.Raw, ...]
    sync: int | None = None


class _LooseWithin(msgspec.Struct, frozen=True, gc=False, tag="lousho.within"):
    calls: tuple[str, ...]
    records: tuple[msgspec.Raw, ...]


class _Typed(msgspec.Struct, frozen=True, gc=False):
    type: str


WITHIN = Within.__struct_config__.tag

_encoder = msgspec.json.Encoder()
_lines = msgspec.json.Decoder(Batch)
_loose_lines = msgspec.json.Decoder(_LooseLine)
_records = msgspec.json.Decoder(Record)
_loose_within = msgspec.json.Decoder(_LooseWithin)
_types = msgspec.json.Decoder(_Typed)
_states = msgspec.json.Decoder(State)


def encode_line(batch: Batch) -> bytes:
    """A batch as its line, newline included."""
    if not _MAY_BE_FOREIGN.isdisjoint(map(type, batch.records)) and _holds_foreign(batch):
        body = _encoder.encode(_LooseLine(batch.seq, batch.epoch, batch.at, tuple(map(_raw, batch.records)), batch.sync))[1:]
    else:
        body = _encoder.encode(batch)[1:]
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(body), body)


def _raw(record: Record | Foreign) -> msgspec.Raw:
    if isinstance(record, Within) and Foreign in map(type, record.records):
        return msgspec.Raw(_encoder.encode(_LooseWithin(record.calls, tuple(map(_raw, record.records)))))
    return msgspec.Raw(record.raw if isinstance(record, Foreign) else _encoder.encode(record))


_MAY_BE_FOREIGN: frozenset[type] = frozenset((Foreign, Within))
"""Records that we did not make, and those that may hold some."""


def _holds_foreign(batch: Batch) -> bool:
    for record in batch.records:
        kind: type = type(record)
        if kind is Foreign or (kind is Within and Foreign in map(type, cast("Within", record).records)):
            return True
    return False


def readable(batch: Batch) -> bool:
    """Whether all records of ours in a batch can be written and are read back as what they are.

    A ``Struct`` does not check its fields when it is made, so a value of the wrong type, from a caller, a
    provider or a tool, would be written and never be read again. Asked before such a batch is written.
    """
    if Foreign in map(type, batch.records):
        ours = tuple(record for record in batch.records if not isinstance(record, Foreign))
        batch = Batch(batch.seq, batch.epoch, batch.at, ours, batch.sync)
    try:
        _lines.decode(_encoder.encode(batch))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return False
    return True


def decode_line(line: bytes) -> Batch | None:
    """The batch of a line without its newline, or None when the line is not whole.

    A record we can not read becomes ``Foreign``, which says whether it is a user's, of a newer version, or damaged.
    """
    if line[:_BODY_AT] != b'{"crc":"%08x",' % zlib.crc32(memoryview(line)[_BODY_AT:]):
        return None
    try:
        return _lines.decode(line)  # the checksum is one more key, which is passed over
    except msgspec.ValidationError:
        return _decode_loosely(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _decode_loosely(text: bytes) -> Batch | None:
    try:
        line = _loose_lines.decode(text)
        records = cast("tuple[Record, ...]", tuple(decode_record(bytes(raw)) for raw in line.records))
    except (msgspec.DecodeError, RecursionError):
        return None
    return Batch(line.seq, line.epoch, line.at, records, line.sync)


def decode_record(raw: bytes) -> Record | Foreign:
    """One record; of a type we do not know, or of one we know in a shape it never had, ``Foreign``."""
    try:
        return _records.decode(raw)
    except msgspec.ValidationError:
        kind = _types.decode(raw).type
        return (_decode_within(raw) if kind == WITHIN else None) or Foreign(kind, raw)


def _decode_within(raw: bytes) -> Within | None:
    """Records of a sub-agent, some of which are none we know; None when it is not even that."""
    try:
        loose = _loose_within.decode(raw)
    except msgspec.ValidationError:
        return None
    return Within(loose.calls, cast("tuple[Own, ...]", tuple(decode_record(bytes(one)) for one in loose.records)))


def encode_value(value: Any) -> bytes:
    """Any of our values, or plain JSON data, as compact JSON."""
    return _encoder.encode(value)


def decode_state(raw: bytes) -> State:
    """A stored state.

    Raises:
        StorageError: it is not one.
    """
    try:
        return _states.decode(raw)
    except msgspec.DecodeError as error:
        raise StorageError(f"a stored state is not readable: {error}") from error


def checkpoint_from(value: Any) -> Checkpoint:
    """What a store gave back: a checkpoint, or the dictionary of one, spelled as ours or as the original product's.

    Raises:
        StorageError: it is neither.
    """
    if isinstance(value, Checkpoint):
        return value
    if is_original(value):
        return checkpoint_from_original(value)
    try:
        return msgspec.convert(value, Checkpoint, from_attributes=True)
    except msgspec.ValidationError as error:
        raise StorageError(f"a stored checkpoint is not readable: {error}") from error
