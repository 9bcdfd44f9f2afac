"""Server-sent events from bytes that may be cut anywhere.

Our own and not a library's for two reasons. Lines end at CR, LF and CRLF only: text splitters also
split at U+2028 and its kin, which models write. And an event stays bytes until its JSON is read:
with an object and a text for each, reading an answer took longer than parsing its JSON twice.
"""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """One event; ``name`` is empty where the server gave none."""

    name: str
    data: bytes


class EventReader:
    """Bytes in, events out. Comments and events without data never come out; ids and retry times are of no use here."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []  # an unfinished line, in the pieces it came in: joined once, however many there are
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Event]:
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

    def end(self) -> list[Event]:
        """The event the stream ended in without its empty line, if there is one. It may be cut short."""
        return self._events([b"".join(self._tail), b""])

    def _events(self, lines: list[bytes]) -> list[Event]:
        events, data = [], self._data
        if self._first:
            lines[0], self._first = lines[0].removeprefix(b"\xef\xbb\xbf"), False
        for line in lines:
            if not line:
                if any(data):
                    events.append(Event(self._name, data[0] if len(data) == 1 else b"\n".join(data)))
                data.clear()
                self._name = ""
            elif line.startswith(b"data: "):
                data.append(line[6:])
            elif line.startswith(b"event:"):
                self._name = line[6:].decode("utf-8", "replace").removeprefix(" ")
            elif line.startswith(b"data"):
                field, _, value = line.partition(b":")
                if field == b"data":
                    data.append(value)
        return events
