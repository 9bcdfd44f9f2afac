"""Options and arguments that several commands have, declared once.

The five that every command has (``--store``, ``--json``, ``-q``, ``-v``, ``--color``) are added by
``Command`` itself and land in the ``Face``; the others are types for a command's parameters.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from lousho_cli.cli.completing import complete_addresses, complete_agents, complete_sessions
from lousho_cli.cli.face import Face, face_of

SharedPanel = "Everywhere"

Session = Annotated[
    str, typer.Argument(metavar="SESSION", help="Session id, or a prefix that fits only one.", autocompletion=complete_sessions)
]
MaybeSession = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Session id, or a prefix that fits only one.", autocompletion=complete_sessions),
]
Address = Annotated[
    str,
    typer.Argument(
        metavar="SESSION[@STEP]",
        help="A session, or one of its checkpoints: SESSION@3, SESSION@3.1, SESSION@R/3, SESSION#128.",
        autocompletion=complete_addresses,
    ),
]
AgentName = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only this agent's.", autocompletion=complete_agents)]
Limit = Annotated[int | None, typer.Option("--limit", "-n", min=0, metavar="N", help="At most N, the newest.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Force = Annotated[bool, typer.Option("--force", help="Even what waits for a person.")]


class Command(TyperCommand):
    """A command with the shared options, whose help begins with its examples.

    Register one with ``cli.main.command``; its docstring is the help text.
    """

    def __init__(self, *args: Any, params: list[Any] | None = None, **settings: Any) -> None:
        super().__init__(*args, params=[*(params or ()), *shared_options()], **settings)
        self.examples: tuple[str, ...] = getattr(settings.get("callback"), "examples", ())

    def invoke(self, ctx: Any) -> Any:
        face_of(ctx).command = ctx.info_name
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        # Typer puts braces around what has to be there; here only what may be left out has a mark.
        return [piece[1:-1] if piece.startswith("{") else piece for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.examples, face_of(ctx))
        as_written(self)
        super().format_help(ctx, formatter)


def single(name: str, function: Any, examples: tuple[str, ...]) -> Any:
    """A command that stands behind another's name."""
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    function.examples = examples  # Command reads it off its callback
    app.command(name, cls=Command, context_settings={"help_option_names": ["--help", "-h"]})(function)
    return typer.main.get_command(app)


class Group(TyperGroup):
    """``lousho`` itself: the same shared options may stand before the command."""

    examples: tuple[str, ...] = ()

    def __init__(self, *, params: list[Any] | None = None, **settings: Any) -> None:
        super().__init__(params=[*(params or ()), *shared_options()], **settings)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.examples, face_of(ctx))
        for command in (self, *self.commands.values()):
            as_written(command)
        super().format_help(ctx, formatter)


def as_written(command: Any) -> None:
    """Keeps Rich from reading markup in a command's help, where ``[secret]`` is a word like any other."""
    from rich.markup import escape

    for told in (command, *command.params):
        for field in ("help", "short_help"):
            if getattr(told, field, None):
                setattr(told, field, escape(getattr(told, field)))


def write_examples(examples: tuple[str, ...], face: Face) -> None:
    """The examples of a command, before everything else that its help says; and the help's colours as the flags ask."""
    from typer import rich_utils

    if face.out.colour:
        rich_utils.FORCE_TERMINAL = True
    else:
        rich_utils.COLOR_SYSTEM = None
    if examples:
        face.out.line("Examples:", "bold")
        for example in examples:
            face.out.line(f"  {example}")
        face.out.flush()


def shared_options() -> list[TyperOption]:
    """Fresh instances of the options that every command has."""
    return [
        _shared(["--store"], "store", metavar="URL", help="Where sessions lie: a folder, or a store URL. Also LOUSHO_STORE."),
        _shared(["--json"], "json", is_flag=True, help="One JSON document on stdout."),
        _shared(["--quiet", "-q"], "quiet", is_flag=True, help="Only the answer, or the id."),
        _shared(["--verbose", "-v"], "verbose", count=True, metavar=" ", help="Say more; -vv shows tracebacks."),
        _shared(["--color"], "colour", metavar="auto|always|never", help="Colour; auto asks NO_COLOR, FORCE_COLOR and the terminal."),
        TyperOption(
            param_decls=["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Show the version and end.",
            rich_help_panel=SharedPanel,
        ),
    ]


def _version(ctx: Any, param: Any, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        from lousho_cli import __version__

        face_of(ctx).out.line(f"lousho {__version__}")
        raise typer.Exit


def _shared(names: list[str], field: str, **settings: Any) -> TyperOption:
    def keep(ctx: Any, param: Any, value: Any) -> Any:
        if value not in (None, False, 0):  # given here; otherwise what stood before the command stays
            if field == "colour" and value not in ("auto", "always", "never"):
                raise typer.BadParameter("choose auto, always or never", ctx=ctx, param=param)
            setattr(face_of(ctx), field, value)
        return value

    # Eager, so that --color is known before --help is written.
    return TyperOption(param_decls=names, callback=keep, expose_value=False, is_eager=True, rich_help_panel=SharedPanel, **settings)
