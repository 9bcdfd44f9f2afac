"""Which batches are read back as they were written, and what a record that is not one of ours is."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line, decode_record, encode_line, readable
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import CallUsage

TURN = r.Turn(Message("assistant", "", (ToolCall("c", "n"),)), "tool_calls", "m", CallUsage(1, 2))
OWN: Any = r.Foreign("acme.note", b'{"type":"acme.note","n":1}')
UNREADABLE: list[Any] = [
    r.InputReceived(5, (user("hi"),)),  # type: ignore[arg-type]
    r.InputReceived("i", (user("hi"),), by=5),  # type: ignore[arg-type]
    r.InputReceived("i", (Message("bot", "x"),)),  # type: ignore[arg-type]
    r.InputSettled("i", "failed", "x", 42),  # type: ignore[arg-type]
    r.RunStarted("i", replay="rerun"),  # type: ignore[arg-type]
    r.WaitAnswered("a", "no"),  # type: ignore[arg-type]
    r.Turn(Message("assistant", None)),  # type: ignore[arg-type]
    r.Turn(Message("assistant", "x"), None),  # type: ignore[arg-type]
    r.Turn(Message("assistant", "x"), usage=CallUsage(1.5)),  # type: ignore[arg-type]
    r.Created("a", Path("x")),  # type: ignore[arg-type]
    r.Note("n", "a\ud800"),
    r.BusinessState(10**5000),
    r.BusinessState(object()),
]


def batch(*records: Any) -> r.Batch:
    return r.Batch(1, 1, "2026-01-01T00:00:00.000Z", records)


@pytest.mark.parametrize("record", UNREADABLE, ids=lambda record: repr(record)[:60] if not isinstance(record, r.BusinessState) else "state")
def test_what_would_not_be_read_back_is_known_before_it_is_written(record: Any) -> None:
    assert readable(batch(TURN, OWN))
    assert not readable(batch(TURN, OWN, record))


def test_a_readable_batch_is_read_back_as_it_is() -> None:
    known = batch(TURN, r.Mark(1), r.BusinessState({"n": 10**30}))
    assert readable(known)
    assert decode_line(encode_line(known).rstrip(b"\n")) == known


@pytest.mark.parametrize(
    ("raw", "reserved", "damaged"),
    [
        (b'{"type":"acme.note"}', False, False),
        (b'{"type":"lousho.later","x":1}', True, False),
        (b'{"type":"lousho.turn","message":null}', False, True),
        (b'{"type":"lousho.wait_answered","id":"a","approved":"no"}', False, True),
    ],
)
def test_a_record_of_a_known_type_in_a_shape_it_never_had_is_damaged_not_newer(raw: bytes, reserved: bool, damaged: bool) -> None:
    record = decode_record(raw)
    assert isinstance(record, r.Foreign)
    assert (record.reserved, record.damaged, record.raw) == (reserved, damaged, raw)


@pytest.mark.parametrize("kind", [b"lousho.business_state", b"mine"])
def test_a_line_nested_deeper_than_can_be_read_is_not_whole(kind: bytes) -> None:
    record = b'{"type":"' + kind + b'","value":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    body = b'"seq":1,"epoch":1,"at":"2026-01-02T03:04:05.000Z","records":[' + record + b"]}"
    assert decode_line(b'{"crc":"%08x",%b' % (zlib.crc32(body), body)) is None
