"""``lousho tui``: look into sessions on a terminal that is used whole."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lousho_cli.cli.completing import complete_addresses
from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.run_options import AgentPaths

EXAMPLES = (
    "lousho tui                                every session here",
    "lousho tui trip                           the ring of one session",
    "lousho tui --screenshot now.svg           one picture of it, without a terminal",
    "lousho tui --web                          the same in a browser on this machine",
)

WEB_VARIABLE = "TEXTUAL_DRIVER"
"""Set by the server of a browser's window for the program that it starts."""

MaybeAddress = Annotated[
    str | None,
    typer.Argument(
        metavar="SESSION[@STEP]", help="What to open at the start: a session, or one of its checkpoints.", autocompletion=complete_addresses
    ),
]
Screenshot = Annotated[Path | None, typer.Option("--screenshot", metavar="FILE.svg", help="Write one frame as SVG and end.")]
Size = Annotated[str, typer.Option("--size", metavar="COLUMNSxROWS", help="How large that frame is.")]
Web = Annotated[bool, typer.Option("--web", help="Serve it to a browser on this machine, behind a random token.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port for --web; 0 takes one that is free.")]

_OTHER_PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".html", ".txt"}


def run(
    ctx: typer.Context,
    session: MaybeAddress = None,
    agents: AgentPaths = None,
    screenshot: Screenshot = None,
    size: Size = "120x36",
    web: Web = False,
    port: Port = 0,
) -> int:
    """Look into sessions and their checkpoints on the whole terminal. It writes nothing that you did not ask for."""
    face = face_of(ctx)
    if face.json:
        raise _refused("lousho tui shows a screen, not JSON", "lousho list --json and lousho show SESSION --json give the same as data.")
    if web and screenshot is not None:
        raise _refused("--web and --screenshot exclude each other", "Use one of them.")
    if screenshot is not None and screenshot.suffix.lower() in _OTHER_PICTURES:
        raise _refused(f"--screenshot writes SVG, which {screenshot.name} is not", f"Call it {screenshot.with_suffix('.svg').name}.")
    if screenshot is None and not web:
        _check_terminal()
    if agents:
        from lousho_cli.app.agents import AgentChoice, require_places
        from lousho_cli.app.wiring import current_folder

        require_places(AgentChoice(agents=tuple(agents)), current_folder())
    columns_rows = _size(size)
    opened = _find(face, session)
    if web:
        return _web(face, opened, agents or (), port)
    if screenshot is not None:
        from lousho_cli.tui.start import picture

        picture(face.store, opened, screenshot, columns_rows)
        face.err.note(f"written: {screenshot}")
        return Exit.DONE
    from lousho_cli.tui.start import run as run_tui

    return run_tui(face.store, opened, face.err.note, agents or ())


def _check_terminal() -> None:
    if os.environ.get(WEB_VARIABLE):
        return
    hint = "lousho list and lousho show print the same; --screenshot FILE.svg draws one frame without a terminal."
    for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)):
        if stream is None or stream.closed or not stream.isatty():
            raise _refused(f"lousho tui needs a terminal, and {name} is none", hint)
    if os.environ.get("TERM", "") in {"", "dumb", "unknown"}:
        raise _refused(f"lousho tui needs a terminal that can draw, and TERM is {os.environ.get('TERM') or 'not set'}", hint)


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip().lower())
    columns, rows = (int(part) for part in found.groups()) if found else (0, 0)
    if not (20 <= columns <= 1000 and 5 <= rows <= 1000):
        raise _refused(f"--size {text} is no size", "Use columns and rows, such as 120x36; at least 20x5, at most 1000x1000.")
    return columns, rows


def _find(face: Face, name: str | None) -> str | None:
    """The session, or the checkpoint of it, that is meant, by its whole id."""
    from lousho_cli.app.looking_on import find_point
    from lousho_cli.app.sync import run_now

    store = face.open_store(create=False)
    return None if name is None else run_now(lambda: find_point(store, name))


def _web(face: Face, session: str | None, agents: Sequence[str], port: int) -> int:
    try:
        from lousho_cli.tui.web import serve
    except ModuleNotFoundError as error:
        raise _refused("lousho tui --web needs textual-serve, which is not installed", "Install it: pip install 'lousho[web]'") from error
    words = ["tui", *(["--store", face.store] if face.store is not None else []), *([session] if session is not None else [])]
    for place in agents:
        words += ["--agents", place]

    def told(address: str) -> None:
        face.out.line(address)
        face.out.flush()
        face.err.note("open it in a browser on this machine; whoever has the address can look in. Ctrl-C ends it")

    try:
        return serve(words, port, told)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise _refused(f"port {port} can not be used: {said}", "Choose another with --port, or none.") from error


def _refused(what: str, hint: str) -> Exception:
    from lousho_cli.errors import ConfigurationError

    return ConfigurationError(what, code="LOUSHO_USAGE", hint=hint)
