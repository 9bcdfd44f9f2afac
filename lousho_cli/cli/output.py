"""The only writer to stdout: envelopes, JSON lines, tables, text.

stdout is data. JSON is ASCII, one document, never wrapped, whatever the terminal or its
encoding. Text goes through ``hostile_text``; no markup is ever read in it. A reader that
closed the pipe is no error: what follows is dropped, and ``closed`` says so.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from lousho_cli.app.hostile_text import json_escape, one_line, visible
from lousho_cli.cli.colour import styled
from lousho_cli.cli.table import GAP, cell, fitted, width_of

SCHEMA = 1
"""The version of the envelope."""

_NOT_PLAIN = re.compile(r"[^\x00-\x7e]")


def json_text(value: Any, *, indent: int = 0) -> str:
    """A value, frozen structs included, as JSON in ASCII. Control characters and all above them are escaped."""
    import msgspec

    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a character, from an argument that was no UTF-8
        raw = msgspec.json.encode(_whole(msgspec.to_builtins(value)))
    text = (msgspec.json.format(raw, indent=indent) if indent else raw).decode()
    return text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(json_escape, text)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, (list, tuple)) else value


class Output:
    """What a command writes to.

    Args:
        stream: where it goes; None (a closed stdout) drops all.
        colour: whether styles are written.
    """

    def __init__(self, stream: TextIO | None, *, colour: bool = False) -> None:
        self._stream = stream
        self.colour = colour
        self.terminal = stream is not None and stream.isatty()
        self.closed = stream is None
        self.compact = False  # one line even on a terminal: the last line of a stream
        self.wrote_document = False

    def document(self, command: str, body: dict[str, Any]) -> None:
        """One envelope: schema, command, then ``body``. Pretty on a terminal, one line in a pipe."""
        self._write(json_text({"schema": SCHEMA, "command": command, **body}, indent=2 if self.terminal and not self.compact else 0) + "\n")
        self.wrote_document = True

    def raw_json(self, value: Any) -> None:
        """A JSON document that is itself the answer, such as a schema."""
        self._write(json_text(value, indent=2) + "\n")

    def data(self, data: bytes) -> None:
        """A document of any form that is itself the answer, byte by byte; a terminal gets its text, made harmless."""
        raw = getattr(self._stream, "buffer", None)
        if self.terminal or self._stream is None or raw is None:
            self._write(visible(data.decode("utf-8", "replace")))
            return
        self.flush()  # what was written as text comes first
        try:
            raw.write(data)
            raw.flush()
        except BrokenPipeError:
            self.closed = True
            silence(self._stream)

    def json_line(self, value: Any) -> None:
        """One line of a stream, written at once."""
        self._write(json_text(value) + "\n")
        self.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Text and a newline. Newlines inside it stay, control characters are shown."""
        self._write(styled(visible(text), style, colour=self.colour) + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Several lines."""
        for text in texts:
            self.line(text)

    def piece(self, text: str) -> None:
        """Text without a newline, written at once: an answer as it streams."""
        self._write(visible(text))
        self.flush()

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], cut: Mapping[str, int] | None = None, spare: Sequence[str] = ()
    ) -> None:
        """Rows under their names. A pipe gets every character; a terminal gets what fits its width.

        Args:
            cut: the columns that may be shortened on a terminal, each with its least width, in the order in
                which they give way. All others stay whole, even where a line then wraps.
            spare: the columns that a terminal does without where all of that is not enough, the first one first.
        """
        lines = [list(columns), *([one_line(text) for text in row] for row in rows)]
        if self.terminal:
            from rich.cells import cell_len

            room, columns = width_of(os.environ, self._descriptor()), list(columns)
            for name in (*spare, ""):
                widths = fitted(
                    [max(map(cell_len, column)) for column in zip(*lines, strict=True)],
                    [cut.get(name) if cut else None for name in columns],
                    [columns.index(name) for name in cut or ()],
                    room,
                )
                if not name or sum(widths) + len(GAP) * (len(widths) - 1) <= room:
                    break
                at = columns.index(name)
                del columns[at]
                lines = [[*line[:at], *line[at + 1 :]] for line in lines]
            lines = [[cell(text, width) for text, width in zip(line, widths, strict=True)] for line in lines]
        else:
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            lines = [[text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in lines]
        for number, line in enumerate(lines):
            line[-1] = line[-1].rstrip()
            first = "" if number else "bold"
            styles = ["cyan" if number else first, *[first] * (len(line) - 1)]
            self._write(GAP.join(styled(text, style, colour=self.colour) for text, style in zip(line, styles, strict=True)).rstrip() + "\n")

    def _descriptor(self) -> int | None:
        try:
            return self._stream.fileno() if self._stream is not None else None
        except (OSError, ValueError):
            return None

    @contextmanager
    def written_to(self, stream: TextIO) -> Iterator[None]:
        """Writes to another stream while the block runs: a second way to the same place."""
        before, self._stream = self._stream, stream
        try:
            yield
        finally:
            self._stream = before

    def flush(self) -> None:
        """Hands on what was written. Raises OSError when it can not be written (a full disk)."""
        self._write("", flush=True)

    def _write(self, text: str, *, flush: bool = False) -> None:
        if self.closed or self._stream is None:
            return
        try:
            self._stream.write(text)
            if flush:
                self._stream.flush()
        except BrokenPipeError:
            self.closed = True
            silence(self._stream)


def silence(stream: TextIO) -> None:
    """Points a stream whose reader is gone at nothing, so that closing it at exit does not fail again."""
    if stream in (sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__):
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, stream.fileno())
            os.close(sink)
        except (OSError, ValueError):  # a stream without a descriptor has nothing to be silenced
            return
