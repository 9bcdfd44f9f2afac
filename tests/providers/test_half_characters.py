"""Halves of characters, wherever a server leaves them: joined where both come, never given to anybody alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.ports.provider import TextDelta
from lousho_cli.providers.wire.reading import AnswerReader
from tests.providers.contract.kinds import KINDS, heard

characters = st.sampled_from(["a", "é", "東", "😀", '"', "\ud83d", "\ude00"])


def read(kind: Any, stream: bytes) -> tuple[str, Any]:
    """What was told on the way, and the answer."""
    builder = kind.provider("http://127.0.0.1:9")._wire.builder("m", lambda: "1")
    reader = AnswerReader(builder)
    told = [*reader.take(stream), *(() if reader.over else reader.end())]
    return "".join(delta.text for delta in told if isinstance(delta, TextDelta)), builder.answer().message


def escaped(kind: Any, *text: str, **said: Any) -> bytes:
    """A stream that escapes each half by itself, as a server written in JavaScript does."""
    events = kind.written(*(f"<{piece.encode('utf-16-le', 'surrogatepass').hex()}>" for piece in text), **said)
    stream = b"".join(events)
    for piece in text:
        units = piece.encode("utf-16-le", "surrogatepass")
        written = "".join(f"\\u{int.from_bytes(units[at : at + 2], 'little'):04x}" for at in range(0, len(units), 2))
        stream = stream.replace(f"<{units.hex()}>".encode(), written.encode())
    return stream


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
@given(text=st.lists(characters.filter(lambda c: not "\ud800" <= c <= "\udfff"), min_size=1), data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_text_cut_into_halves_is_that_text(kind: Any, text: list[str], data: Any) -> None:
    units = "".join(text).encode("utf-16-le")
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(units) // 2 - 1, 1)), max_size=4)))
    pieces = [units[2 * begin : 2 * end] for begin, end in zip([0, *cuts], [*cuts, len(units)], strict=True) if units[2 * begin : 2 * end]]
    told, message = read(kind, escaped(kind, *(piece.decode("utf-16-le", "surrogatepass") for piece in pieces)))
    assert (told, message.text) == ("".join(text), "".join(text))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
@given(pieces=st.lists(st.text(characters, min_size=1, max_size=4), min_size=1, max_size=4), argument=st.text(characters))
@settings(max_examples=60, deadline=None)
def test_no_half_comes_out(kind: Any, pieces: list[str], argument: str) -> None:
    call = ("c", "write", json.dumps({"a": argument}, ensure_ascii=False).encode("utf-8", "replace").decode())
    told, message = read(kind, escaped(kind, *pieces, calls=[call]))
    text, calls, _ = heard(message)
    for out in (told, text, *calls[0]):
        assert out.encode().decode() == out
    assert told == text or text.startswith(told)
