"""The body of a successful answer, told apart by how it begins: events, one JSON value, or a page that is neither.

Without a wait in it: all that one piece of the body holds is read at once, so that an event costs no more than its
parsing and its folding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.wire.errors import error_of, malformed_error, stream_error
from lousho_cli.providers.wire.sse import Event, EventReader
from lousho_cli.providers.wire.surrogates import halves_at_ends

Delta = TextDelta | ReasoningDelta

MOST_BYTES = 128 * 1024 * 1024
"""An answer that is longer is given up: no model writes one, and a server that never ends would fill the memory."""

_MARK = 32  # bytes: what ``[DONE]`` with blanks around it may take
_NOTHING: Iterator[Delta] = iter(())  # used up from the start, so that one serves all
_decode = msgspec.json.Decoder().decode


class AnswerBuilder(Protocol):
    """Folds what a server sends into deltas and one answer. Each method may raise ``ProviderError``."""

    @property
    def partial(self) -> bool:
        """Whether text, reasoning or a call has come."""

    @property
    def ended(self) -> bool:
        """Whether the end mark has come: losing the connection now loses nothing of the answer."""

    @property
    def closed(self) -> bool:
        """Whether nothing that belongs to the answer can come any more."""

    def event(self, name: str, value: Any) -> Iterable[Delta]:
        """Takes one event of a stream; ``name`` is empty where the server gave none."""

    def whole(self, value: Any) -> Iterable[Delta]:
        """Takes the answer of a server that does not stream."""

    def done(self) -> None:
        """Takes ``[DONE]``."""

    def answer(self) -> Answer:
        """The whole answer. Refuses one that stopped before its end mark."""


class AnswerReader:
    """Pieces of a body in, deltas out. ``over``: nothing that belongs to the answer can follow.

    Its methods raise ``ProviderError`` for what can not be read, behind the deltas of what stood in front of it.
    """

    def __init__(self, builder: AnswerBuilder) -> None:
        self.over = False
        self._builder = builder
        self._size = 0
        self._events: EventReader | None = None
        self._seen = False
        self._value: list[bytes] = []

    def take(self, piece: bytes) -> Iterator[Delta]:
        """Takes the next piece."""
        self._size += len(piece)
        if self._size > MOST_BYTES:
            error = malformed_error(f"it is longer than {MOST_BYTES >> 20} MiB", partial=self._builder.partial)
            error.retryable = False
            raise error
        if self._events is None and not self._value:
            piece = self._begin(piece)
        if self._events is not None:
            return self._told(self._events.feed(piece))
        if piece:
            self._value.append(piece)
        return _NOTHING

    def _begin(self, piece: bytes) -> bytes:
        """Looks at the first bytes that are no blanks, and gives what of the piece is to be read."""
        piece = piece.removeprefix(b"\xef\xbb\xbf").lstrip()
        if piece[:1] == b"<":
            error = malformed_error("an HTML page instead of events")
            error.retryable, error.hint = False, "Check base_url."
            raise error
        if piece and piece[:1] not in b"{[":
            self._events = EventReader()
        return piece

    def end(self) -> Iterator[Delta]:
        """Takes the end of the body."""
        if self._events is not None:
            yield from self._told(self._events.end(), cut=True)
            if not self._seen:
                raise malformed_error("there is no event in it")
        elif self._value:  # of a server that does not stream: one JSON value, which is an end mark in itself
            value = self._parsed(b"".join(self._value))
            yield from self._builder.whole(value[0] if isinstance(value, list) and value else value)
            self._builder.done()
        else:
            raise malformed_error("it is empty")

    def _told(self, events: list[Event], *, cut: bool = False) -> Iterator[Delta]:
        """``cut``: the body ended in the last of the events, which may be half of one."""
        take = self._builder.event
        for name, data in events:
            self._seen = True
            if len(data) < _MARK and data.strip() == b"[DONE]":
                self._builder.done()
                self.over = True
                return
            if cut and not _is_json(data):
                return
            try:
                value = _decode(data)
            except (ValueError, RecursionError):  # the most part of a DecodeError is a ValueError
                value = self._parsed(data)
            if name == "error":
                raise stream_error(*(error_of(value) or ("", str(value))), partial=self._builder.partial)
            yield from take(name, value)
        self.over = self._builder.closed

    def _parsed(self, data: bytes) -> Any:
        try:
            return _loads(data)
        except (ValueError, RecursionError):
            raise malformed_error("a part of it is not JSON", partial=self._builder.partial) from None


def _is_json(data: bytes) -> bool:
    try:
        _loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _loads(data: bytes) -> Any:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Slower, but takes what servers send: control characters as they are, and half a character by itself.
        return halves_at_ends(json.loads(data.decode("utf-8", "replace"), strict=False))
