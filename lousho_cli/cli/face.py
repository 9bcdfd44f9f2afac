"""What every command is given: the shared options, stdout, stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TextIO, cast

from lousho_cli.app.hostile_text import one_line
from lousho_cli.cli.colour import ColourMode, wants_colour
from lousho_cli.cli.diagnostics import Diagnostics
from lousho_cli.cli.output import Output


class Face:
    """One command line's shared options and its two ways out, made when first used.

    Attributes:
        command: the command's name, as in the envelope.
        store: the ``--store`` flag, None when not given (``app.wiring`` then looks further).
        json, quiet, verbose, colour: the other shared flags.
    """

    def __init__(self) -> None:
        self.command = "lousho"
        self.store: str | None = None
        self.json = False
        self.quiet = False
        self.verbose = 0
        self.colour: ColourMode = "auto"

    @cached_property
    def out(self) -> Output:
        """Stdout."""
        return Output(sys.stdout, colour=self._colour_on(sys.stdout))

    @cached_property
    def err(self) -> Diagnostics:
        """Stderr."""
        from lousho_cli.app.secrets import hider

        return Diagnostics(sys.stderr, quiet=self.quiet, colour=self._colour_on(sys.stderr), verbose=self.verbose, hide=hider(os.environ))

    @property
    def interactive(self) -> bool:
        """Whether somebody is there who can be asked."""
        return sys.stdin is not None and sys.stdin.isatty()

    def open_store(self, *, create: bool) -> Any:
        """The store that the options mean (``app.wiring.open_store``); ``-v`` says which one and why."""
        from lousho_cli.app.wiring import open_store

        self._say_which_store()
        return open_store(self.store, create=create)

    def open_to_look(self) -> Any:
        """The same for a command that only shows sessions (``app.wiring.open_to_look``)."""
        from lousho_cli.app.wiring import open_to_look

        self._say_which_store()
        return open_to_look(self.store)

    def _say_which_store(self) -> None:
        if not self.verbose and self.store is None and not os.environ.get("LOUSHO_STORE"):
            return
        from lousho_cli.app.wiring import locate_store

        place = locate_store(self.store)
        inside = place.inside
        if inside is not None:
            self.err.warning(f"{place.url} holds no sessions, and is no store yet; one is at {inside}")
        if self.verbose:
            self.err.detail(f"store: {place.url} ({place.source}{', ' + place.where if place.where else ''})")

    def ask(self, question: str, *, options: Sequence[str] = (), hidden: bool = False) -> str:
        """Asks for text on stderr. Only to be called where ``interactive`` says that somebody is there."""
        import typer

        offered = f" [{', '.join(options)}]" if options else ""
        asked = one_line(question + offered)
        with self._at_the_prompt():
            return _hidden(asked) if hidden else str(typer.prompt(asked, err=True))

    def confirm(self, question: str, *, flag: str, no_input: bool = False) -> bool:
        """Asks on stderr; only where somebody is there to answer.

        Args:
            flag: the flag that answers in a script.
            no_input: never ask, whoever is there.

        Raises:
            ConfigurationError: nobody can be asked; nothing was changed.
        """
        if no_input or not self.interactive:
            from lousho_cli.errors import ConfigurationError

            raise ConfigurationError(
                f"nothing was done: there is no terminal to ask on: {question}", code="LOUSHO_USAGE", hint=f"Answer it with {flag}."
            )
        import typer

        with self._at_the_prompt():
            return bool(typer.confirm(one_line(question), err=True))

    @contextmanager
    def _at_the_prompt(self) -> Iterator[None]:
        """A Ctrl-C ends the question. An event loop would only take note of it, and what is typed next would be the answer."""
        import signal
        import threading

        import typer

        before = signal.getsignal(signal.SIGINT)
        ours = threading.current_thread() is threading.main_thread() and before not in (signal.SIG_IGN, None)
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        except (KeyboardInterrupt, typer.Abort):
            self.err.note("")  # what is said next does not stand behind the question
            raise
        finally:
            if ours:
                signal.signal(signal.SIGINT, before)

    def answer(self, data: Any, *, text: Callable[[], object] | None = None, quiet: str | Sequence[str] | None = None) -> None:
        """Shows what a command gives back, once.

        Args:
            data: the value of the envelope's ``data``.
            text: shows it as text; called only when text is wanted.
            quiet: what ``-q`` leaves, a line or several; None means ``-q`` changes nothing.
        """
        if self.json:
            self.out.document(self.command, {"data": data, "warnings": self.err.warnings})
        elif self.quiet and quiet is not None:
            for line in [quiet] if isinstance(quiet, str) else quiet:
                self.out.line(line)
        elif text is not None:
            text()

    def fail(self, error: BaseException) -> None:
        """Reports an error: one line on stderr, or with ``--json`` an envelope on stdout."""
        message, code, hint = self._said(error)
        if self.json and not self.out.wrote_document:
            self.out.document(self.command, {"error": self.error_body(error), "warnings": self.err.warnings})
        else:
            self.err.error(message, code, hint)
        self.err.traceback(error)

    def error_body(self, error: BaseException) -> dict[str, Any]:
        """An error as the envelope has it."""
        message, code, hint = self._said(error)
        return {
            "code": code,
            "message": self._hidden(message),
            "hint": self._hidden(hint),
            "retryable": bool(getattr(error, "retryable", False)),
            "session": getattr(error, "session_id", None),
            "step": getattr(error, "step", None),
        }

    def named(self, text: str) -> str:
        """``text``, in which each command names the store that ``--store`` named, so that it can be pasted."""
        if self.store is None:
            return text
        from lousho_cli.app.hints import naming_store

        return naming_store(text, self.store)

    def _said(self, error: BaseException) -> tuple[str, str, str]:
        message, code, hint = _said(error)
        return message, code, self.named(hint)

    def _hidden(self, text: str) -> str:
        from lousho_cli.app.secrets import hider

        return hider(os.environ)(text)

    def _colour_on(self, stream: TextIO | None) -> bool:
        return wants_colour(self.colour, os.environ, terminal=stream is not None and stream.isatty())


def _hidden(asked: str) -> str:
    """Something that is typed unseen. Nothing is asked before the terminal shows no more of what is typed, however quick it comes."""
    from getpass import getpass

    import typer

    try:
        while not (said := getpass(f"{asked}: ")):
            pass
    except EOFError as error:
        raise typer.Abort from error
    return said


def face_of(context: Any) -> Face:
    """The face of a Typer context."""
    return cast("Face", context.find_root().obj)


def _said(error: BaseException) -> tuple[str, str, str]:
    from lousho_cli.errors import NotFoundError, PropagatingToolError, SDKError, StorageError

    if isinstance(error, SDKError):
        hint = error.hint
        if isinstance(error, NotFoundError) and error.kept and not hint:
            hint = f"There is: {', '.join(error.kept)}."
        if isinstance(error, StorageError) and not hint:
            hint = "Check the path, its permissions and the free space; lousho fsck tells what is wrong with the data."
        return error.detail, error.code, hint
    if isinstance(error, PropagatingToolError):
        return str(error) or "a tool stopped the run", "LOUSHO_TOOL_STOPPED_RUN", "What the other calls gave is saved."
    if isinstance(error, RuntimeError) and "start new thread" in str(error):  # as Python says it, whoever asked for one
        from lousho_cli.domain.no_thread import no_thread

        return _said(no_thread(SDKError, error))
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}", "LOUSHO_SYSTEM_ERROR", "Check the path, its permissions and the free space."
    return (
        f"an unexpected {type(error).__name__}: {error}".rstrip(": "),
        "LOUSHO_UNEXPECTED",
        "This is a fault of lousho; -vv shows where it happened.",
    )
