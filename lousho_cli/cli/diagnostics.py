"""The only writer to stderr: errors, warnings, notes, and progress on a terminal.

stderr is talk. An error is one line: what happened, its code, what to do. A warning is kept
too, for the envelope. No value of a secret in the environment is ever written.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from lousho_cli.app.hostile_text import one_line, visible
from lousho_cli.cli.colour import styled
from lousho_cli.cli.output import silence

if TYPE_CHECKING:
    from lousho_cli.cli.bar import Bar


class Progress(Protocol):
    """What a long command tells while it works."""

    def update(self, text: str) -> None:
        """Replaces what the spinner says: the step, tokens, cost, the running tool."""


class Diagnostics:
    """Where a command talks.

    Args:
        stream: where it goes; None (a closed stderr) drops all.
        quiet: drops notes and warnings, keeps errors.
        colour: whether styles are written.
        verbose: how often ``-v`` was given; 2 shows tracebacks.
        hide: takes the secrets out of a text.
    """

    def __init__(
        self,
        stream: TextIO | None,
        *,
        quiet: bool = False,
        colour: bool = False,
        verbose: int = 0,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._stream = stream
        self._quiet = quiet
        self._colour = colour
        self._hide = hide
        self.verbose = verbose
        self.terminal = stream is not None and stream.isatty()
        self.warnings: list[str] = []

    def error(self, message: str, code: str, hint: str = "") -> None:
        """One line: what happened, ``[LOUSHO_CODE]``, what to do."""
        self._line("error:", f"{one_line(message)} [{code}] {one_line(hint)}".rstrip(), "red")

    def warning(self, text: str) -> None:
        """Something the person should know; it also stands in the envelope's ``warnings``."""
        self.warnings.append(self._hide(text))
        if not self._quiet:
            self._line("warning:", one_line(text), "yellow")

    def note(self, text: str) -> None:
        """Something nice to know, such as the command that goes on from here. Dropped by ``-q``."""
        if not self._quiet:
            self._write(visible(text) + "\n")

    def over_echo(self) -> None:
        """Has what comes next be written over the ``^C`` that a terminal shows for a key; else a command to copy begins with it."""
        if self.terminal and not self._quiet:
            self._write("\r")

    def detail(self, text: str) -> None:
        """Something only ``-v`` shows."""
        if self.verbose:
            self._write(styled(visible(text), "dim", colour=self._colour) + "\n")

    def traceback(self, error: BaseException) -> None:
        """Where an error came from, without local variables; only with ``-vv``."""
        if self.verbose >= 2:
            self._write(visible("".join(traceback.format_exception(error))))

    def progress(self, text: str) -> AbstractContextManager[Progress]:
        """A spinner while the block runs; on anything but a terminal, or with ``-q``, nothing."""
        if not self.terminal or self._quiet or self._stream is None:
            return nullcontext(_Silent())
        return _Spinner(self._stream, text, colour=self._colour)

    def bar(self, total: int) -> Bar | None:
        """A bar for work whose amount is known; None on anything but a terminal, or with ``-q``."""
        if not self.terminal or self._quiet or self._stream is None:
            return None
        from lousho_cli.cli.bar import Bar

        return Bar(self._stream, total, colour=self._colour)

    def _line(self, label: str, text: str, style: str) -> None:
        self._write(f"{styled(label, style, colour=self._colour)} {text}\n")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(self._hide(text))
            self._stream.flush()
        except OSError:  # nobody listens, and there is no second place to say so
            silence(self._stream)
            self._stream = None


class _Silent:
    def update(self, text: str) -> None:
        """Says nothing."""


class _Spinner:
    def __init__(self, stream: TextIO, text: str, *, colour: bool) -> None:
        from rich.console import Console
        from rich.status import Status

        console = Console(file=stream, markup=False, highlight=False, emoji=False, no_color=not colour)
        self._status = Status(self._said(text), console=console)

    def __enter__(self) -> Progress:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def update(self, text: str) -> None:
        self._status.update(self._said(text))

    @staticmethod
    def _said(text: str) -> Any:
        from rich.text import Text

        return Text(one_line(text))
