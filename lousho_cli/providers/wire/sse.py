"""Server-sent events from bytes that may be cut anywhere.

Lines are split on bytes, at CR, LF and CRLF only: text splitters also split at U+2028 and
its kin, which models write, and a character cut by the network is whole again once its line is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx_sse import ServerSentEvent


class EventReader:
    """Bytes in, events out. Comments and empty events never come out."""

    def __init__(self) -> None:
        # The library's public reader splits lines itself, by rules that changed between its versions; and it brings httpx.
        from httpx_sse._decoders import SSEDecoder

        self._decoder = SSEDecoder()
        self._tail: list[bytes] = []  # an unfinished line, in the pieces it came in: joined once, however many there are
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._tail.append(chunk)
            return []
        *lines, tail = chunk.split(b"\n")
        lines[0] = b"".join((*self._tail, lines[0]))
        self._tail = [tail] if tail else []
        return self._events(lines)

    def end(self) -> list[ServerSentEvent]:
        """The event the stream ended in without its empty line, if there is one. It may be cut short."""
        return self._events([b"".join(self._tail), b""])

    def _events(self, lines: list[bytes]) -> list[ServerSentEvent]:
        events = []
        for line in lines:
            text = line.decode("utf-8", "replace")
            if self._first:
                text, self._first = text.removeprefix("\ufeff"), False
            event = self._decoder.decode(text)
            if event is not None and event.data:
                events.append(event)
        return events
