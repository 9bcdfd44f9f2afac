"""The command line as a whole: its commands, and the one place where errors become exit codes.

A command is a function in its own file under ``commands``; it imports nothing heavy at the top,
calls one function of ``app``, shows what comes back, and gives an exit code or None.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

import typer
from typer.exceptions import Abort, TyperException

from lousho_cli.cli.exits import Exit, code_of
from lousho_cli.cli.face import Face
from lousho_cli.cli.options import Command, Group
from lousho_cli.cli.output import silence

COMMANDS = (
    "run",
    "resume",
    "pending",
    "approve",
    "reject",
    "answer",
    "abort",
    "inputs",
    "list",
    "history",
    "show",
    "fork",
    "diff",
    "follow",
    "drift",
    "eval",
    "tui",
    "worker",
    "delete",
    "prune",
    "trim",
    "fsck",
    "import",
    "export",
    "init",
    "doctor",
    "config",
    "schema",
)
"""In the order of ``--help``; each is a module of ``commands``, with ``run`` and ``EXAMPLES``, and ``COMMAND`` where it reads its words in
a way of its own."""

EXAMPLES = (
    'lousho run trip "Plan my trip"      start the built-in demo',
    "lousho resume trip                  finish what did not end",
    "lousho list                         sessions here, newest first",
    "lousho show trip@1                  one checkpoint of one session",
    "lousho diff trip trip.fork-1        where two sessions part",
)


def build(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """The Typer app with these commands. Typer reads the signature of each one it is given, which takes longer than most commands do."""
    Group.examples = EXAMPLES
    app = typer.Typer(
        name="lousho",
        cls=Group,
        help="Run AI agents durably and look into what they did.",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_lousho)
    for name in names:
        module = import_module(f"lousho_cli.cli.commands.{name}_" if iskeyword(name) else f"lousho_cli.cli.commands.{name}")
        register(app, name, module.run, module.EXAMPLES, getattr(module, "COMMAND", Command))
    return app


def _lousho() -> None:
    """What stands before the command has been read by ``Group``. Without this, Typer takes an app of one command for that command."""


def register(
    app: typer.Typer, name: str, function: Callable[..., int | None], examples: tuple[str, ...], cls: type[Command] = Command
) -> None:
    """Adds a command. Its help is the function's docstring; ``examples`` come first."""
    function.examples = examples  # type: ignore[attr-defined]  # Command reads it off its callback
    summary = " ".join((function.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    app.command(name, cls=cls, short_help=f"{summary}.")(function)


def run(args: list[str]) -> int:
    """One command line, from its words to its exit code. Never raises."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what the terminal's encoding lacks is replaced, never a crash
            stream.reconfigure(errors="replace")
    if os.environ.get("COLUMNS", "").strip() == "0":  # not known; Rich would take it for a terminal without any room
        del os.environ["COLUMNS"]
    face = Face()
    try:
        code = _invoke(args, face)
        face.out.flush()
        return code
    except BaseException as error:  # noqa: BLE001 - the last line of defence: nothing but an exit code leaves here
        return _failed(error, args, face)


COMPLETE_VARIABLE = "_LOUSHO_COMPLETE"
"""How a shell asks what a word may become; see ``completions/``."""


def _invoke(args: list[str], face: Face) -> int:
    if COMPLETE_VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    named = args[:1] if args[:1] and args[0] in COMMANDS else COMMANDS  # all of them where help, completion or a hint may want them
    result = build(named)(args, prog_name="lousho", standalone_mode=False, obj=face)
    return int(result) if isinstance(result, int) else Exit.DONE


def _failed(error: BaseException, args: list[str], face: Face) -> int:
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):  # Rich makes an exit of it
        if sys.stdout is not None:
            silence(sys.stdout)
        return Exit.DONE
    if isinstance(error, SystemExit):  # completion ends so
        return error.code if isinstance(error.code, int) else Exit.DONE
    if isinstance(error, (KeyboardInterrupt, Abort)):
        return Exit.ABORTED
    if isinstance(error, TyperException):
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is already on the screen
            return Exit.USAGE
        error = _usage(error, args, face)
    try:
        face.fail(error)
        face.out.flush()
    except OSError:  # stdout can not be written: the exit code is all that is left
        if sys.stdout is not None:
            silence(sys.stdout)
    return code_of(error)


def _usage(error: TyperException, args: list[str], face: Face) -> BaseException:
    from lousho_cli.cli.usage_errors import sentence
    from lousho_cli.errors import ConfigurationError

    context: Any = getattr(error, "ctx", None)
    words = args[: args.index("--")] if "--" in args else args
    face.json = face.json or "--json" in words  # parsing stopped before it came to the flag
    path = context.command_path if context is not None else "lousho"
    face.command = context.info_name if context is not None and context.parent is not None else face.command
    return ConfigurationError(sentence(error), code="LOUSHO_USAGE", hint=f"See: {path} --help")
